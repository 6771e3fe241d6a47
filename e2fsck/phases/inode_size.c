// SPDX-License-Identifier: MIT
/* Checks i_size and i_blocks: compares them with the map. */
#include "config.h"

#include "disk/indirect.h"
#include "phases/dirs.h"
#include "phases/inodes.h"

/* The end of the last run, or of the last written run, in logical blocks. */
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
	if (LOOK_REPAIR(l, SIZE, .num = l->in.size, .num2 = size))
		l->in.size = size;
}

/* The room for inline contents in bytes: i_block and the attribute system.data. */
static uint64_t inline_room(struct fsck_look *l)
{
	uint32_t len;

	(void)fsck_inline_value(l->f, &l->in, l->raw, &len);
	return sizeof(l->in.block) + len;
}

/* The smallest size that is too large for the map. */
static uint64_t size_limit(const struct fsck_look *l)
{
	const uint64_t bs = l->f->ses.img->block_size;

	return l->in.flags & XW_FL_EXTENTS ? bs << 32 : xw_indirect_max_lblk((uint32_t)bs) * bs + 1;
}

static bool has_resize_map(const struct fsck_look *l)
{
	return l->ino == XW_INO_RESIZE && l->f->ses.img->sb.feature_compat & XW_COMPAT_RESIZE_INODE;
}

/*
 * Check the size of a reserved inode. The size of the journal is the length of its map. Any size of
 * other reserved inodes is valid if it is within the limits of the format and includes the last
 * mapped block.
 */
static void check_reserved_size(struct fsck_look *l)
{
	const uint64_t bs = l->f->ses.img->block_size;
	const uint64_t apb = bs / 4, end = mapped_end(l, false) * bs;

	if (l->ino == XW_INO_JOURNAL && l->ino == l->f->ses.img->sb.journal_inum && end) {
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
 * one written block. A verity file has its Merkle tree there.
 */
static void check_file_size(struct fsck_look *l)
{
	const uint64_t bs = l->f->ses.img->block_size;
	const uint64_t end = l->in.flags & XW_FL_VERITY ? 0 : mapped_end(l, true);

	if (!l->has_map || l->ino < l->f->ses.img->sb.first_ino)
		return;
	if (l->in.size >= size_limit(l) || (end && l->in.size < (end - 1) * bs))
		set_size(l, mapped_end(l, false) * bs);
}

static void check_blocks(struct fsck_look *l)
{
	struct xw_inode want = l->in;
	const struct xw_super *sb = &l->f->ses.img->sb;
	const uint64_t bs512 = l->f->ses.img->block_size / 512;
	const uint64_t have = xw_inode_fs_blocks_512(&l->in, sb);

	if (l->in.flags & XW_FL_ITREE && l->type == XW_S_IFDIR &&
	    (sb->feature_ro_compat & XW_RO_ITREE || fsck_itree_feature(l->f, l->ino, &l->in)))
		return; /* i_blocks includes the itree: itree.c */
	if (have == l->blocks * bs512 ||
	    !LOOK_FOUND(l, BLOCKS, .num = have, .num2 = l->blocks * bs512) ||
	    xw_inode_set_blocks(&want, sb, l->blocks)) /* too many: the map has other damage */
		return;
	l->in.blocks = want.blocks;
	l->in.flags = want.flags;
	l->dirty = true;
}

void fsck_look_size(struct fsck_look *l)
{
	const bool is_inline = l->in.flags & XW_FL_INLINE_DATA;
	const uint64_t room = is_inline ? inline_room(l) : 0;

	if (l->ino == XW_INO_BAD)
		return; /* checked in the super phase */
	if (l->ino < l->f->ses.img->sb.first_ino && l->ino != XW_INO_ROOT) {
		check_reserved_size(l);
	} else if (l->type == XW_S_IFDIR) {
		const uint64_t end =
			is_inline ? room : mapped_end(l, false) * l->f->ses.img->block_size;

		if (l->in.size != end)
			set_size(l, end);
	} else if (l->type == XW_S_IFREG && is_inline) {
		if (l->in.size > room) /* only one half of i_size may be damaged */
			set_size(l, XW_MIN((uint32_t)l->in.size, room));
	} else if (l->type == XW_S_IFREG) {
		check_file_size(l);
	}
	if (!has_resize_map(l)) /* otherwise resize.c checks i_blocks */
		check_blocks(l);
}
