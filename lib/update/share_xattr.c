// SPDX-License-Identifier: MIT
/*
 * Sharing of xattr blocks by single changes. The cache holds the xattr blocks of the image by
 * content: it is seeded when the first block is needed, and is bounded (xattr/cache.h), so that a
 * block may be missed and written once more.
 *
 * Invariant: a block in the cache is referenced by an inode. Who frees one, or changes bitmaps by
 * other means, removes it (xw_update_share_put(), xw_update_share_forget()). Contents and refcount
 * are read from the block itself whenever a reference is taken.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "update/update_internal.h"
#include "update/xattrs.h"
#include "xattr/cache.h"

void xw_update_share_forget(struct xw_update *u)
{
	xw_cache_free(u->xattrs);
	u->xattrs = NULL;
}

int xw_update_share_add(struct xw_update *u, const uint8_t *buf, xw_blk blk)
{
	const int rc = xw_cache_insert(u->xattrs, xw_update_xattr_key(u, buf), blk, true);

	return rc == XW_ERR_NOMEM ? xw_fail_nomem(u->diag, "blocks of attributes") : 0;
}

static int seed(struct xw_update *u)
{
	auto_free uint8_t *buf = malloc(u->img->block_size);
	struct xw_update_blks found = {0};
	struct xw_xattr_bhdr h;
	int rc;

	u->xattrs = xw_cache_new(0, XW_CACHE_BUILD);
	if (!buf || !u->xattrs)
		return xw_fail_nomem(u->diag, "blocks of attributes");
	rc = xw_update_list_xattrs(u, &found);
	for (size_t i = found.a.n; i-- > 0 && !rc;)
		if (xw_update_read_xattrs(u, found.a.v[i], buf, &h))
			rc = xw_cache_insert(u->xattrs, xw_update_xattr_key(u, buf), found.a.v[i],
					     h.refcount < XW_XATTR_REFCOUNT_MAX);
	xw_vec_free(&found.a);
	return rc;
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
		rc = seed(u);
	if (rc || !xw_cache_find(u->xattrs, key, same, &w, &value))
		return rc;
	*blk = value;
	if (w.h.refcount + 1 == XW_XATTR_REFCOUNT_MAX)
		xw_cache_set_reusable(u->xattrs, key, value, false);
	return xw_update_write_xattrs(u, value, block, w.h.refcount + 1);
}

void xw_update_share_put(struct xw_update *u, const uint8_t *buf, xw_blk blk, uint32_t refcount)
{
	if (!u->xattrs)
		return;
	if (refcount)
		xw_cache_set_reusable(u->xattrs, xw_update_xattr_key(u, buf), blk, true);
	else
		xw_cache_remove(u->xattrs, xw_update_xattr_key(u, buf), blk);
}
