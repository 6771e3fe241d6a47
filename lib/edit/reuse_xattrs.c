// SPDX-License-Identifier: MIT
/*
 * Replaces new xattr blocks by identical blocks of the image. Before new blocks are placed, the
 * inodes of the image are read in order (update/existing_xattrs.c). If one of their blocks is
 * identical to a new block, its refcount is raised by that of the new block, which is not written.
 *
 * This runs after removed inodes were dropped, so that each block found belongs to a remaining
 * inode, and before their numbers are reused, so that the bitmaps still show which inodes remain.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/search.h"
#include "base/vec.h"
#include "disk/xattrblk.h"
#include "edit/edit_internal.h"
#include "update/xattrs.h"
#include "xattr/layout.h"
#include "xattr/share.h"

struct wanted {
	uint64_t key; /* of the entries, without the header */
	size_t index; /* index in the sharer */
	struct xw_share_block *s;
};

struct adopt {
	struct xw_update *u;
	uint8_t *image, *own; /* buffers of one block */
	XW_VEC(struct wanted) wanted;
	size_t left; /* number of new blocks without an identical block so far */
	struct xw_update_blks found;
};

static void free_adopt(struct adopt *a)
{
	xw_vec_free(&a->wanted);
	xw_vec_free(&a->found.a);
}

static int by_key(const void *a, const void *b)
{
	const struct wanted *x = a, *y = b;

	if (x->key != y->key)
		return x->key > y->key ? 1 : -1;
	return (x->index > y->index) - (x->index < y->index);
}

static xw_ino count_inums(void *arg, xw_ino id)
{
	*(unsigned *)arg += id != 0;
	return id;
}

/* List the new blocks, except those with values in EA inodes, which are new as well. */
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
		w.key = xw_update_xattr_key(a->u, a->own);
		if (xw_vec_push(&a->wanted, w))
			return xw_fail_nomem(a->u->diag, "blocks of attributes");
	}
	if (a->wanted.n)
		qsort(a->wanted.v, a->wanted.n, sizeof(*a->wanted.v), by_key);
	return 0;
}

/* ---- matching ---- */

/* Find a new block that the block in a->image can replace; NULL: none. */
static struct xw_share_block *match(const struct adopt *a, uint32_t refcount)
{
	const struct xw_share *share = a->u->place.share;
	const uint64_t key = xw_update_xattr_key(a->u, a->image);
	size_t at = XW_LOWER_BOUND(i, a->wanted.n, a->wanted.v[i].key >= key);

	for (; at < a->wanted.n && a->wanted.v[at].key == key; at++) {
		struct xw_share_block *s = a->wanted.v[at].s;

		if (s->blk || s->refcount + refcount > XW_XATTR_REFCOUNT_MAX)
			continue;
		xw_share_expand(share, s, a->own);
		if (!memcmp(a->own + XW_XATTR_BHDR, a->image + XW_XATTR_BHDR,
			    a->u->img->block_size - XW_XATTR_BHDR))
			return s;
	}
	return NULL;
}

/* Examine the next block. A damaged, free or unreadable block is not shared. */
static int consider(struct adopt *a)
{
	struct xw_xattr_bhdr h;
	struct xw_share_block *s;
	const xw_blk blk = xw_update_next_xattrs(a->u, &a->found, a->image, &h);

	s = blk ? match(a, h.refcount) : NULL;
	if (!s || !xw_update_uses_block(a->u, blk))
		return 0;
	s->blk = blk;
	a->left--;
	a->u->place.counts.xattr_refs += s->refcount;
	return xw_update_recount_xattrs(a->u, blk, a->image, h.refcount + s->refcount);
}

int xw_update_reuse_xattrs(struct xw_update *u)
{
	auto_free uint8_t *image = malloc(u->img->block_size);
	auto_free uint8_t *own = malloc(u->img->block_size);
	auto_end(free_adopt) struct adopt a = {.u = u, .image = image, .own = own};
	uint64_t more, reads;
	int rc;

	if (u->unchecked || !u->place.share)
		return 0;
	rc = image && own ? list_wanted(&a) : xw_fail_nomem(u->diag, "blocks of attributes");
	if (rc || !a.wanted.n)
		return rc;
	more = a.left = a.wanted.n;
	reads = XW_UPDATE_XATTR_READS + more * XW_UPDATE_XATTR_READS_MORE;
	rc = xw_update_list_xattrs(u, XW_UPDATE_XATTR_INODES + more * XW_UPDATE_XATTR_INODES_MORE,
				   &a.found);
	for (; a.found.next < a.found.a.n && a.left && reads && !rc; reads--)
		rc = consider(&a);
	xw_image_drop_cache(u->img);
	return rc;
}
