// SPDX-License-Identifier: MIT
/*
 * Checks the resize inode (7), which owns the blocks reserved for descriptors, and the bad-block
 * inode (1). Blocks of the resize inode are written when it is known that they have no other owner.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/bytes.h"
#include "base/endian.h"
#include "disk/indirect.h"
#include "phases/super.h"
#include "read/bitmaps.h"
#include "walk/map.h"

/* ---- the resize inode ---- */

struct resize {
	struct fsck *f;
	uint32_t bs, per_block; /* bytes and pointers per block */
	xw_blk super; /* block of the primary superblock */
	uint64_t descs; /* number of descriptor blocks */
	uint32_t reserved; /* number of reserved descriptor blocks */
	uint64_t backups; /* number of groups with a backup superblock */
	xw_blk dind; /* the double-indirect block */
};

/*
 * Compute the contents of a block of the map. index 0: the double-indirect block; n > 0: the n-th
 * reserved descriptor block of group 0. Returns its block number.
 */
static xw_blk expected(const struct resize *r, uint32_t index, uint8_t *buf)
{
	const struct xw_image *img = r->f->ses.img;
	uint64_t slot = 0, i = r->descs + index - 1;

	memset(buf, 0, r->bs);
	if (!index) {
		for (i = r->descs; i < r->descs + r->reserved; i++)
			poke32(buf + 4 * (i % r->per_block), (uint32_t)(r->super + 1 + i));
		return r->dind;
	}
	for (uint64_t g = 1; g < img->groups && slot < r->per_block; g++)
		if (xw_image_has_super(img, g))
			poke32(buf + 4 * slot++,
			       (uint32_t)(img->sb.first_data_block +
					  g * (uint64_t)img->sb.blocks_per_group +
					  (r->super - img->sb.first_data_block) + 1 + i));
	return r->super + 1 + i;
}

/* Write all blocks of the map, or compare them; *same: all are correct. */
static int each_block(const struct resize *r, bool write, bool *same)
{
	auto_free uint8_t *want = malloc(r->bs), *have = malloc(r->bs);
	int rc = want && have ? 0 : xw_fail_nomem(&r->f->ses.diag, "resize inode");

	*same = true;
	for (uint32_t i = 0; i <= r->reserved && !rc && *same; i++) {
		const xw_blk blk = expected(r, i, want);

		if (write)
			rc = fsck_write(r->f, i ? FSCK_O_GROUP : FSCK_O_RESIZE, blk, want);
		else
			*same = !fsck_read(r->f, blk, 1, have) && !memcmp(want, have, r->bs);
	}
	return rc;
}

/* Number of filesystem blocks that i_blocks includes: an attribute block counts as well. */
static uint64_t held(const struct resize *r, const struct xw_inode *in)
{
	return (1 + r->reserved * (1 + r->backups) + (in->file_acl != 0))
	       << xw_image_cluster_bits(r->f->ses.img);
}

static void describe(const struct resize *r, struct xw_inode *in)
{
	const struct xw_image *img = r->f->ses.img;
	const uint64_t apb = r->per_block;
	const uint32_t generation = in->generation;
	const uint16_t extra = in->extra_isize;
	const xw_blk acl = in->file_acl;
	const struct xw_time now = {r->f->opts.now, 0};

	*in = (struct xw_inode){.mode = XW_S_IFREG | 0600, .links = 1, .generation = generation};
	in->extra_isize = extra;
	in->file_acl = acl;
	in->atime = in->mtime = in->ctime = in->crtime = now;
	in->size = (XW_NDIR_BLOCKS + apb + apb * apb) * r->bs;
	poke32(in->block + (size_t)4 * XW_DIND_SLOT, (uint32_t)r->dind);
	xw_inode_set_blocks(in, &img->sb, held(r, in));
}

/* Check i_size: as in a file, the last mapped block must not be past it. */
static int check_size(const struct resize *r, struct xw_inode *in, uint8_t *raw)
{
	const uint64_t apb = r->per_block;
	const uint64_t slot = (r->descs + r->reserved - 1) % apb;
	const uint64_t last = XW_NDIR_BLOCKS + apb + slot * apb + r->backups - 1;
	const uint64_t usual = (XW_NDIR_BLOCKS + apb + apb * apb) * r->bs;

	if (!r->backups ||
	    (in->size >= last * r->bs && in->size <= xw_indirect_max_lblk(r->bs) * r->bs) ||
	    !FSCK_FOUND(r->f, SIZE, .ino = XW_INO_RESIZE, .num = in->size, .num2 = usual))
		return 0;
	in->size = usual;
	return fsck_inode_write(r->f, XW_INO_RESIZE, in, raw);
}

/* Check i_blocks of an otherwise valid inode. */
static int check_held(const struct resize *r, struct xw_inode *in, uint8_t *raw)
{
	struct fsck *f = r->f;
	const uint64_t have = xw_inode_fs_blocks_512(in, &f->ses.img->sb);
	const uint64_t want = held(r, in) * (r->bs / 512);
	struct xw_inode fixed = *in;

	if (have == want || xw_inode_set_blocks(&fixed, &f->ses.img->sb, held(r, in)) ||
	    !FSCK_FOUND(f, BLOCKS, .ino = XW_INO_RESIZE, .num = have, .num2 = want))
		return 0;
	return fsck_inode_write(f, XW_INO_RESIZE, &fixed, raw);
}

static bool record_is_good(const struct resize *r, const struct xw_inode *in)
{
	uint8_t rest[60];

	memcpy(rest, in->block, sizeof(rest));
	memset(rest + (size_t)4 * XW_DIND_SLOT, 0, 4);
	return (in->mode & XW_S_IFMT) == XW_S_IFREG && in->links == 1 &&
	       !(in->flags & (XW_FL_EXTENTS | XW_FL_INLINE_DATA)) &&
	       xw_all_zero(rest, sizeof(rest)) && fsck_owns(r->f, FSCK_O_RESIZE, r->dind, 1);
}

/* There is no block for the map: clear the inode, and keep no reserved descriptor blocks. */
static int give_up(struct fsck *f)
{
	int rc = fsck_inode_clear(f, XW_INO_RESIZE);

	f->ses.img->sb.feature_compat &= ~XW_COMPAT_RESIZE_INODE;
	f->ses.img->sb.reserved_gdt_blocks = 0;
	f->ses.renew_backups = f->round.again = true;
	return rc ? rc : fsck_super_write(f);
}

/* Allocate another double-indirect block if it is invalid or has another owner. */
static int find_dind(struct resize *r)
{
	const xw_blk goal = r->super + 1 + r->descs + r->reserved;
	int rc;

	if (fsck_owns(r->f, FSCK_O_RESIZE, r->dind, 1))
		return 0;
	rc = fsck_claim_free(r->f, FSCK_O_RESIZE, goal, &r->dind);
	return rc || r->dind <= UINT32_MAX ? rc : XW_ERR_NOSPC;
}

int fsck_check_resize(struct fsck *f)
{
	const struct xw_super *sb = &f->ses.img->sb;
	struct resize r = {
		.f = f, .bs = f->ses.img->block_size, .per_block = f->ses.img->block_size / 4};
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	bool same = false;
	int rc = fsck_inode_load(f, XW_INO_RESIZE, &in, &raw);

	if (rc)
		return rc;
	if (!(sb->feature_compat & XW_COMPAT_RESIZE_INODE)) {
		if ((!in.mode && xw_all_zero(in.block, sizeof(in.block))) ||
		    !FSCK_FOUND(f, RESIZE_STRAY))
			return 0;
		return fsck_inode_clear(f, XW_INO_RESIZE);
	}
	r.super = XW_SUPER_OFFSET / r.bs;
	r.descs = xw_div_up(f->ses.img->groups, r.bs / f->ses.img->desc_size);
	r.reserved = sb->reserved_gdt_blocks;
	r.dind = xw_inode_slot(&in, XW_DIND_SLOT);
	for (uint64_t g = 1; g < f->ses.img->groups; g++)
		r.backups += xw_image_has_super(f->ses.img, g);
	if (record_is_good(&r, &in))
		rc = each_block(&r, false, &same);
	if (!rc && same)
		rc = check_size(&r, &in, raw);
	if (rc)
		return rc;
	if (same)
		return check_held(&r, &in, raw);
	/* Files may claim the reserved blocks as well: wait until they are cloned. */
	if ((r.reserved && !fsck_owns(f, FSCK_O_GROUP, r.super + 1 + r.descs, r.reserved)) ||
	    !FSCK_FOUND(f, RESIZE_INODE))
		return 0;
	rc = find_dind(&r);
	if (rc == XW_ERR_NOSPC)
		return give_up(f);
	if (rc)
		return rc;
	describe(&r, &in);
	rc = each_block(&r, true, &same);
	return rc ? rc : fsck_inode_write(f, XW_INO_RESIZE, &in, raw);
}

/* ---- bad blocks ---- */

/* Is it in the place of a backup? A bad block there is left out, and the group has no backup. */
static bool is_of_backup(const struct fsck *f, xw_blk blk)
{
	const struct xw_super *sb = &f->ses.img->sb;
	const uint64_t group = (blk - sb->first_data_block) / sb->blocks_per_group;
	struct xw_group_head h;

	if (!group)
		return false;
	xw_image_group_head(f->ses.img, group, &h);
	return h.has_super && !h.meta_bg && blk <= h.super + h.desc_len + h.reserved_len;
}

/*
 * Is any block in the clusters of this part of the list metadata, which cannot share a cluster, and
 * which a bad block cannot be?
 */
static bool is_beside_metadata(const struct fsck *f, const struct xw_sysmap *meta, xw_blk blk,
			       uint64_t len)
{
	const struct xw_super *sb = &f->ses.img->sb;
	const uint64_t size = UINT64_C(1) << xw_image_cluster_bits(f->ses.img);
	const xw_blk start = blk - (blk - sb->first_data_block) % size;
	const xw_blk end =
		XW_MIN(start + xw_div_up(blk + len - start, size) * size, (xw_blk)sb->blocks_count);
	uint64_t n;
	bool is_meta;

	for (xw_blk at = start; at < end; at += n) {
		n = xw_sysmap_at(meta, at, end - at, &is_meta);
		if (is_meta && !is_of_backup(f, at))
			return true;
		if (is_meta)
			n = 1;
	}
	return false;
}

/* *good: the list has only valid block numbers, and none of metadata, which cannot be moved. */
static int list_is_good(struct fsck *f, const struct xw_inode *in, bool *good)
{
	struct xw_sysmap *meta = NULL;
	auto_end(xw_walk_map_free) struct xw_walk_map w = {0};
	struct xw_walk_map_item item;
	int rc;

	*good = true;
	if (xw_all_zero(in->block, sizeof(in->block)))
		return 0;
	rc = xw_sysmap_new(f->ses.img, &meta);
	if (rc)
		return rc;
	xw_walk_map_init(&w, f->ses.img->dev, &f->ses.img->sb);
	rc = xw_walk_map_begin(&w, XW_INO_BAD, in, -1);
	while (!rc && *good && (rc = xw_walk_map_next(&w, &item)) > 0) {
		const uint64_t len = item.kind == XW_WALK_RUN ? XW_MAX(item.len, 1) : 1;

		*good = rc == 1 && !is_beside_metadata(f, meta, item.pblk, len);
		rc = 0;
	}
	xw_sysmap_free(meta);
	return rc < 0 ? xw_fail_nomem(&f->ses.diag, "bad blocks") : 0;
}

/* The bad-block inode has neither type nor names, only a block map. */
int fsck_check_bad_inode(struct fsck *f)
{
	struct xw_inode in;
	bool good = false;
	int rc = fsck_inode_read(f, XW_INO_BAD, &in, NULL);

	if (!rc && !in.mode && !in.uid && !in.gid && !in.links && !in.flags && !in.file_acl)
		rc = list_is_good(f, &in, &good);
	if (rc || good || !FSCK_FOUND(f, BAD_INODE))
		return rc;
	return fsck_inode_clear(f, XW_INO_BAD);
}
