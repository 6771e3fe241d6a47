// SPDX-License-Identifier: MIT
/*
 * Allocates new blocks for lost bitmaps and inode tables, and for bitmaps whose descriptor points
 * to a block of an inode. This runs when all claims of the round are known, so that no data is
 * overwritten. A new table is empty; bitmaps are written at the end of the check.
 */
#include "config.h"

#include <stdlib.h>

#include "base/auto.h"
#include "phases/super.h"

/* The first run of n free blocks that lies in [from, to). 0: there is none. */
static xw_blk find_free(const struct fsck *f, xw_blk from, xw_blk to, uint64_t n)
{
	const struct xw_super *sb = &f->ses.img->sb;
	const xw_blk first = sb->first_data_block;
	const unsigned bits = xw_image_cluster_bits(f->ses.img);
	uint64_t start, len;

	for (xw_blk blk = from, end; blk < to && to - blk >= n; blk = end) {
		if (!f->facts.owners.claims ||
		    !xw_blockset_next_in(f->facts.owners.claims, (blk - first) >> bits,
					 ((to - 1 - first) >> bits) + 1, &start, &len))
			return blk;
		end = first + ((start + len) << bits);
		if (first + (start << bits) >= blk + n)
			return blk;
	}
	return 0;
}

/* Where a search of the whole filesystem continues: there is no free run before this block. */
struct hint {
	xw_blk bitmap, table;
};

/* Find n free blocks in the group, or with flex_bg anywhere. 0: none. */
static xw_blk find_place(const struct fsck *f, uint64_t group, uint64_t n, xw_blk *hint)
{
	const struct xw_super *sb = &f->ses.img->sb;
	const xw_blk start = sb->first_data_block + group * (uint64_t)sb->blocks_per_group;
	const xw_blk end = XW_MIN(start + sb->blocks_per_group, sb->blocks_count);
	const xw_blk blk = find_free(f, start + 1, end, n);

	if (blk || !(sb->feature_incompat & XW_INCOMPAT_FLEX_BG))
		return blk;
	*hint = find_free(f, XW_MAX(*hint, sb->first_data_block + 1), sb->blocks_count, n);
	return *hint;
}

static int relocate(struct fsck *f, uint64_t group, uint64_t n, xw_blk *hint, xw_blk *blk)
{
	if (xw_image_has_blocks(f->ses.img, *blk, n))
		return 0;
	*blk = find_place(f, group, n, hint);
	if (!*blk)
		return xw_fail(&f->ses.diag, XW_ERR_NOSPC,
			       "%s: group %llu: no %llu free blocks for its bitmaps or inode table",
			       f->opts.image, (unsigned long long)group, (unsigned long long)n);
	return fsck_claim(f, FSCK_O_GROUP, *blk, n, NULL);
}

static int relocate_group(struct fsck *f, uint64_t group, struct hint *hint)
{
	const uint64_t bs = f->ses.img->block_size;
	struct xw_group_desc gd;
	int rc = xw_image_group(f->ses.img, group, &gd);
	const bool table =
		!rc && !xw_image_has_blocks(f->ses.img, gd.inode_table, f->ses.img->itable_blocks);

	if (rc || (!table && xw_image_has_blocks(f->ses.img, gd.block_bitmap, 1) &&
		   xw_image_has_blocks(f->ses.img, gd.inode_bitmap, 1)))
		return rc;
	rc = relocate(f, group, 1, &hint->bitmap, &gd.block_bitmap);
	if (!rc)
		rc = relocate(f, group, 1, &hint->bitmap, &gd.inode_bitmap);
	if (!rc)
		rc = relocate(f, group, f->ses.img->itable_blocks, &hint->table, &gd.inode_table);
	if (!rc && table)
		rc = xw_dev_zero(f->ses.dev, gd.inode_table * bs, f->ses.img->itable_blocks * bs);
	gd.flags &= (uint16_t) ~(XW_BG_INODE_UNINIT | XW_BG_BLOCK_UNINIT);
	return rc ? rc : fsck_group_renew(f, group, &gd);
}

/*
 * Move a bitmap of the group if an inode claims its block and the contents are no valid bitmap:
 * otherwise the bitmap would overwrite data, or the inode would get a copy of a bitmap.
 */
static int yield_bitmaps(struct fsck *f, uint64_t group, struct hint *hint)
{
	auto_free uint8_t *bits = malloc(f->ses.img->block_size);
	struct xw_group_desc gd;
	int rc = bits ? xw_image_group(f->ses.img, group, &gd)
		      : xw_fail_nomem(&f->ses.diag, "a bitmap");
	bool moved = false;
	xw_blk to;

	if (!rc && !(gd.flags & XW_BG_BLOCK_UNINIT) && fsck_is_contested(f, gd.block_bitmap) &&
	    !fsck_block_bitmap_is_valid(f, group, &gd, gd.block_bitmap) &&
	    (to = find_place(f, group, 1, &hint->bitmap)) != 0 &&
	    FSCK_FOUND(f, GROUP_BLOCK_BITMAP, .group = group, .blk = gd.block_bitmap, .num = to)) {
		gd.block_bitmap = to;
		moved = true;
		rc = fsck_claim(f, FSCK_O_GROUP, to, 1, NULL);
	}
	if (!rc && !(gd.flags & XW_BG_INODE_UNINIT) && fsck_is_contested(f, gd.inode_bitmap) &&
	    !fsck_inode_bitmap_is_valid(f, &gd, gd.inode_bitmap, bits) &&
	    (to = find_place(f, group, 1, &hint->bitmap)) != 0 &&
	    FSCK_FOUND(f, GROUP_INODE_BITMAP, .group = group, .blk = gd.inode_bitmap, .num = to)) {
		gd.inode_bitmap = to;
		moved = true;
		rc = fsck_claim(f, FSCK_O_GROUP, to, 1, NULL);
	}
	if (rc || !moved)
		return rc;
	f->round.again = true; /* the owner map changes with the new locations */
	return fsck_group_renew(f, group, &gd);
}

int fsck_relocate(struct fsck *f)
{
	struct hint hint = {0};
	int rc = 0;

	/* Only in the first round: later rounds could undo this decision again and again. */
	for (uint64_t g = 0; !f->round.number && f->facts.owners.contested &&
			     g < f->ses.img->groups && !rc && !f->ses.stop;
	     g++)
		rc = yield_bitmaps(f, g, &hint);
	if (rc || f->round.again)
		return rc;
	if (!f->ses.relocate || f->opts.mode == FSCK_NO)
		return 0;
	for (uint64_t g = 0; g < f->ses.img->groups && !rc && !f->ses.stop; g++)
		rc = relocate_group(f, g, &hint);
	f->ses.relocate = false;
	return rc ? rc : fsck_places_changed(f);
}
