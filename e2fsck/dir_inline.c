// SPDX-License-Identifier: MIT
/*
 * Directories whose entries are in their inode: i_block holds the parent's number and entries, the
 * attribute system.data holds more of them. There is no "." and no "..".
 */
#include "config.h"

#include <string.h>

#include "base/endian.h"
#include "dirs.h"
#include "disk/xattrblk.h"

enum { PARENT_BYTES = 4, RAW_MAX = 4096 };

size_t fsck_inline_value(const struct fsck *f, const struct xw_inode *in, const uint8_t *raw,
			 uint32_t *len)
{
	const unsigned begin = xw_inode_xattr_off(in, &f->img->sb);
	const size_t first = begin + XW_XATTR_IHDR;
	size_t size, off = 0, next;
	struct xw_xattr_entry e;

	*len = 0;
	if (!begin || first >= f->img->inode_size || peek32(raw + begin) != XW_XATTR_MAGIC)
		return 0;
	size = f->img->inode_size - first;
	while (!xw_xattr_entry_decode(raw + first, size, off, 0, &e, &next) && next) {
		if (e.name_index == XW_XI_SYSTEM && e.name_len == 4 && !e.value_inum &&
		    !memcmp(e.name, "data", 4)) {
			*len = e.value_size;
			return first + e.value_offs;
		}
		off = next;
	}
	return 0;
}

int fsck_dir_inline(struct fsck_dirscan *s, uint32_t i)
{
	struct fsck *f = s->f;
	struct fsck_dir *d = &f->dirs.v[i];
	uint8_t raw[RAW_MAX];
	struct fsck_area a;
	struct xw_inode in;
	bool dirty;
	uint32_t len;
	size_t off;
	int rc;

	if (f->img->inode_size > sizeof(raw))
		return 0;
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
	}
	return dirty ? fsck_inode_write(f, d->ino, &in, raw) : 0;
}
