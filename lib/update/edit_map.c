// SPDX-License-Identifier: MIT
/*
 * Maps changed in memory: read whole, changed as a list of extents, and built anew by the builder
 * in new blocks. The old map's blocks are freed; those of the contents only where somebody says so.
 */
#include "config.h"

#include "update/edit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "disk/indirect.h"
#include "read/map.h"
#include "update/update_internal.h"

static int refuse(struct xw_update *u, xw_ino ino, int code, const char *why)
{
	return xw_fail(u->diag, code, "%s: inode %" PRIu32 ": %s", u->img->dev->name, ino, why);
}

static bool uses_extents(const struct xw_update *u)
{
	return u->img->sb.feature_incompat & XW_INCOMPAT_EXTENTS;
}

static uint32_t max_len(bool unwritten)
{
	return unwritten ? XW_EXT_MAX_UNINIT : XW_EXT_MAX_LEN;
}

/* Behind the last extent of a list that is in order; joined with it where that is possible. */
static int append(struct xw_update *u, struct xw_update_map *m, struct xw_extent e)
{
	struct xw_extent *last = m->e.n ? &m->e.v[m->e.n - 1] : NULL;

	if (last && last->unwritten == e.unwritten && last->lblk + last->len == e.lblk &&
	    last->pblk + last->len == e.pblk) {
		const uint32_t more = XW_MIN(e.len, max_len(e.unwritten) - last->len);

		last->len += more;
		e.lblk += more;
		e.pblk += more;
		e.len -= more;
	}
	return e.len && xw_vec_push(&m->e, e) ? xw_fail_nomem(u->diag, "extent list") : 0;
}

static int append_run(struct xw_update *u, struct xw_update_map *m, const struct xw_map_run *run)
{
	int ret = 0;

	for (uint64_t done = 0; done < run->len && !ret;) {
		const uint32_t len = (uint32_t)XW_MIN(run->len - done, max_len(run->unwritten));

		ret = append(u, m,
			     (struct xw_extent){(uint32_t)(run->lblk + done), len, run->pblk + done,
						run->unwritten});
		done += len;
	}
	return ret;
}

struct reader {
	struct xw_update *u;
	struct xw_update_map *m;
};

static int see_node(void *arg, xw_blk blk, unsigned depth)
{
	struct reader *r = arg;

	(void)depth;
	return xw_vec_push(&r->m->nodes, ((struct xw_run){blk, 1}))
		       ? xw_fail_nomem(r->u->diag, "extent list")
		       : 0;
}

int xw_update_map_read(struct xw_update *u, xw_ino ino, const struct xw_inode *in,
		       struct xw_update_map *m)
{
	struct reader r = {u, m};
	struct xw_map_iter it;
	struct xw_map_run run;
	int more, ret;

	*m = (struct xw_update_map){0};
	if (in->flags & XW_FL_ITREE && (in->mode & XW_S_IFMT) == XW_S_IFDIR)
		return refuse(u, ino, XW_ERR_UNSUPPORTED, "has an itree");
	ret = xw_update_other_blocks(u, ino, in, &m->other);
	if (ret || !xw_inode_has_map(in))
		return ret;
	ret = xw_map_begin(u->img, ino, in, 0, &it);
	it.on_node = see_node;
	it.arg = &r;
	while (!ret && (more = xw_map_next(&it, &run)) != 0)
		ret = more < 0 ? more : append_run(u, m, &run);
	xw_map_end(&it);
	return ret;
}

void xw_update_map_end(struct xw_update_map *m)
{
	xw_vec_free(&m->e);
	xw_vec_free(&m->nodes);
}

/* Where a neighbour of the file's end would be, else of its inode. */
static xw_blk goal_of(const struct xw_update *u, xw_ino ino, const struct xw_update_map *m)
{
	const struct xw_extent *last = m->e.n ? &m->e.v[m->e.n - 1] : NULL;
	const uint64_t group = (ino - 1) / u->img->sb.inodes_per_group;

	return last ? last->pblk + last->len
		    : u->img->sb.first_data_block + group * u->img->sb.blocks_per_group;
}

/* The builder's node of an inode that is there; dir serves directories. */
static struct xw_binode node_of(xw_ino ino, const struct xw_inode *in, struct xw_update_map *m,
				struct xw_bdir *dir)
{
	struct xw_binode n = {
		.mode = in->mode,
		.ino = ino,
		.flags = XW_BN_OLD,
		.size = in->size,
		.generation = in->generation,
		.n_ext = (uint32_t)m->e.n,
	};

	if ((in->mode & XW_S_IFMT) == XW_S_IFDIR) {
		*dir = (struct xw_bdir){.generation = in->generation};
		n.dir = dir;
	}
	if (n.n_ext == 1)
		n.ext = m->e.v[0];
	else if (n.n_ext)
		n.exts = m->e.v;
	return n;
}

int xw_update_map_write(struct xw_update *u, xw_ino ino, struct xw_inode *in,
			struct xw_update_map *m)
{
	const int64_t before = (int64_t)xw_update_bytes(u, in);
	const uint32_t index = in->flags & XW_FL_INDEX;
	struct xw_bdir dir;
	struct xw_binode n = node_of(ino, in, m, &dir);
	int ret = 0;

	for (size_t i = 0; i < m->nodes.n && !ret; i++)
		ret = xw_update_free(u, m->nodes.v[i].start, m->nodes.v[i].len);
	m->nodes.n = 0;
	if (!ret && n.n_ext && !uses_extents(u) &&
	    (uint64_t)m->e.v[n.n_ext - 1].lblk + m->e.v[n.n_ext - 1].len >
		    xw_indirect_max_lblk(u->img->block_size))
		ret = refuse(u, ino, XW_ERR_LIMIT, "its map does not reach so far");
	u->b.goal = goal_of(u, ino, m);
	if (!ret && n.n_ext)
		ret = xw_build_place_map(&u->b, &n);
	u->b.items.n = 0; /* written here: n does not live until the sweep */
	if (!ret)
		ret = xw_build_check_room(&u->b);
	if (!ret && n.map)
		ret = xw_map_write(&u->b, &n);
	if (!ret && n.map)
		ret = xw_batch_drain(u->out.batch); /* it may be read again before the end */
	if (!ret)
		ret = xw_update_set_map(u, &n, in, m->other);
	in->flags |= index;
	if (n.map)
		free(n.map->runs);
	free(n.map);
	return ret ? ret : xw_update_charge(u, in, 0, (int64_t)xw_update_bytes(u, in) - before);
}

/* Where block lblk must be, since another block of its cluster is there; 0: nowhere yet. */
static xw_blk partner(const struct xw_update *u, const struct xw_update_map *m, uint64_t lblk)
{
	const uint32_t bits = u->b.geo.cluster_bits;

	for (size_t i = 0; i < m->e.n; i++) {
		const struct xw_extent *e = &m->e.v[i];

		if (e->lblk >> bits <= lblk >> bits &&
		    ((uint64_t)e->lblk + e->len - 1) >> bits >= lblk >> bits)
			return e->pblk + lblk - e->lblk;
	}
	return 0;
}

/* ---- punch ---- */

/* e less first .. last, in 0 to 2 pieces, to m. */
static int punch_one(struct xw_update *u, struct xw_update_map *m, const struct xw_extent *e,
		     uint64_t first, uint64_t last)
{
	const uint64_t end = (uint64_t)e->lblk + e->len;
	const uint64_t from = XW_MIN(XW_MAX(first, e->lblk), end);
	const uint64_t to = XW_MAX(XW_MIN(last + 1, end), from);
	struct xw_extent head = *e, tail = *e;
	int ret;

	head.len = (uint32_t)(from - e->lblk);
	tail.lblk = (uint32_t)to;
	tail.pblk += to - e->lblk;
	tail.len = (uint32_t)(end - to);
	ret = head.len ? append(u, m, head) : 0;
	return ret || !tail.len ? ret : append(u, m, tail);
}

/* Clusters of first .. last that `left` has nothing in: at both ends it may. */
static int free_lost(struct xw_update *u, const struct xw_update_map *was,
		     const struct xw_update_map *left, uint64_t first, uint64_t last)
{
	const uint32_t bits = u->b.geo.cluster_bits;
	const uint64_t end = partner(u, left, last) ? last >> bits << bits : last + 1;
	struct xw_update_clusters c = {.u = u};
	int ret = 0;

	if (partner(u, left, first))
		c.next = (first >> bits) + 1;
	for (size_t i = 0; i < was->e.n && !ret; i++) {
		const struct xw_extent *e = &was->e.v[i];
		const uint64_t from = XW_MAX(first, e->lblk);
		const uint64_t to = XW_MIN(end, (uint64_t)e->lblk + e->len);
		const struct xw_map_run run = {(xw_lblk)from, to - from, e->pblk + from - e->lblk,
					       false};
		struct xw_run fresh;

		if (from >= to)
			continue;
		ret = xw_update_clusters(&c, &run, &fresh);
		if (!ret && fresh.len)
			ret = xw_update_free(u, fresh.start, fresh.len);
	}
	return ret;
}

/* Load inode and map; inline contents go to blocks first. */
struct edit {
	struct xw_inode in;
	uint8_t *raw;
	struct xw_update_map m;
};

static int begin(struct xw_update *u, xw_ino ino, struct edit *e)
{
	int ret;

	*e = (struct edit){0};
	ret = xw_update_uninline(u, ino);
	if (!ret)
		ret = xw_update_get(u, ino, &e->in, &e->raw);
	if (!ret && (e->in.mode & XW_S_IFMT) != XW_S_IFREG &&
	    (e->in.mode & XW_S_IFMT) != XW_S_IFDIR && !xw_inode_has_map(&e->in))
		ret = refuse(u, ino, XW_ERR_INPUT, "has no blocks");
	return ret ? ret : xw_update_map_read(u, ino, &e->in, &e->m);
}

static void end(struct edit *e)
{
	xw_update_map_end(&e->m);
	free(e->raw);
}

static int finish(struct xw_update *u, xw_ino ino, struct edit *e)
{
	const int ret = xw_update_map_write(u, ino, &e->in, &e->m);

	return ret ? ret : xw_update_put(u, ino, &e->in, steal(e->raw));
}

int xw_update_punch(struct xw_update *u, xw_ino ino, xw_lblk first, xw_lblk last)
{
	struct xw_update_map left = {0};
	struct edit e;
	int ret = begin(u, ino, &e);

	for (size_t i = 0; i < e.m.e.n && !ret; i++)
		ret = punch_one(u, &left, &e.m.e.v[i], first, last);
	if (!ret)
		ret = free_lost(u, &e.m, &left, first, last);
	if (!ret) {
		free(e.m.e.v);
		memcpy(&e.m.e, &left.e, sizeof(left.e));
		memset(&left, 0, sizeof(left));
		ret = finish(u, ino, &e);
	}
	xw_update_map_end(&left);
	end(&e);
	return ret;
}

/* ---- fallocate ---- */

/* Blocks that the map of so many extents and blocks may take. */
static uint64_t map_room(const struct xw_update *u, const struct xw_update_map *m, uint64_t blocks)
{
	const uint64_t per = uses_extents(u) ? xw_extent_node_max(u->img->block_size)
					     : xw_indirect_per_block(u->img->block_size);

	return (uses_extents(u) ? m->e.n + 1 : blocks) / per * 2 + XW_EXT_MAX_DEPTH;
}

struct filler {
	struct xw_update *u;
	const struct xw_update_map *was;
	struct xw_update_map *m; /* what it becomes */
	xw_blk goal;
	uint64_t blocks; /* added */
	bool up_to, full;
};

/*
 * Blocks for `from` and those behind it, at most to `to`. Where their cluster is the file's already
 * they are in it; new ones begin where the first of their cluster would be.
 */
static int take_some(struct filler *f, uint64_t from, uint64_t to, struct xw_run *run)
{
	struct xw_update *u = f->u;
	const uint64_t size = UINT64_C(1) << u->b.geo.cluster_bits, lead = from & (size - 1);
	const xw_blk there = partner(u, f->was, from);
	uint64_t end = partner(u, f->was, to - 1) ? (to - 1) & ~(size - 1) : to;
	struct xw_alloc_req req = {.goal = f->goal};
	int ret;

	if (there) {
		*run = (struct xw_run){there, XW_MIN(to, (from | (size - 1)) + 1) - from};
		return 0;
	}
	end = XW_MIN(end, from - lead + (max_len(uses_extents(u)) & ~(size - 1)));
	req.len = end - from + lead;
	if (f->up_to) {
		const uint64_t room = xw_space_free_blocks(u->space),
			       keep = map_room(u, f->m, f->blocks) * size;

		if (room < keep + size)
			return XW_ERR_NOSPC;
		req.len = XW_MIN(req.len, (room - keep) & ~(size - 1));
	}
	ret = xw_space_alloc(u->space, &req, run);
	if (ret)
		return ret;
	run->start += lead;
	run->len -= lead;
	return 0;
}

/* Blocks for a hole; where only as much is wanted as there is, fewer. */
static int fill_hole(struct filler *f, uint64_t from, uint64_t to)
{
	struct xw_update *u = f->u;
	const bool unwritten = uses_extents(u);
	int ret = 0;

	while (from < to && !ret && !f->full) {
		struct xw_run run;

		ret = take_some(f, from, to, &run);
		if (ret == XW_ERR_NOSPC && !f->up_to)
			return xw_fail(u->diag, ret, "%s: %" PRIu64 " blocks needed, none free",
				       u->img->dev->name, to - from);
		f->full = ret == XW_ERR_NOSPC;
		if (ret)
			return f->full ? 0 : ret;
		ret = append(u, f->m,
			     (struct xw_extent){(uint32_t)from, (uint32_t)run.len, run.start,
						unwritten});
		if (!ret && !unwritten)
			ret = xw_dev_zero(u->data, run.start * u->img->block_size,
					  run.len * u->img->block_size);
		f->goal = run.start + run.len;
		f->blocks += run.len;
		from += run.len;
	}
	return ret;
}

int xw_update_fallocate(struct xw_update *u, xw_ino ino, xw_lblk first, xw_lblk last, bool up_to)
{
	const uint64_t most =
		uses_extents(u) ? UINT32_MAX : xw_indirect_max_lblk(u->img->block_size);
	const uint64_t stop = XW_MIN((uint64_t)last + 1, most);
	struct xw_update_map more = {0};
	struct edit e;
	struct filler f = {.u = u, .was = &e.m, .m = &more, .up_to = up_to};
	uint64_t at = first;
	int ret = begin(u, ino, &e);

	if (!ret && last >= most && !up_to)
		ret = refuse(u, ino, XW_ERR_LIMIT, "its map does not reach so far");
	f.goal = ret ? 0 : goal_of(u, ino, &e.m);
	for (size_t i = 0; i < e.m.e.n && !ret; i++) {
		const struct xw_extent *x = &e.m.e.v[i];

		if (x->lblk > at)
			ret = fill_hole(&f, at, XW_MIN(x->lblk, stop));
		at = XW_MAX(at, (uint64_t)x->lblk + x->len);
		f.goal = x->pblk + x->len;
		if (!ret)
			ret = append(u, &more, *x);
	}
	if (!ret && at < stop)
		ret = fill_hole(&f, at, stop);
	if (!ret) {
		free(e.m.e.v);
		memcpy(&e.m.e, &more.e, sizeof(more.e));
		memset(&more, 0, sizeof(more));
		ret = finish(u, ino, &e);
	}
	xw_update_map_end(&more);
	end(&e);
	return ret;
}

/* ---- one block ---- */

/* Let lblk be at pblk, whatever it was. */
static int put_one(struct xw_update *u, struct xw_update_map *m, xw_lblk lblk, xw_blk pblk)
{
	const struct xw_extent one = {lblk, 1, pblk, false};
	struct xw_update_map next = {0};
	bool done = false;
	int ret = 0;

	for (size_t i = 0; i < m->e.n && !ret; i++) {
		const struct xw_extent *x = &m->e.v[i];
		struct xw_extent head = *x, tail = *x;

		head.len = lblk > x->lblk ? XW_MIN(lblk - x->lblk, x->len) : 0;
		if (lblk >= x->lblk)
			tail.len = lblk - x->lblk < x->len ? x->len - (lblk - x->lblk) - 1 : 0;
		tail.lblk += x->len - tail.len;
		tail.pblk += x->len - tail.len;
		if (head.len)
			ret = append(u, &next, head);
		if (!ret && !done && (uint64_t)lblk < (uint64_t)x->lblk + x->len) {
			ret = append(u, &next, one);
			done = true;
		}
		if (!ret && tail.len)
			ret = append(u, &next, tail);
	}
	if (!ret && !done)
		ret = append(u, &next, one);
	free(m->e.v);
	memcpy(&m->e, &next.e, sizeof(next.e));
	return ret;
}

static xw_blk where(const struct xw_update_map *m, xw_lblk lblk)
{
	for (size_t i = 0; i < m->e.n; i++)
		if (lblk >= m->e.v[i].lblk && lblk - m->e.v[i].lblk < m->e.v[i].len)
			return m->e.v[i].pblk + (lblk - m->e.v[i].lblk);
	return 0;
}

static int set_block(struct xw_update *u, xw_ino ino, struct edit *e, xw_lblk lblk, xw_blk *pblk)
{
	const uint64_t count = e->in.blocks;
	const uint32_t huge = e->in.flags & XW_FL_HUGE_FILE;
	const bool given = *pblk != 0;
	int ret = 0;

	if (given && *pblk >= u->img->sb.blocks_count)
		return refuse(u, ino, XW_ERR_INPUT, "no such block");
	if (!given && (*pblk = where(&e->m, lblk)) != 0)
		return 0;
	if (!given)
		*pblk = partner(u, &e->m, lblk);
	if (!*pblk) {
		const struct xw_alloc_req req = {.goal = goal_of(u, ino, &e->m), .len = 1};
		struct xw_run run;

		ret = xw_space_alloc(u->space, &req, &run);
		if (ret)
			return refuse(u, ino, ret, "no free block is left for it");
		*pblk = run.start + (lblk & ((1u << u->b.geo.cluster_bits) - 1));
	}
	ret = put_one(u, &e->m, lblk, *pblk);
	if (!ret)
		ret = finish(u, ino, e);
	if (ret || !given)
		return ret;
	ret = xw_update_get(u, ino, &e->in, &e->raw);
	e->in.blocks = count;
	e->in.flags = (e->in.flags & ~XW_FL_HUGE_FILE) | huge;
	return ret ? ret : xw_update_put(u, ino, &e->in, steal(e->raw));
}

int xw_update_map_block(struct xw_update *u, xw_ino ino, xw_lblk lblk, xw_blk *pblk)
{
	struct edit e;
	int ret = begin(u, ino, &e);

	if (!ret)
		ret = set_block(u, ino, &e, lblk, pblk);
	end(&e);
	return ret;
}
