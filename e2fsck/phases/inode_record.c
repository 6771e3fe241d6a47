// SPDX-License-Identifier: MIT
/* Checks independent fields of a record: mode, times, extra size, high halves. */
#include "config.h"

#include "base/bytes.h"
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

/*
 * Set the mode if `repair`, whose finding was reported. With -n later checks assume the new mode,
 * too: otherwise they would report its consequences.
 */
static void set_mode(struct fsck_look *l, bool repair, uint16_t mode)
{
	if (repair || l->f->opts.mode == FSCK_NO)
		l->in.mode = mode;
}

static uint16_t with_type(const struct fsck_look *l, uint16_t type)
{
	return (uint16_t)(type | (l->in.mode & 07777));
}

static bool has_xattrs_at(const struct fsck_look *l, unsigned extra, unsigned room)
{
	return extra && extra + 4 <= room &&
	       xw_xattr_magic(l->raw + XW_INODE_BODY + extra) == XW_XATTR_MAGIC;
}

/*
 * i_extra_isize ends where attributes start; without attributes it has the default. For inline
 * data a valid size that leads to no attributes is wrong as well.
 */
static void check_extra_isize(struct fsck_look *l)
{
	const struct xw_super *sb = &l->f->ses.img->sb;
	const unsigned room = sb->inode_size - XW_INODE_BODY;
	uint16_t extra, want;

	if (!room)
		return;
	extra = xw_inode_raw_extra(l->raw);
	want = (uint16_t)XW_MIN(room, XW_INODE_EXTRA_WANTED);
	for (unsigned at = 4; at + 4 <= room; at += 4)
		if (has_xattrs_at(l, at, room)) {
			want = (uint16_t)at;
			break;
		}
	if (extra % 4 == 0 && extra <= room &&
	    (!(l->in.flags & XW_FL_INLINE_DATA) || has_xattrs_at(l, extra, room) ||
	     !has_xattrs_at(l, want, room)))
		return;
	if (!LOOK_REPAIR(l, EXTRA_ISIZE, .num = extra, .num2 = want))
		return;
	poke16(l->raw + OFF_EXTRA_ISIZE, want);
	xw_inode_decode(l->raw, sb, &l->in);
}

/*
 * Some kernels stored times before 1970 with epoch bits of 3, which stand for the years from 2310
 * to 2378. In an EA inode these fields hold reference count and hash.
 */
static void check_times(struct fsck_look *l)
{
	struct xw_time *const times[] = {&l->in.atime, &l->in.ctime, &l->in.mtime, &l->in.crtime};

	if (l->in.flags & XW_FL_EA_INODE || !xw_inode_has_late_time(&l->in) ||
	    !LOOK_REPAIR(l, TIME_RANGE))
		return;
	for (size_t i = 0; i < XW_ARRAY_SIZE(times); i++)
		if (xw_time_is_late(times[i]))
			times[i]->sec = (int32_t)(uint32_t)times[i]->sec;
}

/* Clear fields and high halves that have no meaning in this filesystem. */
static void check_strays(struct fsck_look *l)
{
	struct xw_inode *in = &l->in;
	struct fsck *f = l->f;

	if (f->ses.img->sb.creator_os == HURD)
		return;
	if (in->faddr && LOOK_REPAIR(l, FADDR, .num = in->faddr))
		in->faddr = 0;
	if (in->stray_acl_hi && LOOK_REPAIR(l, ACL_HIGH, .num = in->stray_acl_hi))
		in->stray_acl_hi = 0;
	if (in->stray_blocks_hi && LOOK_REPAIR(l, BLOCKS_HIGH, .num = in->stray_blocks_hi))
		in->stray_blocks_hi = 0;
	if (in->stray_size_hi && (l->ino == XW_INO_ROOT || l->ino >= f->ses.img->sb.first_ino) &&
	    LOOK_REPAIR(l, SIZE_HIGH, .num = in->stray_size_hi))
		in->stray_size_hi = 0;
}

static bool may_be_parent(const struct xw_super *sb, xw_ino ino)
{
	return ino <= sb->inodes_count && (ino == XW_INO_ROOT || ino >= sb->first_ino);
}

/* Read the start of block 0 of the map. False: it is a hole or cannot be read. */
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
	       !xw_dev_pread(l->f->ses.dev, head, size, item.pblk * l->f->ses.img->block_size);
}

/*
 * Does the first block of the map start with "." of this inode? Inline: do i_block and system.data
 * hold a parent and entries that fill both exactly?
 */
static bool looks_like_directory(struct fsck_look *l)
{
	const struct xw_super *sb = &l->f->ses.img->sb;
	struct xw_dirent dot;
	uint8_t head[12];
	uint32_t len;
	size_t off;

	if (!(l->in.flags & XW_FL_INLINE_DATA)) {
		if (!first_block(l, head, sizeof(head)) || !xw_dirent_is_dot(head, l->ino))
			return false;
		xw_dirent_peek(head, &dot);
		return dot.rec_len == sizeof(head) && dot.name_len == 1;
	}
	off = fsck_inline_value(l->f, &l->in, l->raw, &len);
	return may_be_parent(sb, xw_dir_inline_parent(l->in.block)) &&
	       fsck_are_entries(sb, l->in.block + 4, sizeof(l->in.block) - 4) &&
	       fsck_are_entries(sb, l->raw + off, len);
}

/* Does the first block have neither any part of "." and ".." nor only zeros at its start? */
static bool starts_like_file(struct fsck_look *l)
{
	struct xw_dirent dot, dotdot;
	uint8_t head[24];

	if (!first_block(l, head, sizeof(head)) || xw_all_zero(head, XW_DIRENT_HDR))
		return false;
	xw_dirent_peek(head, &dot);
	xw_dirent_peek(head + 12, &dotdot);
	return dot.ino != l->ino && dot.rec_len != 12 && dot.name_len != 1 && dot.name[0] != '.' &&
	       dotdot.name_len != 2 && dotdot.name[0] != '.';
}

/*
 * Is it a file although the mode says directory? Its link count or size is impossible for a
 * directory, and the first block is not that of a directory either.
 */
static bool holds_file(struct fsck_look *l)
{
	const struct xw_super *sb = &l->f->ses.img->sb;
	const uint8_t *const block = l->in.block;
	const bool is_inline = l->in.flags & XW_FL_INLINE_DATA;
	const bool odd = is_inline ? l->in.size < sizeof(l->in.block)
				   : l->in.size % l->f->ses.img->block_size;
	/* One link stands for more than 65,000, which only an indexed directory can have. */
	const bool may_have_one_link =
		l->in.flags & XW_FL_INDEX && l->in.size / XW_DIRENT_HDR >= XW_LINK_MAX;

	if (type_of(l->in.mode) != XW_S_IFDIR || l->ino < sb->first_ino ||
	    (!odd && (l->in.links != 1 || may_have_one_link)))
		return false;
	if (!l->in.size && !is_inline)
		return !l->in.blocks;
	if (is_inline)
		return may_be_parent(sb, xw_dir_inline_parent(block)) +
			       fsck_may_be_entry(sb, block + 4) <=
		       odd;
	return starts_like_file(l);
}

/*
 * May it be a directory? A device, fifo, socket or symlink must have a size and blocks, a file the
 * index flag and more than one link. For other files see dir_mode.c.
 */
static bool may_be_directory(struct fsck_look *l)
{
	switch (type_of(l->in.mode)) {
	case XW_S_IFREG:
		return l->in.flags & XW_FL_INDEX && l->in.links > 1 && l->in.size &&
		       l->in.size % l->f->ses.img->block_size == 0 && looks_like_directory(l);
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

/* Check the mode of the root directory or of an inode that is not reserved. */
static void check_mode(struct fsck_look *l)
{
	const bool is_root = l->ino == XW_INO_ROOT;
	const bool has_type = xw_ftype_of_mode(l->in.mode) != XW_FT_UNKNOWN;
	uint16_t mode = 0;

	if (!is_root && !may_be_directory(l) && (has_type || !looks_like_directory(l)) &&
	    fsck_look_contents(l, &mode))
		set_mode(l,
			 type_of(mode) == XW_S_IFLNK ? LOOK_REPAIR(l, MODE_LINK, .num = l->in.mode)
						     : LOOK_REPAIR(l, MODE_DATA, .num = l->in.mode),
			 mode);
	else if (is_root ? type_of(l->in.mode) == XW_S_IFDIR : has_type && !may_be_directory(l))
		return;
	else if (looks_like_directory(l))
		set_mode(l, LOOK_REPAIR(l, MODE_DIR, .num = l->in.mode), with_type(l, XW_S_IFDIR));
	else
		l->clear |= LOOK_FOUND(l, MODE, .num = l->in.mode);
}

/* Check the mode of a reserved inode: a regular file, or 0 for numbers that were never used. */
static void check_reserved_mode(struct fsck_look *l)
{
	const bool unused =
		l->ino == INO_UNDELETE || l->ino == INO_EXCLUDE || l->ino == INO_REPLICA;

	if (l->in.mode && (type_of(l->in.mode) != XW_S_IFREG || unused))
		l->clear |= LOOK_FOUND(l, RESERVED_MODE, .num = l->in.mode);
}

/*
 * Check the mode. Quota files are known by inode number and contents, EA inodes by the hash of
 * their value: a damaged mode does not cost limits or values.
 */
static void check_any_mode(struct fsck_look *l)
{
	const xw_ino first_ino = l->f->ses.img->sb.first_ino;
	const bool is_regular = type_of(l->in.mode) == XW_S_IFREG;

	if (!is_regular && fsck_is_quota_file(l->f, l->ino, &l->in))
		set_mode(l, LOOK_REPAIR(l, QUOTA_MODE, .num = l->in.mode), XW_S_IFREG | 0600);
	else if (!is_regular && l->ino >= first_ino && fsck_is_ea_inode(l->f, l->ino, &l->in))
		set_mode(l, LOOK_REPAIR(l, EA_INODE_MODE, .num = l->in.mode), XW_S_IFREG | 0600);
	else if (holds_file(l))
		set_mode(l, LOOK_REPAIR(l, MODE_FILE, .num = l->in.mode), with_type(l, XW_S_IFREG));
	else if (l->ino == XW_INO_ROOT || l->ino >= first_ino)
		check_mode(l);
	else
		check_reserved_mode(l);
}

/* Clear a quota file if the filesystem has no quota. */
static void check_quota_inode(struct fsck_look *l)
{
	if ((l->ino == XW_INO_USR_QUOTA || l->ino == XW_INO_GRP_QUOTA) &&
	    !(l->f->ses.img->sb.feature_ro_compat & XW_RO_QUOTA) &&
	    (l->in.links || xw_inode_slot(&l->in, 0) || l->in.blocks))
		l->clear |= LOOK_FOUND(l, QUOTA_STRAY);
}

/* A reserved inode without links is in use as well, and never in the orphan list. */
static void check_dtime(struct fsck_look *l)
{
	const struct xw_super *sb = &l->f->ses.img->sb;
	const bool deleted = l->in.dtime && l->in.links;
	const bool listed =
		!deleted && l->ino < sb->first_ino && xw_inode_dtime_is_link(l->in.dtime, sb);

	if ((deleted && LOOK_REPAIR(l, DTIME_SET)) ||
	    (listed && LOOK_REPAIR(l, ORPHAN_LINK, .num = l->in.dtime)))
		l->in.dtime = 0;
}

void fsck_look_record(struct fsck_look *l)
{
	if (l->wrong_sum)
		(void)LOOK_REPAIR(l, INODE_CSUM);
	l->f->ses.values_doubted |= l->wrong_sum && l->in.flags & XW_FL_EA_INODE;
	check_extra_isize(l);
	check_dtime(l);
	check_times(l);
	check_any_mode(l);
	check_quota_inode(l);
	l->type = type_of(l->in.mode);
	check_strays(l);
}
