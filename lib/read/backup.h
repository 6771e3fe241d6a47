/* SPDX-License-Identifier: MIT */
/* Reading a filesystem through a backup of its superblock. */
#ifndef XW_READ_BACKUP_H
#define XW_READ_BACKUP_H

#include "dev/dev.h"

/*
 * Replace *dev by an overlay that owns it and shows, in place of the primary superblock and group
 * descriptors, their backups in block `super`. block_size 0: detect it; super 0: only check that
 * the primary superblock has blocks of block_size. XW_ERR_INPUT: no superblock in that block.
 */
int xw_backup_view(struct xw_dev **dev, uint64_t super, uint32_t block_size, struct xw_diag *diag);

#endif
