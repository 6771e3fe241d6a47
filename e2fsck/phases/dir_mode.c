// SPDX-License-Identifier: MIT
/*
 * Restores the mode of a directory whose damaged mode says regular file. A file may hold a copy of
 * a directory block, so all of this is required: the entry has the type of a directory, "." and
 * ".." in the first block refer to the inode and to the directory with the entry, and the link
 * count is at least 2.
 */
#include "config.h"

#include <stdlib.h>

#include "base/auto.h"
#include "phases/dirs.h"
#include "read/map.h"

enum { DOT_SIZE = 12, PERMISSIONS = 07777 };

/* Does the block begin with "." and ".." of this directory, and do entries fill the rest? */
static bool is_first_block(const uint8_t *block, uint32_t bs, xw_ino ino, xw_ino parent)
{
	struct xw_dirent e;
	uint32_t at;

	if (xw_dirent_decode(block, bs, 0, &e) || e.ino != ino || e.rec_len != DOT_SIZE ||
	    e.name_len != 1 || e.name[0] != '.' || xw_dirent_decode(block, bs, DOT_SIZE, &e) ||
	    e.ino != parent || e.name_len != 2 || e.name[0] != '.' || e.name[1] != '.')
		return false;
	for (at = DOT_SIZE + e.rec_len; at < bs; at += e.rec_len)
		if (xw_dirent_decode(block, bs, at, &e) || e.rec_len < XW_DIRENT_HDR)
			return false;
	return at == bs;
}

static bool has_first_block(struct fsck *f, xw_ino ino, const struct xw_inode *in, xw_ino parent)
{
	const uint32_t bs = f->ses.img->block_size;
	struct xw_diag *const diag = f->ses.img->diag;
	auto_free uint8_t *block = malloc(bs);
	struct xw_map_run run = {0};
	bool has;

	if (!block || !in->size || in->size % bs)
		return false;
	f->ses.img->diag = NULL;
	has = !xw_map_lookup(f->ses.img, ino, in, 0, &run) && run.len && !run.unwritten &&
	      !fsck_read(f, run.pblk, 1, block) && is_first_block(block, bs, ino, parent);
	f->ses.img->diag = diag;
	xw_diag_clear(&f->ses.diag);
	return has;
}

/* Does the inode hold the parent's number and entries that fill i_block and the attribute? */
static bool has_inline_entries(const struct fsck *f, const struct xw_inode *in, const uint8_t *raw,
			       xw_ino parent)
{
	uint32_t len;
	const size_t off = fsck_inline_value(f, in, raw, &len);

	return xw_dir_inline_parent(in->block) == parent && in->size == sizeof(in->block) + len &&
	       fsck_are_entries(&f->ses.img->sb, in->block + 4, sizeof(in->block) - 4) &&
	       fsck_are_entries(&f->ses.img->sb, raw + off, len);
}

bool fsck_dir_restore(struct fsck *f, xw_ino ino, xw_ino parent, bool *wanted)
{
	auto_free uint8_t *raw = malloc(f->ses.img->inode_size);
	const struct fsck_inode *facts = fsck_inode(f, ino);
	struct xw_inode in;

	*wanted = false;
	if (!raw || facts->ftype != XW_FT_REG || facts->links < 2 ||
	    ino < f->ses.img->sb.first_ino || fsck_inode_read(f, ino, &in, raw))
		return false;
	*wanted = in.flags & XW_FL_INLINE_DATA ? has_inline_entries(f, &in, raw, parent)
					       : has_first_block(f, ino, &in, parent);
	if (!*wanted || !FSCK_FOUND(f, MODE_DIR, .ino = ino, .num = in.mode))
		return false;
	in.mode = (uint16_t)(XW_S_IFDIR | (in.mode & PERMISSIONS));
	if (fsck_inode_write(f, ino, &in, raw))
		return false;
	f->round.again = true; /* its entries were not read in this round */
	return true;
}
