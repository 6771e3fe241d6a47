/* SPDX-License-Identifier: MIT */
/* The blocks of a file: extent trees and block maps through one iterator. */
#ifndef XW_READ_MAP_H
#define XW_READ_MAP_H

#include "read/image.h"
#include "walk/map.h"

struct xw_map_run {
	xw_lblk lblk;
	uint64_t len; /* in blocks */
	xw_blk pblk;
	bool unwritten; /* reads as zeros */
};

/*
 * Runs of a file in ascending logical order; gaps between them are holes. Runs never overlap, lie
 * inside the filesystem, and together are at most as long as the filesystem.
 */
struct xw_map_iter {
	struct xw_image *img;
	xw_ino ino;
	bool done;
	xw_lblk from; /* runs are clipped to start here */
	xw_lblk next; /* end of the last run or start of the current node */
	struct xw_walk_map walk;
	/* block maps: the run after the last one, read to merge adjacent runs; len 0: none */
	struct xw_map_run ahead;
	/*
	 * May be set after begin: called for each block of the map before its contents are
	 * examined; a non-zero code ends the walk.
	 */
	int (*on_node)(void *arg, xw_blk blk, unsigned depth);
	void *arg;
};

/*
 * Start at logical block `from`. An inode without a map (a fast symlink, a device, inline data) has
 * no runs. XW_ERR_CORRUPT for an invalid root. Call xw_map_end() even after a failure.
 */
int xw_map_begin(struct xw_image *img, xw_ino ino, const struct xw_inode *inode, xw_lblk from,
		 struct xw_map_iter *it);
/* 1: *run; 0: end; negative: failure, which ends the iteration. */
int xw_map_next(struct xw_map_iter *it, struct xw_map_run *run);
void xw_map_end(struct xw_map_iter *it);

/* Get the run from lblk on; run->len 0 and run->pblk 0 if lblk is in a hole. */
int xw_map_lookup(struct xw_image *img, xw_ino ino, const struct xw_inode *inode, xw_lblk lblk,
		  struct xw_map_run *run);

/*
 * Does i_block of the inode hold a map (not the target of a fast symlink, a device number or inline
 * data)?
 */
bool xw_inode_has_map(const struct xw_inode *inode);

#endif
