// SPDX-License-Identifier: MIT
/* system.data, the attribute with the second part of inline data. */
#include "config.h"

#include <string.h>

#include "walk/xattr.h"
#include "facts/facts.h"

/* Find the entry of system.data: its offset relative to `first`. */
static bool find_value(const struct fsck *f, const struct xw_inode *in, const uint8_t *raw,
		       size_t *first, size_t *at, struct xw_xattr_entry *e)
{
	const unsigned begin = xw_inode_xattr_off(in, &f->ses.img->sb);
	struct xw_walk_xattr_item item;
	struct xw_walk_xattr it;

	*first = begin + XW_XATTR_IHDR;
	if (!begin || *first >= f->ses.img->inode_size ||
	    xw_xattr_magic(raw + begin) != XW_XATTR_MAGIC)
		return false;
	xw_walk_xattr_inode(&it, raw + begin, f->ses.img->inode_size - begin);
	while (xw_walk_xattr_next(&it, &item) && item.rule != XW_XATTR_BAD_ENTRY) {
		*e = item.e;
		*at = item.off - XW_XATTR_IHDR;
		if (e->name_index == XW_XI_SYSTEM && e->name_len == 4 && !e->value_inum &&
		    !memcmp(e->name, "data", 4))
			return item.rule != XW_XATTR_BAD_VALUE && item.rule != XW_XATTR_BAD_SIZE;
	}
	return false;
}

size_t fsck_inline_value(const struct fsck *f, const struct xw_inode *in, const uint8_t *raw,
			 uint32_t *len)
{
	struct xw_xattr_entry e;
	size_t first, at;

	*len = 0;
	if (!find_value(f, in, raw, &first, &at, &e))
		return 0;
	*len = e.value_size;
	return first + e.value_offs;
}

void fsck_inline_seal(const struct fsck *f, const struct xw_inode *in, uint8_t *raw)
{
	struct xw_xattr_entry e;
	size_t first, at;

	if (!find_value(f, in, raw, &first, &at, &e) || !e.hash)
		return;
	e.hash = xw_xattr_entry_hash("data", 4, raw + first + e.value_offs, e.value_size);
	e.name = "data";
	xw_xattr_entry_encode(raw + first, at, &e);
}

void fsck_inline_cut(const struct fsck *f, const struct xw_inode *in, uint8_t *raw, uint32_t len)
{
	struct xw_xattr_entry e;
	size_t first, at;

	if (!find_value(f, in, raw, &first, &at, &e))
		return;
	e.value_size = len;
	e.name = "data";
	xw_xattr_entry_encode(raw + first, at, &e);
}
