/* SPDX-License-Identifier: MIT */
/* Backup superblocks, for callers with a damaged primary superblock. */
#ifndef XW_READ_COPIES_H
#define XW_READ_COPIES_H

#include "dev/dev.h"
#include "disk/super.h"

/*
 * The byte offset of a superblock according to its s_block_group_nr. Distinguishes backups from
 * superblocks in image files inside the image.
 */
uint64_t xw_super_byte_offset(const struct xw_super *sb);

struct xw_copy_hint {
	char s[112];
};
/*
 * A hint to append to a message about a damaged primary superblock: the location of a valid backup
 * and the options of xw-fsck for it. Empty if no backup is found with the default group size.
 */
struct xw_copy_hint xw_super_copy_hint(struct xw_dev *dev);

#endif
