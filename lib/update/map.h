/* SPDX-License-Identifier: MIT */
/*
 * The map of an existing inode: read into a list of extents, changed there, and written anew to map
 * blocks of its own. i_size does not change.
 */
#ifndef XW_UPDATE_MAP_H
#define XW_UPDATE_MAP_H

#include "read/map.h"
#include "update/update.h"

struct xw_update_map {
	XW_VEC(struct xw_extent) e; /* ascending */
	XW_VEC(xw_blk) nodes; /* blocks of the map itself */
	uint64_t other; /* other blocks included in i_blocks */
};

/* XW_ERR_UNSUPPORTED: an itree. An inode without a map has an empty one. End it in any case. */
int xw_update_map_read(struct xw_update *u, xw_ino ino, const struct xw_inode *in,
		       struct xw_update_map *m);
/* Append after the last extent, merging if possible; of any length. */
int xw_update_map_add(struct xw_update *u, struct xw_update_map *m, struct xw_map_run run);
/* Allocate blocks 0 .. len - 1 of an empty map. XW_ERR_NOSPC. */
int xw_update_map_alloc(struct xw_update *u, xw_ino ino, struct xw_update_map *m, uint64_t len);
/* Remove blocks first .. last from m and free them. */
int xw_update_map_punch(struct xw_update *u, struct xw_update_map *m, uint64_t first, xw_lblk last);
/*
 * Make m the map of the inode, in new map blocks: updates *in, which the caller puts. The owners
 * are charged for the change of i_blocks.
 */
int xw_update_map_write(struct xw_update *u, xw_ino ino, struct xw_inode *in,
			struct xw_update_map *m);
void xw_update_map_end(struct xw_update_map *m);

/* As xw_update_map_read(), for any directory and without `other`. */
int xw_update_map_load(struct xw_update *u, xw_ino ino, const struct xw_inode *in,
		       struct xw_update_map *m);
/*
 * As xw_update_map_write(), but the caller updates i_blocks: *gain is the growth of the map itself.
 * Flags of an index or itree are cleared.
 */
int xw_update_map_put(struct xw_update *u, xw_ino ino, struct xw_inode *in, struct xw_update_map *m,
		      int64_t *gain);
/* Move the extents of `from` to m. */
void xw_update_map_move(struct xw_update_map *m, struct xw_update_map *from);
/* A goal next to the file's last block, else near its inode. */
xw_blk xw_update_map_goal(const struct xw_update *u, xw_ino ino, const struct xw_update_map *m);
/* The block required for lblk, since another block of its cluster is allocated; 0: none yet. */
xw_blk xw_update_map_partner(const struct xw_update *u, const struct xw_update_map *m,
			     uint64_t lblk);
/* Allocate and write blocks for n's map. The caller frees n->map and its runs. */
int xw_update_build_map(struct xw_update *u, struct xw_binode *n);

/*
 * The clusters of a file's map, in the order of its runs, each once: with bigalloc several runs may
 * share one. Otherwise a cluster is a block.
 */
struct xw_update_clusters {
	struct xw_update *u;
	uint64_t next; /* lower logical clusters were visited */
};
/* *out: the new clusters of the run, in blocks; len 0: none. XW_ERR_CORRUPT: misaligned. */
int xw_update_clusters(struct xw_update_clusters *c, const struct xw_map_run *run,
		       struct xw_run *out);

#endif
