// SPDX-License-Identifier: MIT
/*
 * Sharing of xattr blocks by single changes. When the first block is needed, the xattr blocks of
 * the image are listed. The list has no contents, so blocks are read on demand: a set that equals
 * none of the blocks read so far is searched for in the rest. The number of reads is bounded
 * (xattrs.h), so an equal block may be missed, and written once more. No block that was read is
 * evicted.
 *
 * Invariant: a block in the cache or in the list is referenced by an inode. Code that frees such a
 * block, or changes bitmaps directly, must remove it (xw_update_share_put(),
 * xw_update_share_forget()). Contents and refcount are read from the block itself whenever a
 * reference is taken.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/search.h"
#include "update/update_internal.h"
#include "update/xattrs.h"
#include "xattr/cache.h"

struct xw_update_shared {
	struct xw_cache *read; /* all blocks that were read, and as many new ones as fit */
	struct xw_update_blks unread;
	uint64_t reads; /* number of blocks that may be read so far */
};

void xw_update_share_forget(struct xw_update *u)
{
	if (!u->xattrs)
		return;
	xw_cache_free(u->xattrs->read);
	xw_vec_free(&u->xattrs->unread.a);
	free(u->xattrs);
	u->xattrs = NULL;
}

int xw_update_share_add(struct xw_update *u, const uint8_t *buf, xw_blk blk)
{
	const int rc = xw_cache_insert(u->xattrs->read, xw_update_xattr_key(u, buf), blk, true);

	return rc == XW_ERR_NOMEM ? xw_fail_nomem(u->diag, "blocks of attributes") : 0;
}

static int begin(struct xw_update *u)
{
	struct xw_update_shared *x = calloc(1, sizeof(*x));
	uint32_t buckets = XW_CACHE_BUCKETS;
	int rc;

	if (!x)
		return xw_fail_nomem(u->diag, "blocks of attributes");
	u->xattrs = x;
	x->reads = XW_UPDATE_XATTR_READS;
	rc = xw_update_list_xattrs(u, XW_UPDATE_XATTR_INODES, &x->unread);
	if (rc)
		return rc;
	while ((uint64_t)buckets * XW_CACHE_PER_BUCKET < 2 * x->unread.a.n)
		buckets *= 2;
	x->read = xw_cache_new(buckets, XW_CACHE_BUILD);
	return x->read ? 0 : xw_fail_nomem(u->diag, "blocks of attributes");
}

struct want {
	struct xw_update *u;
	const uint8_t *buf; /* the entries */
	uint8_t *block; /* the existing block */
	struct xw_xattr_bhdr h; /* its header */
};

static bool same(void *arg, uint64_t blk)
{
	struct want *w = arg;

	return xw_update_read_xattrs(w->u, blk, w->block, &w->h) &&
	       w->h.refcount < XW_XATTR_REFCOUNT_MAX &&
	       !memcmp(w->block + XW_XATTR_BHDR, w->buf + XW_XATTR_BHDR,
		       w->u->img->block_size - XW_XATTR_BHDR) &&
	       xw_update_uses_block(w->u, blk);
}

/* None of the blocks read so far is equal: read on until one is. 1, 0 or an error. */
static int read_more(struct want *w, uint64_t key, uint64_t *value)
{
	struct xw_update_shared *x = w->u->xattrs;
	int rc;

	for (; x->reads && x->unread.next < x->unread.a.n; x->reads--) {
		const xw_blk blk = xw_update_next_xattrs(w->u, &x->unread, w->block, &w->h);
		const uint64_t found = blk ? xw_update_xattr_key(w->u, w->block) : 0;

		if (!blk)
			continue;
		rc = xw_cache_insert(x->read, found, blk, w->h.refcount < XW_XATTR_REFCOUNT_MAX);
		if (rc == XW_ERR_NOMEM)
			return xw_fail_nomem(w->u->diag, "blocks of attributes");
		if (found == key && same(w, blk)) {
			*value = blk;
			return 1;
		}
	}
	x->reads += XW_UPDATE_XATTR_READS_MORE;
	return 0;
}

int xw_update_share_xattr(struct xw_update *u, const uint8_t *buf, xw_blk *blk)
{
	auto_free uint8_t *block = malloc(u->img->block_size);
	const uint64_t key = xw_update_xattr_key(u, buf);
	struct want w = {.u = u, .buf = buf, .block = block};
	uint64_t value;
	int rc = 0;

	*blk = 0;
	if (!block)
		return xw_fail_nomem(u->diag, "attribute block");
	if (!u->xattrs)
		rc = begin(u);
	if (rc)
		return rc;
	if (!xw_cache_find(u->xattrs->read, key, same, &w, &value)) {
		rc = read_more(&w, key, &value);
		if (rc <= 0)
			return rc;
	}
	*blk = value;
	if (w.h.refcount + 1 == XW_XATTR_REFCOUNT_MAX)
		xw_cache_set_reusable(u->xattrs->read, key, value, false);
	return xw_update_recount_xattrs(u, value, block, w.h.refcount + 1);
}

void xw_update_share_put(struct xw_update *u, const uint8_t *buf, xw_blk blk, uint32_t refcount)
{
	struct xw_update_blks *list;
	uint64_t key;
	xw_blk *v;
	size_t n, at;

	if (!u->xattrs)
		return;
	key = xw_update_xattr_key(u, buf);
	if (refcount) {
		xw_cache_set_reusable(u->xattrs->read, key, blk, true);
		return;
	}
	xw_cache_remove(u->xattrs->read, key, blk);
	/* a block that was freed before it was read */
	list = &u->xattrs->unread;
	v = list->a.v + list->next;
	n = list->a.n - list->next;
	at = XW_LOWER_BOUND(i, n, (v[i] & ~XW_UPDATE_BLK_FREED) >= blk);
	if (at < n && v[at] == blk)
		v[at] |= XW_UPDATE_BLK_FREED;
}
