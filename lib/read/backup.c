/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "read/backup.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/auto.h"
#include "base/err.h"
#include "dev/overlay.h"
#include "disk/super.h"

struct backup {
	struct xw_dev *dev;
	struct xw_diag *diag;
	uint32_t block_size;
	uint64_t super;
	struct xw_super sb;
	uint8_t raw[XW_SUPER_SIZE];
};

/* Is there a superblock in that block? It must have the assumed block size. */
static bool find_super(struct backup *b)
{
	const uint64_t at = b->super ? b->super * b->block_size : XW_SUPER_OFFSET;

	return b->super < XW_BLK_MAX && b->dev->size >= XW_SUPER_SIZE &&
	       at <= b->dev->size - XW_SUPER_SIZE &&
	       !xw_dev_pread(b->dev, b->raw, sizeof(b->raw), at) &&
	       !xw_super_decode(b->raw, &b->sb) && xw_super_block_size(&b->sb) == b->block_size;
}

static int find_backup(struct backup *b, uint32_t block_size)
{
	for (unsigned log = 0; log <= XW_LOG_BLOCK_MAX; log++) {
		b->block_size = 1024u << log;
		if ((!block_size || b->block_size == block_size) && find_super(b))
			return 0;
	}
	xw_diag_clear(b->diag);
	if (block_size)
		return xw_fail(b->diag, XW_ERR_INPUT,
			       "%s: no superblock with blocks of %" PRIu32
			       " bytes in block %" PRIu64,
			       b->dev->name, block_size, b->super);
	return xw_fail(b->diag, XW_ERR_INPUT, "%s: no superblock in block %" PRIu64, b->dev->name,
		       b->super);
}

/* The descriptors follow each superblock copy, except those placed elsewhere by meta_bg. */
static int copy_descriptors(const struct backup *b, struct xw_dev *overlay)
{
	const struct xw_super *sb = &b->sb;
	const uint32_t bs = b->block_size;
	const uint64_t per_block = bs / xw_super_desc_size(sb);
	uint64_t n = xw_div_up(xw_super_groups(sb), XW_MAX(per_block, 1));
	auto_free uint8_t *buf = malloc(bs);

	if (!buf)
		return xw_fail_nomem(b->diag, "group descriptors");
	if (sb->feature_incompat & XW_INCOMPAT_META_BG)
		n = XW_MIN(n, sb->first_meta_bg);
	n = XW_MIN(n, sb->blocks_per_group);
	for (uint64_t i = 1; i <= n; i++) {
		int rc = xw_dev_pread(b->dev, buf, bs, (b->super + i) * bs);

		if (!rc)
			rc = xw_dev_pwrite(overlay, buf, bs, (XW_SUPER_OFFSET / bs + i) * bs);
		if (rc)
			return rc;
	}
	return 0;
}

int xw_backup_view(struct xw_dev **dev, uint64_t super, uint32_t block_size, struct xw_diag *diag)
{
	struct backup b = {.dev = *dev, .diag = diag, .super = super};
	struct xw_dev *overlay;
	int rc = find_backup(&b, block_size);

	if (rc || !super)
		return rc;
	rc = xw_overlay_open(*dev, b.block_size, diag, &overlay);
	if (rc)
		return rc;
	*dev = overlay;
	rc = xw_dev_pwrite(overlay, b.raw, sizeof(b.raw), XW_SUPER_OFFSET);
	return rc ? rc : copy_descriptors(&b, overlay);
}
