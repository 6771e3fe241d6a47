/* SPDX-License-Identifier: MIT */
/* Backup superblocks, for callers that have lost the primary. */
#ifndef XW_READ_COPIES_H
#define XW_READ_COPIES_H

#include "dev/dev.h"
#include "disk/super.h"

/*
 * The byte offset at which a superblock claims to be: a file inside an image may hold an image,
 * too.
 */
uint64_t xw_super_place(const struct xw_super *sb);

struct xw_copy_hint {
	char s[112];
};
/*
 * To be appended to a message about a damaged primary superblock: where dev has a valid backup, and
 * the e2fsck(8) option for it. Empty where groups of the default size have none.
 */
struct xw_copy_hint xw_super_copy_hint(struct xw_dev *dev);

#endif
