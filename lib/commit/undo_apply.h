/* SPDX-License-Identifier: MIT */
/*
 * Writing back what an undo file (undo.h) holds.
 *
 * Everything is verified before the first write. What holds the superblock is written last, behind
 * a flush: until then the image has the superblock that the undo file is for, so that an
 * interrupted run can be started again, and ends the same.
 */
#ifndef XW_COMMIT_UNDO_APPLY_H
#define XW_COMMIT_UNDO_APPLY_H

#include "dev/dev.h"

struct xw_undo_info {
	uint64_t offset; /* where in its image the filesystem begins, bytes */
	uint64_t bytes, pieces; /* contents, and how many runs they are */
	bool finished; /* false: its change failed, or was killed */
	uint32_t block_size; /* in which it counts places of the filesystem */
};

struct xw_undo;

/*
 * Open the undo file at path and verify it, contents as well. XW_ERR_INPUT: it is none, of an
 * unknown kind, or damaged.
 */
int xw_undo_open(const char *path, struct xw_diag *diag, struct xw_undo **out);
/* The same with the file as a device, owned once this succeeds. */
int xw_undo_open_dev(struct xw_dev *file, struct xw_diag *diag, struct xw_undo **out);
const struct xw_undo_info *xw_undo_info(const struct xw_undo *u);
/*
 * Is dev, whose byte 0 is the filesystem's, in the state that the file is for? XW_ERR_STATE with
 * the differences otherwise, also for a file of a change that was not finished.
 */
int xw_undo_match(struct xw_undo *u, struct xw_dev *dev);
/* Called for each piece that was written: its blocks in the undo file and in the filesystem. */
typedef void xw_undo_told(void *arg, uint32_t size, uint64_t from, uint64_t to);
/*
 * Write all saved blocks back and flush. XW_ERR_INPUT before anything is written if a block lies
 * further beyond the end of dev than all saved blocks together reach.
 */
int xw_undo_apply(struct xw_undo *u, struct xw_dev *dev, xw_undo_told *told, void *arg);
void xw_undo_close(struct xw_undo *u); /* NULL: nothing */

#endif
