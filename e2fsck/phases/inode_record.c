// SPDX-License-Identifier: MIT
/* Independent fields of a record: mode, times, extra size, high halves. */
#include "config.h"

#include "base/endian.h"
#include "disk/dirent.h"
#include "disk/xattrblk.h"
#include "phases/dirs.h"
#include "facts/hidden.h"
#include "phases/inodes.h"
#include "phases/xattrs.h"

#define OFF_EXTRA_ISIZE 128 /* in the record */
#define HURD 1u

enum { INO_UNDELETE = 6, INO_EXCLUDE = 9, INO_REPLICA = 10 };

static uint16_t type_of(uint16_t mode)
{
	return mode & XW_S_IFMT;
}

static bool is_type(uint16_t mode)
{
	return xw_ftype_of_mode(mode) != XW_FT_UNKNOWN;
}

static bool has_xattrs_at(const struct fsck_look *l, unsigned extra, unsigned room)
{
	return extra && extra + 4 <= room &&
	       peek32(l->raw + XW_INODE_BODY + extra) == XW_XATTR_MAGIC;
}

/* The extra size of a record: up to the start of attributes if there are any, else the default. */
static uint16_t find_extra_isize(const struct fsck_look *l, unsigned room)
{
	for (unsigned extra = 4; extra + 4 <= room; extra += 4)
		if (has_xattrs_at(l, extra, room))
			return (uint16_t)extra;
	return (uint16_t)XW_MIN(room, XW_INODE_EXTRA_WANTED);
}

/* Inline contents are in part an attribute, which must start where the extra size says. */
static void check_extra_isize(struct fsck_look *l)
{
	const struct xw_super *sb = &l->f->img->sb;
	const unsigned room = sb->inode_size - XW_INODE_BODY;
	uint16_t extra, want;

	if (!room)
		return;
	extra = peek16(l->raw + OFF_EXTRA_ISIZE);
	want = find_extra_isize(l, room);
	if (extra % 4 == 0 && extra <= room &&
	    (!(l->in.flags & XW_FL_INLINE_DATA) || has_xattrs_at(l, extra, room) ||
	     !has_xattrs_at(l, want, room)))
		return;
	if (!FSCK_FOUND(l->f, EXTRA_ISIZE, .ino = l->ino, .num = extra, .num2 = want))
		return;
	poke16(l->raw + OFF_EXTRA_ISIZE, want);
	xw_inode_decode(l->raw, sb, &l->in);
	l->dirty = true;
}

/*
 * Some kernels stored times before 1970 with an epoch of 3, which stands for the years from 2310
 * to 2378. An EA inode has other numbers in these fields.
 */
static void check_times(struct fsck_look *l)
{
	struct xw_time *const times[] = {&l->in.atime, &l->in.ctime, &l->in.mtime, &l->in.crtime};

	if (l->in.flags & XW_FL_EA_INODE || !xw_inode_has_late_time(&l->in) ||
	    !FSCK_FOUND(l->f, TIME_RANGE, .ino = l->ino))
		return;
	for (size_t i = 0; i < XW_ARRAY_SIZE(times); i++)
		if (xw_time_is_late(times[i]))
			times[i]->sec = (int32_t)(uint32_t)times[i]->sec;
	l->dirty = true;
}

/* High halves that are stored but have no meaning. */
static void check_strays(struct fsck_look *l)
{
	struct xw_inode *in = &l->in;
	struct fsck *f = l->f;

	if (f->img->sb.creator_os == HURD)
		return;
	if (in->faddr && FSCK_FOUND(f, FADDR, .ino = l->ino, .num = in->faddr)) {
		in->faddr = 0;
		l->dirty = true;
	}
	if (in->stray_acl_hi && FSCK_FOUND(f, ACL_HIGH, .ino = l->ino, .num = in->stray_acl_hi)) {
		in->stray_acl_hi = 0;
		l->dirty = true;
	}
	if (in->stray_blocks_hi &&
	    FSCK_FOUND(f, BLOCKS_HIGH, .ino = l->ino, .num = in->stray_blocks_hi)) {
		in->stray_blocks_hi = 0;
		l->dirty = true;
	}
	if (in->stray_size_hi && (l->ino == XW_INO_ROOT || l->ino >= f->img->sb.first_ino) &&
	    FSCK_FOUND(f, SIZE_HIGH, .ino = l->ino, .num = in->stray_size_hi)) {
		in->stray_size_hi = 0;
		l->dirty = true;
	}
}

static bool may_be_parent(const struct xw_super *sb, xw_ino ino)
{
	return ino <= sb->inodes_count && (ino == XW_INO_ROOT || ino >= sb->first_ino);
}

/* Do i_block and system.data hold a parent and entries that fill both exactly? */
static bool looks_like_inline_directory(const struct fsck_look *l)
{
	const struct xw_super *sb = &l->f->img->sb;
	uint32_t len;
	const size_t off = fsck_inline_value(l->f, &l->in, l->raw, &len);

	return may_be_parent(sb, peek32(l->in.block)) &&
	       fsck_are_entries(sb, l->in.block + 4, sizeof(l->in.block) - 4) &&
	       fsck_are_entries(sb, l->raw + off, len);
}

/* The start of the first block; false: there is none, or it cannot be read. */
static bool first_block(struct fsck_look *l, uint8_t *head, size_t size)
{
	struct xw_walk_map_item item;
	int more = 0;

	if (xw_walk_map_begin(&l->walk, l->ino, &l->in, -1))
		return false;
	while ((more = xw_walk_map_next(&l->walk, &item)) > 0)
		if (more == 1 && item.kind == XW_WALK_RUN)
			break;
	return more == 1 && !item.lblk &&
	       !xw_dev_pread(l->f->dev, head, size, item.pblk * l->f->img->block_size);
}

/* Does the first block of the map start like a directory with this inode number? */
static bool looks_like_directory(struct fsck_look *l)
{
	uint8_t head[12];

	if (l->in.flags & XW_FL_INLINE_DATA)
		return looks_like_inline_directory(l);
	return first_block(l, head, sizeof(head)) && peek32(head) == l->ino &&
	       peek16(head + 4) == 12 && head[6] == 1 && head[8] == '.';
}

/* Does the first block begin neither with any part of "." and ".." nor with zeros? */
static bool starts_like_file(struct fsck_look *l)
{
	uint8_t head[24];

	if (!first_block(l, head, sizeof(head)) || !(peek32(head) | peek32(head + 4)))
		return false;
	return peek32(head) != l->ino && peek16(head + 4) != 12 && head[6] != 1 && head[8] != '.' &&
	       head[18] != 2 && head[20] != '.';
}

/* A link count cannot tell more than 65,000; only indexed directories may have as many. */
static bool may_have_one_link(const struct fsck_look *l)
{
	return l->in.flags & XW_FL_INDEX && l->in.size / XW_DIRENT_HDR >= XW_LINK_MAX;
}

/*
 * No directory has such a link count or size. If the first block is not that of a directory either,
 * the inode is a file.
 */
static bool holds_file(struct fsck_look *l)
{
	const struct xw_super *sb = &l->f->img->sb;
	const uint8_t *const block = l->in.block;
	const bool is_inline = l->in.flags & XW_FL_INLINE_DATA;
	const bool odd =
		is_inline ? l->in.size < sizeof(l->in.block) : l->in.size % l->f->img->block_size;

	if (type_of(l->in.mode) != XW_S_IFDIR || l->ino < sb->first_ino ||
	    (!odd && (l->in.links != 1 || may_have_one_link(l))))
		return false;
	if (!l->in.size && !is_inline)
		return !l->in.blocks;
	if (is_inline)
		return may_be_parent(sb, peek32(block)) + fsck_may_be_entry(sb, block + 4) <= odd;
	return starts_like_file(l);
}

/* True: a file whose damaged mode says directory. */
static bool check_file_mode(struct fsck_look *l)
{
	bool fix;

	if (!holds_file(l))
		return false;
	fix = FSCK_FOUND(l->f, MODE_FILE, .ino = l->ino, .num = l->in.mode);
	l->dirty |= fix;
	if (fix || l->f->opts.mode == FSCK_NO)
		l->in.mode = (uint16_t)(XW_S_IFREG | (l->in.mode & 07777));
	return true;
}

/*
 * A device, fifo, socket or symlink with a size and blocks may be a directory. So may a file that
 * has the index flag and more than one link; for other files see dir_mode.c.
 */
static bool may_be_directory(struct fsck_look *l)
{
	switch (type_of(l->in.mode)) {
	case XW_S_IFREG:
		return l->in.flags & XW_FL_INDEX && l->in.links > 1 && l->in.size &&
		       l->in.size % l->f->img->block_size == 0 && looks_like_directory(l);
	case XW_S_IFCHR:
	case XW_S_IFBLK:
	case XW_S_IFIFO:
	case XW_S_IFSOCK:
	case XW_S_IFLNK:
		return l->in.size && (l->in.blocks || l->in.flags & XW_FL_INLINE_DATA) &&
		       looks_like_directory(l);
	default:
		return false;
	}
}

/* True: the contents are those of a file or symlink; *mode is a fitting mode. */
static bool has_other_contents(struct fsck_look *l, uint16_t *mode)
{
	*mode = 0;
	return l->ino != XW_INO_ROOT && !may_be_directory(l) &&
	       (is_type(l->in.mode) || !looks_like_directory(l)) && fsck_look_contents(l, mode);
}

/* True: a mode that contradicts the contents. */
static bool check_contents(struct fsck_look *l)
{
	uint16_t mode;
	bool fix;

	if (!has_other_contents(l, &mode))
		return false;
	if (type_of(mode) == XW_S_IFLNK)
		fix = FSCK_FOUND(l->f, MODE_LINK, .ino = l->ino, .num = l->in.mode);
	else
		fix = FSCK_FOUND(l->f, MODE_DATA, .ino = l->ino, .num = l->in.mode);
	l->dirty |= fix;
	if (fix || l->f->opts.mode == FSCK_NO)
		l->in.mode = mode;
	return true;
}

static void check_mode(struct fsck_look *l)
{
	struct fsck *f = l->f;
	const bool is_root = l->ino == XW_INO_ROOT;

	if (check_contents(l))
		return;
	if (is_root ? type_of(l->in.mode) == XW_S_IFDIR
		    : is_type(l->in.mode) && !may_be_directory(l))
		return;
	if (looks_like_directory(l)) {
		const bool fix = FSCK_FOUND(f, MODE_DIR, .ino = l->ino, .num = l->in.mode);

		l->dirty |= fix;
		if (fix || f->opts.mode ==
				   FSCK_NO) /* later checks would report consequences of the mode */
			l->in.mode = (uint16_t)(XW_S_IFDIR | (l->in.mode & 07777));
	} else if (FSCK_FOUND(f, MODE, .ino = l->ino, .num = l->in.mode)) {
		l->clear = true;
	}
}

/* Quota files that the filesystem does not use. */
static void check_quota_inode(struct fsck_look *l)
{
	if ((l->ino == XW_INO_USR_QUOTA || l->ino == XW_INO_GRP_QUOTA) &&
	    !(l->f->img->sb.feature_ro_compat & XW_RO_QUOTA) &&
	    (peek32(l->in.block) || l->in.blocks) && FSCK_FOUND(l->f, QUOTA_STRAY, .ino = l->ino))
		l->clear = true;
}

/*
 * A quota file is known by its number and contents: a damaged mode does not cost its limits. True:
 * it is one whose mode was damaged.
 */
static bool check_quota_mode(struct fsck_look *l)
{
	bool fix;

	if (type_of(l->in.mode) == XW_S_IFREG || !fsck_is_quota_file(l->f, l->ino, &l->in))
		return false;
	fix = FSCK_FOUND(l->f, QUOTA_MODE, .ino = l->ino, .num = l->in.mode);
	l->dirty |= fix;
	if (fix || l->f->opts.mode == FSCK_NO) /* -n does not report what follows from the mode */
		l->in.mode = XW_S_IFREG | 0600;
	return true;
}

/* The same for an EA inode, identified by the hash of its value. */
static bool check_ea_mode(struct fsck_look *l)
{
	bool fix;

	if (type_of(l->in.mode) == XW_S_IFREG || l->ino < l->f->img->sb.first_ino ||
	    !fsck_is_ea_inode(l->f, l->ino, &l->in))
		return false;
	fix = FSCK_FOUND(l->f, EA_INODE_MODE, .ino = l->ino, .num = l->in.mode);
	l->dirty |= fix;
	if (fix || l->f->opts.mode == FSCK_NO)
		l->in.mode = XW_S_IFREG | 0600;
	return true;
}

/* Numbers that are reserved but were never used. */
static bool is_unused(xw_ino ino)
{
	return ino == INO_UNDELETE || ino == INO_EXCLUDE || ino == INO_REPLICA;
}

/* Reserved numbers: unused ones must be empty. */
static void check_reserved_mode(struct fsck_look *l)
{
	if (!l->in.mode || (type_of(l->in.mode) == XW_S_IFREG && !is_unused(l->ino)))
		return;
	if (FSCK_FOUND(l->f, RESERVED_MODE, .ino = l->ino, .num = l->in.mode))
		l->clear = true;
}

/* Reserved inodes without links are in use as well, and never in the orphan list. */
static void check_dtime(struct fsck_look *l)
{
	const struct xw_super *sb = &l->f->img->sb;
	bool fix = false;

	if (l->in.dtime && l->in.links)
		fix = FSCK_FOUND(l->f, DTIME_SET, .ino = l->ino);
	else if (l->ino < sb->first_ino && xw_inode_dtime_is_link(l->in.dtime, sb))
		fix = FSCK_FOUND(l->f, ORPHAN_LINK, .ino = l->ino, .num = l->in.dtime);
	if (fix) {
		l->in.dtime = 0;
		l->dirty = true;
	}
}

int fsck_look_record(struct fsck_look *l)
{
	struct fsck *f = l->f;
	const struct xw_super *sb = &f->img->sb;

	if (l->wrong_sum && FSCK_FOUND(f, INODE_CSUM, .ino = l->ino))
		l->dirty = true;
	f->values_doubted |= l->wrong_sum && l->in.flags & XW_FL_EA_INODE;
	check_extra_isize(l);
	check_dtime(l);
	check_times(l);
	if (!check_quota_mode(l) && !check_ea_mode(l) && !check_file_mode(l)) {
		if (l->ino == XW_INO_ROOT || l->ino >= sb->first_ino)
			check_mode(l);
		else
			check_reserved_mode(l);
	}
	check_quota_inode(l);
	l->type = type_of(l->in.mode);
	check_strays(l);
	return 0;
}
