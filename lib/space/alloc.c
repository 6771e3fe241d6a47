/* SPDX-License-Identifier: MIT */
/*
 * Creation of the allocator, whole requests, claims and releases.
 *
 * xw_space_alloc_all uses the fewest runs: one run if a sufficient one exists, else the longest
 * runs, longest first, until the rest fits in one run. That is minimal: any k runs hold at most as
 * many blocks as the k longest runs, so if the k longest do not suffice, no k do; and splitting or
 * moving runs cannot help, since each run of the result lies in one maximal free run. (A maximal
 * run may cross group boundaries. Across groups that were never loaded its length is an estimate,
 * of which XW_PROBES_MAX are verified for each request. If more groups are unread than the budget
 * allows, see priv.h, only known runs are considered.)
 */
#include "config.h"

#include "base/search.h"
#include "space/priv.h"

#include <stdlib.h>

static unsigned or_default(int value, unsigned dflt)
{
	return value < 0 ? dflt : (unsigned)value;
}

static int params_check(const struct xw_space_params *p, struct xw_diag *diag)
{
	uint64_t want;

	if (!p->blocks_per_group || p->blocks_per_group % 8 ||
	    p->blocks_per_group > XW_GROUP_BLOCKS_MAX)
		return xw_fail(diag, XW_ERR_UNSUPPORTED,
			       "%u blocks per group: not a multiple of 8 up to %u",
			       p->blocks_per_group, XW_GROUP_BLOCKS_MAX);
	if (p->blocks <= p->first_data_block || p->blocks > XW_BLK_MAX)
		return xw_fail(diag, XW_ERR_USAGE, "free space of %llu blocks",
			       (unsigned long long)p->blocks);
	want = xw_div_up(p->blocks - p->first_data_block, p->blocks_per_group);
	if (p->groups != want || want > INT32_MAX)
		return xw_fail(diag, XW_ERR_USAGE, "%llu blocks make %llu groups, not %u",
			       (unsigned long long)p->blocks, (unsigned long long)want, p->groups);
	return 0;
}

static void set_params(struct xw_space *s, const struct xw_space_params *p)
{
	s->blocks = p->blocks;
	s->first_data_block = p->first_data_block;
	s->cpg = p->blocks_per_group;
	s->ngroups = p->groups;
	s->last_size =
		(uint32_t)(p->blocks - p->first_data_block - (uint64_t)(p->groups - 1) * s->cpg);
	s->indexed = or_default(p->optimize_scan, p->groups >= 16);
	s->linear_limit = or_default(p->linear_limit, 0);
	s->order2_req = or_default(p->order2_req, 2);
	s->stream_req = or_default(p->stream_req, 16);
	s->min_to_scan = or_default(p->min_to_scan, 10);
	s->max_to_scan = XW_MAX(1, or_default(p->max_to_scan, 200));
	s->max_trim = or_default(p->best_avail_max_trim_order, 3);
	s->dirty = XW_NO_GROUP;
	s->budget = XW_UNREAD_FIRST;
	s->deep = XW_UNREAD_MAX;
}

int xw_cl_space_new(const struct xw_space_params *p, const struct xw_space_source *src,
		    struct xw_diag *diag, struct xw_space **out)
{
	struct xw_space *s;
	int rc = params_check(p, diag);

	*out = NULL;
	if (rc)
		return rc;
	s = calloc(1, sizeof(*s));
	if (!s)
		return xw_fail_nomem(diag, "free space");
	set_params(s, p);
	if (src)
		s->src = *src;
	s->groups = calloc(s->ngroups, sizeof(*s->groups));
	rc = s->groups ? 0 : xw_fail_nomem(diag, "free space of all groups");
	for (uint32_t g = 0; !rc && g < s->ngroups; g++)
		rc = xw_group_init(s, g, diag);
	if (!rc && xw_index_new(s))
		rc = xw_fail_nomem(diag, "the index of free space");
	if (rc) {
		xw_space_free(s);
		return rc;
	}
	*out = s;
	return 0;
}

void xw_space_free(struct xw_space *s)
{
	if (!s)
		return;
	xw_groups_free(s);
	xw_index_free(s);
	free(s);
}

/* ---- whole requests ---- */

struct runs {
	XW_VEC(struct xw_run) vec;
};

/* Sort ascending, so that a file is read forward; adjacent runs are merged. */
static void tidy(struct runs *r)
{
	size_t n = 0;

	qsort(r->vec.v, r->vec.n, sizeof(*r->vec.v), xw_by_u64);
	for (size_t i = 1; i < r->vec.n; i++) {
		struct xw_run *last = &r->vec.v[n], *next = &r->vec.v[i];

		if (last->start + last->len == next->start)
			last->len += next->len;
		else
			r->vec.v[++n] = *next;
	}
	r->vec.n = n + 1;
}

/* Allocate one run of the result, at most `len`: 0 or an error. */
static int next_piece(struct xw_query *q, uint64_t len, struct xw_run *run)
{
	struct xw_space *s = q->s;
	int rc;

	s->st.requests++;
	q->want = len;
	rc = xw_choose_whole(q, len, run);
	if (!rc && !q->whole)
		rc = xw_choose_longest(q, len, run);
	if (rc < 0)
		return rc;
	s->st.success += rc && run->len == len;
	return rc ? 0 : XW_ERR_NOSPC;
}

static int all_pieces(struct xw_query *q, uint64_t len, struct runs *r)
{
	while (len) {
		struct xw_run run;
		int rc;

		/* Reserve memory first, so that recording an allocated run cannot fail. */
		rc = xw_vec_reserve(&r->vec, r->vec.n + 1);
		if (!rc)
			rc = next_piece(q, len, &run);
		if (rc)
			return rc;
		r->vec.v[r->vec.n++] = run;
		len -= run.len;
	}
	return 0;
}

int xw_cl_space_alloc_all(struct xw_space *s, const struct xw_alloc_req *req, struct xw_run **runs,
			  size_t *n)
{
	bool stream = (req->flags & XW_ALLOC_STREAM) || (!req->goal && req->len >= s->stream_req);
	xw_blk goal = stream ? s->stream_goal : req->goal;
	struct xw_query q = {.s = s,
			     .goal = xw_goal_group(s, goal),
			     .probes = XW_PROBES_MAX,
			     .reads = XW_READS_MAX,
			     .whole = req->flags & XW_ALLOC_WHOLE};
	struct runs r = {0};
	struct xw_run run;
	int rc;

	*runs = NULL;
	*n = 0;
	if (!req->len)
		return XW_ERR_USAGE;
	if (s->error)
		return s->error;
	if (req->len > s->free)
		return XW_ERR_NOSPC;
	if (xw_vec_reserve(&r.vec, 1))
		return XW_ERR_NOMEM;
	xw_space_trim(s);
	xw_allow_reads(s);
	rc = xw_span_at_goal(s, goal, req->len, true, &run);
	if (rc > 0) {
		r.vec.v[r.vec.n++] = run;
		s->st.requests++;
		s->st.success++;
		*(stream ? &s->st.stream_hits : &s->st.goal_hits) += 1;
		rc = 0;
	} else if (!rc && (req->flags & XW_ALLOC_EXACT)) {
		rc = XW_ERR_NOSPC;
	} else if (!rc) {
		rc = all_pieces(&q, req->len, &r);
	}
	if (rc) {
		for (size_t i = 0; i < r.vec.n; i++)
			xw_cl_space_release(s, r.vec.v[i].start, r.vec.v[i].len);
		xw_vec_free(&r.vec);
		return rc;
	}
	tidy(&r);
	if (stream)
		s->stream_goal = r.vec.v[r.vec.n - 1].start + r.vec.v[r.vec.n - 1].len;
	*runs = r.vec.v;
	*n = r.vec.n;
	return 0;
}

/* ---- claims ---- */

static int check_free(struct xw_space *s, uint32_t g, uint32_t at, uint32_t n)
{
	int rc = xw_group_load(s, g);

	return rc ? rc : xw_group_is_free(s, g, at, n) ? 0 : XW_ERR_CORRUPT;
}

static int check_used(struct xw_space *s, uint32_t g, uint32_t at, uint32_t n)
{
	int rc = xw_group_load(s, g);

	return rc ? rc : xw_group_is_used(s, g, at, n) ? 0 : XW_ERR_CORRUPT;
}

static bool outside(const struct xw_space *s, xw_blk start, uint64_t len)
{
	return !xw_blk_inside(s, start) || len > s->blocks - start;
}

int xw_cl_space_claim(struct xw_space *s, xw_blk start, uint64_t len)
{
	int rc;

	if (!len)
		return 0;
	if (outside(s, start, len))
		return XW_ERR_CORRUPT;
	xw_space_trim(s);
	rc = xw_span_each_group(s, start, len, check_free);
	return rc ? rc : xw_span_allocate(s, start, len);
}

int xw_cl_space_release(struct xw_space *s, xw_blk start, uint64_t len)
{
	int rc;

	if (!len)
		return 0;
	if (outside(s, start, len))
		return XW_ERR_CORRUPT;
	xw_space_trim(s);
	rc = xw_span_each_group(s, start, len, check_used);
	return rc ? rc : xw_span_each_group(s, start, len, xw_group_release);
}

uint64_t xw_cl_space_run_at(struct xw_space *s, xw_blk start, uint64_t max)
{
	uint64_t len;
	int rc;

	xw_space_trim(s);
	rc = xw_span_at(s, start, max, &len);
	if (rc && !s->error)
		s->error = rc;
	return rc ? 0 : len;
}

xw_blk xw_cl_space_next_free(struct xw_space *s, xw_blk from)
{
	struct xw_cr_stats uncounted = {0};
	uint32_t at, g;

	if (from < s->first_data_block)
		from = s->first_data_block;
	if (!xw_blk_inside(s, from))
		return XW_BLK_MAX;
	xw_space_reindex(s);
	for (g = xw_group_of(s, from, &at); g < s->ngroups; at = 0) {
		int rc;

		xw_space_trim(s);
		rc = xw_group_load(s, g);
		if (rc) {
			s->error = s->error ? s->error : rc;
			return XW_BLK_MAX;
		}
		at = xw_group_next_free(s, g, at);
		if (at < xw_group_size(s, g))
			return xw_group_base(s, g) + at;
		g = xw_index_next(s, XW_BY_FREE, 1, g + 1, s->ngroups, &uncounted);
	}
	return XW_BLK_MAX;
}

int xw_cl_space_truncate(struct xw_space *s, uint64_t blocks)
{
	uint32_t n, size;
	int rc;

	if (blocks > s->blocks || blocks <= s->first_data_block)
		return XW_ERR_USAGE;
	n = (uint32_t)xw_div_up(blocks - s->first_data_block, s->cpg);
	size = (uint32_t)(blocks - s->first_data_block - (uint64_t)(n - 1) * s->cpg);
	rc = xw_group_load(s, n - 1);
	if (rc)
		return rc;
	xw_space_reindex(s);
	for (uint32_t g = n; g < s->ngroups; g++) {
		s->free -= s->groups[g].free;
		s->unread -= (s->groups[g].flags & XW_G_UNRESOLVED) != 0;
		xw_group_forget(s, g);
	}
	xw_index_free(s);
	s->last_size = xw_group_size(s, n - 1);
	s->ngroups = n;
	s->blocks = blocks;
	xw_group_shorten(s, n - 1, size);
	return xw_index_new(s);
}
