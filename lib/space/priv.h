/* SPDX-License-Identifier: MIT */
/*
 * Private to lib/space.
 *
 * A group is in one of three states:
 *
 *   described   no bitmap in memory and at most one free run: the summary is complete. Empty, full
 *               and streamed-into groups never leave this state, so 755k allocations into an empty
 *               image access no bitmap at all.
 *   in memory   bitmap in a slot, and its buddy histogram once a request needed it; summary, ends
 *               and order are exact.
 *   at source   no bitmap in memory, several runs, nothing allocated or freed: the source can read
 *               the bitmap again. The summary is exact; order and both ends are upper bounds
 *               (INEXACT) until the bitmap was read once. If the source has no summary
 *               (UNRESOLVED), everything is an upper bound.
 *
 *   at source --xw_group_load--> in memory --one run left (xw_group_allocate/release)--> described
 *   described --xw_group_allocate/release in the middle--> in memory
 *   in memory --xw_space_trim, untouched--> at source
 *
 * Invariants (tests/unit/space_check.h verifies them):
 *   1. Every key in the index is exact, or an upper bound if the group is UNRESOLVED or INEXACT. A
 *      search that finds a bound loads the group, corrects the key and continues, so the index
 *      gives no wrong result and misses none.
 *   2. At most one group (`dirty`) has a summary that the index does not reflect; xw_space_reindex
 *      updates the index before every search. STALE (longest is an upper bound) and STALE_ORDER
 *      (order is an upper bound) can be set on the dirty group only.
 *   3. TOUCHED groups are never at source.
 *   4. s->free is the sum over all groups.
 *   5. s->unread is the number of UNRESOLVED groups.
 *
 * In a large filesystem most groups are UNRESOLVED at first, and a request that no free run can
 * serve would read every bitmap to find that out. So unread groups are read on a budget, those with
 * the most free blocks by their descriptors first: XW_UNREAD_FIRST to save one run, and as many
 * again for each further run that the request would need in the groups already read, out of
 * XW_UNREAD_MAX. Each request adds XW_UNREAD_MORE. When the budget is spent, requests are served
 * from groups already read; only a request that these cannot serve reads further bitmaps.
 */
#ifndef XW_SPACE_PRIV_H
#define XW_SPACE_PRIV_H

#include "base/vec.h"
#include "space/bits.h"
#include "space/space.h"

#define XW_NO_GROUP UINT32_MAX
#define XW_NO_SLOT UINT32_MAX
/* Maximum number of unmodified bitmaps in memory; up to twice as many between trims. */
#define XW_CLEAN_MAX 256
#define XW_INDEX_SHIFT 4 /* 16 children per node */
#define XW_INDEX_LEVELS 9
#define XW_UNREAD_FIRST 64
#define XW_UNREAD_MAX 4096
#define XW_UNREAD_MORE 4

enum {
	XW_G_UNRESOLVED = 1,
	XW_G_INEXACT = 2,
	XW_G_TOUCHED = 4,
	XW_G_STALE = 8,
	XW_G_STALE_ORDER = 16
};

/* 20 bytes: 491,520 groups in 9.4 MiB. */
struct xw_group {
	uint16_t free, fragments, longest, first;
	uint16_t head, tail; /* free run at either end */
	uint16_t avg; /* average free fragment, rounded down; 0 = full */
	uint8_t order; /* 1 + largest buddy order; 0 = full */
	uint8_t flags;
	uint32_t slot;
};

/* Maxima over 16 groups or 16 nodes of the level below. These runs cross group boundaries. */
struct xw_node {
	uint64_t head, tail, span; /* free blocks at either end, longest run */
	uint16_t longest, avg, free; /* inside one group */
	uint16_t known; /* as longest, of groups that were read */
	uint8_t order, zero[7]; /* no padding: nodes are compared as bytes */
};

struct xw_bitmap {
	bool counted; /* buddies is valid */
	uint16_t buddies[XW_SPACE_ORDERS];
	uint64_t words[];
};

struct xw_space {
	uint32_t cluster_bits; /* used only by cluster.c: everything else counts clusters */
	struct xw_space_source src;
	xw_blk blocks;
	uint32_t first_data_block, cpg, ngroups, last_size;
	unsigned linear_limit, order2_req, stream_req, min_to_scan, max_to_scan, max_trim;
	bool indexed;

	struct xw_group *groups;
	struct xw_node *level[XW_INDEX_LEVELS]; /* [0] unused: the groups are level 0 */
	unsigned top; /* 0 = no index: every search walks */

	XW_VEC(struct xw_bitmap *) slots;
	XW_VEC(uint32_t) spare; /* unused slots, their bitmap possibly still allocated */
	uint32_t loaded; /* slots in use */
	/* loaded groups, oldest first; xw_space_trim drops the untouched ones */
	XW_VEC(uint32_t) clean;

	uint32_t unread; /* UNRESOLVED groups */
	/* how many of these may still be read to save one run, and to save further runs */
	uint32_t budget, deep;
	uint32_t dirty;
	struct xw_group indexed_as; /* the dirty group before its change, as in the index */
	uint64_t free;
	xw_blk stream_goal;
	int error; /* first failure of a call that cannot return an error */
	struct xw_space_stats st;
};

static inline xw_blk xw_group_base(const struct xw_space *s, uint32_t g)
{
	return s->first_data_block + (xw_blk)g * s->cpg;
}

static inline uint32_t xw_group_size(const struct xw_space *s, uint32_t g)
{
	return g == s->ngroups - 1 ? s->last_size : s->cpg;
}

/* The group of a block inside the filesystem; *at is its index in the group. */
static inline uint32_t xw_group_of(const struct xw_space *s, xw_blk b, uint32_t *at)
{
	xw_blk off = b - s->first_data_block;

	*at = (uint32_t)(off % s->cpg);
	return (uint32_t)(off / s->cpg);
}

static inline bool xw_blk_inside(const struct xw_space *s, xw_blk b)
{
	return b >= s->first_data_block && b < s->blocks;
}

static inline bool xw_group_described(const struct xw_group *gr)
{
	return gr->slot == XW_NO_SLOT && gr->fragments <= 1 && !(gr->flags & XW_G_UNRESOLVED);
}

/* group.c: one group. Positions are indexes in the group. */
int xw_group_init(struct xw_space *s, uint32_t g, struct xw_diag *diag);
/* Bring a group into the state "described" or "in memory" (see above), with an exact summary. */
int xw_group_load(struct xw_space *s, uint32_t g);
/* for groups in memory */
uint64_t *xw_group_words(const struct xw_space *s, uint32_t g);
const uint16_t *xw_group_buddies(struct xw_space *s, uint32_t g); /* XW_SPACE_ORDERS */
/* For loaded groups. If none is found: the group's size; run_end: `at` if that block is used. */
uint32_t xw_group_next_free(const struct xw_space *s, uint32_t g, uint32_t at);
uint32_t xw_group_run_end(const struct xw_space *s, uint32_t g, uint32_t at);
uint32_t xw_group_find_run(const struct xw_space *s, uint32_t g, uint32_t at, uint32_t n);
bool xw_group_is_free(const struct xw_space *s, uint32_t g, uint32_t at, uint32_t n);
bool xw_group_is_used(const struct xw_space *s, uint32_t g, uint32_t at, uint32_t n);
/*
 * Allocate free blocks, or free used blocks, of a loaded group. XW_ERR_NOMEM leaves the group
 * unchanged.
 */
int xw_group_allocate(struct xw_space *s, uint32_t g, uint32_t at, uint32_t n);
int xw_group_release(struct xw_space *s, uint32_t g, uint32_t at, uint32_t n);
void xw_group_dirty(struct xw_space *s, uint32_t g);
/* Drop the oldest unmodified bitmaps: loaded groups may return to the source. */
void xw_space_trim(struct xw_space *s);
/* Update the index with the last change. */
void xw_space_reindex(struct xw_space *s);
/* The summary as xw_space_reindex would leave it. */
struct xw_group xw_group_exact(const struct xw_space *s, uint32_t g);
int xw_group_copy(struct xw_space *s, uint32_t g, uint8_t *bits);
/* Make this last group end at `size` blocks. */
int xw_group_shorten(struct xw_space *s, uint32_t g, uint32_t size);
void xw_group_forget(struct xw_space *s, uint32_t g);
void xw_groups_free(struct xw_space *s);

/* index.c: keys of groups, maxima over them, searches. */
enum xw_family {
	XW_BY_ORDER,
	XW_BY_AVG,
	XW_BY_LONGEST,
	XW_BY_FREE,
	XW_BY_KNOWN, /* as LONGEST, without UNRESOLVED groups */
};

static inline uint32_t xw_group_key(const struct xw_group *gr, enum xw_family fam)
{
	switch (fam) {
	case XW_BY_ORDER:
		return gr->order;
	case XW_BY_AVG:
		return gr->avg;
	case XW_BY_LONGEST:
		return gr->longest;
	case XW_BY_KNOWN:
		return gr->flags & XW_G_UNRESOLVED ? 0 : gr->longest;
	default:
		return gr->free;
	}
}

int xw_index_new(struct xw_space *s);
void xw_index_free(struct xw_space *s);
void xw_index_update(struct xw_space *s, uint32_t g);
/* The same for a loaded group that is in the index as *was. */
void xw_index_change(struct xw_space *s, uint32_t g, const struct xw_group *was);
/* First group in [from, to) whose key is at least `key`, which is not 0. */
uint32_t xw_index_next(struct xw_space *s, enum xw_family fam, uint32_t key, uint32_t from,
		       uint32_t to, struct xw_cr_stats *cr);
/* cr: counts the groups considered; may be NULL. */
uint32_t xw_index_max(struct xw_space *s, enum xw_family fam, struct xw_cr_stats *cr);
uint64_t xw_index_max_span(struct xw_space *s, struct xw_cr_stats *cr);
/*
 * First place in groups [from, to) where len consecutive blocks may be free, across group
 * boundaries; `carry` free blocks precede group `from`. Upper bounds are trusted: the caller loads
 * inexact groups and searches again.
 */
struct xw_span {
	uint32_t group; /* XW_NO_GROUP = none */
	bool inside; /* a run inside this group; else the run begins at `start` */
	xw_blk start;
};
struct xw_span xw_index_span(struct xw_space *s, uint64_t len, uint32_t from, uint32_t to,
			     uint64_t carry, struct xw_cr_stats *cr);

/* criteria.c: choosing. */
struct xw_query {
	struct xw_space *s;
	uint32_t goal; /* group where searches start */
	unsigned probes; /* number of INEXACT groups that may still be loaded */
	unsigned reads; /* the same for unread groups, for criteria with an alternative */
	unsigned left; /* number of groups that may still be examined before GOAL_SLOW ends */
	uint64_t want; /* blocks not yet allocated */
	uint64_t dug; /* number of unread groups read at the expense of s->deep */
	bool whole; /* only a single run is acceptable: unread groups are read without a budget */
	int rc;
};

#define XW_PROBES_MAX 5
#define XW_READS_MAX 8

/* Are there more unread groups than every request may read? */
bool xw_on_budget(const struct xw_query *q);
uint64_t xw_reads_left(const struct xw_query *q); /* how many more; by what longer runs save */
/* May one more unread group be read? If so, charge it to the budget. */
bool xw_may_read(struct xw_query *q);
/* Called for each request: replenish the budget. */
void xw_allow_reads(struct xw_space *s);

/* Allocate one run of exactly len: 1, 0 if none exists, or an error. */
int xw_choose_whole(struct xw_query *q, uint64_t len, struct xw_run *out);
/* Allocate the longest run, at most len of it: 1, 0 if nothing is free, or an error. */
int xw_choose_longest(struct xw_query *q, uint64_t len, struct xw_run *out);

/* span.c: runs over group boundaries. */
/*
 * First run of len blocks from the goal's group on, wrapping around: 1 and *start, 0, or an error.
 */
int xw_span_find(struct xw_query *q, enum xw_criteria c, uint64_t len, xw_blk *start);
/* First run of len blocks at or after `from`: 1 and *start, 0, or an error. */
int xw_span_ahead(struct xw_space *s, xw_blk from, uint64_t len, xw_blk *start);
/* Number of free blocks from start on, up to max, across group boundaries. */
int xw_span_at(struct xw_space *s, xw_blk start, uint64_t max, uint64_t *len);
/* Allocate free blocks. */
int xw_span_allocate(struct xw_space *s, xw_blk start, uint64_t len);
/* Call fn for the part of a run in each of its groups, up to the first failure. */
int xw_span_each_group(struct xw_space *s, xw_blk start, uint64_t len,
		       int (*fn)(struct xw_space *s, uint32_t g, uint32_t at, uint32_t n));
/*
 * Allocate exactly at `goal`: 1, 0 if not free, or an error. cross: may leave the goal's group.
 */
int xw_span_at_goal(struct xw_space *s, xw_blk goal, uint64_t len, bool cross, struct xw_run *out);

/* Group where a search with this goal starts. */
static inline uint32_t xw_goal_group(const struct xw_space *s, xw_blk goal)
{
	uint32_t at;

	return xw_blk_inside(s, goal) ? xw_group_of(s, goal, &at) : 0;
}

/* The allocator in clusters; cluster.c converts to blocks. Otherwise as in space.h. */
int xw_cl_space_new(const struct xw_space_params *p, const struct xw_space_source *src,
		    struct xw_diag *diag, struct xw_space **out);
int xw_cl_space_alloc(struct xw_space *s, const struct xw_alloc_req *req, struct xw_run *out);
int xw_cl_space_alloc_all(struct xw_space *s, const struct xw_alloc_req *req, struct xw_run **runs,
			  size_t *n);
int xw_cl_stream_alloc(struct xw_space *s, struct xw_stream *st, uint64_t len, struct xw_run **runs,
		       size_t *n);
int xw_cl_stream_alloc_one(struct xw_space *s, struct xw_stream *st, uint64_t len,
			   struct xw_run *one);
int xw_cl_space_claim(struct xw_space *s, xw_blk start, uint64_t len);
int xw_cl_space_release(struct xw_space *s, xw_blk start, uint64_t len);
uint64_t xw_cl_space_run_at(struct xw_space *s, xw_blk start, uint64_t max);
xw_blk xw_cl_space_next_free(struct xw_space *s, xw_blk from);
uint64_t xw_cl_space_free_blocks(const struct xw_space *s);
int xw_cl_space_truncate(struct xw_space *s, uint64_t blocks);

#endif
