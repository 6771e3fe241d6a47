/* SPDX-License-Identifier: MIT */
/*
 * External journals: a device of its own (feature journal_dev) whose superblock says little more
 * than a UUID, with the journal's superblock behind it, which names the filesystem that uses it.
 */
#ifndef XW_FILL_JDEV_H
#define XW_FILL_JDEV_H

#include "dev/dev.h"
#include "disk/jsb.h"
#include "disk/super.h"
#include "plan/params.h"

/* Make one of p->size_bytes on dev; *sb is what was written. The superblock comes last. */
int xw_jdev_make(struct xw_dev *dev, const struct xw_mkfs_params *p, struct xw_diag *diag,
		 struct xw_super *sb);

struct xw_jdev {
	struct xw_dev *dev; /* owned */
	struct xw_super sb;
	struct xw_jsb jsb;
	uint64_t at; /* byte of the journal's superblock */
};

/*
 * Read both superblocks of j->dev. XW_ERR_USAGE with a line when it is no external journal, or a
 * damaged one.
 */
int xw_jdev_read(struct xw_jdev *j, struct xw_diag *diag);
/*
 * May filesystem `uuid` use it? XW_ERR_EXISTS when another one does or its log is not empty; with
 * `force` never.
 */
int xw_jdev_check(const struct xw_jdev *j, const uint8_t uuid[16], bool force,
		  struct xw_diag *diag);
/* Make filesystem `uuid` its one user, the log empty; written and flushed. */
int xw_jdev_attach(struct xw_jdev *j, const uint8_t uuid[16]);

#endif
