// SPDX-License-Identifier: MIT
/*
 * Moves all file contents, map blocks and xattr blocks out of an area of an image. The blocks of
 * the area stay allocated, for the caller.
 *
 * A map with blocks in the area is read as a list of extents and rewritten (update/map.c), which
 * also moves its own blocks. Group metadata and the MMP block cannot be moved, nor can the blocks
 * of the bad blocks inode.
 */
#include "config.h"

#include "tune/evict.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/table.h"
#include "base/vec.h"
#include "disk/orphan.h"
#include "disk/xattrblk.h"
#include "encode/encode.h"
#include "edit/edit.h"

#define COPY_UNIT (UINT64_C(256) << 10) /* bytes */

/* A moved xattr block, which several inodes may share. */
struct moved {
	xw_blk from, to;
};

static const struct xw_table_kind by_blk = XW_TABLE_BY_U64(struct moved);

struct evict {
	struct xw_update *u;
	const struct xw_blockset *area;
	struct xw_table xattrs; /* of struct moved */
	uint8_t *buf; /* COPY_UNIT bytes */
	uint8_t *bits; /* the inode bitmap of `group` */
	uint64_t group;
};

static bool touches(const struct evict *v, xw_blk blk, uint64_t len)
{
	uint64_t start, n;

	return xw_blockset_next_in(v->area, blk, blk + len, &start, &n);
}

/* ---- contents ---- */

/* The checksums of the orphan file's blocks depend on their block numbers. */
static int reseal(struct evict *v, xw_ino ino, const struct xw_inode *in, xw_blk from, xw_blk to,
		  uint64_t n)
{
	const struct xw_image *img = v->u->img;
	const uint32_t bs = img->block_size, seed = xw_image_inode_seed(img, ino, in);

	if (!(img->sb.feature_compat & XW_COMPAT_ORPHAN_FILE) || ino != img->sb.orphan_file_inum)
		return 0;
	for (uint64_t i = 0; i < n; i++) {
		uint8_t *block = v->buf + i * bs;

		if (xw_orphan_verify(block, bs, xw_super_has_csum(&img->sb), seed, from + i))
			return xw_fail(img->diag, XW_ERR_CORRUPT,
				       "%s: inode %" PRIu32 ": block %" PRIu64
				       ": the orphan file is damaged; run xw-fsck -f",
				       img->dev->name, ino, from + i);
		xw_orphan_seal(block, bs, xw_super_has_csum(&img->sb), seed, to + i);
	}
	return 0;
}

static int copy(struct evict *v, xw_ino ino, const struct xw_inode *in, xw_blk from, xw_blk to,
		uint64_t len)
{
	struct xw_dev *dev = v->u->img->dev;
	const uint64_t bs = v->u->img->block_size, unit = XW_MAX(COPY_UNIT / bs, 1);

	for (uint64_t n; len; len -= n, from += n, to += n) {
		int rc;

		n = XW_MIN(len, unit);
		rc = xw_dev_pread(dev, v->buf, n * bs, from * bs);
		if (!rc)
			rc = reseal(v, ino, in, from, to, n);
		if (!rc)
			rc = xw_dev_pwrite(dev, v->buf, n * bs, to * bs);
		if (rc)
			return rc;
	}
	return 0;
}

/* Move `len` blocks of extent `e`, from `off` on, and add them to m. */
static int move_piece(struct evict *v, xw_ino ino, const struct xw_inode *in,
		      const struct xw_extent *e, uint32_t off, uint64_t len,
		      struct xw_update_map *m)
{
	struct xw_run run;

	for (uint64_t done = 0; done < len; done += run.len) {
		const xw_blk from = e->pblk + off + done;
		const struct xw_alloc_req req = {.goal = from, .len = len - done};
		int rc = xw_space_alloc(v->u->space, &req, &run);

		if (rc == XW_ERR_NOSPC)
			return xw_fail(v->u->diag, rc,
				       "%s: no space to move inode %" PRIu32
				       " out of the way of larger inode tables: %" PRIu64
				       " blocks missing",
				       v->u->img->dev->name, ino, len - done);
		if (!rc && !e->unwritten)
			rc = copy(v, ino, in, from, run.start, run.len);
		if (!rc)
			rc = xw_update_map_add(v->u, m,
					       (struct xw_map_run){e->lblk + off + (xw_lblk)done,
								   run.len, run.start,
								   e->unwritten});
		if (rc)
			return rc;
	}
	return 0;
}

/* Add `e` to m; blocks in the area are moved. */
static int move_extent(struct evict *v, xw_ino ino, const struct xw_inode *in,
		       const struct xw_extent *e, struct xw_update_map *m)
{
	uint64_t start, n;
	uint32_t at = 0;
	int rc = 0;

	while (at < e->len && !rc) {
		const bool any =
			xw_blockset_next_in(v->area, e->pblk + at, e->pblk + e->len, &start, &n);
		const uint32_t stay = any ? (uint32_t)(start - e->pblk) : e->len;

		rc = xw_update_map_add(
			v->u, m,
			(struct xw_map_run){e->lblk + at, stay - at, e->pblk + at, e->unwritten});
		if (!rc && any)
			rc = move_piece(v, ino, in, e, stay, n, m);
		at = any ? stay + (uint32_t)n : e->len;
	}
	return rc;
}

static bool map_touches(const struct evict *v, const struct xw_update_map *m)
{
	for (size_t i = 0; i < m->e.n; i++)
		if (touches(v, m->e.v[i].pblk, m->e.v[i].len))
			return true;
	for (size_t i = 0; i < m->nodes.n; i++)
		if (touches(v, m->nodes.v[i], 1))
			return true;
	return false;
}

static int move_map(struct evict *v, xw_ino ino, struct xw_inode *in, struct xw_update_map *was)
{
	struct xw_super *sb = &v->u->img->sb;
	auto_update_map struct xw_update_map m = {.other = was->other};
	int rc = 0;

	for (size_t i = 0; i < was->e.n && !rc; i++)
		rc = move_extent(v, ino, in, &was->e.v[i], &m);
	/* writing the new map frees the blocks of the old map, except for those in the area */
	for (size_t i = 0; i < was->nodes.n && !rc; i++)
		if (!touches(v, was->nodes.v[i], 1) && xw_vec_push(&m.nodes, was->nodes.v[i]))
			rc = xw_fail_nomem(v->u->diag, "extent list");
	if (!rc)
		rc = xw_update_map_write(v->u, ino, in, &m);
	if (!rc && ino == sb->journal_inum)
		xw_encode_journal_ref(sb, in);
	return rc;
}

/* *moved is set if the map has changed. */
static int evict_map(struct evict *v, xw_ino ino, struct xw_inode *in, bool *moved)
{
	auto_update_map struct xw_update_map m = {0};
	int rc = xw_update_map_read(v->u, ino, in, &m);

	if (rc || !map_touches(v, &m))
		return rc;
	*moved = true;
	return move_map(v, ino, in, &m);
}

/* ---- xattr blocks ---- */

static int move_xattr_block(struct evict *v, xw_ino ino, xw_blk from, xw_blk *to)
{
	const struct xw_image *img = v->u->img;
	const struct xw_alloc_req req = {.goal = from, .len = 1};
	const uint32_t bs = img->block_size;
	struct xw_xattr_bhdr h;
	struct xw_run run;
	int rc = xw_dev_pread(img->dev, v->buf, bs, from * bs);

	if (!rc && (xw_xattr_bhdr_decode(v->buf, &h) ||
		    (xw_super_has_csum(&img->sb) &&
		     xw_xattr_block_verify(v->buf, bs, img->csum_seed, from))))
		rc = xw_fail(img->diag, XW_ERR_CORRUPT,
			     "%s: inode %" PRIu32 ": attribute block %" PRIu64
			     " is damaged; run xw-fsck -f",
			     img->dev->name, ino, from);
	if (!rc)
		rc = xw_space_alloc(v->u->space, &req, &run);
	if (rc == XW_ERR_NOSPC)
		return xw_fail(img->diag, rc, "%s: no space to move attribute blocks",
			       img->dev->name);
	if (rc)
		return rc;
	if (xw_super_has_csum(&img->sb))
		xw_xattr_block_set_csum(v->buf, bs, img->csum_seed, run.start);
	if (xw_table_room(&v->xattrs, &by_blk, NULL))
		return xw_fail_nomem(img->diag, "attribute blocks");
	*(struct moved *)xw_table_slot(&v->xattrs, &by_blk, NULL, xw_table_number(&v->xattrs, from),
				       &from) = (struct moved){from, run.start};
	v->xattrs.n++;
	*to = run.start;
	return xw_dev_pwrite(img->dev, v->buf, bs, run.start * bs);
}

static int evict_xattrs(struct evict *v, xw_ino ino, struct xw_inode *in, bool *moved)
{
	const uint64_t blk = in->file_acl;
	const struct moved *at;

	if (!blk || !touches(v, blk, 1))
		return 0;
	*moved = true;
	at = xw_table_get(&v->xattrs, &by_blk, NULL, xw_table_number(&v->xattrs, blk), &blk);
	if (!at)
		return move_xattr_block(v, ino, blk, &in->file_acl);
	in->file_acl = at->to;
	return 0;
}

/* ---- inodes ---- */

static int in_use(struct evict *v, xw_ino ino, bool *used)
{
	const uint32_t per = v->u->img->sb.inodes_per_group;
	const uint64_t group = (ino - 1) / per;
	const uint32_t bit = (ino - 1) % per;
	int rc = 0;

	if (group != v->group)
		rc = xw_image_inode_bitmap(v->u->img, group, v->bits);
	v->group = group;
	*used = v->bits[bit / 8] >> (bit % 8) & 1;
	return rc;
}

static int evict_inode(struct evict *v, xw_ino ino)
{
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	bool moved = false, used = false;
	int rc = in_use(v, ino, &used);

	/* xw_tune_evict() requires that no block of these two lies in the area */
	if (rc || !used || ino == XW_INO_BAD || ino == XW_INO_RESIZE)
		return rc;
	rc = xw_update_get(v->u, ino, &in, &raw);
	if (!rc && xw_inode_has_map(&in))
		rc = evict_map(v, ino, &in, &moved);
	if (!rc)
		rc = evict_xattrs(v, ino, &in, &moved);
	return rc || !moved ? rc : xw_update_put(v->u, ino, &in, steal(raw));
}

static int evict_all(struct evict *v)
{
	auto_end(xw_inode_scan_end) struct xw_inode_scan s;
	const uint8_t *raw;
	xw_ino ino;
	int rc = xw_inode_scan_begin(v->u->img, 0, v->u->img->groups, &s);

	while (!rc && (rc = xw_inode_scan_next(&s, &ino, &raw)) == 1)
		rc = evict_inode(v, ino);
	return rc;
}

int xw_tune_evict(struct xw_update *u, const struct xw_blockset *area)
{
	auto_free uint8_t *buf = malloc(COPY_UNIT), *bits = malloc(u->img->block_size);
	struct evict v = {.u = u, .area = area, .buf = buf, .bits = bits, .group = UINT64_MAX};
	uint64_t start, len;
	int rc;

	if (!buf || !bits)
		return xw_fail_nomem(u->diag, "blocks to move");
	rc = xw_blockset_next(area, 0, &start, &len) ? evict_all(&v) : 0;
	xw_table_free(&v.xattrs);
	return rc;
}
