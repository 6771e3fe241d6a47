/* SPDX-License-Identifier: MIT */
/*
 * The undo file of e2undo(8): what a change writes over, as it was, so that the change can be taken
 * back later. Its format was observed in files that e2fsprogs 1.47.0 writes; e2undo reads ours, and
 * tools that append to a file of an earlier change append to each other's.
 *
 *   block 0      header, 512 bytes
 *   block S      the superblock that the image has when all is written, its magic inverted: e2undo
 *                refuses an image with any other
 *   block K      a block of keys, then the contents they speak of, each from a block on; the next
 *                block of keys; and so on
 *
 * A block is what the header says it is, and so is the unit in which keys count places.
 *
 * What the first change writes to free space needs no undoing. What later ones write there must
 * be held for the commit (edit.h sees to it): it may have been freed by a change that the file has,
 * and be in use in the oldest state.
 */
#ifndef XW_COMMIT_UNDO_H
#define XW_COMMIT_UNDO_H

#include "commit/change.h"
#include "commit/commit.h"

/*
 * Write opts->undo_file for change c, of an image that starts at opts->offset in its file. An
 * existing file must be the undo file of the changes that led to the old state of c, or of a change
 * that was killed before its commit point (opts->dropped_super): places that it lacks are added.
 * XW_ERR_EXISTS: it is another kind of file, and is left unchanged. Durable when this returns 0;
 * after a failure or a kill the file is unchanged. *made: there was none before, and only its owner
 * can read the new one, which contains parts of the image.
 */
int xw_undo_write(const struct xw_commit_opts *opts, const struct xw_change *c, bool *made);
/* The change was not made: remove the file created by xw_undo_write(). */
void xw_undo_remove(const char *path);

#endif
