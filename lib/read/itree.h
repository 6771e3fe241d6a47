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
	uint32_t off, used; /* offset of its next entry, and size of its entries */
	uint8_t *ahead; /* leaves that were read together */
	/* index and number of these children of the lowest index node */
	unsigned ahead_first, ahead_n;
	bool has_last;
	struct xw_itree_entry last; /* its name is in last_name */
	char last_name[XW_NAME_MAX];
	/*
	 * May be set after xw_itree_begin(), which reads the root: called for every other node when
	 * the walk reaches it. A negative code ends the walk.
	 */
	int (*on_node)(void *arg, xw_blk blk, unsigned level);
	void *arg;
};

/*
 * The pointer to the root in block 0 of a directory whose inode has the itree flag. XW_ERR_CORRUPT:
 * there is none.
 */
int xw_itree_root(struct xw_image *img, xw_ino ino, const struct xw_inode *inode, xw_blk *root);
/*
 * XW_ERR_NOTFOUND, without a message: the directory has no itree, or this is no directory.
 * XW_ERR_CORRUPT, XW_ERR_CHECKSUM: its itree is damaged. End it in any case.
 */
int xw_itree_begin(struct xw_image *img, xw_ino ino, const struct xw_inode *inode,
		   struct xw_itree_iter *it);
/*
 * 1: *e is the next entry, by (inode, hash, name), without "." and ".." (name valid until the next
 * call). 0: end. Negative: a damaged node; the walk is over, and the caller has to read the blocks
 * of the directory.
 */
int xw_itree_next(struct xw_itree_iter *it, struct xw_itree_entry *e);
void xw_itree_end(struct xw_itree_iter *it);

/*
 * Can the itrees of the image be used in place of the directories? Each node must have a verified
 * checksum, the filesystem must be clean, and Linux must never have mounted it for writing. While
 * the feature is set Linux cannot, and tools that set it clear every stale flag first (itree(5));
 * but if it was mounted, somebody may have set the feature by hand.
 */
bool xw_itree_is_believed(const struct xw_image *img);

#endif
