/* SPDX-License-Identifier: MIT */
/*
 * The tree of an existing image, read on demand: a directory is read when a path first enters it,
 * an inode when its link count or target is needed. So an import costs only what it accesses,
 * whatever else the image contains.
 */
#ifndef XW_TREE_IMAGE_H
#define XW_TREE_IMAGE_H

#include "base/vec.h"
#include "read/image.h"
#include "tree/tree.h"

struct xw_tree_image {
	struct xw_tree *t;
	struct xw_image *img;
	/* internal: nodes by inode number, open-addressed, at most half full */
	struct xw_table nodes; /* by number */
	uint8_t *raw; /* scratch for an inode record */
	char *target; /* scratch for the target of a symlink */
};

/*
 * t, just initialized by xw_tree_init(), becomes the tree of the image: its root is the image's
 * root, and lazy. img must outlive ti, and must not change while t is filled.
 */
int xw_tree_image_init(struct xw_tree_image *ti, struct xw_tree *t, struct xw_image *img);
void xw_tree_image_free(struct xw_tree_image *ti);

#endif
