/* SPDX-License-Identifier: MIT */
/*
 * Directory entries in block order. An htree needs no special treatment: dx_root has "." and "..",
 * with the index hidden in the rec_len of "..", and a dx_node has one unused entry. Only their
 * checksums are at different offsets.
 *
 * An inline directory has no blocks: i_block holds the parent's inode number and entries, the value
 * of system.data further entries. "." and ".." are synthesized.
 *
 * A damaged block affects only itself: the error is returned and the next call continues with the
 * following block. The walk is bounded by the budget of the map (map.c) and returns the entries of
 * each block once: a map that refers to one block a million times must not produce its names a
 * million times.
 */
#include "base/search.h"
#include "read/dirs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "read/xattrs.h"

#define INLINE_PARENT 4 /* bytes of i_block before its entries */

enum { PART_DOT, PART_DOTDOT, PART_BODY, PART_VALUE, PART_END };

static int begin_inline(struct xw_dir_iter *it, const struct xw_inode *inode, const uint8_t *raw)
{
	auto_free uint8_t *value = NULL;
	uint32_t len = 0;
	int rc;

	if (!raw)
		return xw_fail(it->img->diag, XW_ERR_INTERNAL,
			       "%s: inode %" PRIu32 ": record not given", it->img->dev->name,
			       it->ino);
	rc = xw_xattr_get(it->img, it->ino, inode, raw, XW_XI_SYSTEM, "data", &value, &len);
	if (rc && rc != XW_ERR_NOTFOUND)
		return rc;
	it->inline_size[0] = sizeof(inode->block) - INLINE_PARENT;
	it->inline_size[1] = len;
	it->buf = malloc(sizeof(inode->block) + len);
	if (!it->buf)
		return xw_fail_nomem(it->img->diag, "directory");
	memcpy(it->buf, inode->block, sizeof(inode->block));
	if (len)
		memcpy(it->buf + sizeof(inode->block), value, len);
	return 0;
}

int xw_dir_begin(struct xw_image *img, xw_ino ino, const struct xw_inode *inode, const uint8_t *raw,
		 struct xw_dir_iter *it)
{
	memset(it, 0, sizeof(*it));
	it->img = img;
	it->ino = ino;
	it->map.done = true;
	it->part = PART_END;
	if ((inode->mode & XW_S_IFMT) != XW_S_IFDIR)
		return xw_fail(img->diag, XW_ERR_INPUT, "%s: inode %" PRIu32 " is not a directory",
			       img->dev->name, ino);
	it->seed = xw_image_inode_seed(img, ino, inode);
	it->indexed = inode->flags & XW_FL_INDEX;
	it->any_names = inode->flags & XW_FL_ENCRYPT;
	it->end_block = xw_div_up(inode->size, img->block_size);
	if (inode->flags & XW_FL_INLINE_DATA) {
		int rc = begin_inline(it, inode, raw);

		it->is_inline = true;
		it->part = rc ? PART_END : PART_DOT;
		return rc;
	}
	it->buf = malloc(img->block_size);
	if (!it->buf)
		return xw_fail_nomem(img->diag, "directory");
	return xw_map_begin(img, ino, inode, 0, &it->map);
}

void xw_dir_end(struct xw_dir_iter *it)
{
	xw_map_end(&it->map);
	xw_table_free(&it->seen);
	free(it->buf);
	it->buf = NULL;
	it->in_block = false;
	it->part = PART_END;
}

static int block_damaged(struct xw_dir_iter *it, int code, const char *why)
{
	return xw_fail(it->img->diag, code,
		       "%s: directory inode %" PRIu32 ": block %" PRIu64 ": %s", it->img->dev->name,
		       it->ino, it->lblk, why);
}

/*
 * Offset of the index entries of the block in buf, 0 for a leaf. Must be checked before the tail of
 * a leaf: a dx_root that the kernel converted from a leaf still contains the old tail.
 */
static unsigned index_entries(const struct xw_dir_iter *it)
{
	if (!it->indexed)
		return 0;
	if (it->lblk == 0)
		return XW_DX_ROOT_ENTRIES;
	return xw_dirblock_is_node(it->buf, it->img->block_size) ? XW_DX_NODE_ENTRIES : 0;
}

/* Start with the entries in buf[from, from + size). */
static void begin_entries(struct xw_dir_iter *it, uint32_t from, uint32_t size, bool csum)
{
	const struct xw_super *sb = &it->img->sb;

	it->base = from;
	it->items = 0;
	it->in_block = true;
	xw_dirblock_begin(&it->entries,
			  &(struct xw_dirblock_area){
				  .data = it->buf + from,
				  .size = size,
				  .seed = it->seed,
				  .inodes_count = sb->inodes_count,
				  .csum = csum,
				  .filetype = sb->feature_incompat & XW_INCOMPAT_FILETYPE,
				  .any_names = it->any_names,
			  });
}

/* Start with the block in buf. */
static int begin_block(struct xw_dir_iter *it)
{
	const uint32_t bs = it->img->block_size;
	const bool csum = xw_super_has_csum(&it->img->sb);
	const bool verify = csum && !(it->img->flags & XW_IMAGE_NOCSUM);
	const unsigned dx = index_entries(it);
	const bool tail = csum && !dx && !verify && xw_dir_has_tail(it->buf, bs);

	if (verify && dx && xw_dx_block_verify(it->buf, bs, dx, it->seed))
		return block_damaged(it, XW_ERR_CHECKSUM, "checksum mismatch of an index block");
	begin_entries(it, 0, tail ? bs - XW_DIR_TAIL : bs, verify && !dx);
	return 0;
}

/*
 * 1: the block was already seen in this directory. The first block is stored separately, since most
 * directories have only one and need no table.
 */
static int seen_before(struct xw_dir_iter *it, xw_blk blk)
{
	int rc;

	if (!it->first || blk == it->first) {
		const bool again = it->first;

		it->first = blk;
		return again;
	}
	rc = xw_numbers_add(&it->seen, blk);
	return rc < 0 ? xw_fail_nomem(it->img->diag, "directory") : !rc;
}

/* 1: the next block of the run was seen before, and is skipped. */
static int skip_repeated(struct xw_dir_iter *it)
{
	int rc = it->run.unwritten ? 0 : seen_before(it, it->run.pblk);

	if (!rc)
		return 0;
	it->run.lblk++;
	it->run.pblk++;
	it->run.len--;
	if (rc < 0 || it->reported)
		return rc;
	it->reported = true;
	return block_damaged(it, XW_ERR_CORRUPT, "occurs more than once");
}

/* Advance it->run to the next block that is not repeated. 1, 0 at the end. */
static int find_block(struct xw_dir_iter *it)
{
	int rc;

	do {
		if (!it->run.len) {
			rc = xw_map_next(&it->map, &it->run);
			if (rc != 1) {
				it->run.len = 0;
				return rc;
			}
		}
		it->lblk = it->run.lblk;
		if (it->lblk >= it->end_block) {
			it->map.done = true;
			it->run.len = 0;
			return 0;
		}
		rc = skip_repeated(it);
	} while (rc == 1);
	return rc ? rc : 1;
}

/* Read the next block of the directory into buf. 1, 0 at the end. */
static int load_block(struct xw_dir_iter *it)
{
	struct xw_image *img = it->img;
	int rc;

	rc = find_block(it);
	if (rc != 1)
		return rc;
	rc = it->run.unwritten ? block_damaged(it, XW_ERR_CORRUPT, "never written")
			       : xw_dev_pread(img->dev, it->buf, img->block_size,
					      it->run.pblk * img->block_size);
	it->run.lblk++;
	it->run.pblk++;
	it->run.len--;
	if (!rc)
		rc = begin_block(it);
	return rc ? rc : 1;
}

/* A synthesized "." or ".." of an inline directory. */
static void dot_entry(struct xw_dir_iter *it, struct xw_dirent *e)
{
	const bool parent = it->part == PART_DOTDOT;

	*e = (struct xw_dirent){
		.ino = parent ? xw_dir_inline_parent(it->buf) : it->ino,
		.rec_len = 12,
		.name_len = parent ? 2 : 1,
		.ftype = XW_FT_DIR,
		.name = "..",
	};
}

/* Start the next part of an inline directory. 1: entries in buf, 2: *e is set, 0: end. */
static int next_part(struct xw_dir_iter *it, struct xw_dirent *e)
{
	switch (it->part) {
	case PART_DOT:
	case PART_DOTDOT:
		dot_entry(it, e);
		it->part++;
		return 2;
	case PART_BODY:
		begin_entries(it, INLINE_PARENT, it->inline_size[0], false);
		it->part++;
		return 1;
	case PART_VALUE:
		begin_entries(it, INLINE_PARENT + it->inline_size[0], it->inline_size[1], false);
		it->part++;
		return 1;
	default:
		return 0;
	}
}

/* Convert a finding to an error. */
static int finding_error(struct xw_dir_iter *it, const struct xw_dirblock_item *f)
{
	switch (f->rule) {
	case XW_DIRBLOCK_NO_TAIL:
		return block_damaged(it, XW_ERR_CORRUPT, "no space for its checksum");
	case XW_DIRBLOCK_CSUM:
		return block_damaged(it, XW_ERR_CHECKSUM, "checksum mismatch");
	case XW_DIRBLOCK_INO:
		return block_damaged(it, XW_ERR_CORRUPT, "entry with an impossible inode number");
	case XW_DIRBLOCK_NAME_EMPTY:
	case XW_DIRBLOCK_NAME_BYTES:
		return block_damaged(it, XW_ERR_CORRUPT, "entry with an impossible name");
	default:
		return block_damaged(it, XW_ERR_CORRUPT, "damaged entry");
	}
}

/* True unless this is a "." or ".." that is not the first or second entry of the first block. */
static bool dots_in_place(const struct xw_dir_iter *it, const struct xw_dirent *e)
{
	return !xw_name_is_dots(e->name, e->name_len) ||
	       (!it->is_inline && !it->lblk && it->items == e->name_len);
}

int xw_dir_next(struct xw_dir_iter *it, struct xw_dirent *e, struct xw_dir_pos *pos)
{
	struct xw_dirblock_item item;
	int rc;

	for (;;) {
		while (!it->in_block) {
			rc = it->is_inline ? next_part(it, e) : load_block(it);
			if (rc <= 0)
				return rc;
			if (rc == 2) {
				if (pos)
					*pos = (struct xw_dir_pos){0};
				return 1;
			}
		}
		rc = xw_dirblock_next(&it->entries, &item);
		it->items++;
		if (rc == 1 && !item.unused)
			break;
		/* After an invalid name the following entries can still be read. */
		it->in_block = rc == 1 || (rc == 2 && (item.rule == XW_DIRBLOCK_NAME_EMPTY ||
						       item.rule == XW_DIRBLOCK_NAME_BYTES));
		if (rc == 2)
			return finding_error(it, &item);
	}
	if (!dots_in_place(it, &item.e))
		return block_damaged(it, XW_ERR_CORRUPT, "misplaced \".\" or \"..\"");
	*e = item.e;
	if (pos)
		*pos = (struct xw_dir_pos){.lblk = it->lblk, .off = it->base + item.off};
	return 1;
}

/* ---- runs of blocks ---- */

static int bad_runs(struct xw_image *img, xw_ino ino, const char *why)
{
	return xw_fail(img->diag, XW_ERR_CORRUPT,
		       "%s: directory inode %" PRIu32 ": %s; run xw-fsck -f", img->dev->name, ino,
		       why);
}

int xw_dir_runs_read(struct xw_image *img, xw_ino ino, const struct xw_inode *inode,
		     struct xw_dir_runs *r)
{
	const uint64_t end = xw_div_up(inode->size, img->block_size);
	auto_end(xw_map_end) struct xw_map_iter it;
	struct xw_map_run run;
	uint64_t next = 0;
	int rc = xw_map_begin(img, ino, inode, 0, &it);

	*r = (struct xw_dir_runs){0};
	if (rc)
		return rc;
	while (next < end && (rc = xw_map_next(&it, &run)) == 1) {
		if (run.lblk != next || run.unwritten)
			return bad_runs(img, ino, "a hole in a directory");
		run.len = XW_MIN(run.len, end - next);
		next += run.len;
		if (xw_vec_push(&r->a, run))
			return xw_fail_nomem(img->diag, "directory");
	}
	if (rc < 0)
		return rc;
	return next == end ? 0 : bad_runs(img, ino, "its blocks do not match its size");
}

xw_blk xw_dir_runs_at(const struct xw_dir_runs *r, uint64_t lblk)
{
	const struct xw_map_run *v = r->a.v;
	const size_t at = XW_LOWER_BOUND(i, r->a.n, v[i].lblk + v[i].len > lblk);

	return at < r->a.n && v[at].lblk <= lblk ? v[at].pblk + (lblk - v[at].lblk) : 0;
}

void xw_dir_runs_free(struct xw_dir_runs *r)
{
	xw_vec_free(&r->a);
}
