/* SPDX-License-Identifier: MIT */
/*
 * Bulk directory builder. Two steps: shape (how many blocks, sorted order) before space is
 * allocated, then emit once inode numbers and block places are known. A directory of one block is
 * linear, in the order given; a longer one gets an htree (dir_index) with leaves packed full in
 * hash order: dx_root, then dx_nodes, then leaves.
 */
#ifndef XW_DIR_BUILD_H
#define XW_DIR_BUILD_H

#include "base/err.h"
#include "base/types.h"
#include "disk/dx_hash.h"

#pragma GCC visibility push(default)

struct xw_dir_format {
	uint32_t block_size;
	bool filetype, csum, dir_index, large_dir;
	bool itree; /* indexed directories get an itree where they can */
	enum xw_dx_version hash_version; /* with signedness applied */
	uint32_t hash_seed[4];
};

struct xw_dir_entry {
	const char *name; /* borrowed */
	uint8_t name_len;
	uint8_t ftype;
	xw_ino ino;
	struct xw_dx_hash hash; /* filled by shape when the directory is indexed */
};

struct xw_dir_shape {
	uint32_t blocks; /* of the directory file */
	bool indexed; /* INDEX_FL */
	bool itree; /* dx_root keeps its last slot free for the pointer to an itree */
	uint8_t levels; /* indirect levels of the htree */
	uint32_t leaves;
	uint32_t nodes[3]; /* dx_nodes per level below the root, top first */
};

/*
 * Plan the directory holding entries (without . and ..). Sorts entries by (hash, minor, name) when
 * indexed. min_blocks: e.g. lost+found's 16 KiB. Falls back to linear when the htree would be
 * deeper than allowed. XW_ERR_LIMIT when it cannot be stored. Only names matter here: ino may still
 * be 0.
 */
int xw_dir_shape(const struct xw_dir_format *f, struct xw_dir_entry *entries, size_t n,
		 uint32_t min_blocks, struct xw_dir_shape *out);

/*
 * Blocks that Linux may add to the directory for one more name, however long. entries as shape left
 * them.
 */
uint32_t xw_dir_growth(const struct xw_dir_format *f, const struct xw_dir_shape *shape,
		       const struct xw_dir_entry *entries, size_t n);

struct xw_dir_self {
	xw_ino ino, parent;
	uint32_t generation;
	uint32_t inode_seed; /* xw_inode_seed(); ignored without csum */
	xw_blk itree; /* root node, for shapes that have the slot; 0 = none */
};
/*
 * Produce all blocks in logical order: put(arg, lblk, block) for 0 .. shape->blocks - 1; block is
 * valid during the call only. `entries` as shape left them. put's failure ends the run and is
 * returned.
 */
int xw_dir_emit(const struct xw_dir_format *f, const struct xw_dir_shape *shape,
		const struct xw_dir_entry *entries, size_t n, const struct xw_dir_self *self,
		int (*put)(void *arg, uint32_t lblk, const void *block), void *arg);

#pragma GCC visibility pop

#endif
