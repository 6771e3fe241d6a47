/* SPDX-License-Identifier: MIT */
/*
 * A slice of an inode table: the unit checked by one thread. Slices are checked in parallel and
 * their results processed in inode order.
 */
#ifndef XW_FSCK_INODE_SLICE_H
#define XW_FSCK_INODE_SLICE_H

#include <pthread.h>

#include "walk/map.h"

#include "facts/counts.h"
#include "phases/phases.h"
#include "facts/hidden.h"

struct fsck_slice {
	struct fsck *f;
	uint64_t off; /* offset of the first record on the device, in bytes */
	xw_ino ino; /* its number */
	xw_ino first_ino; /* lower numbers are reserved */
	uint32_t count; /* number of records */
	const struct xw_table *suspects; /* records that may be of a former filesystem */
	bool thorough; /* treat all records in use as doubtful */
	uint8_t *raw;
	struct fsck_inode *facts; /* of the first record */
	struct xw_walk_map walk;
	pthread_mutex_t *claiming; /* held while claiming blocks; shared by all slices */
	/* results */
	XW_VEC(struct xw_run) runs; /* of accepted records: contents not claimed yet */
	XW_VEC(xw_blk) nodes; /* of accepted records: map blocks not claimed yet */
	XW_VEC(uint32_t) doubtful; /* records for the thorough check */
	struct fsck_counts counts;
};

/* fn of xw_pool_for() over an array of slices. */
int fsck_slice_check(void *slices, size_t i);
/* Add a run of an inode's contents. XW_ERR_NOMEM. */
static inline int fsck_slice_run(struct fsck_slice *s, xw_blk blk, uint64_t len)
{
	struct xw_run *last = s->runs.n ? &s->runs.v[s->runs.n - 1] : NULL;

	if (last && last->start + last->len == blk) {
		last->len += len;
		return 0;
	}
	return xw_vec_push(&s->runs, ((struct xw_run){blk, len}));
}

#endif
