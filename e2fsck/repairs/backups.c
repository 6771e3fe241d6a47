// SPDX-License-Identifier: MIT
/*
 * Rewrites the backups of superblock and descriptors if one of these was repaired. A descriptor
 * block of a backup is rewritten only if a location in it differs, since the other fields change
 * all the time.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "repairs/repairs.h"

static int copy_super(struct fsck *f, uint64_t group, xw_blk blk)
{
	struct xw_super sb = f->ses.img->sb;
	auto_free uint8_t *block = calloc(1, f->ses.img->block_size);

	if (!block)
		return xw_fail_nomem(&f->ses.diag, "superblock");
	if (fsck_read(f, blk, 1, block)) /* the rest of the block is kept */
		memset(block, 0, f->ses.img->block_size);
	if (xw_dev_pread(f->ses.dev, block, XW_SUPER_SIZE, XW_SUPER_OFFSET))
		memset(block, 0, XW_SUPER_SIZE);
	sb.block_group_nr = sb.rev_level ? (uint16_t)group : 0;
	xw_super_encode(&sb, block);
	return fsck_try_write(f, FSCK_O_GROUP, blk, block);
}

static bool same_places(const struct xw_image *img, const uint8_t *a, const uint8_t *b)
{
	for (uint32_t at = 0; at + img->desc_size <= img->block_size; at += img->desc_size) {
		struct xw_group_desc x, y;

		xw_group_decode(a + at, img->desc_size, &x);
		xw_group_decode(b + at, img->desc_size, &y);
		if (x.block_bitmap != y.block_bitmap || x.inode_bitmap != y.inode_bitmap ||
		    x.inode_table != y.inode_table)
			return false;
	}
	return true;
}

/* Copy n descriptor blocks, from block `from` of the primary on, to `to`. */
static int copy_descs(struct fsck *f, xw_blk from, xw_blk to, uint64_t n)
{
	const uint32_t bs = f->ses.img->block_size;
	auto_free uint8_t *a = malloc(bs), *b = malloc(bs);
	int rc = a && b ? 0 : xw_fail_nomem(&f->ses.diag, "descriptors");

	for (uint64_t i = 0; i < n && !rc; i++) {
		rc = fsck_read(f, from + i, 1, a);
		if (!rc && (fsck_read(f, to + i, 1, b) || !same_places(f->ses.img, a, b)))
			rc = fsck_try_write(f, FSCK_O_GROUP, to + i, a);
	}
	return rc;
}

int fsck_renew_backups(struct fsck *f)
{
	const struct xw_image *img = f->ses.img;
	const uint64_t per_block = img->block_size / img->desc_size;
	int rc = 0;

	if (!f->facts.owners.complete) /* without a check the owners of their blocks are unknown */
		return 0;
	for (uint64_t g = 1; g < img->groups && !rc; g++) {
		struct xw_group_head h;
		xw_blk descs;

		xw_image_group_head(img, g, &h);
		if (!h.has_super && !h.desc_len)
			continue;
		descs = h.super + h.has_super;
		if (h.has_super)
			rc = copy_super(f, g, h.super);
		/* With meta_bg only three groups of each meta group have a copy of descriptors. */
		if (!rc && h.meta_bg && h.desc_len && g % per_block)
			rc = copy_descs(f, xw_image_desc_block(img, g), descs, 1);
		else if (!rc && !h.meta_bg && h.has_super)
			rc = copy_descs(f, xw_image_desc_block(img, 0), descs, h.desc_len);
	}
	return rc;
}
