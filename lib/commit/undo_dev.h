/* SPDX-License-Identifier: MIT */
/*
 * A device that saves everything overwritten through it in an undo file (undo.h), as it is written:
 * for a tool that makes a new filesystem over existing contents, and has no list of changes
 * beforehand.
 */
#ifndef XW_COMMIT_UNDO_DEV_H
#define XW_COMMIT_UNDO_DEV_H

#include "dev/dev.h"

/*
 * Wrap `under`, which begins `offset` bytes into its image and is owned once this succeeds. The
 * undo file at path is created; XW_ERR_EXISTS: it exists already. The device never discards.
 */
int xw_undo_dev_open(struct xw_dev *under, const char *path, uint64_t offset, struct xw_dev **out);
/* XW_ERR_EXISTS with the message of xw_undo_dev_open() about an existing file. */
int xw_undo_dev_exists(const char *path, struct xw_diag *diag);
/*
 * Complete the undo file after the last write, for the current superblock. If the device is closed
 * without this call, the undo file is removed if nothing was overwritten; otherwise it is left
 * unfinished, and e2undo accepts it only with -f.
 */
int xw_undo_dev_finish(struct xw_dev *d);
/* The same after a failure, unless nothing was overwritten: then closing removes the file. */
int xw_undo_dev_abandon(struct xw_dev *d);

#endif
