/* SPDX-License-Identifier: MIT */
/* Writes of the primary superblock in a commit; its bytes are those of disk/pending.h. */
#ifndef XW_COMMIT_SUPER_H
#define XW_COMMIT_SUPER_H

#include "dev/dev.h"
#include "disk/pending.h"

/* Write the 1024 bytes of the primary superblock, and flush. */
int xw_commit_put_super(struct xw_dev *base, const uint8_t super[XW_SUPER_SIZE]);

#endif
