/* SPDX-License-Identifier: MIT */
/* Where a file's blocks are: extent trees and block maps behind one iterator. */
#ifndef XW_READ_MAP_H
#define XW_READ_MAP_H

#include "read/image.h"
#include "walk/map.h"

#pragma GCC visibility push(default)

struct xw_map_run {
	xw_lblk lblk;
	uint64_t len; /* blocks */
	xw_blk pblk;
	bool unwritten; /* reads as zeros */
};

/*
 * Runs of a file in ascending logical order; holes are what lies between them. Runs never overlap,
 * lie inside the filesystem, and a file's runs together are at most as long as the filesystem.
 */
struct xw_map_iter {
	struct xw_image *img;
	xw_ino ino;
	bool done;
	xw_lblk from; /* runs are cut to begin here */
	xw_lblk next; /* logical blocks below it have been passed */
	struct xw_walk_map walk;
	struct xw_map_run ahead; /* block maps: read to see whether a run goes on; len 0: none */
	/* Set after begin to see each block of the map itself, before its contents are looked at;
	 * non-zero ends the walk. */
	int (*on_node)(void *arg, xw_blk blk, unsigned depth);
	void *arg;
};

/*
 * Start at logical block `from`. An inode without a map (a fast symlink, a device, inline data) has
 * no runs. XW_ERR_CORRUPT for a root that is none. Always end it, also after failures.
 */
int xw_map_begin(struct xw_image *img, xw_ino ino, const struct xw_inode *inode, xw_lblk from,
		 struct xw_map_iter *it);
/* 1: *run; 0: end; negative: failure, the end of this iteration. */
int xw_map_next(struct xw_map_iter *it, struct xw_map_run *run);
void xw_map_end(struct xw_map_iter *it);

/* The run that holds lblk, cut to begin there; run->len 0 and run->pblk 0 when it is a hole. */
int xw_map_lookup(struct xw_image *img, xw_ino ino, const struct xw_inode *inode, xw_lblk lblk,
		  struct xw_map_run *run);

/* Whether the inode's i_block holds a map (and not a fast symlink's text, a device number or inline
 * data). */
bool xw_inode_has_map(const struct xw_inode *inode);

#pragma GCC visibility pop

#endif
