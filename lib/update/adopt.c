// SPDX-License-Identifier: MIT
/*
 * Sharing of attribute blocks that the image already has. Before new blocks are placed, the inodes
 * of the image are read in order, up to INODES_MAX of them. Where one of their blocks is identical
 * to a new one, its refcount is raised by that of the new one, which is not written.
 *
 * This comes after inodes that go were dropped, so that each block found is one that an inode
 * keeps, and before their numbers are given out again, so that the bitmaps still tell which.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/hash.h"
#include "base/vec.h"
#include "disk/xattrblk.h"
#include "update/update_internal.h"
#include "xattr/layout.h"
#include "xattr/share.h"

/* Records looked at, blocks read: 64 MiB of tables with inodes of 256 bytes, and of blocks. */
enum { INODES_MAX = 1 << 18, BLOCKS_MAX = 1 << 14 };

struct wanted {
	uint64_t key; /* of all behind the header */
	size_t index; /* in the sharer */
	struct xw_share_block *s;
};

struct adopt {
	struct xw_update *u;
	uint8_t *image, *own; /* a block each */
	XW_VEC(struct wanted) wanted;
	XW_VEC(xw_blk) found;
};

static int by_key(const void *a, const void *b)
{
	const struct wanted *x = a, *y = b;

	if (x->key != y->key)
		return x->key > y->key ? 1 : -1;
	return (x->index > y->index) - (x->index < y->index);
}

static int by_blk(const void *a, const void *b)
{
	const xw_blk x = *(const xw_blk *)a, y = *(const xw_blk *)b;

	return (x > y) - (x < y);
}

static xw_ino count_inums(void *arg, xw_ino id)
{
	*(unsigned *)arg += id != 0;
	return id;
}

static uint64_t key_of(const struct adopt *a, const uint8_t *block)
{
	return xw_hash64(block + XW_XATTR_BHDR, a->u->img->block_size - XW_XATTR_BHDR, 0);
}

/* New blocks; not those with values in inodes, which are new, too. */
static int list_wanted(struct adopt *a)
{
	struct xw_share *share = a->u->place.share;

	for (size_t i = 0; i < xw_share_count(share); i++) {
		struct wanted w = {.index = i, .s = xw_share_at(share, i)};
		unsigned inums = 0;

		if (!w.s->refcount)
			continue;
		xw_share_expand(share, w.s, a->own);
		xw_xattr_map_inums(a->own, a->u->img->block_size, XW_XATTR_BLOCK_OFFS, count_inums,
				   &inums);
		if (inums)
			continue;
		w.key = key_of(a, a->own);
		if (xw_vec_push(&a->wanted, w))
			return xw_fail_nomem(a->u->diag, "blocks of attributes");
	}
	if (a->wanted.n)
		qsort(a->wanted.v, a->wanted.n, sizeof(*a->wanted.v), by_key);
	return 0;
}

/* ---- what the image has ---- */

static int note(struct adopt *a, xw_ino ino, const uint8_t *raw)
{
	const uint32_t at = (ino - 1) % a->u->img->sb.inodes_per_group;
	struct xw_inode in;

	/* a->own: the group's bitmap */
	if (!(a->own[at / 8] >> at % 8 & 1) || xw_inode_decode(raw, &a->u->img->sb, &in) ||
	    !in.file_acl || in.flags & XW_FL_EA_INODE)
		return 0;
	if (a->found.n && a->found.v[a->found.n - 1] == in.file_acl)
		return 0;
	return xw_vec_push(&a->found, in.file_acl)
		       ? xw_fail_nomem(a->u->diag, "blocks of attributes")
		       : 0;
}

/* A table that cannot be read has no blocks for us: nothing here is needed. */
static int look_at_group(struct adopt *a, uint64_t group, uint32_t *left)
{
	struct xw_image *img = a->u->img;
	struct xw_inode_scan scan;
	const uint8_t *raw;
	xw_ino ino;
	int ret, more;

	ret = xw_ispace_group_bitmap(a->u->inodes, (uint32_t)group, a->own, img->block_size);
	if (ret || xw_inode_scan_begin(img, group, group + 1, &scan))
		return ret;
	while (!ret && *left && (more = xw_inode_scan_next(&scan, &ino, &raw)) > 0) {
		--*left;
		ret = note(a, ino, raw);
	}
	xw_inode_scan_end(&scan);
	return ret;
}

static int list_found(struct adopt *a)
{
	uint32_t left = INODES_MAX;
	size_t n = 0;
	int ret = 0;

	for (uint64_t g = 0; g < a->u->img->groups && left && !ret; g++) {
		struct xw_igroup_summary sum;

		xw_ispace_group(a->u->inodes, (uint32_t)g, &sum);
		if (sum.free < a->u->img->sb.inodes_per_group)
			ret = look_at_group(a, g, &left);
	}
	if (a->found.n)
		qsort(a->found.v, a->found.n, sizeof(*a->found.v), by_blk);
	for (size_t i = 0; i < a->found.n; i++)
		if (!n || a->found.v[i] != a->found.v[n - 1])
			a->found.v[n++] = a->found.v[i];
	a->found.n = XW_MIN(n, BLOCKS_MAX);
	return ret;
}

/* ---- the two together ---- */

/* A block that this one, in a->image, can stand for; NULL: none. */
static struct xw_share_block *match(const struct adopt *a, uint32_t refcount)
{
	const struct xw_share *share = a->u->place.share;
	const uint64_t key = key_of(a, a->image);
	size_t from = 0, to = a->wanted.n;

	while (from < to) {
		const size_t mid = from + (to - from) / 2;

		if (a->wanted.v[mid].key < key)
			from = mid + 1;
		else
			to = mid;
	}
	for (; from < a->wanted.n && a->wanted.v[from].key == key; from++) {
		struct xw_share_block *s = a->wanted.v[from].s;

		if (s->blk || s->refcount + refcount > XW_XATTR_REFCOUNT_MAX)
			continue;
		xw_share_expand(share, s, a->own);
		if (!memcmp(a->own + XW_XATTR_BHDR, a->image + XW_XATTR_BHDR,
			    a->u->img->block_size - XW_XATTR_BHDR))
			return s;
	}
	return NULL;
}

/* Does the bitmap say that the block is in use? What is free may be given away at any time. */
static int in_use(struct adopt *a, xw_blk blk, bool *used)
{
	const struct xw_super *sb = &a->u->img->sb;
	const uint32_t group = (uint32_t)((blk - sb->first_data_block) / sb->blocks_per_group);
	const uint32_t at = (uint32_t)((blk - sb->first_data_block) % sb->blocks_per_group) >>
			    xw_image_cluster_bits(a->u->img);
	int ret = xw_space_group_bitmap(a->u->space, group, a->own);

	*used = !ret && a->own[at / 8] >> at % 8 & 1;
	return ret;
}

/* A block that is damaged, free, or cannot be read, is not for sharing. */
static int consider(struct adopt *a, xw_blk blk)
{
	struct xw_image *img = a->u->img;
	const uint32_t bs = img->block_size;
	const bool csum = xw_super_has_csum(&img->sb);
	struct xw_share_block *s;
	struct xw_xattr_bhdr h;
	bool meta, used;
	int ret;

	if (!xw_image_has_blocks(img, blk, 1) || !xw_sysmap_at(a->u->sysmap, blk, 1, &meta) || meta)
		return 0;
	if (xw_dev_pread(img->dev, a->image, bs, blk * bs)) {
		if (img->dev->diag)
			xw_diag_clear(img->dev->diag);
		return 0;
	}
	if (xw_xattr_bhdr_decode(a->image, &h) || !h.refcount ||
	    (csum && xw_xattr_block_verify(a->image, bs, img->csum_seed, blk)))
		return 0;
	s = match(a, h.refcount);
	ret = s ? in_use(a, blk, &used) : 0;
	if (ret || !s || !used)
		return ret;
	s->blk = blk;
	a->u->place.counts.xattr_refs += s->refcount;
	h.refcount += s->refcount;
	xw_xattr_bhdr_encode(a->image, &h);
	if (csum)
		xw_xattr_block_set_csum(a->image, bs, img->csum_seed, blk);
	return xw_dev_pwrite(img->dev, a->image, bs, blk * bs);
}

int xw_update_adopt_xattrs(struct xw_update *u)
{
	auto_free uint8_t *image = malloc(u->img->block_size);
	auto_free uint8_t *own = malloc(u->img->block_size);
	struct adopt a = {.u = u, .image = image, .own = own};
	int ret;

	if (u->lax || !u->place.share)
		return 0;
	ret = image && own ? list_wanted(&a) : xw_fail_nomem(u->diag, "blocks of attributes");
	if (!ret && a.wanted.n) {
		struct xw_diag *diag = u->img->diag;

		u->img->diag = NULL;
		ret = list_found(&a);
		u->img->diag = diag;
		for (size_t i = 0; i < a.found.n; i++)
			xw_dev_ahead(u->img->dev, a.found.v[i] * u->img->block_size,
				     u->img->block_size);
		for (size_t i = 0; i < a.found.n && !ret; i++)
			ret = consider(&a, a.found.v[i]);
		xw_image_forget(u->img);
	}
	xw_vec_free(&a.wanted);
	xw_vec_free(&a.found);
	return ret;
}
