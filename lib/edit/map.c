// SPDX-License-Identifier: MIT
/*
 * Mapping and unmapping blocks of one file: its map is read, changed and rewritten (update/map.c).
 */
#include "config.h"

#include "edit/edit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "disk/indirect.h"
#include "read/map.h"
#include "edit/edit_internal.h"

#define ZEROS_MAX UINT64_C(4096) /* number of blocks zeroed at once */

static bool uses_extents(const struct xw_update *u)
{
	return u->img->sb.feature_incompat & XW_INCOMPAT_EXTENTS;
}

static struct xw_map_run run_of(const struct xw_extent *e)
{
	return (struct xw_map_run){e->lblk, e->len, e->pblk, e->unwritten};
}

/* An inode and its map; inline contents are moved to blocks first. */
struct edit {
	struct xw_inode in;
	uint8_t *raw;
	struct xw_update_map m;
};

static int begin(struct xw_update *u, xw_ino ino, struct edit *e)
{
	int rc;

	*e = (struct edit){0};
	rc = xw_update_uninline(u, ino);
	if (!rc)
		rc = xw_update_get(u, ino, &e->in, &e->raw);
	if (!rc && (e->in.mode & XW_S_IFMT) != XW_S_IFREG &&
	    (e->in.mode & XW_S_IFMT) != XW_S_IFDIR && !xw_inode_has_map(&e->in))
		rc = xw_update_fail(u, ino, XW_ERR_INPUT, "has no blocks");
	return rc ? rc : xw_update_map_read(u, ino, &e->in, &e->m);
}

static void end(struct edit *e)
{
	xw_update_map_end(&e->m);
	free(e->raw);
}
#define auto_edit __attribute__((cleanup(end)))

static int finish(struct xw_update *u, xw_ino ino, struct edit *e)
{
	const int rc = xw_update_map_write(u, ino, &e->in, &e->m);

	return rc ? rc : xw_update_put(u, ino, &e->in, steal(e->raw));
}

int xw_update_punch(struct xw_update *u, xw_ino ino, xw_lblk first, xw_lblk last)
{
	auto_edit struct edit e;
	int rc = begin(u, ino, &e);

	if (!rc)
		rc = xw_update_map_punch(u, &e.m, first, last);
	return rc ? rc : finish(u, ino, &e);
}

/* ---- fallocate ---- */

/* Maximum number of blocks that the map itself may need with `blocks` more blocks. */
static uint64_t map_room(const struct xw_update *u, const struct xw_update_map *m, uint64_t blocks)
{
	const uint64_t per = uses_extents(u) ? xw_extent_node_max(u->img->block_size)
					     : xw_indirect_per_block(u->img->block_size);

	return (uses_extents(u) ? m->e.n + 1 : blocks) / per * 2 + XW_EXT_MAX_DEPTH;
}

struct filler {
	struct xw_update *u;
	const struct xw_update_map *was;
	struct xw_update_map *m; /* the new map */
	xw_blk goal;
	uint64_t blocks; /* number of blocks added */
	bool up_to, full;
};

/* Blocks of zeros are contents, and are allocated like them. */
static int alloc_zeroed(struct xw_update *u, const struct xw_alloc_req *req, struct xw_run *run)
{
	const struct xw_alloc_req part = {.goal = req->goal, .len = XW_MIN(req->len, ZEROS_MAX)};
	auto_free struct xw_run *runs = NULL;
	size_t n;
	int rc = xw_update_alloc_contents(u, &part, &runs, &n);

	if (!rc)
		*run = runs[0];
	for (size_t i = 1; i < n && !rc; i++)
		rc = xw_space_release(u->space, runs[i].start, runs[i].len);
	return rc;
}

/*
 * Allocate blocks for `from` and following ones, at most up to `to`. In a cluster that the file
 * already has, the block is given; otherwise it has the corresponding offset in a new cluster.
 */
static int alloc_some(struct filler *f, uint64_t from, uint64_t to, struct xw_run *run)
{
	struct xw_update *u = f->u;
	const uint64_t size = UINT64_C(1) << u->place.enc.cluster_bits, lead = from & (size - 1);
	const xw_blk there = xw_update_map_partner(u, f->was, from);
	uint64_t end = xw_update_map_partner(u, f->was, to - 1) ? (to - 1) & ~(size - 1) : to;
	const uint32_t most = uses_extents(u) ? XW_EXT_MAX_UNINIT : XW_EXT_MAX_LEN;
	struct xw_alloc_req req = {.goal = f->goal};
	int rc;

	if (there) {
		*run = (struct xw_run){there, XW_MIN(to, (from | (size - 1)) + 1) - from};
		return 0;
	}
	end = XW_MIN(end, from - lead + (most & ~(size - 1)));
	req.len = end - from + lead;
	if (f->up_to) {
		const uint64_t room = xw_space_free_blocks(u->space),
			       keep = map_room(u, f->m, f->blocks) * size;

		if (room < keep + size)
			return XW_ERR_NOSPC;
		req.len = XW_MIN(req.len, (room - keep) & ~(size - 1));
	}
	rc = uses_extents(u) ? xw_space_alloc(u->space, &req, run) : alloc_zeroed(u, &req, run);
	if (rc)
		return rc;
	run->start += lead;
	run->len -= lead;
	return 0;
}

/* Allocate blocks for a hole, or fewer with up_to if space is short. */
static int fill_hole(struct filler *f, uint64_t from, uint64_t to)
{
	struct xw_update *u = f->u;
	const bool unwritten = uses_extents(u);
	int rc = 0;

	while (from < to && !rc && !f->full) {
		struct xw_run run;

		rc = alloc_some(f, from, to, &run);
		if (rc == XW_ERR_NOSPC && unwritten && !f->up_to)
			return xw_fail(u->diag, rc, "%s: no space: %" PRIu64 " blocks are missing",
				       u->img->dev->name, to - from);
		f->full = rc == XW_ERR_NOSPC && f->up_to;
		if (f->full)
			xw_diag_clear(u->diag);
		if (rc)
			return f->full ? 0 : rc;
		rc = xw_update_map_add(
			u, f->m, (struct xw_map_run){(xw_lblk)from, run.len, run.start, unwritten});
		if (!rc && !unwritten)
			rc = xw_dev_zero(u->data, run.start * u->img->block_size,
					 run.len * u->img->block_size);
		f->goal = run.start + run.len;
		f->blocks += run.len;
		from += run.len;
	}
	return rc;
}

int xw_update_fallocate(struct xw_update *u, xw_ino ino, xw_lblk first, xw_lblk last, bool up_to)
{
	const uint64_t most =
		uses_extents(u) ? UINT32_MAX : xw_indirect_max_lblk(u->img->block_size);
	const uint64_t stop = XW_MIN((uint64_t)last + 1, most);
	auto_update_map struct xw_update_map more = {0};
	auto_edit struct edit e;
	struct filler f = {.u = u, .was = &e.m, .m = &more, .up_to = up_to};
	uint64_t at = first;
	int rc = begin(u, ino, &e);

	if (!rc && last >= most && !up_to)
		rc = xw_update_fail(u, ino, XW_ERR_LIMIT, "beyond the range of its map");
	f.goal = rc ? 0 : xw_update_map_goal(u, ino, &e.m);
	for (size_t i = 0; i < e.m.e.n && !rc; i++) {
		const struct xw_extent *x = &e.m.e.v[i];

		if (x->lblk > at)
			rc = fill_hole(&f, at, XW_MIN(x->lblk, stop));
		at = XW_MAX(at, (uint64_t)x->lblk + x->len);
		f.goal = x->pblk + x->len;
		if (!rc)
			rc = xw_update_map_add(u, &more, run_of(x));
	}
	if (!rc && at < stop)
		rc = fill_hole(&f, at, stop);
	if (!rc)
		rc = xw_update_contents_done(u);
	if (rc)
		return rc;
	xw_update_map_move(&e.m, &more);
	return finish(u, ino, &e);
}

/* ---- one block ---- */

/* Map lblk to pblk, replacing any previous mapping. */
static int put_one(struct xw_update *u, struct xw_update_map *m, xw_lblk lblk, xw_blk pblk)
{
	const struct xw_map_run one = {lblk, 1, pblk, false};
	struct xw_update_map next = {0};
	bool done = false;
	int rc = 0;

	for (size_t i = 0; i < m->e.n && !rc; i++) {
		const struct xw_extent *x = &m->e.v[i];
		struct xw_extent head = *x, tail = *x;

		head.len = lblk > x->lblk ? XW_MIN(lblk - x->lblk, x->len) : 0;
		if (lblk >= x->lblk)
			tail.len = lblk - x->lblk < x->len ? x->len - (lblk - x->lblk) - 1 : 0;
		tail.lblk += x->len - tail.len;
		tail.pblk += x->len - tail.len;
		rc = xw_update_map_add(u, &next, run_of(&head));
		if (!rc && !done && (uint64_t)lblk < (uint64_t)x->lblk + x->len) {
			rc = xw_update_map_add(u, &next, one);
			done = true;
		}
		if (!rc)
			rc = xw_update_map_add(u, &next, run_of(&tail));
	}
	if (!rc && !done)
		rc = xw_update_map_add(u, &next, one);
	xw_update_map_move(m, &next);
	return rc;
}

static int set_block(struct xw_update *u, xw_ino ino, struct edit *e, xw_lblk lblk, xw_blk *pblk)
{
	const uint64_t count = e->in.blocks;
	const uint32_t huge = e->in.flags & XW_FL_HUGE_FILE;
	const bool given = *pblk != 0;
	int rc = 0;

	if (given && *pblk >= u->img->sb.blocks_count)
		return xw_update_fail(u, ino, XW_ERR_INPUT, "no such block");
	if (!given && (*pblk = xw_update_map_at(&e->m, lblk)) != 0)
		return 0;
	if (!given)
		*pblk = xw_update_map_partner(u, &e->m, lblk);
	if (!*pblk) {
		const struct xw_alloc_req req = {.goal = xw_update_map_goal(u, ino, &e->m),
						 .len = 1};
		struct xw_run run;

		rc = xw_space_alloc(u->space, &req, &run);
		if (rc)
			return xw_update_fail(u, ino, rc, "no free block");
		*pblk = run.start + (lblk & ((1u << u->place.enc.cluster_bits) - 1));
	}
	rc = put_one(u, &e->m, lblk, *pblk);
	if (!rc)
		rc = finish(u, ino, e);
	if (rc || !given)
		return rc;
	rc = xw_update_get(u, ino, &e->in, &e->raw);
	e->in.blocks = count;
	e->in.flags = (e->in.flags & ~XW_FL_HUGE_FILE) | huge;
	return rc ? rc : xw_update_put(u, ino, &e->in, steal(e->raw));
}

int xw_update_map_block(struct xw_update *u, xw_ino ino, xw_lblk lblk, xw_blk *pblk)
{
	auto_edit struct edit e;
	int rc = begin(u, ino, &e);

	return rc ? rc : set_block(u, ino, &e, lblk, pblk);
}
