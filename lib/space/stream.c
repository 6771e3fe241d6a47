/* SPDX-License-Identifier: MIT */
/*
 * Streams: the order of the input becomes the order on the device. Used blocks ahead are obstacles.
 *
 *   pos == end   at the front. A request that fits before the next obstacle is placed at pos, any
 *                other at the first place after pos where it fits whole; in that case pos stays in
 *                the gap if the gap is worth filling (gap_keep).
 *   pos < end    in a gap. Requests that fit are placed at pos. The first that does not fit, or a
 *                full gap, sets pos = end, so every gap costs at most one jump backwards.
 *
 * A request longer than the maximum extent (32,768 blocks) needs several extents anyway. A gap
 * before it, up to its own size, would gain nothing and could double a small image. So the request
 * is placed from pos on, around the obstacles, unless that needs more extents than the minimum and
 * more than fit in the inode. If the gap is below a sixteenth of the request, no additional extent
 * is accepted.
 */
#include "config.h"

#include "space/priv.h"

#include <stdlib.h>

#include "disk/extent.h"

struct plan {
	XW_VEC(struct xw_run) vec;
	uint64_t extents;
};

static uint64_t extents_of(uint64_t len)
{
	return xw_div_up(len, XW_EXT_MAX_LEN);
}

/*
 * Collect free runs from `from` on until len is covered or max_extents is exceeded: 1, 0 or an
 * error.
 */
static int plan_forward(struct xw_space *s, xw_blk from, uint64_t len, uint64_t max_extents,
			struct plan *p)
{
	while (len) {
		struct xw_run run = {xw_cl_space_next_free(s, from), 0};
		int rc;

		if (s->error)
			return s->error;
		if (run.start == XW_BLK_MAX)
			return 0;
		rc = xw_span_at(s, run.start, len, &run.len);
		if (!rc)
			rc = xw_vec_push(&p->vec, run);
		if (rc)
			return rc;
		p->extents += extents_of(run.len);
		if (p->extents > max_extents)
			return 0;
		len -= run.len;
		from = run.start + run.len;
	}
	return 1;
}

/*
 * Is splitting this request at the obstacles better than skipping `gap` blocks? 1, 0 or an error.
 */
static int cut_is_better(struct xw_space *s, xw_blk pos, uint64_t len, uint64_t gap)
{
	uint64_t whole = extents_of(len);
	struct plan p = {0};
	int rc;

	if (whole <= 1 || !gap)
		return 0;
	if (gap >= len / 16)
		rc = plan_forward(s, pos, len, XW_MAX(XW_EXT_INODE_ENTRIES, whole + whole / 4), &p);
	else
		rc = plan_forward(s, pos, len, whole, &p);
	xw_vec_free(&p.vec);
	return rc;
}

/* Count a request served by n runs; at_pos: the first of them is at the stream's position. */
static void count_requests(struct xw_space *s, size_t n, bool at_pos)
{
	s->st.requests += n;
	s->st.success++;
	s->st.stream_hits += at_pos;
}

/* Allocate one run for len blocks, *one: 1; 0 if more are needed; or an error. */
static int place(struct xw_space *s, struct xw_stream *st, uint64_t len, struct xw_run *one)
{
	uint64_t have;
	xw_blk to;
	int rc;

	st->pos = XW_MAX(st->pos, s->first_data_block);
	if (st->pos < st->end) {
		rc = xw_span_at_goal(s, st->pos, len, true, one);
		if (rc < 0)
			return rc;
		if (rc) {
			count_requests(s, 1, true);
			st->pos += len;
			rc = xw_span_at(s, st->pos, 1, &have);
			if (!have)
				st->pos = st->end;
			return rc ? rc : 1;
		}
	}
	st->pos = XW_MAX(st->pos, st->end);
	rc = xw_span_at(s, st->pos, len, &have);
	if (rc)
		return rc;
	to = st->pos;
	if (have < len) {
		rc = xw_span_ahead(s, st->pos + have, len, &to);
		if (rc <= 0)
			return rc;
		/* The whole distance, not `have`: it may span many obstacles and gaps. */
		rc = cut_is_better(s, st->pos, len, to - st->pos);
		if (rc)
			return rc < 0 ? rc : 0;
	}
	rc = xw_span_allocate(s, to, len);
	if (rc)
		return rc;
	one->start = to;
	one->len = len;
	count_requests(s, 1, to == st->pos);
	st->end = to + len;
	if (have >= len || have < XW_MAX(st->gap_keep, 1))
		st->pos = st->end;
	return 1;
}

int xw_cl_stream_alloc_one(struct xw_space *s, struct xw_stream *st, uint64_t len,
			   struct xw_run *one)
{
	/* The fast path: pos is the start of the only free run of its group. */
	if (st->pos >= st->end && xw_blk_inside(s, st->pos) && len && !s->error) {
		uint32_t at, g = xw_group_of(s, st->pos, &at);
		const struct xw_group *gr = &s->groups[g];

		if (xw_group_described(gr) && at == gr->first && len <= gr->free) {
			int rc = xw_group_allocate(s, g, at, (uint32_t)len);

			if (rc)
				return rc;
			one->start = st->pos;
			one->len = len;
			count_requests(s, 1, true);
			st->end = st->pos += len;
			return 1;
		}
	}
	if (!len)
		return XW_ERR_USAGE;
	if (s->error)
		return s->error;
	xw_space_trim(s);
	return place(s, st, len, one);
}

/* Split at the obstacles, from pos on: 1, 0 if the space ahead is insufficient, or an error. */
static int place_cut(struct xw_space *s, struct xw_stream *st, uint64_t len, struct xw_run **runs,
		     size_t *n)
{
	uint64_t whole = extents_of(len);
	struct plan p = {0};
	/* Mostly empty groups have one free run of at least three eighths (lib/plan/stream.c). */
	uint64_t most = XW_MAX(2 * whole, 4 * xw_div_up(len, s->cpg));
	int rc = plan_forward(s, st->pos, len, XW_MAX(4 * XW_EXT_INODE_ENTRIES, most), &p);

	for (size_t i = 0; rc > 0 && i < p.vec.n; i++) {
		int err = xw_span_allocate(s, p.vec.v[i].start, p.vec.v[i].len);

		if (!err)
			continue;
		while (i--)
			xw_cl_space_release(s, p.vec.v[i].start, p.vec.v[i].len);
		rc = err;
		break;
	}
	if (rc <= 0) {
		xw_vec_free(&p.vec);
		return rc;
	}
	*runs = p.vec.v;
	*n = p.vec.n;
	count_requests(s, *n, (*runs)[0].start == st->pos);
	st->pos = st->end = p.vec.v[p.vec.n - 1].start + p.vec.v[p.vec.n - 1].len;
	return 1;
}

int xw_cl_stream_alloc(struct xw_space *s, struct xw_stream *st, uint64_t len, struct xw_run **runs,
		       size_t *n)
{
	struct xw_alloc_req req = {.len = len};
	struct xw_run one;
	int rc;

	*runs = NULL;
	*n = 0;
	rc = xw_cl_stream_alloc_one(s, st, len, &one);
	if (rc > 0) {
		*runs = malloc(sizeof(**runs));
		if (!*runs) {
			xw_cl_space_release(s, one.start, one.len);
			return XW_ERR_NOMEM;
		}
		(*runs)[0] = one;
		*n = 1;
		return 0;
	}
	if (!rc)
		rc = place_cut(s, st, len, runs, n);
	if (rc)
		return rc < 0 ? rc : 0;
	/* The space ahead is insufficient: allocate anywhere, in as few runs as possible. */
	req.goal = st->pos;
	rc = xw_cl_space_alloc_all(s, &req, runs, n);
	for (size_t i = 0; !rc && i < *n; i++)
		st->end = XW_MAX(st->end, (*runs)[i].start + (*runs)[i].len);
	return rc;
}
