/* SPDX-License-Identifier: MIT */
/*
 * A directory's entries in the order of their inodes, through its itree; and those inodes, with
 * each block of the inode tables read once.
 */
#ifndef XW_READ_ITREE_H
#define XW_READ_ITREE_H

#include "disk/dirent.h"
#include "disk/itree.h"
#include "read/image.h"

#pragma GCC visibility push(default)

struct xw_itree_iter {
	struct xw_image *img;
	xw_ino ino;
	uint32_t generation, seed;
	bool any_names;
	unsigned levels; /* 0: nothing more to come */
	struct xw_itree_level {
		xw_blk blk; /* of the node loaded */
		unsigned index, count; /* next entry, entries */
	} at[XW_ITREE_LEVELS];
	uint32_t off, used; /* next entry of the leaf, its bytes */
	uint8_t *nodes; /* a block a level; level 0's is unused: leaves are in `ahead` */
	uint8_t *ahead, *leaf; /* leaves read together; the current one among them */
	unsigned ahead_first, ahead_n; /* children of the lowest index node */
	bool has_last;
	struct xw_itree_entry last; /* its name in last_name */
	char last_name[XW_NAME_MAX];
	/* the inode table block at hand */
	uint8_t *table;
	xw_blk table_blk; /* 0: none */
	uint64_t group; /* whose descriptor is in `desc`; UINT64_MAX: none */
	struct xw_group_desc desc;
	uint64_t nodes_read, tables_read; /* blocks, for measurements */
	/*
	 * Set behind xw_itree_begin(), which has read the root (at[levels - 1].blk): each other
	 * node, when the walk comes to it. Negative ends the walk.
	 */
	int (*on_node)(void *arg, xw_blk blk, unsigned level);
	void *arg;
};

/*
 * XW_ERR_NOTFOUND, without a line in diag: the directory has no itree, or this is no directory.
 * XW_ERR_CORRUPT, XW_ERR_CHECKSUM: it has a damaged one. Always end it.
 */
int xw_itree_begin(struct xw_image *img, xw_ino ino, const struct xw_inode *inode,
		   struct xw_itree_iter *it);
/*
 * 1: *e is the next entry, by (inode, hash, name), "." and ".." not among them (name valid until
 * the next call). 0: end. Negative: a damaged node; the walk is over, and what the tree would have
 * said is in the directory's own blocks.
 */
int xw_itree_next(struct xw_itree_iter *it, struct xw_itree_entry *e);
/*
 * As xw_image_inode(), but numbers that ascend, as the walk's do, read each block of the inode
 * tables once. raw (inode_size bytes) may be NULL.
 */
int xw_itree_inode(struct xw_itree_iter *it, xw_ino ino, struct xw_inode *out, uint8_t *raw);
void xw_itree_end(struct xw_itree_iter *it);

#pragma GCC visibility pop

#endif
