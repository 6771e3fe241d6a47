// SPDX-License-Identifier: MIT
/*
 * The map of an existing inode: read completely, changed as a list of extents, and rewritten by the
 * placer in new blocks. Maps are not rewritten anywhere else.
 *
 * The old map blocks are freed when the new map is written; blocks of the contents only by
 * punching.
 */
#include "config.h"

#include "update/map.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "disk/indirect.h"
#include "read/map.h"
#include "update/inode.h"
#include "update/update_internal.h"

/* ---- the list ---- */

int xw_update_map_add(struct xw_update *u, struct xw_update_map *m, struct xw_map_run run)
{
	const uint32_t most = run.unwritten ? XW_EXT_MAX_UNINIT : XW_EXT_MAX_LEN;
	uint32_t len;

	for (; run.len; run.len -= len, run.lblk += len, run.pblk += len) {
		struct xw_extent *last = m->e.n ? &m->e.v[m->e.n - 1] : NULL;

		if (last && last->unwritten == run.unwritten && last->len < most &&
		    last->lblk + last->len == run.lblk && last->pblk + last->len == run.pblk) {
			len = (uint32_t)XW_MIN(run.len, most - last->len);
			last->len += len;
			continue;
		}
		len = (uint32_t)XW_MIN(run.len, most);
		if (xw_vec_push(&m->e,
				((struct xw_extent){run.lblk, len, run.pblk, run.unwritten})))
			return xw_fail_nomem(u->diag, "extent list");
	}
	return 0;
}

void xw_update_map_move(struct xw_update_map *m, struct xw_update_map *from)
{
	free(m->e.v);
	memcpy(&m->e, &from->e, sizeof(m->e));
	memset(&from->e, 0, sizeof(from->e));
}

void xw_update_map_end(struct xw_update_map *m)
{
	xw_vec_free(&m->e);
	xw_vec_free(&m->nodes);
}

xw_blk xw_update_map_goal(const struct xw_update *u, xw_ino ino, const struct xw_update_map *m)
{
	const struct xw_extent *last = m->e.n ? &m->e.v[m->e.n - 1] : NULL;
	const uint64_t group = (ino - 1) / u->img->sb.inodes_per_group;

	return last ? last->pblk + last->len
		    : u->img->sb.first_data_block + group * u->img->sb.blocks_per_group;
}

xw_blk xw_update_map_at(const struct xw_update_map *m, uint64_t lblk)
{
	for (size_t i = 0; i < m->e.n; i++)
		if (lblk >= m->e.v[i].lblk && lblk - m->e.v[i].lblk < m->e.v[i].len)
			return m->e.v[i].pblk + (lblk - m->e.v[i].lblk);
	return 0;
}

xw_blk xw_update_map_partner(const struct xw_update *u, const struct xw_update_map *m,
			     uint64_t lblk)
{
	const uint32_t bits = u->place.enc.cluster_bits;

	for (size_t i = 0; i < m->e.n; i++) {
		const struct xw_extent *e = &m->e.v[i];

		if (e->lblk >> bits <= lblk >> bits &&
		    ((uint64_t)e->lblk + e->len - 1) >> bits >= lblk >> bits)
			return e->pblk + lblk - e->lblk;
	}
	return 0;
}

/* ---- reading ---- */

struct reader {
	struct xw_update *u;
	struct xw_update_map *m;
};

static int see_node(void *arg, xw_blk blk, unsigned depth)
{
	struct reader *r = arg;

	(void)depth;
	return xw_vec_push(&r->m->nodes, blk) ? xw_fail_nomem(r->u->diag, "extent list") : 0;
}

int xw_update_map_load(struct xw_update *u, xw_ino ino, const struct xw_inode *in,
		       struct xw_update_map *m)
{
	struct reader r = {u, m};
	auto_end(xw_map_end) struct xw_map_iter it;
	struct xw_map_run run;
	int rc = xw_map_begin(u->img, ino, in, 0, &it);

	*m = (struct xw_update_map){0};
	it.on_node = see_node;
	it.arg = &r;
	while (!rc && (rc = xw_map_next(&it, &run)) == 1)
		rc = xw_update_map_add(u, m, run);
	return rc;
}

int xw_update_map_read(struct xw_update *u, xw_ino ino, const struct xw_inode *in,
		       struct xw_update_map *m)
{
	uint64_t other;
	int rc = 0;

	*m = (struct xw_update_map){0};
	if (in->flags & XW_FL_ITREE && (in->mode & XW_S_IFMT) == XW_S_IFDIR &&
	    u->img->sb.feature_ro_compat & XW_RO_ITREE)
		return xw_update_fail(u, ino, XW_ERR_UNSUPPORTED, "has an itree");
	rc = xw_update_other_blocks(u, ino, in, &other);
	if (!rc)
		rc = xw_update_map_load(u, ino, in, m);
	m->other = other;
	return rc;
}

/* ---- allocating and freeing ---- */

int xw_update_map_alloc(struct xw_update *u, xw_ino ino, struct xw_update_map *m, uint64_t len)
{
	const struct xw_alloc_req req = {.goal = xw_update_map_goal(u, ino, m), .len = len};
	auto_free struct xw_run *runs = NULL;
	uint64_t lblk = 0;
	size_t n = 0;
	int rc = xw_space_alloc_all(u->space, &req, &runs, &n);

	if (rc == XW_ERR_NOSPC)
		return xw_update_fail(u, ino, rc, "no free block");
	for (size_t i = 0; i < n && !rc; i++) {
		rc = xw_update_map_add(
			u, m,
			(struct xw_map_run){(xw_lblk)lblk, runs[i].len, runs[i].start, false});
		lblk += runs[i].len;
	}
	return rc;
}

/* Append e without first .. last, in 0 to 2 pieces, to m. */
static int punch_one(struct xw_update *u, struct xw_update_map *m, const struct xw_extent *e,
		     uint64_t first, uint64_t last)
{
	const uint64_t end = (uint64_t)e->lblk + e->len;
	const uint64_t from = XW_MIN(XW_MAX(first, e->lblk), end);
	const uint64_t to = XW_MAX(XW_MIN(last + 1, end), from);
	int rc = xw_update_map_add(
		u, m, (struct xw_map_run){e->lblk, from - e->lblk, e->pblk, e->unwritten});

	return rc ? rc
		  : xw_update_map_add(u, m,
				      (struct xw_map_run){(xw_lblk)to, end - to,
							  e->pblk + (to - e->lblk), e->unwritten});
}

/*
 * Free the clusters of first .. last in which `left` has no blocks; it may have blocks in the first
 * and the last cluster.
 */
static int free_lost(struct xw_update *u, const struct xw_update_map *was,
		     const struct xw_update_map *left, uint64_t first, uint64_t last)
{
	const uint32_t bits = u->place.enc.cluster_bits;
	const uint64_t end = xw_update_map_partner(u, left, last) ? last >> bits << bits : last + 1;
	struct xw_update_clusters c = {.u = u};
	int rc = 0;

	if (xw_update_map_partner(u, left, first))
		c.next = (first >> bits) + 1;
	for (size_t i = 0; i < was->e.n && !rc; i++) {
		const struct xw_extent *e = &was->e.v[i];
		const uint64_t from = XW_MAX(first, e->lblk);
		const uint64_t to = XW_MIN(end, (uint64_t)e->lblk + e->len);
		const struct xw_map_run run = {(xw_lblk)from, to - from, e->pblk + from - e->lblk,
					       false};
		struct xw_run fresh;

		if (from >= to)
			continue;
		rc = xw_update_clusters(&c, &run, &fresh);
		if (!rc && fresh.len)
			rc = xw_update_free(u, fresh.start, fresh.len);
	}
	return rc;
}

int xw_update_map_punch(struct xw_update *u, struct xw_update_map *m, uint64_t first, xw_lblk last)
{
	auto_update_map struct xw_update_map left = {0};
	int rc = 0;

	if (first > last)
		return 0;
	for (size_t i = 0; i < m->e.n && !rc; i++)
		rc = punch_one(u, &left, &m->e.v[i], first, last);
	if (!rc)
		rc = free_lost(u, m, &left, first, last);
	if (!rc)
		xw_update_map_move(m, &left);
	return rc;
}

/* ---- writing ---- */

int xw_update_build_map(struct xw_update *u, struct xw_binode *n)
{
	int rc = n->n_ext ? xw_place_map(&u->place, n) : 0;

	u->place.items.n = 0; /* already written; the items refer to n, which the caller frees */
	if (!rc)
		rc = xw_place_check_room(&u->place);
	if (!rc && n->map)
		rc = xw_map_write(&u->place, n);
	if (!rc && n->map)
		rc = xw_batch_drain(u->out.batch); /* the map may be read again before the end */
	return rc;
}

void xw_update_built_map_free(struct xw_binode *n)
{
	if (n->map)
		free(n->map->runs);
	free(n->map);
	n->map = NULL;
}

/* The builder's node of the inode. */
struct node {
	struct xw_binode n;
	struct xw_bdir dir;
};

/* Free the blocks of the old map, and write the new one to the device. */
static int rewrite(struct xw_update *u, xw_ino ino, const struct xw_inode *in,
		   struct xw_update_map *m, struct node *to)
{
	const struct xw_extent *last = m->e.n ? &m->e.v[m->e.n - 1] : NULL;
	int rc = 0;

	*to = (struct node){.n = {.mode = in->mode,
				  .ino = ino,
				  .flags = XW_BN_OLD,
				  .size = in->size,
				  .generation = in->generation,
				  .n_ext = (uint32_t)m->e.n},
			    .dir = {.generation = in->generation}};
	if ((in->mode & XW_S_IFMT) == XW_S_IFDIR)
		to->n.dir = &to->dir;
	if (m->e.n == 1)
		to->n.ext = m->e.v[0];
	else
		to->n.exts = m->e.v;
	if (last && !(u->img->sb.feature_incompat & XW_INCOMPAT_EXTENTS) &&
	    (uint64_t)last->lblk + last->len > xw_indirect_max_lblk(u->img->block_size))
		return xw_update_fail(u, ino, XW_ERR_LIMIT, "beyond the range of its map");
	for (size_t i = 0; i < m->nodes.n && !rc; i++)
		rc = xw_update_free_one(u, m->nodes.v[i]);
	m->nodes.n = 0;
	u->place.goal = xw_update_map_goal(u, ino, m);
	return rc ? rc : xw_update_build_map(u, &to->n);
}

int xw_update_map_write(struct xw_update *u, xw_ino ino, struct xw_inode *in,
			struct xw_update_map *m)
{
	const int64_t before = (int64_t)xw_update_bytes(u, in);
	const uint32_t index = in->flags & XW_FL_INDEX;
	struct node n;
	int rc = rewrite(u, ino, in, m, &n);

	if (!rc)
		rc = xw_update_set_map(u, &n.n, in, m->other);
	in->flags |= index;
	xw_update_built_map_free(&n.n);
	return rc ? rc : xw_update_charge(u, in, 0, (int64_t)xw_update_bytes(u, in) - before);
}

int xw_update_map_put(struct xw_update *u, xw_ino ino, struct xw_inode *in, struct xw_update_map *m,
		      int64_t *gain)
{
	const int64_t old = (int64_t)m->nodes.n;
	struct node n;
	const int rc = rewrite(u, ino, in, m, &n);

	*gain = ((n.n.map ? n.n.map->blocks : 0) - old) * (INT64_C(1) << u->place.enc.cluster_bits);
	if (!rc)
		xw_update_set_contents(u, &n.n, in);
	xw_update_built_map_free(&n.n);
	return rc;
}
