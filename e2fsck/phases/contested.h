/* SPDX-License-Identifier: MIT */
/* Blocks with more than one owner, private to contested*.c. */
#ifndef XW_FSCK_CONTESTED_H
#define XW_FSCK_CONTESTED_H

#include "walk/map.h"

#include "phases/phases.h"

/* A run of contested clusters and its owner. */
struct claim {
	uint64_t first;
	uint32_t len;
	xw_ino ino; /* 0: metadata or an xattr block, which is not moved */
	xw_ino other; /* another inode that claims a part of the run; 0: none, or metadata */
};

/* Contents of a block before group metadata was written to it. */
struct fsck_saved {
	xw_blk blk;
	uint8_t *data; /* NULL: unreadable */
};

/* A run of copies on the image, and the checksum of its contents. */
struct fsck_written {
	xw_blk blk;
	uint64_t len;
	uint32_t csum;
	xw_ino ino;
};

/*
 * Claims are stored as runs, so that memory depends on the number of extents, not of blocks. The
 * ends of claims divide the contested clusters into segments whose clusters all have the same
 * number of claims. Segment i ends where segment i + 1 begins; the last segment has no claims.
 */
struct fsck_contest {
	struct fsck *f;
	struct xw_walk_map walk;
	XW_VEC(struct claim) claims; /* sorted by inode when complete */
	XW_VEC(uint64_t) firsts; /* first clusters of the segments, ascending */
	XW_VEC(uint32_t) counts; /* remaining claims of each segment */
	XW_VEC(xw_ino) inos; /* to be cloned, ascending */
	XW_VEC(uint8_t) ranks; /* of inos[]: lower ranks are cloned first */
	XW_VEC(struct fsck_saved) saved; /* by block */
	XW_VEC(struct fsck_written) written; /* directly to the image */
	uint64_t held; /* bytes of copies in memory */
	uint64_t free; /* in blocks, according to the last update; UINT64_MAX: unknown */
	unsigned bits; /* log2 of the number of blocks in a cluster */
	xw_blk base; /* first block of cluster 0 */
	uint8_t *copy; /* buffer for one cluster */
	bool forecast; /* -n: without the journal, there may be space */
	bool agreed; /* the repair of at least one inode was accepted */
};

static inline uint64_t fsck_contest_cluster(const struct fsck_contest *c, xw_blk blk)
{
	return (blk - c->base) >> c->bits;
}

/* ---- contested_saved.c ---- */

/* Save the contents of the cluster's metadata blocks if the base device does not have them. */
int fsck_contest_save(struct fsck_contest *c, uint64_t cluster);
/* Read a block as it was before any repair. */
int fsck_contest_read(const struct fsck_contest *c, xw_blk blk, uint8_t *buf);
void fsck_contest_saved_free(struct fsck_contest *c);

/* ---- contested_claims.c ---- */

/* Find all claims of the contested clusters. */
int fsck_contest_find(struct fsck_contest *c);
/* Sort the claims; list the inodes to be cloned. */
int fsck_contest_sort(struct fsck_contest *c);
/* Is the cluster still claimed by more than one owner? */
bool fsck_contest_shared(const struct fsck_contest *c, uint64_t cluster);
/* Number of the inode's clusters that others claim as well. */
uint64_t fsck_contest_shared_by(const struct fsck_contest *c, xw_ino ino);
/* One of the inodes that claim blocks of this one; 0: only metadata does. */
xw_ino fsck_contest_other(const struct fsck_contest *c, xw_ino ino);
/* Drop the inode's claims of shared clusters; with `all`, those of its other clusters as well. */
void fsck_contest_drop(struct fsck_contest *c, xw_ino ino, bool all);
/* bigalloc: does the inode have blocks that are not aligned to clusters? */
bool fsck_contest_is_misplaced(const struct fsck *f, xw_ino ino);

/* ---- contested_write.c ---- */

/*
 * Write n blocks of a copy, in c->copy, for inode ino to newly allocated blocks. XW_ERR_IO: other
 * blocks may do.
 */
int fsck_contest_write(struct fsck_contest *c, struct xw_update *u, xw_ino ino, xw_blk blk,
		       uint64_t n);
/* Read all copies on the image back, once they are durable. */
int fsck_contest_verify(struct fsck_contest *c);

/* ---- contested_copy.c ---- */

/* Does the directory have shared blocks that cannot be its own? */
int fsck_contest_foreign(struct fsck_contest *c, xw_ino ino, bool *foreign);
/* Clone the shared clusters of an inode. XW_ERR_NOSPC, or errors of updates. */
int fsck_contest_move(struct fsck_contest *c, struct xw_update *u, xw_ino ino);

#endif
