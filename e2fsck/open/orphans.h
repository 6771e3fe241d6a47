/* SPDX-License-Identifier: MIT */
/* Process orphans as Linux does: delete or truncate them. */
#ifndef XW_FSCK_ORPHANS_H
#define XW_FSCK_ORPHANS_H

#include "open/open.h"

/* Does the superblock say that the orphan list or the orphan file has entries? */
bool fsck_orphans_listed(const struct xw_super *sb);
/* Process them. After XW_ERR_CORRUPT and the like nothing was changed. */
int fsck_orphans_process(struct fsck *f);

#endif
