/* SPDX-License-Identifier: MIT */
/* The checker of itrees over an opened image. */
#ifndef XW_DIR_ITREE_IMAGE_H
#define XW_DIR_ITREE_IMAGE_H

#include "dir/itree_check.h"
#include "read/image.h"

#pragma GCC visibility push(default)

typedef int xw_itree_report(void *arg, const struct xw_itree_finding *f);

/*
 * Check the itree of directory ino, if it has one, against itree(5): everything but rules 3 and 8,
 * which are the filesystem's. Negative: it could not be checked at all (an unreadable inode, out of
 * memory), or what report returned below 0; damage of the tree is reported and not an error. Open
 * the image with XW_IMAGE_NOCSUM so that a wrong checksum is a finding.
 */
int xw_itree_check_inode(struct xw_image *img, xw_ino ino, xw_itree_report *report, void *arg,
			 struct xw_itree_result *res);

#pragma GCC visibility pop

#endif
