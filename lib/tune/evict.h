/* SPDX-License-Identifier: MIT */
/* Blocks that are in the way of something, moved elsewhere. */
#ifndef XW_TUNE_EVICT_H
#define XW_TUNE_EVICT_H

#include "base/blockset.h"
#include "update/update.h"

/*
 * Move everything in `area`, which must hold no metadata of groups, no MMP block, and no block of
 * the bad blocks' or the resize inode, to free space. The area's blocks stay in use. Directories
 * must not have itrees. XW_ERR_NOSPC.
 */
int xw_tune_evict(struct xw_update *u, const struct xw_blockset *area);

#endif
