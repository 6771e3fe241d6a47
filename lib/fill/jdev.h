/* SPDX-License-Identifier: MIT */
/*
 * External journals: a separate device (feature journal_dev) whose superblock contains little more
 * than a UUID, followed by the journal superblock, which lists the filesystem that uses the
 * journal.
 */
#ifndef XW_FILL_JDEV_H
#define XW_FILL_JDEV_H

#include "dev/dev.h"
#include "disk/jsb.h"
#include "disk/super.h"
#include "plan/params.h"

/*
 * Create an external journal of p->size_bytes on dev; *sb is its superblock, which is written last.
 */
int xw_jdev_make(struct xw_dev *dev, const struct xw_mkfs_params *p, struct xw_diag *diag,
		 struct xw_super *sb);

struct xw_jdev {
	struct xw_dev *dev; /* owned */
	struct xw_super sb;
	struct xw_jsb jsb;
	uint64_t at; /* offset of the journal superblock in bytes */
};

/*
 * Read both superblocks of j->dev. XW_ERR_USAGE with a message if the device is not an external
 * journal, or a damaged one.
 */
int xw_jdev_read(struct xw_jdev *j, struct xw_diag *diag);
/*
 * May filesystem `uuid` use this journal? XW_ERR_EXISTS if another filesystem uses it or its log is
 * not empty; `force`: never.
 */
int xw_jdev_check(const struct xw_jdev *j, const uint8_t uuid[16], bool force,
		  struct xw_diag *diag);
/* Make filesystem `uuid` the only user of the journal, with an empty log; writes and flushes. */
int xw_jdev_attach(struct xw_jdev *j, const uint8_t uuid[16]);

#endif
