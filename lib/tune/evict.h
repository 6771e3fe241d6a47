/* SPDX-License-Identifier: MIT */
/* Moving all blocks out of an area of an image. */
#ifndef XW_TUNE_EVICT_H
#define XW_TUNE_EVICT_H

#include "base/blockset.h"
#include "update/update.h"

/*
 * Move all blocks of files in `area` to free space. The area must not contain group metadata, the
 * MMP block, or blocks of the bad blocks inode and the resize inode. Its blocks stay allocated.
 * Directories must not have itrees. XW_ERR_NOSPC.
 */
int xw_tune_evict(struct xw_update *u, const struct xw_blockset *area);

#endif
