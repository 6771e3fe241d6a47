// SPDX-License-Identifier: MIT
/*
 * Infers the type of an inode from its contents if the mode contradicts them. A device, fifo or
 * socket has no contents; an inode with a valid map of as many blocks as i_blocks says is a file.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/bytes.h"
#include "facts/facts.h"
#include "phases/inodes.h"

#define MODE_UNKNOWN (XW_S_IFREG | 0600)
#define PERMISSIONS 0777u
#define ONES 0xFFFFu

/* Does i_block hold the target of a symlink, followed by zeros, and are there no other blocks? */
static bool is_fast_target(const struct fsck_look *l)
{
	const struct xw_inode *in = &l->in;
	const uint64_t acl = in->file_acl ? l->f->ses.img->block_size / 512 : 0;

	return !(in->flags & (XW_FL_EXTENTS | XW_FL_INLINE_DATA)) && in->size &&
	       in->size < sizeof(in->block) &&
	       strnlen((const char *)in->block, sizeof(in->block)) == in->size &&
	       xw_all_zero(in->block + in->size, sizeof(in->block) - in->size) &&
	       xw_inode_fs_blocks_512(in, &l->f->ses.img->sb) == acl;
}

struct contents {
	uint64_t blocks; /* including map blocks */
	uint64_t end; /* of the last written run, in logical blocks */
	xw_blk first; /* first block of the first run; 0: no run */
};

/* Walk the map. False: it is damaged. */
static bool has_sound_map(struct fsck_look *l, struct contents *c)
{
	struct xw_walk_map_item i;
	int more;

	*c = (struct contents){0};
	if (xw_walk_map_begin(&l->walk, l->ino, &l->in, -1))
		return false;
	while ((more = xw_walk_map_next(&l->walk, &i)) == 1) {
		if (fsck_is_metadata(l->f, i.pblk, i.kind == XW_WALK_NODE ? 1 : i.len))
			return false;
		c->blocks += i.kind == XW_WALK_NODE ? 1 : i.len;
		if (i.kind == XW_WALK_NODE)
			continue;
		c->first = c->first ? c->first : i.pblk;
		c->end = i.unwritten ? c->end : i.lblk + i.len;
	}
	return !more;
}

static bool is_file(struct fsck_look *l, struct contents *c)
{
	const struct xw_super *sb = &l->f->ses.img->sb;
	const uint64_t bs = l->f->ses.img->block_size;
	uint32_t len;

	if (l->in.flags & XW_FL_INLINE_DATA)
		return sb->feature_incompat & XW_INCOMPAT_INLINE_DATA && l->in.size &&
		       fsck_inline_value(l->f, &l->in, l->raw, &len) &&
		       l->in.size <= sizeof(l->in.block) + len;
	if (!has_sound_map(l, c) || (c->end && l->in.size <= (c->end - 1) * bs))
		return false;
	/* An empty extent tree is that of a file; an empty block map proves nothing. */
	return ((l->in.flags & XW_FL_EXTENTS && sb->feature_incompat & XW_INCOMPAT_EXTENTS) ||
		c->first) &&
	       xw_inode_fs_blocks_512(&l->in, sb) >= c->blocks * (bs / 512);
}

/* A target has no control characters, while nearly all text files end with a newline. */
static bool is_path(const uint8_t *text, uint64_t len)
{
	for (uint64_t i = 0; i < len; i++)
		if (text[i] < ' ')
			return false;
	return true;
}

/*
 * Is the only block text as long as i_size, and are the permissions 0777, as those of every
 * symlink?
 */
static bool is_slow_target(struct fsck_look *l, const struct contents *c)
{
	const uint32_t bs = l->f->ses.img->block_size;
	auto_free uint8_t *block = malloc(bs);

	return block && (l->in.mode & PERMISSIONS) == PERMISSIONS && c->blocks == 1 &&
	       c->end == 1 && l->in.size < bs && l->in.size >= sizeof(l->in.block) &&
	       !fsck_read(l->f, c->first, 1, block) &&
	       strnlen((const char *)block, bs) == l->in.size && is_path(block, l->in.size);
}

bool fsck_look_contents(struct fsck_look *l, uint16_t *mode)
{
	const uint16_t type = l->in.mode & XW_S_IFMT;
	struct contents c = {0};

	if (l->ino < l->f->ses.img->sb.first_ino || type == XW_S_IFLNK)
		return false;
	*mode = XW_S_IFLNK | PERMISSIONS;
	if (is_fast_target(l))
		return true;
	if (type == XW_S_IFREG || type == XW_S_IFDIR || !is_file(l, &c))
		return false;
	if (is_slow_target(l, &c))
		return true;
	/*
	 * Keep the permissions, unless all bits of the mode are equal. Set-ID bits are dropped,
	 * since a damaged mode must not grant them.
	 */
	*mode = l->in.mode && l->in.mode != ONES
			? (uint16_t)(XW_S_IFREG | (l->in.mode & PERMISSIONS))
			: MODE_UNKNOWN;
	return true;
}
