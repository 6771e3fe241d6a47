/* SPDX-License-Identifier: MIT */
/*
 * Free space: THE block allocator. After the kernel's mballoc and its group order lists
 * (Shirwadkar 2021; RESEARCH.md).
 *
 * Each group has a summary (free, fragments, longest run, per-order buddy histogram). Two index
 * families find groups without walking them: by largest free order, and by order of the average
 * free fragment. Group bitmaps are loaded lazily through the source's callback; a group nobody
 * touched costs only its summary.
 *
 * Criteria, in order:
 *   P2_ALIGNED    request is a power of two: a group whose largest free order serves it
 *   GOAL_FAST     a group whose average fragment is at least the request
 *   BEST_AVAIL    a group whose longest run serves the whole request; else the request trimmed by
 *                 orders, down to best_avail_max_trim_order, then as GOAL_FAST. Indexed only
 *   GOAL_SLOW     linear: any group whose free count suffices, the scan stops at max_to_scan found
 *                 extents
 *   ANY           the longest run there is
 * Deterministic: same calls, same answers. Not thread-safe: one thread decides allocation order.
 */
#ifndef XW_SPACE_SPACE_H
#define XW_SPACE_SPACE_H

#include "base/err.h"
#include "base/types.h"

#pragma GCC visibility push(default)

struct xw_space;

struct xw_group_summary {
	uint32_t free; /* clusters */
	uint32_t fragments; /* free runs */
	uint32_t longest; /* longest free run */
	uint32_t first_free; /* index in the group; ignored when free is 0 */
};

struct xw_space_source {
	/*
	 * Summary of a group nobody has loaded; NULL = every group is wholly free. When it cannot
	 * be known without the bitmap, set *known false (it arrives true) and out->free to what
	 * the descriptor says (it arrives as the group's size): an upper bound until the bitmap
	 * is loaded, which happens when a search wants the group. A summary that is known and
	 * inconsistent makes xw_space_new fail.
	 */
	int (*summary)(void *arg, uint32_t group, struct xw_group_summary *out, bool *known);
	/*
	 * The bitmap: blocks_per_group bits, 1 = used; bits past a short group's end count as
	 * set. Called for groups that have more than one free run only, possibly more than once.
	 * NULL where there is no such group.
	 */
	int (*bitmap)(void *arg, uint32_t group, uint8_t *bits);
	void *arg;
};

struct xw_space_params {
	uint64_t blocks; /* of the filesystem */
	uint32_t first_data_block;
	uint32_t blocks_per_group; /* multiple of 8 */
	uint32_t groups;
	/*
	 * log2 of the blocks of a cluster (bigalloc), else 0. Callers speak blocks all the same:
	 * requests are rounded up to whole clusters, runs begin at clusters, the last one of an
	 * answer ends with the request; what is released or claimed is whole clusters. Summaries
	 * and bitmaps count clusters. blocks is a multiple of a cluster, first_data_block 0.
	 */
	uint32_t cluster_bits;
	/* -1 = default */
	int optimize_scan; /* 0 linear, 1 indexed; default: on from 16 groups */
	int linear_limit; /* groups tried linearly first (mb_max_linear_groups); default 0 */
	int order2_req; /* smallest order P2_ALIGNED serves; default 2 */
	int stream_req; /* requests of at least so many blocks use stream allocation; default 16 */
	int min_to_scan, max_to_scan; /* extents; defaults 10, 200 */
	int best_avail_max_trim_order; /* default 3 */
};

enum xw_criteria {
	XW_CR_P2_ALIGNED,
	XW_CR_GOAL_FAST,
	XW_CR_BEST_AVAIL,
	XW_CR_GOAL_SLOW,
	XW_CR_ANY,
	XW_CR_COUNT
};

struct xw_cr_stats {
	uint64_t hits; /* requests served by it */
	uint64_t groups_considered; /* groups looked at */
	uint64_t extents_scanned;
	uint64_t useless_loops; /* considered groups, found nothing */
};

struct xw_space_stats {
	uint64_t requests, success, groups_scanned, extents_scanned;
	uint64_t goal_hits, stream_hits, exact_hits, breaks, lost;
	uint64_t buddies_generated;
	/* Index nodes looked at: what the groups that were not considered cost instead. */
	uint64_t index_steps;
	struct xw_cr_stats cr[XW_CR_COUNT];
};

#define XW_ALLOC_STREAM 0x1 /* no goal of its own: go on where the last stream allocation ended */
#define XW_ALLOC_EXACT 0x2 /* exactly at goal, exactly len, or XW_ERR_NOSPC */
#define XW_ALLOC_WHOLE 0x4 /* one run of exactly len, or XW_ERR_NOSPC */

struct xw_alloc_req {
	xw_blk goal; /* 0 = none */
	uint64_t len; /* blocks wanted */
	unsigned flags;
};

/* Of the parameters, how to search: mb's, or the defaults where that is NULL. */
struct xw_alloc_tunables;
void xw_space_params_tune(struct xw_space_params *p, const struct xw_alloc_tunables *mb);
int xw_space_new(const struct xw_space_params *p, const struct xw_space_source *src,
		 struct xw_diag *diag, struct xw_space **out);
void xw_space_free(struct xw_space *s); /* NULL is fine */

/* One run of 1..len blocks, taken. A run lies in one group. XW_ERR_NOSPC when nothing is free. */
int xw_space_alloc(struct xw_space *s, const struct xw_alloc_req *req, struct xw_run *out);
/*
 * All of len, in the fewest runs there are, ascending; a run may cross group boundaries. At the
 * goal when it is free there in one piece. *runs is malloc'd, owned by the caller. All or nothing:
 * XW_ERR_NOSPC takes nothing. Of the flags, EXACT and WHOLE hold for the request as one.
 */
int xw_space_alloc_all(struct xw_space *s, const struct xw_alloc_req *req, struct xw_run **runs,
		       size_t *n);

/*
 * Streaming into mostly empty space: place len blocks at the stream's position when they fit
 * before the next obstacle (in one run, crossing group boundaries), else behind it, leaving the
 * gap; a gap of at least `gap_keep` blocks is filled by following requests that fit, until one
 * does not or it is full, and then the stream goes on at `end`.
 *
 * A request longer than an extent (32,768 blocks) is cut at the obstacles when that costs it no
 * extents (or few, still in the inode, and saves a large gap), and also when no run ahead is long
 * enough; st->end is then the end of the last run. Falls back to xw_space_alloc_all, and leaves
 * the stream where it was, when the space ahead does not suffice.
 */
struct xw_stream {
	xw_blk pos; /* where the next request goes */
	xw_blk end; /* furthest block handed out, +1 */
	uint64_t gap_keep;
};
/* *runs is malloc'd, owned by the caller; ascending. All or nothing. */
int xw_stream_alloc(struct xw_space *s, struct xw_stream *st, uint64_t len, struct xw_run **runs,
		    size_t *n);
/*
 * The most common case without malloc: 1 and *one when a single run serves; 0 when it takes more
 * (call xw_stream_alloc), nothing taken; or an error.
 */
int xw_stream_alloc_one(struct xw_space *s, struct xw_stream *st, uint64_t len, struct xw_run *one);

/*
 * Mark as used what must be free / as free what must be used: XW_ERR_CORRUPT when it is not so.
 * May cross groups.
 */
int xw_space_claim(struct xw_space *s, xw_blk start, uint64_t len);
int xw_space_release(struct xw_space *s, xw_blk start, uint64_t len);
/*
 * Free blocks from start on, up to max, crossing group boundaries. A bitmap that cannot be read
 * counts as used here and below, and the next allocation returns the error.
 */
uint64_t xw_space_run_at(struct xw_space *s, xw_blk start, uint64_t max);
/* First free block at or after `from`; XW_BLK_MAX when none. */
xw_blk xw_space_next_free(struct xw_space *s, xw_blk from);

uint64_t xw_space_free_blocks(const struct xw_space *s);
void xw_space_group(const struct xw_space *s, uint32_t group, struct xw_group_summary *out);
/* Copies the group's bitmap as it stands (loading it if need be). */
int xw_space_group_bitmap(struct xw_space *s, uint32_t group, uint8_t *bits);
/* Anything taken or freed in this group since the source described it? */
bool xw_space_group_touched(const struct xw_space *s, uint32_t group);
/*
 * The filesystem became this long (SIZE left out, at the end): blocks beyond are used, groups
 * beyond are gone, also when something was taken there. XW_ERR_USAGE when it would grow.
 */
int xw_space_truncate(struct xw_space *s, uint64_t blocks);

void xw_space_stats(const struct xw_space *s, struct xw_space_stats *out);

/*
 * What the indexes hold now (mb_structs_summary): groups per largest free order and per order of
 * the average fragment.
 */
#define XW_SPACE_ORDERS 17 /* buddy orders 0..16 */
struct xw_space_structs {
	bool indexed;
	uint32_t full; /* in no index */
	uint32_t loaded; /* bitmaps in memory */
	uint32_t unresolved; /* nobody has seen their bitmap; filed under an upper bound */
	uint32_t largest_order[XW_SPACE_ORDERS], avg_order[XW_SPACE_ORDERS];
};
void xw_space_structs(const struct xw_space *s, struct xw_space_structs *out);
/*
 * Look at every group of which only bounds are known: afterwards summaries and the indexes are
 * exact. Bitmaps are let go again, so memory stays as it was.
 */
int xw_space_resolve(struct xw_space *s);

/* What the bitmap of a group says. Indexes and lengths are in clusters of the group. */
struct xw_group_survey {
	struct xw_group_summary sum;
	uint32_t head, tail; /* length of the free run at either end */
	unsigned order1; /* 1 + the largest order of a free buddy, 0 = full */
	uint16_t buddies[XW_SPACE_ORDERS];
};
/*
 * For those who read many bitmaps at once. Is that of this group not needed, since it is known?
 * xw_space_survey() only looks at *s, so that several threads may do it; bits: as from the source's
 * bitmap(), aligned for uint64_t, changed. xw_space_learn() takes down what was seen of a group
 * that is not known; the indexes follow with xw_space_learned(), before anything else is asked.
 */
bool xw_space_known(const struct xw_space *s, uint32_t group);
void xw_space_survey(const struct xw_space *s, uint32_t group, void *bits,
		     struct xw_group_survey *out);
void xw_space_learn(struct xw_space *s, uint32_t group, const struct xw_group_survey *seen);
int xw_space_learned(struct xw_space *s);
/* The group's free buddies: hist[k] maximal ones of 2^k clusters. Loads its bitmap if need be. */
int xw_space_group_buddies(struct xw_space *s, uint32_t group, uint16_t hist[XW_SPACE_ORDERS]);
/* Bytes held now. */
size_t xw_space_memory(const struct xw_space *s);
const char *xw_criteria_name(enum xw_criteria cr);

#pragma GCC visibility pop

#endif
