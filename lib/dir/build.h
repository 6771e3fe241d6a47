/* SPDX-License-Identifier: MIT */
/*
 * Bulk directory builder. Two steps: shape (number of blocks, sort order) before space is
 * allocated, then emit once inode numbers and block locations are known. A directory of one block
 * is linear, in the given order; a longer one gets an htree (dir_index) with full leaves in hash
 * order: dx_root, then dx_nodes, then leaves.
 */
#ifndef XW_DIR_BUILD_H
#define XW_DIR_BUILD_H

#include "base/err.h"
#include "base/types.h"
#include "disk/dx_hash.h"

struct xw_dir_format {
	uint32_t block_size;
	bool filetype, csum, dir_index, large_dir;
	bool itree; /* indexed directories get an itree where possible */
	enum xw_dx_version hash_version; /* including the signedness */
	uint32_t hash_seed[4];
};

struct xw_dir_entry {
	const char *name; /* borrowed */
	uint8_t name_len;
	uint8_t ftype;
	xw_ino ino;
	struct xw_dx_hash hash; /* computed by shape when the directory is indexed */
};

struct xw_dir_shape {
	uint32_t blocks; /* size of the directory in blocks */
	bool indexed; /* INDEX_FL */
	bool itree; /* the last slot of dx_root is reserved for the pointer to an itree */
	uint8_t levels; /* indirect levels of the htree */
	uint32_t leaves;
	uint32_t nodes[3]; /* dx_nodes of each level below the root, top first */
};

/*
 * Plan the directory with these entries (without . and ..). Sorts entries by (hash, minor, name)
 * when indexed. min_blocks: e.g. 16 KiB for lost+found. Falls back to linear when the htree would
 * be too deep. XW_ERR_LIMIT when the format cannot store it. Only names are used here: ino may
 * still be 0.
 */
int xw_dir_shape(const struct xw_dir_format *f, struct xw_dir_entry *entries, size_t n,
		 uint32_t min_blocks, struct xw_dir_shape *out);

/*
 * The maximum number of blocks that Linux may add to the directory for one more name of any length.
 * `entries` must be as xw_dir_shape() left them.
 */
uint32_t xw_dir_growth(const struct xw_dir_format *f, const struct xw_dir_shape *shape,
		       const struct xw_dir_entry *entries, size_t n);

struct xw_dir_self {
	xw_ino ino, parent;
	uint32_t generation;
	uint32_t inode_seed; /* xw_inode_seed(); ignored without csum */
	xw_blk itree; /* location of the root node if the shape has the slot; 0 = none */
};
/*
 * Emit all blocks in logical order: put(arg, lblk, block) for 0 .. shape->blocks - 1; block is
 * valid only during the call. `entries` must be as xw_dir_shape() left them. Stops at the first
 * failure of put and returns it.
 */
int xw_dir_emit(const struct xw_dir_format *f, const struct xw_dir_shape *shape,
		const struct xw_dir_entry *entries, size_t n, const struct xw_dir_self *self,
		int (*put)(void *arg, uint32_t lblk, const void *block), void *arg);

#endif
