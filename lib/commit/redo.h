/* SPDX-License-Identifier: MIT */
/*
 * The redo record, in a file or in the image: all changes to live blocks, so that the next tool
 * that opens the image can complete the change.
 *
 *   byte 0      header, 4096 bytes (little-endian, crc32c at its end)
 *   byte 4096   le64 for each sector of each block in the log: hash of its old contents
 *   log_offset  a jbd2 log: superblock, one transaction; 64-bit, checksum v3
 *
 * The log contains the superblock's block with the new superblock.
 */
#ifndef XW_COMMIT_REDO_H
#define XW_COMMIT_REDO_H

#include "commit/change.h"
#include "commit/store.h"
#include "journal/replay.h"

struct xw_redo {
	struct xw_dev *dev; /* owned */
	struct xw_diag *diag;
	struct xw_log *log;
	struct xw_replay plan;
	struct xw_redo_header h;
	uint64_t *hashes;
	const struct xw_redo_store *inside; /* borrowed; NULL: it is a file */
	/*
	 * Set by xw_redo_load(): its checksums are valid, but no change would write such a record.
	 * Nothing may be written that it says, and nothing of it may be removed.
	 */
	bool forged;
	uint64_t left_size; /* size that the change gives the image before the final size */
};

/* The record was found in the image, in store s. Its location must agree with its contents. */
void xw_redo_set_inside(struct xw_redo *r, struct xw_redo_store *s);

/* Length in bytes of the file for change c. */
uint64_t xw_redo_bytes(const struct xw_change *c);
/*
 * Write the whole record for change c. pending: the superblock of the commit point. Does not flush.
 */
int xw_redo_write(struct xw_dev *dev, const struct xw_change *c, uint64_t nonce,
		  const uint8_t pending[XW_SUPER_SIZE], const struct xw_redo_location *place,
		  int64_t now, struct xw_diag *diag);

/*
 * Read the header. Owns dev if it succeeds. XW_ERR_INPUT: not a redo record; XW_ERR_CORRUPT,
 * XW_ERR_CHECKSUM: damaged; XW_ERR_UNSUPPORTED: another version.
 */
int xw_redo_open(struct xw_dev *dev, struct xw_diag *diag, struct xw_redo **out);
/*
 * Verify the rest of the record, every block of it, and its sizes against the superblocks and the
 * image: XW_ERR_STATE if the image has neither the old nor the new size. XW_ERR_CORRUPT with
 * r->forged: it has a block or a size beyond the end of the filesystem or of the image, or would
 * overwrite itself. Must succeed before the following functions are called.
 */
int xw_redo_load(struct xw_redo *r, const struct xw_dev *image);
void xw_redo_close(struct xw_redo *r);

/*
 * Do the blocks of the image match the record: does each sector outside the superblock's block have
 * its old or its new contents? 1, 0, or an error.
 */
int xw_redo_matches(struct xw_redo *r, struct xw_dev *image);
/*
 * Write all blocks, with the superblock as pending; flush; set the size (a larger file or device
 * keeps its own); write the new superblock; flush. inside: the store of a record in the image,
 * which is removed before the new superblock is written; NULL: no record, or it may stay.
 */
int xw_redo_apply(struct xw_redo *r, struct xw_dev *image, struct xw_redo_store *inside);
/*
 * After all blocks are in place: write a superblock that marks the change as done, and remove the
 * record while the pending bit excludes other tools from its blocks.
 */
int xw_redo_remove_inside(struct xw_redo_store *inside, struct xw_dev *image, uint64_t new_size,
			  const uint8_t done[XW_SUPER_SIZE]);

#endif
