/* SPDX-License-Identifier: MIT */
/* Process orphans as Linux does: delete or truncate them. */
#ifndef XW_FSCK_ORPHANS_H
#define XW_FSCK_ORPHANS_H

#include "open/open.h"

/* Does the superblock say that the orphan list or the orphan file has entries? */
bool fsck_orphans_listed(const struct xw_super *sb);
/* Process them. After XW_ERR_CORRUPT and the like nothing was changed. */
int fsck_orphans_process(struct fsck *f);
/* *none: the orphan list is empty, and the orphan file is valid and empty. XW_ERR_NOMEM. */
int fsck_orphans_none(struct fsck *f, bool *none);
/*
 * After a replay: clear ORPHAN_PRESENT if there is no orphan, as Linux does. That is no finding,
 * since every copy of a mounted filesystem has the bit.
 */
int fsck_orphans_settle(struct fsck *f);

#endif
