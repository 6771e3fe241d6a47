/* SPDX-License-Identifier: MIT */
/*
 * The criteria of mballoc, in order, which choose the place for one request.
 *
 * Every criterion has a family and a key and uses the next group from the goal on with at least
 * that key, found by the index or, with mb_optimize_scan off, by a linear search. The linear search
 * has no BEST_AVAIL, as in kernels before the group order lists; it is used for small filesystems
 * and for comparison. Since the longest run of every group is known, two criteria are better than
 * in the kernel: BEST_AVAIL first searches groups with a low average for a run that serves the
 * whole request, and ANY finds the longest run of the filesystem at once.
 *
 * `lost` is always 0: it counts extents lost to another thread.
 */
#include "config.h"

#include "space/priv.h"

enum { KEY_NO = 0, KEY_YES = 1, KEY_GIVE_UP = 2 };

/*
 * Verify that group g has this key; loads the group if the index has only an upper bound. A search
 * by average or order has an alternative, the search by longest run, so it may load only a limited
 * number of groups. KEY_*, or an error.
 */
static int verify_key(struct xw_query *q, uint32_t g, enum xw_family fam, uint32_t key)
{
	struct xw_space *s = q->s;
	unsigned flags = s->groups[g].flags;
	bool choice = fam == XW_BY_ORDER || fam == XW_BY_AVG;
	unsigned *budget;
	int rc;

	if (!(flags & XW_G_UNRESOLVED) && (fam != XW_BY_ORDER || !(flags & XW_G_INEXACT)))
		return KEY_YES;
	budget = flags & XW_G_UNRESOLVED ? &q->reads : &q->probes;
	if ((choice && !*budget) || ((flags & XW_G_UNRESOLVED) && !xw_may_read(q)))
		return KEY_GIVE_UP;
	*budget -= choice;
	xw_space_trim(s);
	rc = xw_group_load(s, g);
	if (rc)
		return rc;
	return xw_group_key(&s->groups[g], fam) >= key;
}

/* Try mb_linear_limit groups one by one before the index is used: KEY_*, or an error. */
static int find_linear(struct xw_query *q, enum xw_criteria c, enum xw_family fam, uint32_t key,
		       uint32_t *found)
{
	struct xw_space *s = q->s;
	int rc = KEY_NO;

	for (uint32_t i = 0; !rc && i < XW_MIN(s->linear_limit, s->ngroups); i++) {
		*found = (uint32_t)(((uint64_t)q->goal + i) % s->ngroups);
		s->st.cr[c].groups_considered++;
		if (xw_group_key(&s->groups[*found], fam) >= key)
			rc = verify_key(q, *found, fam, key);
	}
	return rc;
}

/*
 * The next group from the goal on, wrapping around, with at least `promise` in the index and a
 * verified key of at least `key`; XW_NO_GROUP also on errors (q->rc).
 */
static uint32_t find_promising(struct xw_query *q, enum xw_criteria c, enum xw_family fam,
			       uint32_t promise, uint32_t key)
{
	struct xw_space *s = q->s;
	uint32_t range[4] = {q->goal, s->ngroups, 0, q->goal}, g = XW_NO_GROUP;
	int rc = s->top ? find_linear(q, c, fam, key, &g) : KEY_NO;

	for (unsigned r = 0; !rc && r < 4; r += 2) {
		for (uint32_t from = range[r]; !rc && from < range[r + 1]; from = g + 1) {
			g = xw_index_next(s, fam, promise, from, range[r + 1], &s->st.cr[c]);
			if (g == XW_NO_GROUP)
				break;
			q->left -= q->left > 0;
			rc = verify_key(q, g, fam, key);
		}
	}
	if (rc < 0)
		q->rc = rc;
	return rc == KEY_YES ? g : XW_NO_GROUP;
}

static uint32_t find_group(struct xw_query *q, enum xw_criteria c, enum xw_family fam, uint32_t key)
{
	return find_promising(q, c, fam, key, key);
}

/*
 * Find a group with a run of at least len. With a budget: first among the groups with the highest
 * upper bounds, then from the goal on, then among the groups already read.
 */
static uint32_t find_run(struct xw_query *q, enum xw_criteria c, uint32_t len)
{
	struct xw_cr_stats *cr = &q->s->st.cr[c];
	uint32_t most, g = XW_NO_GROUP;

	/* Each iteration reads the groups with the highest bounds, which lowers the maximum. */
	while (g == XW_NO_GROUP && !q->rc && xw_on_budget(q) && xw_reads_left(q)) {
		most = xw_index_max(q->s, XW_BY_LONGEST, cr);
		if (most <= len)
			break;
		g = find_promising(q, c, XW_BY_LONGEST, most - (most - len) / 32, len);
	}
	if (g == XW_NO_GROUP && !q->rc)
		g = find_group(q, c, XW_BY_LONGEST, len);
	if (g == XW_NO_GROUP && !q->rc && xw_on_budget(q))
		g = find_group(q, c, XW_BY_KNOWN, len);
	return g;
}

/* ---- one group ---- */

/* The best free run found so far: the shortest sufficient run, else the longest run. */
struct best {
	uint32_t want, found;
	uint32_t group, at, len;
	bool fits;
};

/*
 * Examine the free runs of a loaded group, up to max_to_scan. sure: the group has a run of at least
 * `want`, and shorter runs are skipped.
 */
static void scan_group(struct xw_space *s, enum xw_criteria c, uint32_t g, bool sure,
		       struct best *b)
{
	uint32_t size = xw_group_size(s, g), least = sure ? b->want : 1, end;

	s->st.groups_scanned++;
	for (uint32_t at = s->groups[g].first; (at = xw_group_find_run(s, g, at, least)) < size;
	     at = end) {
		uint32_t len;

		end = xw_group_run_end(s, g, at);
		len = end - at;
		b->found++;
		s->st.extents_scanned++;
		s->st.cr[c].extents_scanned++;
		if (len >= b->want ? !b->fits || len < b->len : !b->fits && len > b->len) {
			b->group = g;
			b->at = at;
			b->len = len;
			b->fits = len >= b->want;
		}
		if (len == b->want) {
			s->st.exact_hits++;
			return;
		}
		if (b->fits && b->found >= s->min_to_scan)
			return;
		if (b->found >= s->max_to_scan) {
			s->st.breaks++;
			return;
		}
	}
}

/* 1, or an error. */
static int allocate_run(struct xw_query *q, enum xw_criteria c, uint32_t g, uint32_t at,
			uint32_t len, struct xw_run *out)
{
	int rc = xw_group_allocate(q->s, g, at, len);

	if (rc)
		return rc;
	q->s->st.cr[c].hits++;
	out->start = xw_group_base(q->s, g) + at;
	out->len = len;
	return 1;
}

/* Allocate up to `len` blocks of the best run of group g, which has a run of at least `want`. */
static int allocate_best(struct xw_query *q, enum xw_criteria c, uint32_t g, uint32_t want,
			 uint32_t len, struct xw_run *out)
{
	struct best b = {.want = want};
	int rc = xw_group_load(q->s, g);

	if (rc)
		return rc;
	scan_group(q->s, c, g, true, &b);
	if (!b.fits)
		return XW_ERR_INTERNAL;
	return allocate_run(q, c, g, b.at, XW_MIN(len, b.len), out);
}

static int by_key(struct xw_query *q, enum xw_criteria c, enum xw_family fam, uint32_t want,
		  uint32_t len, struct xw_run *out)
{
	uint32_t g = fam == XW_BY_LONGEST ? find_run(q, c, want) : find_group(q, c, fam, want);

	if (g == XW_NO_GROUP)
		return q->rc;
	return allocate_best(q, c, g, want, len, out);
}

/* The request is 2^k blocks: use the start of the smallest buddy that holds it. */
static int p2_aligned(struct xw_query *q, uint32_t len, struct xw_run *out)
{
	struct xw_space *s = q->s;
	unsigned k = xw_floor_log2(len);
	uint32_t g = find_group(q, XW_CR_P2_ALIGNED, XW_BY_ORDER, k + 1), at;
	int rc;

	if (g == XW_NO_GROUP)
		return q->rc;
	rc = xw_group_load(s, g);
	if (rc)
		return rc;
	s->st.groups_scanned++;
	s->st.extents_scanned++;
	s->st.cr[XW_CR_P2_ALIGNED].extents_scanned++;
	if (s->groups[g].slot == XW_NO_SLOT) {
		at = (uint32_t)xw_round_up(s->groups[g].first, len);
	} else {
		const uint16_t *buddies = xw_group_buddies(s, g);

		while (k < XW_SPACE_ORDERS - 1 && !buddies[k])
			k++;
		at = xw_bits_find_buddy(xw_group_words(s, g), s->groups[g].first,
					xw_group_size(s, g), k);
	}
	if (!xw_group_is_free(s, g, at, len))
		return XW_ERR_INTERNAL;
	return allocate_run(q, XW_CR_P2_ALIGNED, g, at, len, out);
}

/*
 * Count a criterion that considered groups and found nothing. (With the index, a failure may be
 * known at its root, without considering a group.)
 */
static void count_useless(struct xw_space *s, enum xw_criteria c, uint64_t considered_before)
{
	s->st.cr[c].useless_loops += s->st.cr[c].groups_considered != considered_before;
}

/* P2_ALIGNED and GOAL_FAST: 1, 0 or an error. */
static int fast(struct xw_query *q, uint32_t len, struct xw_run *out)
{
	struct xw_space *s = q->s;
	uint64_t before = s->st.cr[XW_CR_P2_ALIGNED].groups_considered;
	int rc;

	if (!(len & (len - 1)) && xw_floor_log2(len) >= s->order2_req) {
		rc = p2_aligned(q, len, out);
		if (rc)
			return rc;
		count_useless(s, XW_CR_P2_ALIGNED, before);
	}
	before = s->st.cr[XW_CR_GOAL_FAST].groups_considered;
	rc = by_key(q, XW_CR_GOAL_FAST, XW_BY_AVG, len, len, out);
	if (!rc)
		count_useless(s, XW_CR_GOAL_FAST, before);
	return rc;
}

static int allocate_span(struct xw_query *q, enum xw_criteria c, xw_blk start, uint64_t len,
			 struct xw_run *out)
{
	int rc = xw_span_allocate(q->s, start, len);

	if (rc)
		return rc;
	q->s->st.cr[c].hits++;
	out->start = start;
	out->len = len;
	return 1;
}

int xw_choose_whole(struct xw_query *q, uint64_t len, struct xw_run *out)
{
	struct xw_space *s = q->s;
	/* Without the index, GOAL_SLOW searches for the whole length. */
	enum xw_criteria c = s->top ? XW_CR_BEST_AVAIL : XW_CR_GOAL_SLOW;
	uint64_t before = s->st.cr[c].groups_considered;
	xw_blk start;
	int rc = 0;

	xw_space_reindex(s);
	if (xw_index_max_span(s, &s->st.cr[c]) >= len) {
		if (len <= s->cpg)
			rc = fast(q, (uint32_t)len, out);
		if (!rc && len <= s->cpg)
			rc = by_key(q, c, XW_BY_LONGEST, (uint32_t)len, (uint32_t)len, out);
		if (rc)
			return rc;
		rc = xw_span_find(q, c, len, &start);
		if (rc > 0)
			return allocate_span(q, c, start, len, out);
	}
	if (!rc)
		count_useless(s, c, before);
	return rc;
}

/* The longest run inside a group. */
static int longest_inside(struct xw_query *q, uint64_t len, struct xw_run *out)
{
	struct xw_space *s = q->s;
	struct xw_cr_stats *cr = &s->st.cr[XW_CR_ANY];

	for (;;) {
		uint32_t longest = xw_index_max(s, XW_BY_LONGEST, cr), g;

		if (!longest)
			return 0;
		/* If the maximum was an upper bound, the search corrects it and is repeated. */
		g = find_group(q, XW_CR_ANY, XW_BY_LONGEST, longest);
		if (g == XW_NO_GROUP && !q->rc && xw_on_budget(q) && !xw_reads_left(q)) {
			longest = xw_index_max(s, XW_BY_KNOWN, cr);
			if (longest)
				g = find_group(q, XW_CR_ANY, XW_BY_KNOWN, longest);
		}
		if (q->rc)
			return q->rc;
		if (g != XW_NO_GROUP)
			return allocate_best(q, XW_CR_ANY, g, longest,
					     (uint32_t)XW_MIN(len, longest), out);
	}
}

int xw_choose_longest(struct xw_query *q, uint64_t len, struct xw_run *out)
{
	struct xw_space *s = q->s;
	uint64_t last = UINT64_MAX;
	int rc;

	xw_space_reindex(s);
	for (;;) {
		uint64_t span = xw_index_max_span(s, &s->st.cr[XW_CR_ANY]);
		uint32_t longest = xw_index_max(s, XW_BY_LONGEST, &s->st.cr[XW_CR_ANY]);
		unsigned before = q->probes;
		xw_blk start;

		/* Each iteration ends the search, or lowers the bound. */
		if (span <= longest || span >= last)
			break;
		last = span;
		rc = xw_span_find(q, XW_CR_ANY, span, &start);
		if (rc < 0)
			return rc;
		if (rc)
			return allocate_span(q, XW_CR_ANY, start, XW_MIN(len, span), out);
		if (!before)
			break;
	}
	return longest_inside(q, len, out);
}

/*
 * BEST_AVAIL: first the whole request in groups with a lower average, then the request trimmed
 * order by order.
 */
static int best_avail(struct xw_query *q, uint32_t len, bool whole, struct xw_run *out)
{
	uint64_t before = q->s->st.cr[XW_CR_BEST_AVAIL].groups_considered;
	unsigned order = xw_floor_log2(len);
	int rc = by_key(q, XW_CR_BEST_AVAIL, XW_BY_LONGEST, len, len, out);

	for (unsigned trim = len & (len - 1) ? 0 : 1;
	     !rc && !whole && trim <= q->s->max_trim && trim <= order; trim++) {
		uint32_t want = 1u << (order - trim), g;

		g = find_group(q, XW_CR_BEST_AVAIL, XW_BY_AVG, want);
		if (g == XW_NO_GROUP && !q->rc)
			g = find_run(q, XW_CR_BEST_AVAIL, want);
		if (q->rc)
			return q->rc;
		if (g != XW_NO_GROUP)
			return allocate_best(q, XW_CR_BEST_AVAIL, g, q->s->groups[g].longest, len,
					     out);
	}
	if (!rc)
		count_useless(q->s, XW_CR_BEST_AVAIL, before);
	return rc;
}

/*
 * GOAL_SLOW: groups with enough free blocks in runs of any length, until max_to_scan runs were
 * examined; the best of these is used.
 */
static int goal_slow(struct xw_query *q, uint32_t len, bool whole, struct xw_run *out)
{
	struct xw_space *s = q->s;
	struct best b = {.want = len};
	uint64_t before = s->st.cr[XW_CR_GOAL_SLOW].groups_considered;
	uint32_t home = q->goal, seen = 0;
	int rc = 0;

	if (whole) {
		rc = by_key(q, XW_CR_GOAL_SLOW, XW_BY_LONGEST, len, len, out);
	} else {
		while (seen < s->ngroups && (q->left || !s->top) && !b.fits &&
		       b.found < s->max_to_scan) {
			uint32_t g = find_group(q, XW_CR_GOAL_SLOW, XW_BY_FREE, len), step;

			if (g == XW_NO_GROUP)
				break;
			step = (g + s->ngroups - q->goal) % s->ngroups + 1;
			if (seen + step > s->ngroups)
				break; /* wrapped around once */
			seen += step;
			q->goal = (g + 1) % s->ngroups;
			rc = xw_group_load(s, g);
			if (rc)
				return rc;
			scan_group(s, XW_CR_GOAL_SLOW, g, false, &b);
		}
		q->goal = home;
		rc = q->rc;
		if (!rc && b.len) {
			rc = xw_group_load(s, b.group);
			if (!rc)
				rc = allocate_run(q, XW_CR_GOAL_SLOW, b.group, b.at,
						  XW_MIN(len, b.len), out);
		}
	}
	if (!rc)
		count_useless(s, XW_CR_GOAL_SLOW, before);
	return rc;
}

static int choose(struct xw_query *q, uint32_t len, bool whole, struct xw_run *out)
{
	int rc = fast(q, len, out);

	if (!rc && q->s->top)
		rc = best_avail(q, len, whole, out);
	if (!rc && (!whole || !q->s->top))
		rc = goal_slow(q, len, whole, out);
	if (!rc && !whole)
		rc = longest_inside(q, len, out);
	return rc ? rc : XW_ERR_NOSPC;
}

int xw_cl_space_alloc(struct xw_space *s, const struct xw_alloc_req *req, struct xw_run *out)
{
	bool whole = req->flags & (XW_ALLOC_WHOLE | XW_ALLOC_EXACT);
	bool stream = (req->flags & XW_ALLOC_STREAM) || (!req->goal && req->len >= s->stream_req);
	xw_blk goal = stream ? s->stream_goal : req->goal;
	uint32_t len = (uint32_t)XW_MIN(req->len, s->cpg);
	struct xw_query q = {.s = s,
			     .probes = XW_PROBES_MAX,
			     .reads = XW_READS_MAX,
			     .left = 6,
			     .want = len,
			     .whole = whole};
	int rc;

	if (!req->len)
		return XW_ERR_USAGE;
	if (s->error)
		return s->error;
	xw_space_trim(s);
	xw_allow_reads(s);
	s->st.requests++;
	if (!s->free || (whole && req->len > s->cpg))
		return XW_ERR_NOSPC;
	rc = xw_span_at_goal(s, goal, len, false, out);
	if (rc > 0)
		*(stream ? &s->st.stream_hits : &s->st.goal_hits) += 1;
	if (!rc && (req->flags & XW_ALLOC_EXACT))
		return XW_ERR_NOSPC;
	if (!rc) {
		q.goal = xw_goal_group(s, goal);
		xw_space_reindex(s);
		rc = choose(&q, len, whole, out);
	}
	if (rc < 0)
		return rc;
	s->st.success += out->len == req->len;
	if (stream)
		s->stream_goal = out->start + out->len;
	return 0;
}
