/* SPDX-License-Identifier: MIT */
/*
 * The block allocator, modelled on the kernel's mballoc and its group order lists (Shirwadkar 2021;
 * RESEARCH.md).
 *
 * Each group has a summary (free, fragments, longest run, largest free order). Two index families
 * find groups without a linear search: by largest free order, and by order of the average free
 * fragment. Group bitmaps are loaded lazily through the source's callback; an unused group occupies
 * only its summary.
 *
 * Criteria, in order:
 *   P2_ALIGNED    for a power of two: a group whose largest free order is sufficient
 *   GOAL_FAST     a group whose average fragment is at least the request
 *   BEST_AVAIL    a group whose longest run serves the whole request; else as GOAL_FAST for the
 *                 request trimmed by up to best_avail_max_trim_order orders. Indexed only
 *   GOAL_SLOW     linear: any group with enough free blocks, until max_to_scan extents were found
 *   ANY           the longest free run
 * Deterministic: the same calls give the same results. Not thread-safe.
 */
#ifndef XW_SPACE_SPACE_H
#define XW_SPACE_SPACE_H

#include "base/err.h"
#include "base/types.h"

struct xw_space;

struct xw_group_summary {
	uint32_t free; /* clusters */
	uint32_t fragments; /* free runs */
	uint32_t longest; /* longest free run */
	uint32_t first_free; /* index in the group; ignored when free is 0 */
};

struct xw_space_source {
	/*
	 * Summary of a group; NULL = all groups are empty. If it is unknown without the bitmap, set
	 * *known to false (initially true) and out->free to an upper bound, the free count of the
	 * descriptor (initially the group's size); the bitmap is read when a search needs the
	 * group. With an inconsistent summary xw_space_new() fails.
	 */
	int (*summary)(void *arg, uint32_t group, struct xw_group_summary *out, bool *known);
	/*
	 * The bitmap: blocks_per_group bits, 1 = used; bits past the end of a short group count as
	 * set. Called only for groups with more than one free run or an unknown summary, possibly
	 * repeatedly. May be NULL without such groups.
	 */
	int (*bitmap)(void *arg, uint32_t group, uint8_t *bits);
	void *arg;
	/* The source's counter of prefetched bitmaps, or NULL. */
	const uint64_t *prefetched;
};

struct xw_space_params {
	uint64_t blocks; /* of the filesystem */
	uint32_t first_data_block;
	uint32_t blocks_per_group; /* multiple of 8 */
	uint32_t groups;
	/*
	 * log2 of the number of blocks in a cluster (bigalloc), else 0. Callers still count in
	 * blocks: requests are rounded up to whole clusters, runs start at clusters, and the last
	 * run of a result ends with the request; released or claimed ranges are whole clusters.
	 * Summaries and bitmaps count clusters. blocks must be a multiple of a cluster,
	 * first_data_block 0.
	 */
	uint32_t cluster_bits;
	/* -1 = default */
	int optimize_scan; /* 0 linear, 1 indexed; default: on from 16 groups */
	int linear_limit; /* groups tried linearly first (mb_max_linear_groups); default 0 */
	int order2_req; /* smallest order P2_ALIGNED serves; default 2 */
	/* requests of at least this many blocks use stream allocation; default 16 */
	int stream_req;
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
	uint64_t hits; /* requests served by this criterion */
	uint64_t groups_considered;
	uint64_t extents_scanned;
	uint64_t useless_loops; /* searches that considered groups and found nothing */
};

struct xw_space_stats {
	uint64_t requests, success, groups_scanned, extents_scanned;
	uint64_t goal_hits, exact_hits, breaks, lost;
	uint64_t stream_hits; /* served where the last stream allocation ended */
	uint64_t buddies_generated; /* bitmaps read */
	uint64_t prefetched; /* bitmaps requested before they were needed, used or not */
	uint64_t index_steps; /* index nodes visited */
	struct xw_cr_stats cr[XW_CR_COUNT];
};

#define XW_ALLOC_STREAM 0x1 /* no goal: continue at the end of the last stream allocation */
#define XW_ALLOC_EXACT 0x2 /* exactly at goal, exactly len, or XW_ERR_NOSPC */
#define XW_ALLOC_WHOLE 0x4 /* one run of exactly len, or XW_ERR_NOSPC */

struct xw_alloc_req {
	xw_blk goal; /* 0 = none */
	uint64_t len; /* blocks wanted */
	unsigned flags;
};

/* Search parameters from mb, or the defaults if it is NULL. */
struct xw_alloc_tunables;
void xw_space_params_tune(struct xw_space_params *p, const struct xw_alloc_tunables *mb);
int xw_space_new(const struct xw_space_params *p, const struct xw_space_source *src,
		 struct xw_diag *diag, struct xw_space **out);
void xw_space_free(struct xw_space *s); /* s may be NULL */

/* Allocate one run of 1..len blocks inside one group. XW_ERR_NOSPC if nothing is free. */
int xw_space_alloc(struct xw_space *s, const struct xw_alloc_req *req, struct xw_run *out);
/*
 * Allocate all of len, in as few runs as possible, ascending; a run may cross group boundaries. If
 * len blocks are free at the goal, they are used. *runs is malloc'd, owned by the caller.
 * XW_ERR_NOSPC allocates nothing. The flags EXACT and WHOLE apply to the whole request.
 */
int xw_space_alloc_all(struct xw_space *s, const struct xw_alloc_req *req, struct xw_run **runs,
		       size_t *n);

/*
 * Streaming into mostly empty space: place len blocks at the stream's position if they fit before
 * the next used block (in one run, which may cross group boundaries), else after it, leaving a gap.
 * A gap of at least `gap_keep` blocks is filled by the following requests until one does not fit or
 * the gap is full; then the stream continues at `end`.
 *
 * A request longer than an extent (32,768 blocks) is split at used blocks if that needs no further
 * extents (or only few, still in the inode, and avoids a large gap), or if no run ahead is long
 * enough; st->end is then the end of the last run. If the space ahead is insufficient, the fallback
 * is xw_space_alloc_all(), which leaves the stream's position unchanged.
 */
struct xw_stream {
	xw_blk pos; /* position of the next request */
	xw_blk end; /* end of the furthest block allocated */
	uint64_t gap_keep;
};
/* *runs is malloc'd, owned by the caller; ascending. All or nothing. */
int xw_stream_alloc(struct xw_space *s, struct xw_stream *st, uint64_t len, struct xw_run **runs,
		    size_t *n);
/*
 * The most common case, without malloc: 1 and *one if a single run is sufficient; 0, with nothing
 * allocated, if more are needed (call xw_stream_alloc()); or an error.
 */
int xw_stream_alloc_one(struct xw_space *s, struct xw_stream *st, uint64_t len, struct xw_run *one);

/*
 * Claim free blocks, or release used blocks. XW_ERR_CORRUPT: some are already in that state. May
 * cross groups.
 */
int xw_space_claim(struct xw_space *s, xw_blk start, uint64_t len);
int xw_space_release(struct xw_space *s, xw_blk start, uint64_t len);
/*
 * Number of free blocks from start on, up to max, across group boundaries. For this function and
 * the next, blocks with an unreadable bitmap are used, and the next allocation returns the error.
 */
uint64_t xw_space_run_at(struct xw_space *s, xw_blk start, uint64_t max);
/* First free block at or after `from`; XW_BLK_MAX if none. */
xw_blk xw_space_next_free(struct xw_space *s, xw_blk from);

uint64_t xw_space_free_blocks(const struct xw_space *s);
void xw_space_group(const struct xw_space *s, uint32_t group, struct xw_group_summary *out);
/* Copies the current bitmap of the group (loading it if necessary). */
int xw_space_group_bitmap(struct xw_space *s, uint32_t group, uint8_t *bits);
/* Was anything allocated or freed in this group? */
bool xw_space_group_touched(const struct xw_space *s, uint32_t group);
/*
 * Set the final size of the filesystem (mkfs without SIZE): blocks past the end become used, and
 * groups past the end are removed, even with allocated blocks. XW_ERR_USAGE if it would grow.
 */
int xw_space_truncate(struct xw_space *s, uint64_t blocks);

void xw_space_stats(const struct xw_space *s, struct xw_space_stats *out);
/* Add the statistics of another allocator. */
void xw_space_stats_add(struct xw_space_stats *sum, const struct xw_space *s);

/*
 * Report all statistics in the order and with the names of Linux's mb_stats, followed by those that
 * Linux does not have. The statistics of a criterion are between open and close.
 */
struct xw_stat_sink {
	void (*open)(void *arg, const char *name);
	void (*number)(void *arg, const char *name, uint64_t value);
	void (*close)(void *arg);
	void *arg;
};
void xw_space_stats_report(const struct xw_space_stats *st, const struct xw_stat_sink *to);
struct xw_json;
/* The same as an object of JSON. */
void xw_space_stats_json(const struct xw_space_stats *st, struct xw_json *j, const char *key);

/*
 * The current contents of the indexes (mb_structs_summary): number of groups for each largest free
 * order and for each order of the average fragment.
 */
#define XW_SPACE_ORDERS 17 /* buddy orders 0..16 */
struct xw_space_structs {
	bool indexed;
	uint32_t full; /* in no index */
	uint32_t loaded; /* bitmaps in memory */
	uint32_t unresolved; /* groups with an unread bitmap; counted by their upper bounds */
	uint32_t largest_order[XW_SPACE_ORDERS], avg_order[XW_SPACE_ORDERS];
};
void xw_space_structs(const struct xw_space *s, struct xw_space_structs *out);
/*
 * Read the bitmaps of all groups with inexact summaries: afterwards summaries and indexes are
 * exact. Bitmaps are dropped again, so memory use is bounded.
 */
int xw_space_resolve(struct xw_space *s);

/* Summary of a group's bitmap. Indexes and lengths are in clusters of the group. */
struct xw_group_survey {
	struct xw_group_summary sum;
	uint32_t head, tail; /* length of the free run at either end */
	unsigned order1; /* 1 + the largest order of a free buddy, 0 = full */
};
/*
 * For callers that read many bitmaps at once. xw_space_known(): is the summary exact, so that the
 * bitmap need not be read? xw_space_survey() only reads *s, so several threads may call it; bits:
 * as from the source's bitmap(), aligned for uint64_t, modified. xw_space_learn() records the
 * result for a group that is not known; xw_space_learned() must update the indexes before any other
 * call.
 */
bool xw_space_known(const struct xw_space *s, uint32_t group);
void xw_space_survey(const struct xw_space *s, uint32_t group, void *bits,
		     struct xw_group_survey *out);
void xw_space_learn(struct xw_space *s, uint32_t group, const struct xw_group_survey *seen);
int xw_space_learned(struct xw_space *s);
/*
 * Count the free buddies of the group: hist[k] of 2^k clusters. Loads the bitmap if necessary.
 */
int xw_space_group_buddies(struct xw_space *s, uint32_t group, uint16_t hist[XW_SPACE_ORDERS]);
/* Bytes currently allocated. */
size_t xw_space_memory(const struct xw_space *s);
const char *xw_criteria_name(enum xw_criteria cr);
const char *xw_criteria_kernel_name(enum xw_criteria cr); /* as in Linux's mb_stats */

#endif
