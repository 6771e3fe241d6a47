/* SPDX-License-Identifier: MIT */
/*
 * A device that writes an undo file (undo.h) of everything that is written over through it, as it
 * is written: for who makes a new filesystem over something else, and has no change to look at
 * before.
 */
#ifndef XW_COMMIT_UNDO_DEV_H
#define XW_COMMIT_UNDO_DEV_H

#include "dev/dev.h"

/*
 * Around `under`, which begins `offset` bytes into its image and is owned once this succeeds. The
 * undo file at path is made here; XW_ERR_EXISTS: there is one. The device discards nothing.
 */
int xw_undo_dev_open(struct xw_dev *under, const char *path, uint64_t offset, struct xw_dev **out);
/*
 * Nothing more will be written: end the undo file, for the superblock that is there now. Without
 * it closing the device leaves an unfinished one, which e2undo takes with -f.
 */
int xw_undo_dev_finish(struct xw_dev *d);

#endif
