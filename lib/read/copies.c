/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "read/copies.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/err.h"

uint64_t xw_super_byte_offset(const struct xw_super *sb)
{
	const uint64_t group = sb->block_group_nr;

	return group ? (sb->first_data_block + group * sb->blocks_per_group) *
			       xw_super_block_size(sb)
		     : XW_SUPER_OFFSET;
}

static bool is_copy(struct xw_dev *dev, uint64_t block, uint32_t block_size)
{
	const uint64_t at = block * block_size;
	uint8_t buf[XW_SUPER_SIZE];
	struct xw_super sb;

	return at <= dev->size && dev->size - at >= sizeof(buf) &&
	       !xw_dev_pread(dev, buf, sizeof(buf), at) && !xw_super_decode(buf, &sb) &&
	       xw_super_block_size(&sb) == block_size && xw_super_byte_offset(&sb) == at &&
	       !xw_super_verify(buf);
}

struct xw_copy_hint xw_super_copy_hint(struct xw_dev *dev)
{
	static const uint8_t groups[] = {1, 3, 5, 7, 9, 25, 27, 49};
	struct xw_diag *diag = dev->diag;
	struct xw_copy_hint hint = {""};

	dev->diag = NULL; /* ignore unreadable blocks */
	for (uint32_t bs = 1024; bs <= 65536 && !*hint.s; bs *= 2) {
		for (size_t i = 0; i < XW_ARRAY_SIZE(groups) && !*hint.s; i++) {
			const uint64_t block = groups[i] * UINT64_C(8) * bs + (bs == 1024);

			if (is_copy(dev, block, bs))
				snprintf(hint.s, sizeof(hint.s),
					 "; a copy is in block %" PRIu64 " of %" PRIu32
					 " bytes: xw-fsck -b %" PRIu64 " -B %" PRIu32,
					 block, bs, block, bs);
		}
	}
	dev->diag = diag;
	return hint;
}
