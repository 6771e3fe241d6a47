// SPDX-License-Identifier: MIT
/*
 * Values of attributes whose EA inode leads elsewhere.
 *
 * The hash in an EA inode tells its value from everything else. If the blocks that an EA inode maps
 * are claimed by somebody else, are free or are missing, and do not hold its value, then a wrong
 * pointer is likely, and the blocks of the value are marked in use without an owner. Values of one
 * extent are looked for there.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "disk/extent.h"
#include "read/bitmaps.h"
#include "read/map.h"
#include "phases/xattrs.h"

enum { GROUPS_MAX = 64, TRIES_MAX = 4096 }; /* of one value */

struct value {
	struct fsck *f;
	xw_ino ino; /* EA inode, */
	struct xw_inode in; /* its record, */
	uint64_t len; /* and its size in blocks */
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

/* Is there a reason to read the value? */
static bool is_doubtful(struct value *v)
{
	struct fsck *f = v->f;
	struct xw_map_iter it;
	struct xw_map_run run;
	uint64_t blocks = 0;
	bool doubt = false;
	int more = xw_map_begin(f->img, v->ino, &v->in, 0, &it);

	while (more >= 0 && (more = xw_map_next(&it, &run)) == 1 && !doubt) {
		for (uint64_t i = 0; i < run.len && !doubt; i++)
			doubt = fsck_is_contested(f, run.pblk + i) || !is_marked(v, run.pblk + i);
		blocks += run.len;
	}
	xw_map_end(&it);
	xw_diag_clear(&f->diag);
	return doubt || more < 0 || blocks < v->len;
}

/* Is the value in the blocks from blk on? If so, *in maps them. */
static bool is_at(struct value *v, xw_blk blk, struct xw_inode *in)
{
	const struct xw_extent_hdr h = {.entries = 1, .max = XW_EXT_INODE_ENTRIES};
	const struct xw_extent e = {0, (uint32_t)v->len, blk, false};

	*in = v->in;
	memset(in->block, 0, sizeof(in->block));
	xw_extent_hdr_encode(in->block, &h);
	xw_extent_leaf_encode(in->block, 0, &e);
	v->tries++;
	return fsck_is_ea_inode(v->f, v->ino, in);
}

/* Look for the value in blocks of one group that are in use without an owner. */
static bool find_in(struct value *v, uint64_t group, struct xw_inode *in, xw_blk *blk)
{
	const struct fsck *f = v->f;
	const unsigned bits = xw_image_cluster_bits(f->img);
	const uint32_t per_group = xw_image_group_bits(f->img);
	const uint64_t need = xw_div_up(v->len, UINT64_C(1) << bits);
	uint64_t have = 0;

	load_bitmap(v, group);
	for (uint32_t n = 0; n < per_group && v->tries < TRIES_MAX; n++) {
		const xw_blk at = f->img->sb.first_data_block + ((group * per_group + n) << bits);

		have = v->bits[n / 8] >> n % 8 & 1 && !fsck_is_claimed(f, at) ? have + 1 : 0;
		*blk = at - (xw_blk)((need - 1) << bits);
		if (have >= need && xw_image_has_blocks(f->img, *blk, v->len) && is_at(v, *blk, in))
			return true;
	}
	return false;
}

static bool find_value(struct value *v, struct xw_inode *in, xw_blk *blk)
{
	const uint64_t groups = xw_image_groups_here(v->f->img);
	const uint64_t first = (v->ino - 1) / v->f->img->sb.inodes_per_group;

	v->tries = 0;
	for (uint64_t i = 0; i < XW_MIN(groups, (uint64_t)GROUPS_MAX); i++)
		if (find_in(v, (first + i) % groups, in, blk))
			return true;
	return false;
}

static int look_at(struct value *v, xw_ino ino, uint8_t *raw)
{
	struct fsck *f = v->f;
	const uint64_t cluster = UINT64_C(1) << xw_image_cluster_bits(f->img);
	struct xw_inode in;
	xw_blk blk;
	int rc = fsck_inode_read(f, ino, &v->in, raw);

	v->ino = ino;
	v->len = xw_div_up(v->in.size, f->img->block_size);
	if (rc || !(v->in.flags & XW_FL_EXTENTS) || !v->len || v->in.size > XW_XATTR_SIZE_MAX ||
	    !is_doubtful(v) || fsck_is_ea_inode(f, ino, &v->in) || !find_value(v, &in, &blk) ||
	    !FSCK_FOUND(f, EA_INODE_PLACE, .ino = ino, .blk = blk))
		return rc;
	rc = xw_inode_set_blocks(&in, &f->img->sb, xw_round_up(v->len, cluster));
	f->again = true; /* the claims have changed */
	return rc ? rc : fsck_inode_write(f, ino, &in, raw);
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
