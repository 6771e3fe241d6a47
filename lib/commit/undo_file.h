/* SPDX-License-Identifier: MIT */
/* Writing an undo file, whose format is in commit/undo.h and disk/undo.h. Private to lib/commit. */
#ifndef XW_COMMIT_UNDO_FILE_H
#define XW_COMMIT_UNDO_FILE_H

#include "dev/dev.h"
#include "disk/undo.h"

struct xw_undo_file {
	struct xw_diag *diag;
	uint64_t offset; /* start of the filesystem in its image, in bytes */
	struct xw_dev *dev; /* being written */
	uint32_t unit; /* block size of the file in bytes */
	uint32_t fs_unit; /* unit of positions in keys */
	uint64_t keys_at; /* first block of keys */
	uint64_t super_at;
	uint64_t n_keys;
	uint64_t size_before, size_after; /* of the image, as in struct xw_undo_header */
	uint64_t block; /* block of keys being filled */
	uint64_t end; /* number of blocks in the file so far */
	uint8_t *keys; /* contents of that block; owned */
	uint32_t in_block; /* number of keys in it */
};

/* Begin an empty file with blocks of this size. */
int xw_undo_file_begin(struct xw_undo_file *f, uint32_t unit);
/* Begin a new block of keys in memory. */
int xw_undo_file_new_keys(struct xw_undo_file *f);
/* Set units and positions, but not the offset, from the header of an existing file. */
void xw_undo_file_continue(struct xw_undo_file *f, const struct xw_undo_header *h);
/*
 * Add the old contents from byte `at` of the image on: n units in memory, of which `size` bytes are
 * valid.
 */
int xw_undo_file_put(struct xw_undo_file *f, uint64_t at, const uint8_t *buf, size_t n,
		     size_t size);
/*
 * Make what was added readable, as an unfinished file: from then on its contents survive the death
 * of the process.
 */
int xw_undo_file_keep(struct xw_undo_file *f);
/* Write the header and the superblock that the image has after the change; durable. */
int xw_undo_file_finish(struct xw_undo_file *f, const uint8_t new_super[XW_SUPER_SIZE]);

#endif
