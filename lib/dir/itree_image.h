/* SPDX-License-Identifier: MIT */
/* The checker of itrees over an opened image. */
#ifndef XW_DIR_ITREE_IMAGE_H
#define XW_DIR_ITREE_IMAGE_H

#include "dir/itree_check.h"
#include "read/image.h"

typedef int xw_itree_report(void *arg, const struct xw_itree_finding *f);

/*
 * Check the itree of directory ino, if it has one, against itree(5): all rules except 3 and 8,
 * which concern the filesystem. Negative: it could not be checked at all (an unreadable inode, out
 * of memory), or a negative code from report; damage of the tree is reported and is no error. Open
 * the image with XW_IMAGE_NOCSUM so that a wrong checksum is a finding.
 */
int xw_itree_check_inode(struct xw_image *img, xw_ino ino, xw_itree_report *report, void *arg,
			 struct xw_itree_result *res);

/*
 * Parts of xw_itree_check_inode() for a check of the whole filesystem: the fields of env that
 * follow from the image, without callbacks; and the description of a directory, without its
 * entries. *block0 is malloc'd, NULL if there is none, and equal to d->block0. d->mapped is
 * UINT64_MAX if the map cannot be read.
 */
void xw_itree_env_init(const struct xw_image *img, struct xw_itree_env *env);
int xw_itree_dir_read(struct xw_image *img, xw_ino ino, const struct xw_inode *inode,
		      const uint8_t *raw, struct xw_itree_dir *d, uint8_t **block0);

#endif
