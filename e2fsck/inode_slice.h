/* SPDX-License-Identifier: MIT */
/*
 * A slice of an inode table: the unit that one thread looks at. Slices are looked at side by side
 * and their results taken over one after the other, in the order of inodes.
 */
#ifndef XW_FSCK_INODE_SLICE_H
#define XW_FSCK_INODE_SLICE_H

#include <pthread.h>

#include "walk/map.h"

#include "counts.h"
#include "fsck.h"

struct fsck_slice {
	struct fsck *f;
	uint64_t off; /* bytes; where on the device the first record is */
	xw_ino ino; /* its number */
	xw_ino first_ino; /* numbers below it are reserved */
	uint32_t count; /* records */
	bool thorough; /* all that are in use are doubtful */
	uint8_t *raw;
	struct fsck_inode *facts; /* of the first record */
	struct xw_walk_map walk;
	pthread_mutex_t *claiming; /* held while blocks are claimed; shared by all slices */
	/* results */
	XW_VEC(struct xw_run) runs; /* blocks of those that were accepted, not yet claimed */
	XW_VEC(uint32_t) doubtful; /* records for the thorough look */
	struct fsck_counts counts;
};

/* fn of xw_pool_for() over an array of slices. */
int fsck_slice_look(void *slices, size_t i);
/* Blocks that an inode has. XW_ERR_NOMEM. */
static inline int fsck_slice_run(struct fsck_slice *s, xw_blk blk, uint64_t len)
{
	struct xw_run *last = s->runs.n ? &s->runs.v[s->runs.n - 1] : NULL;

	if (last && last->start + last->len == blk) {
		last->len += len;
		return 0;
	}
	return xw_vec_push(&s->runs, ((struct xw_run){blk, len}));
}

/* Is it an inode that only the superblock names? */
bool fsck_is_hidden(const struct xw_super *sb, xw_ino ino);

#endif
