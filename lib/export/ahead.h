/* SPDX-License-Identifier: MIT */
/*
 * What will be read soon, told to the device: places are gathered, those near each other become one
 * range. Hints only: nothing here fails, and nothing depends on it.
 */
#ifndef XW_EXPORT_AHEAD_H
#define XW_EXPORT_AHEAD_H

#include "read/image.h"

struct xw_ahead {
	struct xw_image *img;
	uint64_t from, end; /* bytes, not told yet; from == end: none */
	/*
	 * What is read from front to back, as contents are: only the beginning of each range is
	 * told, and of what goes on where the last one ended nothing, since there the host reads
	 * ahead by itself, in larger pieces than it takes hints.
	 */
	bool forward;
	uint64_t last; /* where the last range ended; kept by those who go on */
	struct xw_diag
		*diag; /* of the image, put away meanwhile: what fails here fails again later */
};

void xw_ahead_begin(struct xw_image *img, struct xw_ahead *a);
/* The block of the inode table that holds ino. */
void xw_ahead_inode(struct xw_ahead *a, xw_ino ino);
/* The first blocks of directory ino. */
void xw_ahead_directory(struct xw_ahead *a, xw_ino ino);
/*
 * The first blocks with data of a file, at most `max` bytes, and its block of attributes; how many
 * bytes.
 */
uint64_t xw_ahead_file(struct xw_ahead *a, xw_ino ino, const struct xw_inode *inode, uint64_t max);
void xw_ahead_end(struct xw_ahead *a);

/* Where the data of a file begins; 0: nowhere. */
xw_blk xw_first_block(struct xw_image *img, xw_ino ino, const struct xw_inode *inode);

#endif
