// SPDX-License-Identifier: MIT
/*
 * Symbolic links: in i_block, in a block, in inline data, or encrypted.
 *
 * Linux distinguishes the first two by i_blocks; a link that is short enough and whose i_block is
 * text counts as stored in i_block in any case. The text is trusted more than i_size.
 */
#include "config.h"

#include <string.h>

#include "base/auto.h"
#include "base/endian.h"
#include "inodes.h"

/* Is the target in i_block? Called before the map is walked. */
bool fsck_look_is_fast(const struct fsck_look *l)
{
	const struct xw_super *sb = &l->f->img->sb;
	const uint64_t cluster512 = (uint64_t)l->f->img->block_size / 512
				    << xw_image_cluster_bits(l->f->img);
	const uint64_t acl = l->in.file_acl ? cluster512 : 0;
	const size_t len = strnlen((const char *)l->in.block, sizeof(l->in.block));

	if (l->in.flags & (XW_FL_EXTENTS | XW_FL_INLINE_DATA))
		return false;
	return xw_inode_fs_blocks_512(&l->in, sb) <= acl ||
	       (l->in.size < sizeof(l->in.block) &&
		(l->in.size == len || l->in.flags & XW_FL_ENCRYPT));
}

/* Length of the target in buf, at most max bytes; 0: there is none. */
static uint64_t text_len(const struct fsck_look *l, const uint8_t *buf, size_t max)
{
	uint64_t len;

	if (!(l->in.flags & XW_FL_ENCRYPT))
		return strnlen((const char *)buf, max) < max ? strnlen((const char *)buf, max) : 0;
	len = peek16(buf);
	return len && len + 2 <= max ? len + 2 : 0;
}

/*
 * Contents that cannot be a target, but have the size in the record: several blocks, or text that
 * ends too early while the last byte is not one of the zeros after a target.
 */
static bool is_file(const struct fsck_look *l, const uint8_t *block)
{
	const struct fsck_map *m = &l->map;
	const struct xw_map_run *last = m->runs.n ? &m->runs.v[m->runs.n - 1] : NULL;
	const uint64_t bs = l->f->img->block_size;

	if (!last || l->in.flags & XW_FL_ENCRYPT ||
	    xw_div_up(l->in.size, bs) != last->lblk + last->len)
		return false;
	if (l->in.size > bs)
		return true;
	return block && l->in.size && block[l->in.size - 1] &&
	       strnlen((const char *)block, bs) < l->in.size;
}

static bool found_file(struct fsck_look *l)
{
	if (!FSCK_FOUND(l->f, SYMLINK_FILE, .ino = l->ino))
		return false;
	l->in.mode = (uint16_t)(XW_S_IFREG | (l->in.mode & 07777));
	l->type = XW_S_IFREG;
	l->dirty = true;
	return true;
}

/* A target takes one block: remove the others. */
static int check_blocks(struct fsck_look *l)
{
	struct fsck_map *m = &l->map;

	if (!m->runs.n || (m->runs.n == 1 && m->runs.v[0].len == 1 && !m->runs.v[0].lblk) ||
	    !FSCK_FOUND(l->f, SYMLINK_BLOCKS, .ino = l->ino))
		return 0;
	m->runs.n = !m->runs.v[0].lblk;
	m->runs.v[0].len = 1;
	if (l->in.flags & XW_FL_EXTENTS)
		return fsck_look_rebuild(l);
	m->nodes.n = 0;
	if (m->runs.n)
		memset(l->in.block + 4, 0, sizeof(l->in.block) - 4);
	l->dirty = true;
	return 0;
}

/* Move a target that Linux expects in i_block there from its block. */
static void move_into_inode(struct fsck_look *l, const uint8_t *text, uint64_t len)
{
	if (!FSCK_FOUND(l->f, SYMLINK_SHORT, .ino = l->ino, .num = len))
		return;
	memmove(l->in.block, text, len);
	memset(l->in.block + len, 0, sizeof(l->in.block) - len);
	l->in.size = len;
	l->in.flags &= ~(XW_FL_EXTENTS | XW_FL_INLINE_DATA);
	l->has_map = false;
	l->map.runs.n = l->map.nodes.n = l->map.bad.n = 0;
	l->map.damaged = false;
	l->dirty = true;
}

int fsck_look_symlink(struct fsck_look *l)
{
	struct fsck *f = l->f;
	const uint32_t bs = f->img->block_size;
	const struct fsck_map *m = &l->map;
	auto_free uint8_t *block = NULL;
	uint64_t len = 0;
	int rc;

	if (l->in.flags & XW_FL_INLINE_DATA) {
		len = text_len(l, l->in.block, sizeof(l->in.block));
		if (len && l->in.size < sizeof(l->in.block))
			move_into_inode(l, l->in.block, len);
		return 0; /* a longer one together with its attribute: xattrs.c */
	}
	if (l->has_map && is_file(l, NULL) && found_file(l))
		return 0;
	rc = l->has_map ? check_blocks(l) : 0;
	if (rc)
		return rc;
	if (!l->has_map) {
		len = text_len(l, l->in.block, sizeof(l->in.block));
	} else if (m->runs.n && !m->runs.v[0].lblk) {
		block = malloc(bs);
		rc = block ? fsck_read(f, m->runs.v[0].pblk, 1, block)
			   : xw_fail_nomem(&f->diag, "symbolic link");
		len = rc ? 0 : text_len(l, block, bs);
	}
	if (rc == XW_ERR_NOMEM)
		return rc;
	if (!rc && block && is_file(l, block) && found_file(l))
		return 0;
	if (block && len && len < sizeof(l->in.block)) {
		move_into_inode(l, block, len);
		return 0;
	}
	if (len && len == l->in.size)
		return 0;
	if (!len) {
		l->clear = FSCK_FOUND(f, SYMLINK, .ino = l->ino);
	} else if (FSCK_FOUND(f, SYMLINK_SIZE, .ino = l->ino, .num = l->in.size, .num2 = len)) {
		l->in.size = len;
		l->dirty = true;
	}
	return 0;
}
