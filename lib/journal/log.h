/* SPDX-License-Identifier: MIT */
/*
 * A jbd2 log: a sequence of blocks on a device that begins with the journal superblock. It is an
 * image's journal inode, or a stretch of a file (the redo file of commit/).
 *
 * External journals are refused by name wherever an image says that it has one.
 */
#ifndef XW_JOURNAL_LOG_H
#define XW_JOURNAL_LOG_H

#include "base/vec.h"
#include "dev/dev.h"
#include "journal/block.h"

#pragma GCC visibility push(default)

struct xw_image;

struct xw_log_run {
	uint64_t lblk, len; /* blocks of the log */
	xw_blk pblk; /* where they are */
};

struct xw_log {
	struct xw_dev *dev; /* borrowed */
	struct xw_diag *diag;
	uint64_t offset; /* byte of block 0 on dev; 0 for an image */
	uint32_t block_size;
	struct xw_jsb jsb;
	struct xw_jfmt fmt;
	uint32_t first, last; /* transactions live in blocks first .. last - 1 and wrap */
	uint32_t fc_blocks; /* from last on: the fast commit area */
	XW_VEC(struct xw_log_run) map; /* ascending; holes are errors when they are met */
};

/*
 * The journal of an opened image. Where inode 8 is damaged its copy in the superblock serves.
 * XW_ERR_NOTFOUND: the filesystem has no journal. XW_ERR_UNSUPPORTED: an external one, or unknown
 * journal features. XW_ERR_CORRUPT, XW_ERR_CHECKSUM: the journal superblock, or no usable inode.
 * img is not needed afterwards, its device is.
 */
int xw_log_open_image(struct xw_image *img, struct xw_log **out);
/* A log of `blocks` blocks from byte `offset` of dev. */
int xw_log_open_flat(struct xw_dev *dev, uint64_t offset, uint32_t block_size, uint64_t blocks,
		     struct xw_diag *diag, struct xw_log **out);
/*
 * Write superblock jsb (its blocksize, first and maxlen count) at byte `offset` of dev and open the
 * log that begins there.
 */
int xw_log_create_flat(struct xw_dev *dev, uint64_t offset, const struct xw_jsb *jsb,
		       struct xw_diag *diag, struct xw_log **out);
/* log may be NULL. */
void xw_log_close(struct xw_log *log);

/* Byte on the device of a block of the log. XW_ERR_CORRUPT where it has none. */
int xw_log_where(const struct xw_log *log, uint64_t lblk, uint64_t *off);
int xw_log_read(struct xw_log *log, uint64_t lblk, void *buf);
/*
 * Set start and sequence and write the superblock, not flushed. What changes lies in one sector, so
 * this is atomic on real media. start 0: the log is empty.
 */
int xw_log_set_start(struct xw_log *log, uint32_t start, uint32_t sequence);
/* The block behind a block of the transaction area. */
static inline uint32_t xw_log_next(const struct xw_log *log, uint32_t at)
{
	return at + 1 >= log->last ? log->first : at + 1;
}
/* Whether blk is one of the log's own blocks (or, on a flat log, of its file). */
bool xw_log_owns(const struct xw_log *log, xw_blk blk);
/* Whether two logs are in the same place. */
bool xw_log_same_place(const struct xw_log *a, const struct xw_log *b);

#pragma GCC visibility pop

#endif
