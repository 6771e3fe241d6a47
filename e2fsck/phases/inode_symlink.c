// SPDX-License-Identifier: MIT
/*
 * Checks symbolic links. The target is in i_block, in a block, or in inline data.
 *
 * Linux distinguishes the first two by i_blocks. If i_block holds text of the length in i_size, the
 * target is in i_block, whatever i_blocks says. The text is trusted more than i_size.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/bytes.h"
#include "phases/dirs.h"
#include "phases/inodes.h"

/* Length of the target in buf; 0: none that ends within max bytes. */
static uint64_t text_len(const struct fsck_look *l, const uint8_t *buf, size_t max)
{
	uint64_t len;

	if (!(l->in.flags & XW_FL_ENCRYPT))
		return strnlen((const char *)buf, max) < max ? strnlen((const char *)buf, max) : 0;
	len = xw_symlink_crypt_len(buf);
	return len && len + 2 <= max ? len + 2 : 0;
}

/* Does i_blocks include no more than an attribute block? Linux reads such a link from i_block. */
static bool has_no_blocks(const struct fsck_look *l)
{
	const uint64_t cluster512 = (uint64_t)l->f->ses.img->block_size / 512
				    << xw_image_cluster_bits(l->f->ses.img);

	return xw_inode_fs_blocks_512(&l->in, &l->f->ses.img->sb) <=
	       (l->in.file_acl ? cluster512 : 0);
}

/* Does i_block hold a single pointer, to a block with a target of the length in i_size? */
static bool points_to_target(const struct fsck_look *l)
{
	const uint32_t bs = l->f->ses.img->block_size;
	const xw_blk blk = xw_inode_slot(&l->in, 0);
	auto_free uint8_t *block = NULL;

	if (l->in.size < sizeof(l->in.block) || l->in.size >= bs ||
	    !xw_all_zero(l->in.block + 4, sizeof(l->in.block) - 4) ||
	    !xw_image_has_blocks(l->f->ses.img, blk, 1) || fsck_is_metadata(l->f, blk, 1))
		return false;
	block = malloc(bs);
	return block && !fsck_read(l->f, blk, 1, block) && text_len(l, block, bs) == l->in.size;
}

/*
 * Is the target in i_block? Called before the map is walked. A target in a block is recognized even
 * if i_blocks or i_file_acl is damaged.
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

/* Linux ignores EXTENTS_FL if there are no blocks. */
bool fsck_look_is_flagged_text(const struct fsck_look *l)
{
	const uint64_t len = text_len(l, l->in.block, sizeof(l->in.block));

	return l->in.flags & XW_FL_EXTENTS && !xw_extent_has_magic(l->in.block) && len &&
	       (len == l->in.size || has_no_blocks(l));
}

/*
 * Are these the contents of a file with the size in the record? They cannot be a target: there are
 * several blocks, or a NUL precedes the last byte, which is not 0. block: NULL if not read yet.
 */
static bool is_file(const struct fsck_look *l, const uint8_t *block)
{
	const struct fsck_map *m = &l->map;
	const struct xw_map_run *last = m->runs.n ? &m->runs.v[m->runs.n - 1] : NULL;
	const uint64_t bs = l->f->ses.img->block_size;

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
	if (!LOOK_REPAIR(l, SYMLINK_FILE))
		return false;
	l->in.mode = (uint16_t)(XW_S_IFREG | (l->in.mode & 07777));
	l->type = XW_S_IFREG;
	return true;
}

/* A target has one block, and in a block map no indirect block: remove all others. */
static int check_blocks(struct fsck_look *l)
{
	struct fsck_map *m = &l->map;
	const bool is_single = m->runs.n == 1 && m->runs.v[0].len == 1 && !m->runs.v[0].lblk &&
			       (l->in.flags & XW_FL_EXTENTS || !m->nodes.n);

	if (!m->runs.n || is_single || !LOOK_FOUND(l, SYMLINK_BLOCKS))
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

/* Move a short target from its block to i_block, where Linux expects it. */
static void move_into_inode(struct fsck_look *l, const uint8_t *text, uint64_t len)
{
	if (!LOOK_REPAIR(l, SYMLINK_SHORT, .num = len))
		return;
	memmove(l->in.block, text, len);
	memset(l->in.block + len, 0, sizeof(l->in.block) - len);
	l->in.size = len;
	l->in.flags &= ~(XW_FL_EXTENTS | XW_FL_INLINE_DATA);
	l->has_map = false;
	l->map.runs.n = l->map.nodes.n = l->map.bad.n = 0;
	l->map.damaged = false;
}

static void check_len(struct fsck_look *l, uint64_t len)
{
	if (!len) {
		l->clear = LOOK_FOUND(l, SYMLINK);
	} else if (len != l->in.size) {
		if (LOOK_REPAIR(l, SYMLINK_SIZE, .num = l->in.size, .num2 = len))
			l->in.size = len;
	}
}

/*
 * Check an inline target: it begins in i_block and continues in the attribute system.data, whose
 * size is the rest of i_size. If a long target has lost the attribute, Linux reads none of it.
 */
static int check_inline_target(struct fsck_look *l)
{
	const size_t head = sizeof(l->in.block);
	uint32_t len;
	const size_t off = fsck_inline_value(l->f, &l->in, l->raw, &len);
	auto_free uint8_t *text = calloc(1, head + len + 1);
	uint64_t n;

	if (!text)
		return xw_fail_nomem(&l->f->ses.diag, "symbolic link");
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
	const uint32_t bs = f->ses.img->block_size;
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
			   : xw_fail_nomem(&f->ses.diag, "symbolic link");
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
