/* SPDX-License-Identifier: MIT */
/*
 * Tells the device what will be read soon: places are collected, and nearby ones are merged into
 * one range. These are hints only: they cannot fail, and results do not depend on them.
 */
#ifndef XW_EXPORT_AHEAD_H
#define XW_EXPORT_AHEAD_H

#include "read/image.h"

struct xw_ahead {
	struct xw_image *img;
	uint64_t from, end; /* pending range in bytes; from == end: none */
	/*
	 * For sequential reads, as of contents: only the start of each range is announced, and
	 * nothing for data that continues the last range, since the host reads ahead by itself
	 * there, in larger pieces than it accepts as hints.
	 */
	bool forward;
	uint64_t last; /* end of the last range; saved by users who continue later */
	struct xw_diag
		*diag; /* that of the image, replaced meanwhile: failures here occur again later */
};

void xw_ahead_begin(struct xw_image *img, struct xw_ahead *a);
/* The inode table block that contains ino. */
void xw_ahead_inode(struct xw_ahead *a, xw_ino ino);
/* The first blocks of directory ino. */
void xw_ahead_directory(struct xw_ahead *a, xw_ino ino);
/*
 * The first data blocks of a file, at most `max` bytes, and its xattr block; returns the number of
 * bytes.
 */
uint64_t xw_ahead_file(struct xw_ahead *a, xw_ino ino, const struct xw_inode *inode, uint64_t max);
void xw_ahead_end(struct xw_ahead *a);

/* The first data block of a file; 0: none. */
xw_blk xw_first_block(struct xw_image *img, xw_ino ino, const struct xw_inode *inode);

#endif
