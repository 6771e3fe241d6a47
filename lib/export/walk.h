/* SPDX-License-Identifier: MIT */
/*
 * The tree of an image, depth first: a directory, then everything in it, its entries by inode
 * number. Inodes are numbered in the order in which files came, so this follows inode tables and
 * data forward, and an archive that an image was made of comes out in its own order.
 */
#ifndef XW_EXPORT_WALK_H
#define XW_EXPORT_WALK_H

#include "base/vec.h"
#include "read/image.h"

struct xw_walk_item {
	const char
		*path; /* from the top, without leading slash, terminated; "" for the top itself */
	size_t path_len;
	xw_ino ino;
	struct xw_inode inode;
	const uint8_t *raw; /* the inode's record; valid until the next call */
};

struct xw_walk;

/*
 * Begin at `top`, a path in the image (NULL or "": the root). prune(arg, path, len) may be NULL;
 * true leaves out the item and what is below it. XW_ERR_NOTFOUND or XW_ERR_INPUT with a line when
 * top is no directory.
 */
int xw_walk_new(struct xw_image *img, const char *top,
		bool (*prune)(void *arg, const char *path, size_t len), void *arg,
		struct xw_walk **out);
/*
 * 1: *e is the next item; 0: end. Negative: something could not be read, diag says what, e->path
 * where; the next call goes on behind it (except XW_ERR_NOMEM). A directory is given before the
 * state of its contents is known. No directory is given twice.
 */
int xw_walk_next(struct xw_walk *w, struct xw_walk_item *e);
/* w may be NULL. */
void xw_walk_free(struct xw_walk *w);

#endif
