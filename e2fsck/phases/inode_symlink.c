// SPDX-License-Identifier: MIT
/*
 * Symbolic links: in i_block, in a block, in inline data, or encrypted.
 *
 * Linux distinguishes the first two by i_blocks; a link that is short enough and whose i_block is
 * text counts as stored in i_block in any case. The text is trusted more than i_size.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/endian.h"
#include "phases/dirs.h"
#include "phases/inodes.h"

/* Length of the target in buf, at most max bytes; 0: there is none. */
static uint64_t text_len(const struct fsck_look *l, const uint8_t *buf, size_t max)
{
	uint64_t len;

	if (!(l->in.flags & XW_FL_ENCRYPT))
		return strnlen((const char *)buf, max) < max ? strnlen((const char *)buf, max) : 0;
	len = peek16(buf);
	return len && len + 2 <= max ? len + 2 : 0;
}

/* Does i_blocks include no more than an attribute block? Linux reads such a link from i_block. */
static bool has_no_blocks(const struct fsck_look *l)
{
	const uint64_t cluster512 = (uint64_t)l->f->img->block_size / 512
				    << xw_image_cluster_bits(l->f->img);

	return xw_inode_fs_blocks_512(&l->in, &l->f->img->sb) <= (l->in.file_acl ? cluster512 : 0);
}

/* Does i_block hold a single pointer, to a block with a target of the length in i_size? */
static bool points_to_target(const struct fsck_look *l)
{
	static const uint8_t zero[56];
	const uint32_t bs = l->f->img->block_size;
	const xw_blk blk = peek32(l->in.block);
	auto_free uint8_t *block = NULL;

	if (l->in.size < sizeof(l->in.block) || l->in.size >= bs ||
	    memcmp(l->in.block + 4, zero, sizeof(zero)) ||
	    !xw_image_has_blocks(l->f->img, blk, 1) || fsck_is_metadata(l->f, blk, 1))
		return false;
	block = malloc(bs);
	return block && !fsck_read(l->f, blk, 1, block) && text_len(l, block, bs) == l->in.size;
}

/*
 * Is the target in i_block? Called before the map is walked. A damaged i_blocks or i_file_acl does
 * not hide a target in a block.
 */
bool fsck_look_is_fast(const struct fsck_look *l)
{
	const size_t len = strnlen((const char *)l->in.block, sizeof(l->in.block));

	if (l->in.flags & (XW_FL_EXTENTS | XW_FL_INLINE_DATA))
		return false;
	if (l->in.size < sizeof(l->in.block) && (l->in.size == len || l->in.flags & XW_FL_ENCRYPT))
		return true;
	return has_no_blocks(l) && !points_to_target(l);
}

/* A target in i_block with EXTENTS_FL: Linux ignores the flag if there are no blocks. */
bool fsck_look_is_flagged_text(const struct fsck_look *l)
{
	const uint64_t len = text_len(l, l->in.block, sizeof(l->in.block));

	return l->in.flags & XW_FL_EXTENTS && peek16(l->in.block) != XW_EXT_MAGIC && len &&
	       (len == l->in.size || has_no_blocks(l));
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

/* Block 0 alone, and in a block map no node: it would have pointers to later ones. */
static bool has_one_block(const struct fsck_look *l)
{
	const struct fsck_map *m = &l->map;

	return m->runs.n == 1 && m->runs.v[0].len == 1 && !m->runs.v[0].lblk &&
	       (l->in.flags & XW_FL_EXTENTS || !m->nodes.n);
}

/* A target takes one block: remove the others. */
static int check_blocks(struct fsck_look *l)
{
	struct fsck_map *m = &l->map;

	if (!m->runs.n || has_one_block(l) || !FSCK_FOUND(l->f, SYMLINK_BLOCKS, .ino = l->ino))
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

static void check_len(struct fsck_look *l, uint64_t len)
{
	if (!len) {
		l->clear = FSCK_FOUND(l->f, SYMLINK, .ino = l->ino);
	} else if (len != l->in.size &&
		   FSCK_FOUND(l->f, SYMLINK_SIZE, .ino = l->ino, .num = l->in.size, .num2 = len)) {
		l->in.size = len;
		l->dirty = true;
	}
}

/*
 * The target is in i_block, and goes on in the attribute system.data, whose size is the rest of
 * i_size. Without the attribute the rest of a long target is lost, and Linux reads none of it.
 */
static int check_inline_target(struct fsck_look *l)
{
	const size_t head = sizeof(l->in.block);
	uint32_t len;
	const size_t off = fsck_inline_value(l->f, &l->in, l->raw, &len);
	auto_free uint8_t *text = calloc(1, head + len + 1);
	uint64_t n;

	if (!text)
		return xw_fail_nomem(&l->f->diag, "symbolic link");
	memcpy(text, l->in.block, head);
	if (len)
		memcpy(text + head, l->raw + off, len);
	n = text_len(l, text, head + len + 1);
	if (n && n < head)
		move_into_inode(l, text, n);
	else if (l->in.flags & XW_FL_ENCRYPT)
		check_len(l, n);
	else
		check_len(l, off && n ? head + len : 0);
	return 0;
}

int fsck_look_symlink(struct fsck_look *l)
{
	struct fsck *f = l->f;
	const uint32_t bs = f->img->block_size;
	const struct fsck_map *m = &l->map;
	auto_free uint8_t *block = NULL;
	uint64_t len = 0;
	int rc;

	if (l->in.flags & XW_FL_INLINE_DATA)
		return check_inline_target(l);
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
	check_len(l, len);
	return 0;
}
