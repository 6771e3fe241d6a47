/* SPDX-License-Identifier: MIT */
/* The fast commits of a journal (disk/fast.h), carried out on an image. */
#ifndef XW_UPDATE_FAST_H
#define XW_UPDATE_FAST_H

#include "dev/dev.h"

#pragma GCC visibility push(default)

/*
 * Replay the n blocks of whole fast commits on the image on dev, which is an overlay and has all
 * transactions of its log in place. XW_ERR_CORRUPT: they do not go with the
 * image; XW_ERR_UNSUPPORTED: it has directories that cannot be changed. After a failure dev is what
 * it was.
 *
 * What is not in them is left as it is: who has lost its last name is free with all it had,
 * blocks of new maps and directories are allocated where nothing that a fast commit names is.
 */
int xw_update_fast(struct xw_dev *dev, const void *blocks, size_t n, struct xw_diag *diag);

#pragma GCC visibility pop

#endif
