/* SPDX-License-Identifier: MIT */
/* The entries of a directory in inode order, through its itree. */
#ifndef XW_READ_ITREE_H
#define XW_READ_ITREE_H

#include "disk/dirent.h"
#include "disk/itree.h"
#include "read/image.h"
#include "walk/itree.h"

struct xw_itree_iter {
	struct xw_image *img;
	xw_ino ino;
	xw_blk root;
	unsigned levels; /* 0: the end was reached */
	struct xw_walk_itree walk;
	const uint8_t *leaf; /* the current leaf */
	uint32_t off, used; /* offset of the next entry of the leaf, and size of its entries */
	uint8_t *ahead; /* leaves read ahead */
	unsigned ahead_first, ahead_n; /* index of the first of them in the parent; their number */
	bool has_last;
	struct xw_itree_entry last; /* its name is in last_name */
	char last_name[XW_NAME_MAX];
	/*
	 * May be set after xw_itree_begin(), which reads the root: called for every further node.
	 * A negative code ends the walk.
	 */
	int (*on_node)(void *arg, xw_blk blk, unsigned level);
	void *arg;
};

/*
 * Get the pointer to the root from block 0 of a directory with the itree flag. XW_ERR_CORRUPT:
 * none.
 */
int xw_itree_root(struct xw_image *img, xw_ino ino, const struct xw_inode *inode, xw_blk *root);
/*
 * XW_ERR_NOTFOUND, without a message: not a directory, or one without an itree. XW_ERR_CORRUPT,
 * XW_ERR_CHECKSUM: the itree is damaged. Call xw_itree_end() even after a failure.
 */
int xw_itree_begin(struct xw_image *img, xw_ino ino, const struct xw_inode *inode,
		   struct xw_itree_iter *it);
/*
 * 1: *e is the next entry, by (inode, hash, name), without "." and ".." (name valid until the next
 * call). 0: end. Negative: a damaged node, which ends the walk; the caller has to read the blocks
 * of the directory instead.
 */
int xw_itree_next(struct xw_itree_iter *it, struct xw_itree_entry *e);
void xw_itree_end(struct xw_itree_iter *it);

/*
 * Can the itrees of the image be used in place of the directories? Checksums must be verified, the
 * filesystem must be clean and never have been mounted for writing. Linux cannot mount it so while
 * the feature is set, and tools that set the feature clear all stale flags first (itree(5)); a
 * mount time shows that the feature may have been set by hand.
 */
bool xw_itree_is_trusted(const struct xw_image *img);

#endif
