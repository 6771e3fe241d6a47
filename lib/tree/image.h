/* SPDX-License-Identifier: MIT */
/*
 * The tree of an existing image, read as far as a source looks into it: a directory is read when a
 * path first enters it, an inode when its links or target count. So an import costs what it
 * touches, whatever else the image holds.
 */
#ifndef XW_TREE_IMAGE_H
#define XW_TREE_IMAGE_H

#include "base/vec.h"
#include "read/image.h"
#include "tree/tree.h"

struct xw_tree_image {
	struct xw_tree *t;
	struct xw_image *img;
	/* private: nodes by inode number, open-addressed, at most half full */
	struct xw_table nodes; /* by number */
	uint8_t *raw; /* scratch: an inode's record */
	char *target; /* scratch: a symlink's */
};

/*
 * t, fresh from xw_tree_init(), becomes the image's: its root is the image's root, and lazy. img
 * must outlive ti, and stay what it is while t is filled.
 */
int xw_tree_image_init(struct xw_tree_image *ti, struct xw_tree *t, struct xw_image *img);
void xw_tree_image_free(struct xw_tree_image *ti);

#endif
