/* SPDX-License-Identifier: MIT */
/*
 * Free runs across group boundaries: finding, measuring and allocating them.
 *
 * The index has only an upper bound for runs over groups with unread bitmaps. So a search is
 * iterative: the index proposes a run, inexact groups of that run are loaded, and either the
 * proposal is confirmed, or the index is now more exact and is searched again.
 */
#include "config.h"

#include "space/priv.h"

enum { SPAN_AGAIN = 0, SPAN_EXACT = 1, SPAN_GIVE_UP = 2 };

static int load_counted(struct xw_space *s, uint32_t g, struct xw_cr_stats *cr)
{
	cr->groups_considered++;
	s->st.groups_scanned++;
	return xw_group_load(s, g);
}

/* Load the inexact groups of [start, start + len): SPAN_*, or an error. */
static int verify_span(struct xw_query *q, struct xw_cr_stats *cr, xw_blk start, uint64_t len)
{
	struct xw_space *s = q->s;
	uint32_t at, g = xw_group_of(s, start, &at), last = xw_group_of(s, start + len - 1, &at);
	int verdict = SPAN_EXACT;

	for (; g <= last; g++) {
		unsigned flags = s->groups[g].flags;
		int rc;

		if (!(flags & (XW_G_UNRESOLVED | XW_G_INEXACT)))
			continue;
		if (!(flags & XW_G_UNRESOLVED)) {
			if (!q->probes)
				return SPAN_GIVE_UP;
			q->probes--;
		}
		if (flags & XW_G_UNRESOLVED && !xw_may_read(q))
			return SPAN_GIVE_UP;
		verdict = SPAN_AGAIN;
		rc = load_counted(s, g, cr);
		if (rc)
			return rc;
	}
	cr->groups_considered += verdict == SPAN_EXACT;
	return verdict;
}

/* Verify a run of len inside group g: SPAN_EXACT and *start, another SPAN_*, or an error. */
static int verify_inside(struct xw_query *q, struct xw_cr_stats *cr, uint32_t g, uint64_t len,
			 xw_blk *start)
{
	struct xw_space *s = q->s;
	bool bound = s->groups[g].flags & XW_G_UNRESOLVED;
	int rc;

	if (bound && !xw_may_read(q))
		return SPAN_GIVE_UP;
	rc = load_counted(s, g, cr);
	if (rc)
		return rc;
	if (bound)
		return SPAN_AGAIN;
	*start = xw_group_base(s, g) + xw_group_find_run(s, g, 0, (uint32_t)len);
	return SPAN_EXACT;
}

/* Search groups from `from` on, preceded by `carry` free blocks: 1 and *start, 0, or an error. */
static int search(struct xw_query *q, struct xw_cr_stats *cr, uint64_t len, uint32_t from,
		  uint64_t carry, xw_blk *start)
{
	struct xw_space *s = q->s;
	int rc = SPAN_AGAIN;

	while (rc == SPAN_AGAIN) {
		struct xw_span f = xw_index_span(s, len, from, s->ngroups, carry, cr);

		if (f.group == XW_NO_GROUP)
			return 0;
		xw_space_trim(s);
		*start = f.start;
		if (f.inside)
			rc = verify_inside(q, cr, f.group, len, start);
		else
			rc = verify_span(q, cr, f.start, len);
	}
	return rc == SPAN_GIVE_UP ? 0 : rc;
}

int xw_span_find(struct xw_query *q, enum xw_criteria c, uint64_t len, xw_blk *start)
{
	struct xw_cr_stats *cr = &q->s->st.cr[c];
	int rc = search(q, cr, len, q->goal, 0, start);

	/* Wrap around to all groups: a run may start before the goal's group and end in it. */
	return rc || !q->goal ? rc : search(q, cr, len, 0, 0, start);
}

int xw_span_ahead(struct xw_space *s, xw_blk from, uint64_t len, xw_blk *start)
{
	struct xw_query q = {.s = s, .probes = UINT32_MAX, .want = len};
	struct xw_cr_stats uncounted = {0};
	uint32_t at, g, size, end;
	uint64_t carry = 0;
	int rc;

	if (from < s->first_data_block)
		from = s->first_data_block;
	if (!xw_blk_inside(s, from) || len > s->blocks - from)
		return 0;
	xw_space_reindex(s);
	g = xw_group_of(s, from, &at);
	rc = xw_group_load(s, g);
	if (rc)
		return rc;
	size = xw_group_size(s, g);
	for (; (at = xw_group_next_free(s, g, at)) < size; at = end) {
		end = xw_group_run_end(s, g, at);
		if (end - at >= len) {
			*start = xw_group_base(s, g) + at;
			return 1;
		}
		carry = end == size ? end - at : 0;
	}
	return g + 1 < s->ngroups ? search(&q, &uncounted, len, g + 1, carry, start) : 0;
}

int xw_span_at(struct xw_space *s, xw_blk start, uint64_t max, uint64_t *len)
{
	uint32_t at, g;

	*len = 0;
	if (!xw_blk_inside(s, start))
		return 0;
	for (g = xw_group_of(s, start, &at); g < s->ngroups && *len < max; g++, at = 0) {
		int rc = xw_group_load(s, g);
		uint32_t end;

		if (rc)
			return rc;
		end = xw_group_run_end(s, g, at);
		*len += end - at;
		if (end < xw_group_size(s, g))
			break;
	}
	*len = XW_MIN(*len, max);
	return 0;
}

int xw_span_each_group(struct xw_space *s, xw_blk start, uint64_t len,
		       int (*fn)(struct xw_space *s, uint32_t g, uint32_t at, uint32_t n))
{
	while (len) {
		uint32_t at, g = xw_group_of(s, start, &at);
		uint32_t n = (uint32_t)XW_MIN(len, xw_group_size(s, g) - at);
		int rc = fn(s, g, at, n);

		if (rc)
			return rc;
		start += n;
		len -= n;
	}
	return 0;
}

int xw_span_allocate(struct xw_space *s, xw_blk start, uint64_t len)
{
	uint64_t done = 0;

	while (done < len) {
		uint32_t at, g = xw_group_of(s, start + done, &at);
		uint32_t n = (uint32_t)XW_MIN(len - done, xw_group_size(s, g) - at);
		int rc = xw_group_load(s, g);

		if (!rc)
			rc = xw_group_allocate(s, g, at, n);
		if (rc) {
			if (done)
				(void)xw_span_each_group(s, start, done, xw_group_release);
			return rc;
		}
		done += n;
	}
	return 0;
}

int xw_span_at_goal(struct xw_space *s, xw_blk goal, uint64_t len, bool cross, struct xw_run *out)
{
	const uint32_t unread = s->unread;
	uint32_t at, g, longest;
	uint64_t have;
	int rc;

	if (!xw_blk_inside(s, goal))
		return 0;
	g = xw_group_of(s, goal, &at);
	longest = s->groups[g].longest;
	/* The summary alone may exclude a run that begins here and is long enough. */
	if ((!cross && at + len > s->cpg) || (longest < len && at + longest < xw_group_size(s, g)))
		return 0;
	s->st.groups_scanned++;
	rc = xw_span_at(s, goal, len, &have);
	s->budget -= XW_MIN(s->budget, unread - s->unread);
	if (rc || have < len)
		return rc;
	rc = xw_span_allocate(s, goal, len);
	if (rc)
		return rc;
	out->start = goal;
	out->len = len;
	return 1;
}
