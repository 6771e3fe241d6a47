/* SPDX-License-Identifier: MIT */
/*
 * The undo file of e2undo(8): the old contents of blocks that a change overwrites, so that the
 * change can be reverted later. Its format was observed in files that e2fsprogs 1.47.0 writes;
 * e2undo reads our files, and tools that append to an existing undo file accept each other's.
 *
 *   block 0      header, 512 bytes
 *   block S      the superblock of the image after the change, its magic inverted: e2undo
 *                refuses an image with any other superblock
 *   block K      a block of keys, then the contents of each key, which start at a block; the
 *                next block of keys; and so on
 *
 * The block size is in the header, and so is the unit of the positions in keys.
 *
 * Shadow writes of the first change to free space need no undo. Later changes must hold such writes
 * in memory until the commit (edit.h does): the space may have been freed by a change that is in
 * the file, and be in use in the oldest state. Or the old contents are added before each such
 * write, to a file that is begun early: then the oldest state is restored byte for byte.
 */
#ifndef XW_COMMIT_UNDO_H
#define XW_COMMIT_UNDO_H

#include "commit/change.h"
#include "commit/commit.h"

struct xw_undo;

/* The image in its old state. All borrowed until xw_undo_end(). */
struct xw_undo_image {
	const char *path; /* of the undo file */
	struct xw_dev *base;
	uint64_t old_size; /* in bytes */
	uint64_t offset; /* start of the image in its file */
	uint32_t block_size; /* of the change */
	const uint8_t *dropped_super; /* as in struct xw_commit_opts */
};

/*
 * Begin the undo file before the commit, with the errors of xw_undo_write(), which completes it
 * (opts->undo). The file has no name until then.
 */
int xw_undo_begin(const struct xw_undo_image *img, struct xw_diag *diag, struct xw_undo **out);
/* Add the contents of a range on img->base, unless they are in the file. */
int xw_undo_save(struct xw_undo *u, uint64_t off, uint64_t len);
void xw_undo_end(struct xw_undo *u); /* u may be NULL */

/*
 * Write opts->undo_file for change c, of an image that starts at opts->offset in its file. An
 * existing file must be the undo file of the changes that led to the old state of c, or of a change
 * that was killed before its commit point (opts->dropped_super): missing blocks are added.
 * XW_ERR_EXISTS: another kind of file, which is left unchanged. Durable when this returns 0; after
 * a failure or a kill the file is unchanged. *made: the file is new; only its owner can read it,
 * since it contains parts of the image.
 */
int xw_undo_write(const struct xw_commit_opts *opts, const struct xw_change *c, bool *made);
/*
 * The same for a change that changes nothing: a new file without contents, as scripts expect the
 * file that they have named; an existing one is left as it is.
 */
int xw_undo_write_empty(const struct xw_commit_opts *opts, const struct xw_change *c);
/* After a failed change: remove the file created by xw_undo_write(). */
void xw_undo_remove(const char *path);

#endif
