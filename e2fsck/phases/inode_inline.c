// SPDX-License-Identifier: MIT
/*
 * Restores a lost INLINE_DATA flag. The attribute system.data exists only with inline contents:
 * Linux removes it when the contents move to blocks. So the attribute proves the flag if i_size,
 * i_blocks and the contents of i_block agree with it.
 */
#include "config.h"

#include <string.h>

#include "base/bytes.h"
#include "phases/dirs.h"
#include "phases/inodes.h"

/* Does i_blocks include blocks other than those of attributes? */
static bool has_blocks(const struct fsck_look *l)
{
	const struct xw_super *sb = &l->f->ses.img->sb;
	const uint64_t cluster512 = (uint64_t)l->f->ses.img->block_size / 512
				    << xw_image_cluster_bits(l->f->ses.img);

	return !(sb->feature_incompat & XW_INCOMPAT_EA_INODE) &&
	       xw_inode_fs_blocks_512(&l->in, sb) > (l->in.file_acl ? cluster512 : 0);
}

/* Is i_size that of inline contents of which system.data holds `len` bytes? */
static bool has_inline_size(const struct fsck_look *l, uint32_t len)
{
	const size_t head = sizeof(l->in.block), size = (size_t)XW_MIN(l->in.size, head);

	return l->in.size == head + len ||
	       (l->in.size < head && !len && xw_all_zero(l->in.block + size, head - size));
}

/* Do a parent and entries fill i_block and the attribute? */
static bool has_entries(const struct fsck_look *l, size_t off, uint32_t len)
{
	const struct xw_super *sb = &l->f->ses.img->sb;
	const xw_ino parent = xw_dir_inline_parent(l->in.block);

	return parent && parent <= sb->inodes_count &&
	       fsck_are_entries(sb, l->in.block + 4, sizeof(l->in.block) - 4) &&
	       (!len || fsck_are_entries(sb, l->raw + off, len));
}

void fsck_look_inline_flag(struct fsck_look *l)
{
	const struct xw_super *sb = &l->f->ses.img->sb;
	const uint16_t type = l->in.mode & XW_S_IFMT;
	struct xw_extent_hdr h;
	uint32_t len;
	size_t off;

	if (l->in.flags & XW_FL_INLINE_DATA || !(sb->feature_incompat & XW_INCOMPAT_INLINE_DATA) ||
	    (l->ino != XW_INO_ROOT && l->ino < sb->first_ino) || has_blocks(l) ||
	    !xw_extent_hdr_decode(l->in.block, sizeof(l->in.block), &h))
		return;
	off = fsck_inline_value(l->f, &l->in, l->raw, &len);
	if (!off)
		return;
	/* The entries of a directory prove the flag even if i_size is damaged. */
	if (type == XW_S_IFDIR
		    ? !has_entries(l, off, len)
		    : (type != XW_S_IFREG && type != XW_S_IFLNK) || !has_inline_size(l, len))
		return;
	if (!LOOK_REPAIR(l, INLINE_FLAG) && l->f->opts.mode != FSCK_NO)
		return;
	l->in.flags |= XW_FL_INLINE_DATA;
	l->in.flags &= ~XW_FL_EXTENTS;
}
