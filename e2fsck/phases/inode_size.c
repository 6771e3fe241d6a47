// SPDX-License-Identifier: MIT
/* i_size and i_blocks, compared with the map. */
#include "config.h"

#include "disk/indirect.h"
#include "phases/dirs.h"
#include "phases/inodes.h"

/* Logical blocks up to the end of the last run; only written ones if requested. */
static uint64_t mapped_end(const struct fsck_look *l, bool written)
{
	const struct fsck_map *m = &l->map;

	for (size_t i = m->runs.n; i--;)
		if (!written || !m->runs.v[i].unwritten)
			return m->runs.v[i].lblk + m->runs.v[i].len;
	return 0;
}

static void set_size(struct fsck_look *l, uint64_t size)
{
	if (!FSCK_FOUND(l->f, SIZE, .ino = l->ino, .num = l->in.size, .num2 = size))
		return;
	l->in.size = size;
	l->dirty = true;
}

/* Bytes of contents that fit the inode: i_block, and the attribute system.data. */
static uint64_t inline_room(struct fsck_look *l)
{
	uint32_t len;

	(void)fsck_inline_value(l->f, &l->in, l->raw, &len);
	return sizeof(l->in.block) + len;
}

static void check_dir_size(struct fsck_look *l)
{
	const uint64_t end = l->in.flags & XW_FL_INLINE_DATA
				     ? inline_room(l)
				     : mapped_end(l, false) * l->f->img->block_size;

	if (l->in.size != end)
		set_size(l, end);
}

/* The first size that the map cannot hold. */
static uint64_t size_limit(const struct fsck_look *l)
{
	const uint64_t bs = l->f->img->block_size;

	return l->in.flags & XW_FL_EXTENTS ? bs << 32 : xw_indirect_max_lblk((uint32_t)bs) * bs + 1;
}

static bool has_resize_map(const struct fsck_look *l)
{
	return l->ino == XW_INO_RESIZE && l->f->img->sb.feature_compat & XW_COMPAT_RESIZE_INODE;
}

/*
 * Reserved inodes: the journal has the size of its map. Of the others no size is known, but it must
 * be possible, and reach to the last block.
 */
static void check_reserved_size(struct fsck_look *l)
{
	const uint64_t bs = l->f->img->block_size;
	const uint64_t apb = bs / 4, end = mapped_end(l, false) * bs;

	if (l->ino == XW_INO_JOURNAL && l->ino == l->f->img->sb.journal_inum && end) {
		if (l->in.size != end)
			set_size(l, end);
	} else if (l->in.size >= size_limit(l)) {
		set_size(l, has_resize_map(l) ? (XW_NDIR_BLOCKS + apb + apb * apb) * bs : end);
	} else if (end && l->in.size < end - bs && l->ino != XW_INO_RESIZE) {
		set_size(l, end);
	}
}

/*
 * A file may be longer than its mapped part, and have unwritten blocks past its end, but at most
 * one written block; except for the Merkle tree of a verity file.
 */
static void check_file_size(struct fsck_look *l)
{
	const uint64_t bs = l->f->img->block_size;
	const uint64_t end = l->in.flags & XW_FL_VERITY ? 0 : mapped_end(l, true);

	if (!l->has_map || l->ino < l->f->img->sb.first_ino)
		return;
	if (l->in.size >= size_limit(l) || (end && l->in.size < (end - 1) * bs))
		set_size(l, mapped_end(l, false) * bs);
}

static void check_inline_size(struct fsck_look *l)
{
	uint64_t room;

	if (l->in.size <= sizeof(l->in.block))
		return;
	room = inline_room(l);
	if (l->in.size > room) /* only one half of i_size may be damaged */
		set_size(l, XW_MIN((uint32_t)l->in.size, room));
}

static int check_blocks(struct fsck_look *l)
{
	struct xw_inode want = l->in;
	const struct xw_super *sb = &l->f->img->sb;
	const uint64_t bs512 = l->f->img->block_size / 512;
	const uint64_t have = xw_inode_fs_blocks_512(&l->in, sb);

	if (l->in.flags & XW_FL_ITREE && l->type == XW_S_IFDIR &&
	    (sb->feature_ro_compat & XW_RO_ITREE || fsck_itree_feature(l->f, l->ino, &l->in)))
		return 0; /* its itree is included: itree.c */
	if (have == l->blocks * bs512)
		return 0;
	if (!FSCK_FOUND(l->f, BLOCKS, .ino = l->ino, .num = have, .num2 = l->blocks * bs512))
		return 0;
	if (xw_inode_set_blocks(&want, sb, l->blocks))
		return 0; /* more than the field can store: such maps have other damage */
	l->in.blocks = want.blocks;
	l->in.flags = want.flags;
	l->dirty = true;
	return 0;
}

int fsck_look_size(struct fsck_look *l)
{
	const struct xw_super *sb = &l->f->img->sb;

	if (l->ino == XW_INO_BAD)
		return 0; /* checked in the super phase */
	if (l->ino < sb->first_ino && l->ino != XW_INO_ROOT)
		check_reserved_size(l);
	else if (l->type == XW_S_IFDIR)
		check_dir_size(l);
	else if (l->type == XW_S_IFREG && l->in.flags & XW_FL_INLINE_DATA)
		check_inline_size(l);
	else if (l->type == XW_S_IFREG)
		check_file_size(l);
	return has_resize_map(l) ? 0 : check_blocks(l); /* resize.c counts its blocks */
}
