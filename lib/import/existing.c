/* SPDX-License-Identifier: MIT */
/* Entries whose names exist in the image: kept, replaced or refused. */
#include "config.h"

#include <string.h>

#include "disk/inode.h"
#include "import/fill.h"

/*
 * Names of the existing image have layer 0 until a source has an entry for the name or one below
 * it.
 */
bool xw_fill_is_protected(const struct xw_fill *f, const struct xw_blink *l)
{
	return f->existing != XW_FILL_REPLACE && l->node->flags & XW_BN_OLD &&
	       (!l->layer || xw_binode_is(l->node, XW_S_IFDIR));
}

int xw_fill_fail_exists(struct xw_fill *f, const struct xw_blink *l)
{
	const struct xw_slice path = xw_slice_trim(f->entry->path);
	const bool own = path.len >= l->len &&
			 !memcmp(path.p + path.len - l->len, l->name, l->len) &&
			 (path.len == l->len || path.p[path.len - l->len - 1] == '/');

	xw_diag_clear(f->diag);
	return xw_fail(f->diag, XW_ERR_EXISTS, "%s: %.*s: %.*s%sexists in the image", f->source,
		       XW_SHOWN(path), own ? 0 : l->len, l->name, own ? "" : " ");
}

int xw_fill_check_existing(struct xw_fill *f, const struct xw_blink *l)
{
	return f->existing == XW_FILL_KEEP ? xw_fill_fail_exists(f, l) : 0;
}

uint32_t xw_fill_type_bits(enum xw_etype t)
{
	static const uint32_t bits[] = {
		[XW_ET_REG] = XW_S_IFREG,   [XW_ET_DIR] = XW_S_IFDIR, [XW_ET_LNK] = XW_S_IFLNK,
		[XW_ET_CHR] = XW_S_IFCHR,   [XW_ET_BLK] = XW_S_IFBLK, [XW_ET_FIFO] = XW_S_IFIFO,
		[XW_ET_SOCK] = XW_S_IFSOCK,
	};

	return bits[t];
}
