/* SPDX-License-Identifier: MIT */
/*
 * The tree of an image, depth first: a directory, then everything in it, its entries by inode
 * number or by name. Inodes are numbered in the order in which files came, so the first follows
 * inode tables and data forward, and an archive that an image was made of comes out in its own
 * order.
 */
#ifndef XW_EXPORT_WALK_H
#define XW_EXPORT_WALK_H

#include "export/children.h"
#include "import/select.h"

struct xw_walk_item {
	const char
		*path; /* from the top, without leading slash, terminated; "" for the top itself */
	size_t path_len;
	xw_ino ino;
	struct xw_inode inode;
	const uint8_t *raw; /* the inode's record; valid until the next call */
};

struct xw_walk_opts {
	const char *top; /* where in the image paths begin; NULL or "": the root */
	enum xw_export_order order;
	/* What to give, with all below it: see paths.h. NULL: the top itself, and everything. */
	struct xw_children *roots;
	const struct xw_select *select; /* what is excluded, or NULL */
};

struct xw_walk;

/*
 * Begin. The roots are the caller's, and used up. XW_ERR_NOTFOUND or XW_ERR_INPUT with a line when
 * top is no directory.
 */
int xw_walk_new(struct xw_image *img, const struct xw_walk_opts *o, struct xw_walk **out);
/*
 * 1: *e is the next item; 0: end. Negative: something could not be read, diag says what, e->path
 * where; the next call goes on behind it (except XW_ERR_NOMEM). A directory is given before the
 * state of its contents is known. No directory is given twice.
 */
int xw_walk_next(struct xw_walk *w, struct xw_walk_item *e);
/* w may be NULL. */
void xw_walk_free(struct xw_walk *w);

/* The directory that `top` names. */
int xw_walk_top(struct xw_image *img, const char *top, xw_ino *ino);

#endif
