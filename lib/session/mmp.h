/* SPDX-License-Identifier: MIT */
/*
 * Multiple mount protection: is the filesystem in use by another host? The sequence number of an
 * MMP block that is neither "clean" nor "fsck" belongs to a node that has mounted the filesystem,
 * or had when it crashed. A running node changes the number within its interval.
 */
#ifndef XW_SESSION_MMP_H
#define XW_SESSION_MMP_H

#include "commit/commit.h"
#include "dev/dev.h"

/*
 * Wait until the MMP block of the filesystem on dev is known to be idle, as Linux does before a
 * mount. XW_ERR_BUSY: the filesystem is in use. XW_ERR_CANCELED: the watch (may be NULL) canceled
 * the wait. *idle: on entry a sequence number that an earlier call found idle, or 0; on return the
 * idle number that a crash has left in the block, or 0. The wait is announced as a warning.
 */
int xw_mmp_check(struct xw_dev *dev, const struct xw_commit_watch *watch, struct xw_diag *diag,
		 uint32_t *idle);
/* Does the MMP block say that a checker is running, or has crashed? */
bool xw_mmp_is_checked(struct xw_dev *dev);
/* Would xw_mmp_check() wait? */
bool xw_mmp_waits(struct xw_dev *dev, uint32_t idle);
/* Mark the MMP block as clean, after xw_mmp_check() has found it idle. */
int xw_mmp_release(struct xw_dev *dev);
/* Duration of the wait, in seconds, for a block with this check interval. */
unsigned xw_mmp_wait_seconds(unsigned check_interval);

#endif
