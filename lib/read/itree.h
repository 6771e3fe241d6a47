/* SPDX-License-Identifier: MIT */
/* A directory's entries in the order of their inodes, through its itree. */
#ifndef XW_READ_ITREE_H
#define XW_READ_ITREE_H

#include "disk/dirent.h"
#include "disk/itree.h"
#include "read/image.h"
#include "walk/itree.h"

#pragma GCC visibility push(default)

struct xw_itree_iter {
	struct xw_image *img;
	xw_ino ino;
	xw_blk root;
	unsigned levels; /* 0: nothing more to come */
	struct xw_walk_itree walk;
	const uint8_t *leaf; /* the current one */
	uint32_t off, used; /* its next entry, its bytes */
	uint8_t *ahead; /* leaves read together */
	unsigned ahead_first, ahead_n; /* children of the lowest index node */
	bool has_last;
	struct xw_itree_entry last; /* its name in last_name */
	char last_name[XW_NAME_MAX];
	/*
	 * Set behind xw_itree_begin(), which has read the root: each other node, when the walk
	 * comes to it. Negative ends the walk.
	 */
	int (*on_node)(void *arg, xw_blk blk, unsigned level);
	void *arg;
};

/* The pointer to the root in block 0 of a directory that is marked as one with an itree.
 * XW_ERR_CORRUPT: there is none. */
int xw_itree_root(struct xw_image *img, xw_ino ino, const struct xw_inode *inode, xw_blk *root);
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
void xw_itree_end(struct xw_itree_iter *it);

/*
 * Do the image's itrees list what their directories hold, so that nobody need look at those? Each
 * node has a checksum that is looked at, the filesystem is clean, and Linux never mounted it for
 * writing. While the feature is set Linux does not, and who sets it clears every stale flag first
 * (itree(5)); but where it was mounted, perhaps somebody has set the feature by hand.
 */
bool xw_itree_is_believed(const struct xw_image *img);

#pragma GCC visibility pop

#endif
