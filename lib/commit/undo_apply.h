/* SPDX-License-Identifier: MIT */
/*
 * Restores the contents saved in an undo file (undo.h).
 *
 * Everything is verified before the first write. The superblock is written last, after a flush:
 * until then the image has the superblock that the undo file expects, so that an interrupted run
 * can be repeated.
 */
#ifndef XW_COMMIT_UNDO_APPLY_H
#define XW_COMMIT_UNDO_APPLY_H

#include "dev/dev.h"

struct xw_undo_info {
	uint64_t offset; /* start of the filesystem in its image, in bytes */
	uint64_t bytes, pieces; /* size of all contents, and number of runs */
	bool finished; /* false: the change failed, or was killed */
	/* opened with force: checksums that are wrong; contents with a wrong one are left out */
	bool bad_header, bad_super;
	uint64_t bad_keys, bad_pieces;
	uint32_t block_size; /* unit of positions in the filesystem */
	uint64_t size_before; /* for xw_undo_plan_cut(), in bytes from `offset` on */
	bool other; /* after xw_undo_match(): the undo file is for another filesystem */
	bool undone; /* after xw_undo_match(): dev is in the state before the change already */
};

struct xw_undo;

/*
 * Open the undo file at path and verify it, including its contents. With `force`, a wrong checksum
 * is only told in xw_undo_info(). XW_ERR_INPUT: no undo file, an
 * unknown version, or damaged.
 */
int xw_undo_open(const char *path, bool force, struct xw_diag *diag, struct xw_undo **out);
/* Likewise for a device, which is owned once this succeeds. */
int xw_undo_open_dev(struct xw_dev *file, bool force, struct xw_diag *diag, struct xw_undo **out);
const struct xw_undo_info *xw_undo_info(const struct xw_undo *u);
/*
 * Is dev, which begins with the filesystem, in the state that the file is for? XW_ERR_STATE with
 * the differences otherwise, and if the change of the file was not finished.
 */
int xw_undo_match(struct xw_undo *u, struct xw_dev *dev);
/*
 * Was dev, a file, extended by the change to the end of its filesystem, so that xw_undo_apply()
 * cuts it to its size before? If so, contents past that size, which a later run has saved, are
 * dropped from u and from xw_undo_info(). A file that holds another filesystem is not cut.
 */
bool xw_undo_plan_cut(struct xw_undo *u, struct xw_dev *dev);
/*
 * Called for each piece that was written, with its blocks in the undo file and in the filesystem.
 */
typedef void xw_undo_piece_fn(void *arg, uint32_t size, uint64_t from, uint64_t to);
/*
 * Write all saved blocks back, cut the file if xw_undo_plan_cut(), and flush. XW_ERR_INPUT before
 * anything is written if a block lies beyond the end of the filesystem before and after its change
 * or of a block device, or further beyond the end of a file than the total size of all saved
 * blocks.
 */
int xw_undo_apply(struct xw_undo *u, struct xw_dev *dev, xw_undo_piece_fn *told, void *arg);
void xw_undo_close(struct xw_undo *u); /* u may be NULL */

#endif
