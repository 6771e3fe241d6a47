/* SPDX-License-Identifier: MIT */
/* Orphans: put away as Linux does it. */
#ifndef XW_FSCK_ORPHANS_H
#define XW_FSCK_ORPHANS_H

#include "open/open.h"

/* Is anything said to be in the list or in the file? */
bool fsck_orphans_listed(const struct xw_super *sb);
/* Put them away. XW_ERR_CORRUPT and the like: nothing was changed. */
int fsck_orphans_put_away(struct fsck *f);

#endif
