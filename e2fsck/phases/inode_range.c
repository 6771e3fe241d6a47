// SPDX-License-Identifier: MIT
/* Which records of an inode table may be in use. */
#include "config.h"

#include <stdlib.h>

#include "base/auto.h"
#include "disk/inode.h"
#include "phases/inodes.h"

enum { GROUPS_FEW = 4096 };

/*
 * The number of records up to the last one in use according to the inode bitmap. If it exceeds the
 * number in the descriptor, these records are checked as well, so that their names are not removed.
 * This part of the table must have been zeroed. For very large images the descriptors are trusted.
 */
static uint32_t marked_in_use(const struct fsck *f, const struct xw_group_desc *gd, uint32_t limit)
{
	const uint32_t bs = f->ses.img->block_size;
	auto_free uint8_t *bits = malloc(bs);

	if (!bits || f->ses.img->groups > GROUPS_FEW || !(gd->flags & XW_BG_INODE_ZEROED) ||
	    !xw_image_has_blocks(f->ses.img, gd->inode_bitmap, 1) ||
	    xw_dev_pread(f->ses.dev, bits, bs, gd->inode_bitmap * bs))
		return 0;
	for (uint32_t i = limit; i--;)
		if (bits[i / 8] >> i % 8 & 1)
			return i + 1;
	return 0;
}

uint32_t fsck_records_of(const struct fsck *f, uint64_t group, const struct xw_group_desc *gd)
{
	const struct xw_super *sb = &f->ses.img->sb;
	const bool tracks_use = xw_super_has_group_csum(sb);
	const uint64_t before = group * sb->inodes_per_group;
	uint32_t n = sb->inodes_per_group;

	if (before >= sb->inodes_count)
		return 0;
	n = (uint32_t)XW_MIN(n, sb->inodes_count - before);
	if (tracks_use && gd->flags & XW_BG_INODE_UNINIT)
		return 0;
	if (tracks_use && gd->itable_unused && gd->itable_unused <= sb->inodes_per_group) {
		const uint32_t limit = n, used = sb->inodes_per_group - gd->itable_unused;
		const uint32_t marked = marked_in_use(f, gd, limit);

		n = XW_MIN(limit, XW_MAX(used, marked));
	}
	return n;
}
