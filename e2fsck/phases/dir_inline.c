// SPDX-License-Identifier: MIT
/*
 * Checks directories whose entries are in their inode. i_block holds the parent's inode number and
 * entries, the attribute system.data holds more entries. There are no "." and "..".
 */
#include "config.h"

#include <stdlib.h>

#include "base/auto.h"
#include "phases/dirs.h"

enum { PARENT_BYTES = 4 };

/* The length of an entry is a multiple of 4 bytes: cut off the rest of the value. */
static uint32_t round_value(struct fsck *f, xw_ino ino, const struct xw_inode *in, uint8_t *raw,
			    uint32_t len)
{
	const uint32_t cut = len < XW_DIRENT_HDR + 4 ? 0 : len & ~3u;

	if (len % 4 == 0 || !FSCK_FOUND(f, DIR_INLINE_SIZE, .ino = ino, .num = in->size))
		return len;
	fsck_inline_cut(f, in, raw, cut);
	return cut;
}

int fsck_dir_inline(struct fsck_dirscan *s, uint32_t i)
{
	struct fsck *f = s->f;
	struct fsck_dir *d = &f->facts.dirs.v[i];
	auto_free uint8_t *raw = NULL;
	struct fsck_area a;
	struct xw_inode in;
	bool dirty;
	uint32_t len, had;
	size_t off;
	const int rc = fsck_inode_load(f, d->ino, &in, &raw);

	if (rc)
		return rc;
	s->d = NULL;
	fsck_dir_enter(s, i);
	s->hashed = false;
	d->dotdot = xw_dir_inline_parent(in.block);
	a = (struct fsck_area){.data = in.block + PARENT_BYTES,
			       .size = sizeof(in.block) - PARENT_BYTES};
	fsck_dir_area(s, &a);
	dirty = s->dirty;
	off = fsck_inline_value(f, &in, raw, &had);
	len = round_value(f, d->ino, &in, raw, had);
	dirty |= len != had;
	if (len) {
		a = (struct fsck_area){.data = raw + off, .size = len};
		fsck_dir_area(s, &a);
		dirty |= s->dirty;
		fsck_inline_seal(f, &in, raw);
	}
	return dirty ? fsck_inode_write(f, d->ino, &in, raw) : 0;
}
