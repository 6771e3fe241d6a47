/* SPDX-License-Identifier: MIT */
/*
 * A redo record in the image itself: in blocks that are free both before and after the change, or
 * after the end of an image file. The record has the format of a redo file (redo.h); a list of its
 * blocks is stored in a chain of blocks (disk/redo_list.h).
 *
 * The superblock refers to the first block of the list (disk/pending.h).
 */
#ifndef XW_COMMIT_INSIDE_H
#define XW_COMMIT_INSIDE_H

#include "base/types.h"
#include "base/vec.h"
#include "commit/store.h"
#include "journal/replay.h"

struct xw_runs {
	XW_VEC(struct xw_run) list;
};

/* Number of blocks for a record of `bytes` in at most `runs` runs, including its list. */
uint64_t xw_inside_blocks(uint32_t block_size, uint64_t bytes, size_t runs);

/*
 * Finds blocks of block_size bytes for a record: adds runs with a total of at least
 * xw_inside_blocks() to *out. XW_ERR_NOSPC, without a message: not enough free blocks.
 */
typedef int xw_inside_room_fn(void *arg, uint32_t block_size, uint64_t bytes, struct xw_runs *out);

/*
 * Create the store of a new record; base and arg are borrowed. room NULL: after the end of the
 * image file, whose size becomes store->size when the record is removed.
 */
int xw_inside_new(struct xw_dev *base, uint32_t block_size, xw_inside_room_fn *room, void *arg,
		  struct xw_diag *diag, struct xw_redo_store **out);
/*
 * Open the store of the record that a superblock refers to; the filesystem ends at byte `end`, or
 * UINT64_MAX: its superblock does not say. Its open() fails with XW_ERR_NOTFOUND, without a
 * message, if there is no valid list; with XW_ERR_CORRUPT if the list is forged: it has blocks that
 * no change would use for its record.
 */
int xw_inside_at(struct xw_dev *base, uint64_t number, uint64_t end, struct xw_diag *diag,
		 struct xw_redo_store **out);
/* Does the plan, in blocks of this size, write to a block of an opened record or of its list? */
bool xw_inside_overlaps(const struct xw_redo_store *s, const struct xw_replay *plan,
			uint32_t block_size);

/*
 * Did a change that was killed before its commit point leave a record after the end of an image
 * file? Then *number is that of the record, and *size the former size of the file; *number 0: there
 * is none. The filesystem has this UUID and ends at byte `end`. Blocks of the filesystem are never
 * taken for a record, since any user who can write a file could put the bytes of one there.
 */
int xw_inside_left_over(struct xw_dev *base, const uint8_t uuid[16], uint64_t end,
			struct xw_diag *diag, uint64_t *number, uint64_t *size);

#endif
