/* SPDX-License-Identifier: MIT */
/*
 * Walks the tree of an image depth first: a directory, then its entries by inode number or by name,
 * each with its contents. Inodes are numbered in the order of the files in the source, so inode
 * order reads inode tables and data sequentially and reproduces the order of the source archive.
 */
#ifndef XW_EXPORT_WALK_H
#define XW_EXPORT_WALK_H

#include "export/children.h"
#include "import/select.h"

struct xw_walk_item {
	/* relative to the top, without a leading slash, terminated; "" is the top itself */
	const char *path;
	size_t path_len;
	/* level below the top; the failure of a directory counts as an entry of it */
	size_t depth;
	xw_ino ino;
	struct xw_inode inode;
	const uint8_t *raw; /* the inode record; valid until the next call */
};

struct xw_walk_opts {
	/* the path in the image where exported paths start; NULL or "": the root */
	const char *top;
	enum xw_export_order order;
	/* items to return, with everything below them (see paths.h); NULL: the top itself */
	struct xw_children *roots;
	const struct xw_select *select; /* exclusions, or NULL */
};

struct xw_walk;

/*
 * Start a walk, which takes ownership of the roots. XW_ERR_NOTFOUND or XW_ERR_INPUT with a message
 * if top is not a directory.
 */
int xw_walk_new(struct xw_image *img, const struct xw_walk_opts *o, struct xw_walk **out);
/*
 * 1: *e is the next item; 0: end. Negative: reading e->path failed, see diag; the next call
 * continues with the next item (except after XW_ERR_NOMEM). A directory is returned before its
 * contents are read. No directory is returned twice.
 */
int xw_walk_next(struct xw_walk *w, struct xw_walk_item *e);
/* w may be NULL. */
void xw_walk_free(struct xw_walk *w);

/* Look up the directory with the path `top`. */
int xw_walk_top(struct xw_image *img, const char *top, xw_ino *ino);

#endif
