// SPDX-License-Identifier: MIT
/*
 * Directories whose entries are in their inode: i_block holds the parent's number and entries, the
 * attribute system.data holds more of them. They have no "." and "..".
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/endian.h"
#include "phases/dirs.h"
#include "walk/xattr.h"

enum { PARENT_BYTES = 4 };

/* Find the entry of system.data: its offset relative to `first`. */
static bool find_value(const struct fsck *f, const struct xw_inode *in, const uint8_t *raw,
		       size_t *first, size_t *at, struct xw_xattr_entry *e)
{
	const unsigned begin = xw_inode_xattr_off(in, &f->img->sb);
	struct xw_walk_xattr_item item;
	struct xw_walk_xattr it;

	*first = begin + XW_XATTR_IHDR;
	if (!begin || *first >= f->img->inode_size || peek32(raw + begin) != XW_XATTR_MAGIC)
		return false;
	xw_walk_xattr_inode(&it, raw + begin, f->img->inode_size - begin);
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

int fsck_dir_inline(struct fsck_dirscan *s, uint32_t i)
{
	struct fsck *f = s->f;
	struct fsck_dir *d = &f->dirs.v[i];
	auto_free uint8_t *raw = malloc(f->img->inode_size);
	struct fsck_area a;
	struct xw_inode in;
	bool dirty;
	uint32_t len;
	size_t off;
	int rc;

	if (!raw)
		return xw_fail_nomem(&f->diag, "directory");
	rc = fsck_inode_read(f, d->ino, &in, raw);
	if (rc)
		return rc;
	s->d = NULL;
	fsck_dir_enter(s, i);
	s->hashed = false;
	d->dotdot = peek32(in.block);
	a = (struct fsck_area){.data = in.block + PARENT_BYTES,
			       .size = sizeof(in.block) - PARENT_BYTES};
	fsck_dir_area(s, &a);
	dirty = s->dirty;
	off = fsck_inline_value(f, &in, raw, &len);
	if (len) {
		a = (struct fsck_area){.data = raw + off, .size = len};
		fsck_dir_area(s, &a);
		dirty |= s->dirty;
		fsck_inline_seal(f, &in, raw);
	}
	return dirty ? fsck_inode_write(f, d->ino, &in, raw) : 0;
}
