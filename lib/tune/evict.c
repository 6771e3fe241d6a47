// SPDX-License-Identifier: MIT
/*
 * Make an area of an image free of everybody's blocks: contents, maps and attribute blocks in it
 * move to free space elsewhere. The blocks of the area stay in use: they are the caller's from then
 * on.
 *
 * Maps are changed as a list and written anew (update/map.c); so those whose own blocks lie in the
 * area move with no more work. What is not described by a map (metadata of groups, the MMP block)
 * cannot be moved here, nor can what says where others may not write (the bad blocks' inode).
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

/* An attribute block that was moved: several inodes may share it. */
struct moved {
	xw_blk from, to;
};

struct evict {
	struct xw_update *u;
	const struct xw_blockset *area;
	XW_VEC(struct moved) xattrs;
	struct xw_table by_blk; /* slots: positions in xattrs, plus one */
	uint8_t *buf; /* COPY_UNIT */
	uint8_t *bits; /* an inode bitmap */
	uint64_t group; /* whose */
};

static bool touches(const struct evict *v, xw_blk blk, uint64_t len)
{
	uint64_t start, n;

	return xw_blockset_next_in(v->area, blk, blk + len, &start, &n);
}

/* ---- contents ---- */

/* Checksums of the orphan file's blocks are made with their places. */
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
	int rc = 0;

	for (uint64_t n; len && !rc; len -= n, from += n, to += n) {
		n = XW_MIN(len, unit);
		rc = xw_dev_pread(dev, v->buf, n * bs, from * bs);
		if (!rc)
			rc = reseal(v, ino, in, from, to, n);
		if (!rc)
			rc = xw_dev_pwrite(dev, v->buf, n * bs, to * bs);
	}
	return rc;
}

/* `len` blocks of `e`, `off` blocks into it, get new places. */
static int move_piece(struct evict *v, xw_ino ino, const struct xw_inode *in,
		      const struct xw_extent *e, uint32_t off, uint64_t len,
		      struct xw_update_map *m)
{
	struct xw_run run;
	int rc = 0;

	for (uint64_t done = 0; done < len && !rc; done += run.len) {
		const xw_blk from = e->pblk + off + done;
		const struct xw_alloc_req req = {.goal = from, .len = len - done};

		rc = xw_space_alloc(v->u->space, &req, &run);
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
	}
	return rc;
}

/* `e` into m, with what of it lies in the area moved. */
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
	struct xw_update_map m = {.other = was->other};
	int rc = 0;

	for (size_t i = 0; i < was->e.n && !rc; i++)
		rc = move_extent(v, ino, in, &was->e.v[i], &m);
	/* Blocks of the old map are freed when the new one is written, but for the area's. */
	for (size_t i = 0; i < was->nodes.n && !rc; i++)
		if (!touches(v, was->nodes.v[i], 1) && xw_vec_push(&m.nodes, was->nodes.v[i]))
			rc = xw_fail_nomem(v->u->diag, "extent list");
	if (!rc)
		rc = xw_update_map_write(v->u, ino, in, &m);
	if (!rc && ino == sb->journal_inum)
		xw_encode_journal_ref(sb, in);
	xw_update_map_end(&m);
	return rc;
}

/* *moved: the map is another now. */
static int evict_map(struct evict *v, xw_ino ino, struct xw_inode *in, bool *moved)
{
	struct xw_update_map m = {0};
	int rc = xw_update_map_read(v->u, ino, in, &m);

	if (!rc && map_touches(v, &m)) {
		rc = move_map(v, ino, in, &m);
		*moved = true;
	}
	xw_update_map_end(&m);
	return rc;
}

/* ---- attribute blocks ---- */

static bool moved_used(const void *slot)
{
	return *(const uint32_t *)slot != 0;
}

static bool moved_same(const void *arg, const void *slot, const void *blk)
{
	const struct evict *v = arg;

	return v->xattrs.v[*(const uint32_t *)slot - 1].from == *(const xw_blk *)blk;
}

static uint64_t moved_hash(const void *arg, const void *slot)
{
	const struct evict *v = arg;

	return xw_table_number(v->xattrs.v[*(const uint32_t *)slot - 1].from);
}

static const struct xw_table_kind by_blk = {sizeof(uint32_t), moved_used, moved_same, moved_hash};

static int move_xattr_block(struct evict *v, xw_ino ino, xw_blk from, xw_blk *to)
{
	const struct xw_image *img = v->u->img;
	const struct xw_alloc_req req = {.goal = from, .len = 1};
	const uint32_t bs = img->block_size;
	struct xw_xattr_bhdr h;
	struct xw_run run;
	uint32_t *at;
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
	if (xw_table_room(&v->by_blk, &by_blk, v) ||
	    xw_vec_push(&v->xattrs, ((struct moved){from, run.start})))
		return xw_fail_nomem(img->diag, "attribute blocks");
	at = xw_table_slot(&v->by_blk, &by_blk, v, xw_table_number(from), &from);
	*at = (uint32_t)v->xattrs.n;
	v->by_blk.n++;
	*to = run.start;
	return xw_dev_pwrite(img->dev, v->buf, bs, run.start * bs);
}

static int evict_xattrs(struct evict *v, xw_ino ino, struct xw_inode *in, bool *moved)
{
	const uint32_t *at;

	if (!in->file_acl || !touches(v, in->file_acl, 1))
		return 0;
	*moved = true;
	at = xw_table_get(&v->by_blk, &by_blk, v, xw_table_number(in->file_acl), &in->file_acl);
	if (at) {
		in->file_acl = v->xattrs.v[*at - 1].to;
		return 0;
	}
	return move_xattr_block(v, ino, in->file_acl, &in->file_acl);
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

	/* Of these two the blocks stay where they are; see xw_tune_evict(). */
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
	struct xw_inode_scan s;
	const uint8_t *raw;
	xw_ino ino;
	int rc = xw_inode_scan_begin(v->u->img, 0, v->u->img->groups, &s);

	while (!rc && (rc = xw_inode_scan_next(&s, &ino, &raw)) == 1)
		rc = evict_inode(v, ino);
	xw_inode_scan_end(&s);
	return rc;
}

int xw_tune_evict(struct xw_update *u, const struct xw_blockset *area)
{
	struct evict v = {
		.u = u,
		.area = area,
		.buf = malloc(COPY_UNIT),
		.bits = malloc(u->img->block_size),
		.group = UINT64_MAX,
	};
	uint64_t start, len;
	int rc = v.buf && v.bits ? 0 : xw_fail_nomem(u->diag, "blocks to move");

	if (!rc && xw_blockset_next(area, 0, &start, &len))
		rc = evict_all(&v);
	xw_vec_free(&v.xattrs);
	xw_table_free(&v.by_blk);
	free(v.buf);
	free(v.bits);
	return rc;
}
