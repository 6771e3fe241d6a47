// SPDX-License-Identifier: MIT
/*
 * Values of attributes whose EA inode leads elsewhere.
 *
 * The hash in an EA inode tells its value from everything else. If the blocks that an EA inode maps
 * are claimed by somebody else, are free or are missing, and do not hold its value, then a wrong
 * pointer is likely, and the blocks of the value are marked in use without an owner: one extent
 * is looked for there, or the whole value in one piece.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "disk/extent.h"
#include "read/bitmaps.h"
#include "phases/xattrs.h"

enum { GROUPS_MAX = 64, TRIES_MAX = 4096 }; /* of one value */

struct value {
	struct fsck *f;
	xw_ino ino; /* EA inode, */
	struct xw_inode in; /* and its record; while it is looked for with a map that is tried */
	unsigned index; /* the extent of that map which is looked for, */
	xw_blk was; /* its first block by the map that it has, */
	uint64_t len; /* and its length */
	uint8_t *bits; /* block bitmap of the group; all zeros if it cannot be read */
	uint64_t group;
	unsigned tries;
};

static void load_bitmap(struct value *v, uint64_t group)
{
	struct fsck *f = v->f;
	struct xw_group_desc gd;

	if (group == v->group)
		return;
	v->group = group;
	if (xw_image_group(f->img, group, &gd) || xw_image_block_uninit(f->img, &gd) ||
	    !xw_image_has_blocks(f->img, gd.block_bitmap, 1) ||
	    fsck_read(f, gd.block_bitmap, 1, v->bits)) {
		xw_diag_clear(&f->diag);
		memset(v->bits, 0, f->img->block_size);
	}
}

static bool is_marked(struct value *v, xw_blk blk)
{
	const uint64_t n =
		(blk - v->f->img->sb.first_data_block) >> xw_image_cluster_bits(v->f->img);
	const uint32_t per_group = xw_image_group_bits(v->f->img);

	load_bitmap(v, n / per_group);
	return v->bits[n % per_group / 8] >> n % 8 & 1;
}

/* Are these blocks not those of the EA inode alone? */
static bool is_doubtful(struct value *v, xw_blk blk, uint64_t len)
{
	if (!xw_image_has_blocks(v->f->img, blk, len))
		return true;
	for (uint64_t i = 0; i < len; i++)
		if (fsck_is_contested(v->f, blk + i) || !is_marked(v, blk + i))
			return true;
	return false;
}

/* Is the value there, if the extent that is looked for begins at blk? */
static bool is_at(struct value *v, xw_blk blk)
{
	struct xw_extent e;

	xw_extent_leaf_decode(v->in.block, v->index, &e);
	e.pblk = blk;
	xw_extent_leaf_encode(v->in.block, v->index, &e);
	v->tries++;
	return fsck_is_ea_inode(v->f, v->ino, &v->in);
}

/* Is this block not in use by another one? The two places may overlap. */
static bool may_have(const struct value *v, xw_blk blk)
{
	return !fsck_is_claimed(v->f, blk) ||
	       (blk >= v->was && blk - v->was < v->len && !fsck_is_contested(v->f, blk));
}

/* Look for the extent in blocks of one group that are in use without an owner. */
static bool find_in(struct value *v, uint64_t group, xw_blk *blk)
{
	const struct fsck *f = v->f;
	const unsigned bits = xw_image_cluster_bits(f->img);
	const uint32_t per_group = xw_image_group_bits(f->img);
	const uint64_t need = xw_div_up(v->len, UINT64_C(1) << bits);
	uint64_t have = 0;

	load_bitmap(v, group);
	for (uint32_t n = 0; n < per_group && v->tries < TRIES_MAX; n++) {
		const xw_blk at = f->img->sb.first_data_block + ((group * per_group + n) << bits);

		have = v->bits[n / 8] >> n % 8 & 1 && may_have(v, at) ? have + 1 : 0;
		*blk = at - (xw_blk)((need - 1) << bits);
		if (have >= need && xw_image_has_blocks(f->img, *blk, v->len) && is_at(v, *blk))
			return true;
	}
	return false;
}

static bool find_extent(struct value *v, xw_blk *blk)
{
	const uint64_t groups = xw_image_groups_here(v->f->img);
	const uint64_t first = (v->ino - 1) / v->f->img->sb.inodes_per_group;

	v->tries = 0;
	for (uint64_t i = 0; i < XW_MIN(groups, (uint64_t)GROUPS_MAX); i++)
		if (find_in(v, (first + i) % groups, blk))
			return true;
	return false;
}

/* The value without the blocks that it had: a map of one extent. */
static int try_whole(struct value *v, uint64_t blocks, bool *found, xw_blk *blk)
{
	const struct xw_extent_hdr h = {.entries = 1, .max = XW_EXT_INODE_ENTRIES};
	const struct xw_extent e = {.len = (uint32_t)blocks};
	const uint64_t cluster = UINT64_C(1) << xw_image_cluster_bits(v->f->img);

	memset(v->in.block, 0, sizeof(v->in.block));
	xw_extent_hdr_encode(v->in.block, &h);
	xw_extent_leaf_encode(v->in.block, 0, &e);
	v->index = 0;
	v->was = 0;
	v->len = blocks;
	*found = find_extent(v, blk);
	return xw_inode_set_blocks(&v->in, &v->f->img->sb, xw_round_up(blocks, cluster));
}

/* *found: v->in maps the value. blocks: its size in blocks */
static int find_value(struct value *v, uint64_t blocks, bool *found, xw_blk *blk)
{
	const struct xw_inode was = v->in;
	struct xw_extent_hdr h;
	struct xw_extent e;
	uint64_t mapped = 0;
	bool verified = false;

	if (xw_extent_hdr_decode(was.block, sizeof(was.block), &h) || h.depth)
		return 0;
	for (unsigned i = 0; i < h.entries && !*found && !verified; i++) {
		xw_extent_leaf_decode(was.block, i, &e);
		mapped += e.len;
		if (!is_doubtful(v, e.pblk, e.len))
			continue;
		v->in = was;
		verified = fsck_is_ea_inode(v->f, v->ino, &v->in);
		v->index = i;
		v->was = e.pblk;
		v->len = e.len;
		*found = !verified && find_extent(v, blk);
	}
	return *found || verified || mapped >= blocks ? 0 : try_whole(v, blocks, found, blk);
}

static int look_at(struct value *v, xw_ino ino, uint8_t *raw)
{
	struct fsck *f = v->f;
	bool found = false;
	xw_blk blk = 0;
	int rc = fsck_inode_read(f, ino, &v->in, raw);

	v->ino = ino;
	if (rc || !(v->in.flags & XW_FL_EXTENTS) || !v->in.size || v->in.size > XW_XATTR_SIZE_MAX)
		return rc;
	rc = find_value(v, xw_div_up(v->in.size, f->img->block_size), &found, &blk);
	if (rc || !found || !FSCK_FOUND(f, EA_INODE_PLACE, .ino = ino, .blk = blk))
		return rc;
	f->again = true; /* the claims have changed */
	return fsck_inode_write(f, ino, &v->in, raw);
}

int fsck_find_values(struct fsck *f)
{
	const struct xw_table *t = f->xattrs ? &f->xattrs->eas : NULL;
	auto_free uint8_t *raw = malloc(f->img->inode_size);
	auto_free uint8_t *bits = malloc(f->img->block_size);
	struct value v = {.f = f, .bits = bits, .group = UINT64_MAX};
	int rc = raw && bits ? 0 : xw_fail_nomem(&f->diag, "extended attributes");

	for (size_t i = 0; t && !rc && i < t->size && !f->stop; i++) {
		const struct fsck_ea *ea = fsck_ea_at(f, i);

		if (ea->ino && !ea->old)
			rc = look_at(&v, ea->ino, raw);
	}
	return rc;
}
