/* SPDX-License-Identifier: MIT */
/*
 * A jbd2 log: a sequence of blocks on a device that begins with the journal superblock. It is the
 * journal inode of an image, or a region of a file (the redo file of lib/commit).
 *
 * External journals are only replayed by a checker; all other tools refuse images that have one.
 */
#ifndef XW_JOURNAL_LOG_H
#define XW_JOURNAL_LOG_H

#include "base/vec.h"
#include "dev/dev.h"
#include "disk/jblock.h"

struct xw_image;
struct xw_super;

struct xw_log_run {
	uint64_t lblk, len; /* blocks of the log */
	xw_blk pblk; /* their first block on the device */
};

struct xw_log {
	struct xw_dev *dev; /* borrowed */
	struct xw_diag *diag;
	uint64_t offset; /* byte offset of block 0 on dev; 0 for an image */
	uint32_t block_size;
	struct xw_jsb jsb;
	struct xw_jfmt fmt;
	/* transactions are stored in blocks first .. last - 1 and wrap around */
	uint32_t first, last;
	uint32_t fc_blocks; /* blocks from last on: the fast commit area */
	XW_VEC(struct xw_log_run) map; /* ascending; accessing a hole is an error */
};

/*
 * Open the journal of an image. If inode 8 is damaged, its backup in the superblock is used.
 * XW_ERR_NOTFOUND: the filesystem has no journal. XW_ERR_UNSUPPORTED: an external journal, or
 * unknown journal features. XW_ERR_CORRUPT, XW_ERR_CHECKSUM: the journal superblock is damaged, or
 * there is no usable inode. img is not needed afterwards, but its device is.
 */
int xw_log_open_image(struct xw_image *img, struct xw_log **out);
/*
 * Open dev as the external journal of the filesystem with superblock fs. XW_ERR_INPUT: the device
 * is no journal, the journal of another filesystem, or shared by several. XW_ERR_CORRUPT,
 * XW_ERR_CHECKSUM, XW_ERR_UNSUPPORTED: from its journal superblock.
 *
 * *bad_sum: the checksum of the device's superblock is wrong, which is no error then; NULL: it is
 * XW_ERR_INPUT.
 */
int xw_log_open_external(struct xw_dev *dev, const struct xw_super *fs, bool *bad_sum,
			 struct xw_diag *diag, struct xw_log **out);
/* Write the right checksum of the superblock of an external journal, and flush. */
int xw_log_seal_external(struct xw_dev *dev);
/* Open a log of `blocks` blocks at byte `offset` of dev. */
int xw_log_open_flat(struct xw_dev *dev, uint64_t offset, uint32_t block_size, uint64_t blocks,
		     struct xw_diag *diag, struct xw_log **out);
/*
 * Write journal superblock jsb (its blocksize, first and maxlen are used) at byte `offset` of dev,
 * and open the log that begins there.
 */
int xw_log_create_flat(struct xw_dev *dev, uint64_t offset, const struct xw_jsb *jsb,
		       struct xw_diag *diag, struct xw_log **out);
/* log may be NULL. */
void xw_log_close(struct xw_log *log);

/* Byte offset on the device of a block of the log. XW_ERR_CORRUPT if the block is not mapped. */
int xw_log_where(const struct xw_log *log, uint64_t lblk, uint64_t *off);
int xw_log_read(struct xw_log *log, uint64_t lblk, void *buf);
/*
 * Set start and sequence and write the superblock without flushing. All changed bytes lie in one
 * sector, so this is atomic on real media. start 0: the log is empty.
 */
int xw_log_set_start(struct xw_log *log, uint32_t start, uint32_t sequence);
/* The block that follows a block of the transaction area. */
static inline uint32_t xw_log_next(const struct xw_log *log, uint32_t at)
{
	return at + 1 >= log->last ? log->first : at + 1;
}
static inline void xw_log_auto_close_(struct xw_log **log)
{
	xw_log_close(*log);
}
#define auto_log __attribute__((cleanup(xw_log_auto_close_)))
/* Is blk one of the log's own blocks (or, on a flat log, of its file)? */
bool xw_log_owns(const struct xw_log *log, xw_blk blk);
/* Are two logs in the same place? */
bool xw_log_same_place(const struct xw_log *a, const struct xw_log *b);

#endif
