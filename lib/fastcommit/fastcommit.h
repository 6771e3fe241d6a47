/* SPDX-License-Identifier: MIT */
/* Replays the fast commits of a journal (disk/fast.h) on an image. */
#ifndef XW_FASTCOMMIT_FASTCOMMIT_H
#define XW_FASTCOMMIT_FASTCOMMIT_H

#include "dev/dev.h"

/*
 * Replay the n blocks of complete fast commits on the image on dev, which is an overlay and has all
 * transactions of its log in place. XW_ERR_CORRUPT: they do not match the image;
 * XW_ERR_UNSUPPORTED: it has directories that cannot be changed. After a failure dev is unchanged.
 *
 * What they do not contain is not changed: an inode that lost its last name is freed with
 * everything it owned; blocks of new maps and directories are allocated where no fast commit refers
 * to.
 */
int xw_update_fast(struct xw_dev *dev, const void *blocks, size_t n, struct xw_diag *diag);

#endif
