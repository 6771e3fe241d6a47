// SPDX-License-Identifier: MIT
#include "config.h"

#include "space/linux.h"

#include "space/priv.h"

#define ALL UINT32_MAX /* all groups instead of one list */

/* The best candidate so far: the shortest sufficient run, else the longest run. */
struct best {
	uint32_t want, max_order;
	uint32_t group, at, len;
	unsigned found; /* candidates seen */
	bool done; /* the search is over */
};

static void consider(struct xw_space *s, struct best *b, uint32_t g, uint32_t at, uint32_t len)
{
	const bool fits = len >= b->want, best_fits = b->len >= b->want;

	b->found++;
	s->st.extents_scanned++;
	if (len == b->want || !b->len || (best_fits ? fits && len < b->len : len > b->len)) {
		b->group = g;
		b->at = at;
		b->len = len;
	}
	if (b->len == b->want)
		b->done = true;
	else if (b->len > b->want)
		b->done = b->found > s->min_to_scan;
	else
		b->done = b->found > s->max_to_scan;
}

/* Examine the candidates of a loaded group. sure: one run has b->want blocks; skip shorter runs. */
static void scan(struct xw_space *s, uint32_t g, bool sure, struct best *b)
{
	const uint32_t size = xw_group_size(s, g);
	uint32_t at = xw_group_next_free(s, g, 0), end;

	s->st.groups_scanned++;
	while (at < size && !b->done) {
		end = xw_group_run_end(s, g, at);
		while (at < end && !b->done && (!sure || end - at >= b->want)) {
			uint32_t len = 0;

			while (len < b->want && at + len < end)
				len += 1u << XW_MIN(xw_buddy_first(at + len, end), b->max_order);
			consider(s, b, g, at, len);
			at += len;
		}
		if (!b->done)
			at = xw_group_next_free(s, g, end);
	}
	b->done |= b->len >= b->want;
}

/* The first buddy of the smallest order that holds 2^order blocks. */
static bool smallest_buddy(struct xw_space *s, uint32_t g, unsigned order, struct best *b)
{
	const uint32_t size = xw_group_size(s, g);
	unsigned least = UINT32_MAX;

	s->st.groups_scanned++;
	for (uint32_t at = xw_group_next_free(s, g, 0), end; at < size && least != order;
	     at = xw_group_next_free(s, g, end)) {
		end = xw_group_run_end(s, g, at);
		for (uint32_t i = at, k; i < end; i += 1u << k) {
			k = XW_MIN(xw_buddy_first(i, end), b->max_order);
			if (k < order || k >= least)
				continue;
			least = k;
			b->group = g;
			b->at = i;
		}
	}
	if (least == UINT32_MAX)
		return false;
	b->len = 1u << least;
	s->st.extents_scanned++;
	b->found++;
	return true;
}

/* Is the group worth a search by this criterion? */
static bool is_suitable(const struct xw_space *s, uint32_t g, enum xw_criteria c,
			const struct best *b)
{
	const struct xw_group *gr = &s->groups[g];

	if (!gr->free)
		return false;
	switch (c) {
	case XW_CR_P2_ALIGNED:
		return gr->order > xw_floor_log2(b->want);
	case XW_CR_GOAL_FAST:
	case XW_CR_BEST_AVAIL:
		return gr->avg >= b->want;
	case XW_CR_GOAL_SLOW:
		return gr->free >= b->want;
	default:
		return true;
	}
}

/*
 * Search the groups of one list, or ALL, by one criterion; sets b->done if the request is served.
 */
static int search_list(struct xw_space *s, const struct xw_linux_req *req, enum xw_criteria c,
		       unsigned list, struct best *b)
{
	const uint32_t start = xw_goal_group(s, req->from);
	struct xw_cr_stats *st = &s->st.cr[c];
	int rc = 0;

	for (uint32_t i = 0; i < s->ngroups && !b->done && !rc; i++) {
		const uint32_t g = (uint32_t)(((uint64_t)start + i) % s->ngroups);
		const struct xw_group *gr = &s->groups[g];

		if (list != ALL &&
		    (!is_suitable(s, g, c, b) ||
		     list != (c == XW_CR_P2_ALIGNED ? gr->order - 1u : xw_floor_log2(gr->avg))))
			continue;
		st->groups_considered++;
		if (c == XW_CR_P2_ALIGNED && req->flex > 1 && g % req->flex == 0)
			continue;
		if (!is_suitable(s, g, c, b))
			continue;
		xw_space_trim(s);
		rc = xw_group_load(s, g);
		if (rc || !is_suitable(s, g, c, b)) /* the summary may have been an upper bound */
			continue;
		if (c == XW_CR_P2_ALIGNED)
			b->done = smallest_buddy(s, g, xw_floor_log2(b->want), b);
		else
			scan(s, g, c == XW_CR_GOAL_FAST || c == XW_CR_BEST_AVAIL, b);
	}
	return rc;
}

/*
 * Search all groups by one criterion. With group order lists, the lowest sufficient order is first.
 */
static int search(struct xw_space *s, const struct xw_linux_req *req, enum xw_criteria c,
		  struct best *b)
{
	int rc = 0;

	if (!s->indexed || c == XW_CR_GOAL_SLOW || c == XW_CR_ANY)
		rc = search_list(s, req, c, ALL, b);
	else
		for (unsigned k = xw_floor_log2(b->want); k < XW_SPACE_ORDERS && !b->done && !rc;
		     k++)
			rc = search_list(s, req, c, k, b);
	if (b->done)
		s->st.cr[c].hits++;
	else
		s->st.cr[c].useless_loops++;
	return rc;
}

/* BEST_AVAIL, with group order lists: trim the request to the average free run of a group. */
static int search_shorter(struct xw_space *s, const struct xw_linux_req *req, struct best *b)
{
	const uint32_t want = b->want;
	const unsigned order = xw_floor_log2(want);
	int rc = 0;

	for (unsigned trim = want & (want - 1) ? 0 : 1; trim <= s->max_trim && trim <= order && !rc;
	     trim++) {
		if (1u << (order - trim) < req->least)
			break;
		b->want = 1u << (order - trim);
		rc = search(s, req, XW_CR_BEST_AVAIL, b);
		if (b->done)
			return rc;
	}
	b->want = want;
	return rc;
}

static int choose(struct xw_space *s, const struct xw_linux_req *req, struct best *b)
{
	const bool p2 =
		!(b->want & (b->want - 1)) && b->want > 1 && xw_floor_log2(b->want) <= b->max_order;
	int rc = p2 ? search(s, req, XW_CR_P2_ALIGNED, b) : 0;

	if (!rc && !b->done)
		rc = search(s, req, XW_CR_GOAL_FAST, b);
	if (!rc && !b->done && s->indexed) {
		rc = search_shorter(s, req, b);
		if (!b->done)
			b->want = (uint32_t)XW_MIN(req->then, s->cpg);
	}
	if (!rc && !b->done)
		rc = search(s, req, XW_CR_GOAL_SLOW, b);
	if (!rc && !b->done)
		rc = search(s, req, XW_CR_ANY, b);
	return rc;
}

static bool free_at_goal(struct xw_space *s, const struct xw_linux_req *req, uint32_t len,
			 struct best *b)
{
	if (!req->goal || !xw_blk_inside(s, req->goal))
		return false;
	b->group = xw_group_of(s, req->goal, &b->at);
	b->len = len;
	return !xw_group_load(s, b->group) && b->at + len <= xw_group_size(s, b->group) &&
	       xw_group_is_free(s, b->group, b->at, len);
}

int xw_space_alloc_linux(struct xw_space *s, const struct xw_linux_req *req, struct xw_run *out)
{
	struct best b = {.want = (uint32_t)XW_MIN(req->len, s->cpg), .max_order = req->max_order};
	int rc;

	if (!req->len || s->cluster_bits)
		return XW_ERR_USAGE;
	if (s->error)
		return s->error;
	xw_space_trim(s);
	s->st.requests++;
	if (!s->free)
		return XW_ERR_NOSPC;
	xw_space_reindex(s);
	if (free_at_goal(s, req, b.want, &b)) {
		s->st.goal_hits++;
	} else {
		b.len = 0;
		rc = choose(s, req, &b);
		if (rc)
			return rc;
	}
	if (!b.len)
		return XW_ERR_NOSPC;
	out->start = xw_group_base(s, b.group) + b.at;
	out->len = XW_MIN(b.len, b.want);
	rc = xw_group_load(s, b.group);
	if (!rc)
		rc = xw_group_allocate(s, b.group, b.at, (uint32_t)out->len);
	s->st.success += !rc && out->len == req->len;
	return rc;
}
