/* SPDX-License-Identifier: MIT */
/*
 * The map of an existing inode: read into a list of extents, changed there, and written to new map
 * blocks. i_size does not change.
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

/*
 * XW_ERR_UNSUPPORTED: an itree. An inode without a map has an empty one. m must be freed in any
 * case.
 */
int xw_update_map_read(struct xw_update *u, xw_ino ino, const struct xw_inode *in,
		       struct xw_update_map *m);
/* Append a run of any length after the last extent, merging if possible. */
int xw_update_map_add(struct xw_update *u, struct xw_update_map *m, struct xw_map_run run);
/* Allocate blocks 0 .. len - 1 of an empty map. XW_ERR_NOSPC. */
int xw_update_map_alloc(struct xw_update *u, xw_ino ino, struct xw_update_map *m, uint64_t len);
/* Remove blocks first .. last from m and free them. */
int xw_update_map_punch(struct xw_update *u, struct xw_update_map *m, uint64_t first, xw_lblk last);
/*
 * Make m the map of the inode, in new map blocks. Updates *in, which the caller writes, and charges
 * the change of i_blocks to the owners.
 */
int xw_update_map_write(struct xw_update *u, xw_ino ino, struct xw_inode *in,
			struct xw_update_map *m);
void xw_update_map_end(struct xw_update_map *m);
#define auto_update_map __attribute__((cleanup(xw_update_map_end)))

/* Like xw_update_map_read(), for any directory and without `other`. */
int xw_update_map_load(struct xw_update *u, xw_ino ino, const struct xw_inode *in,
		       struct xw_update_map *m);
/*
 * Like xw_update_map_write(), but the caller updates i_blocks: *gain is the growth of the map
 * itself. Flags of an index or itree are cleared.
 */
int xw_update_map_put(struct xw_update *u, xw_ino ino, struct xw_inode *in, struct xw_update_map *m,
		      int64_t *gain);
/* Move the extents of `from` to m. */
void xw_update_map_move(struct xw_update_map *m, struct xw_update_map *from);
/* An allocation goal next to the file's last block, else near its inode. */
xw_blk xw_update_map_goal(const struct xw_update *u, xw_ino ino, const struct xw_update_map *m);
/* The physical block of lblk; 0: a hole. */
xw_blk xw_update_map_at(const struct xw_update_map *m, uint64_t lblk);
/* The physical block that lblk must get because its cluster has other blocks already; 0: any. */
xw_blk xw_update_map_partner(const struct xw_update *u, const struct xw_update_map *m,
			     uint64_t lblk);
/* Allocate and write blocks for n's map. xw_update_built_map_free() frees n->map and its runs. */
int xw_update_build_map(struct xw_update *u, struct xw_binode *n);
void xw_update_built_map_free(struct xw_binode *n);

/*
 * Iterates over the clusters of a file's map, in the order of its runs, each once: with bigalloc
 * several runs may share a cluster. Otherwise a cluster is a block.
 */
struct xw_update_clusters {
	struct xw_update *u;
	uint64_t next; /* logical clusters below this one were visited */
};
/*
 * *out: the clusters of the run that were not visited, in blocks; len 0: none. XW_ERR_CORRUPT:
 * misaligned.
 */
int xw_update_clusters(struct xw_update_clusters *c, const struct xw_map_run *run,
		       struct xw_run *out);

#endif
