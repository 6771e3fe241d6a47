/* SPDX-License-Identifier: MIT */
/* Replays the fast commits of a journal (disk/fast.h) on an image. */
#ifndef XW_FASTCOMMIT_FASTCOMMIT_H
#define XW_FASTCOMMIT_FASTCOMMIT_H

#include "dev/dev.h"

/*
 * Replay the n blocks of complete fast commits on the image on dev, an overlay on which all
 * transactions of the log are in place. XW_ERR_CORRUPT: they do not match the image;
 * XW_ERR_UNSUPPORTED: the image has directories that cannot be changed. After a failure dev is
 * unchanged.
 *
 * Objects not named in a fast commit are not changed, except that an inode that lost its last name
 * is freed with everything it owned. Blocks of new maps and directories are allocated outside of
 * the blocks that fast commits refer to.
 */
int xw_update_fast(struct xw_dev *dev, const void *blocks, size_t n, struct xw_diag *diag);

#endif
