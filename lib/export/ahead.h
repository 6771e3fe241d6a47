/* SPDX-License-Identifier: MIT */
/*
 * Read-ahead hints: ranges that will be read soon are collected, merged with nearby ranges and
 * passed to the device. Hints cannot fail, and no result depends on them.
 */
#ifndef XW_EXPORT_AHEAD_H
#define XW_EXPORT_AHEAD_H

#include "read/image.h"

struct xw_ahead {
	struct xw_image *img;
	uint64_t from, end; /* pending range in bytes; from == end: none */
	/*
	 * The ranges are read sequentially, as file contents are: announce only the start of each
	 * range, and nothing for data that continues the last range. The host's own read-ahead does
	 * the rest, in larger pieces than it accepts as hints.
	 */
	bool forward;
	uint64_t last; /* end of the last range; callers that continue later save it */
	/* diag of the image, which is NULL meanwhile: the actual read reports failures */
	struct xw_diag *diag;
};

void xw_ahead_begin(struct xw_image *img, struct xw_ahead *a);
/* Announce the inode table block that contains ino. */
void xw_ahead_inode(struct xw_ahead *a, xw_ino ino);
/* Announce the first blocks of directory ino. */
void xw_ahead_directory(struct xw_ahead *a, xw_ino ino);
/*
 * Announce the first data blocks of a file, at most `max` bytes, and its xattr block. Returns the
 * number of data bytes.
 */
uint64_t xw_ahead_file(struct xw_ahead *a, xw_ino ino, const struct xw_inode *inode, uint64_t max);
void xw_ahead_end(struct xw_ahead *a);

/* The first data block of a file; 0: none. */
xw_blk xw_first_block(struct xw_image *img, xw_ino ino, const struct xw_inode *inode);

#endif
