/* SPDX-License-Identifier: MIT */
/* Verbs with --svg FILE write a drawing to the file and print nothing. */
#ifndef XW_DEBUGFS_SVG_H
#define XW_DEBUGFS_SVG_H

#include "debugfs.h"
#include "disk/itree.h"

/* Remove "--svg FILE" from the words; *path is the file, or NULL. */
int dbg_svg_option(struct dbg *d, int *argc, char **argv, const char **path);
/* Draw to path, or if that is "-" to d->out. draw: 0, or a failure with a message. */
int dbg_draw(struct dbg *d, const char *path, int (*draw)(void *arg, FILE *out), void *arg);

/* ---- an itree (itree_svg.c) ---- */

struct dbg_itree_node {
	xw_blk blk;
	xw_ino first, last; /* inodes of the first and the last entry of a leaf */
	uint32_t count, used;
	unsigned level;
};

struct dbg_itree_name {
	xw_ino ino;
	uint32_t hash;
	xw_blk table; /* block of the inode table with the inode's record */
};

/* All nodes and names of a tree, in its order. */
struct dbg_itree_shape {
	XW_VEC(struct dbg_itree_node) nodes;
	XW_VEC(struct dbg_itree_name) names;
	uint32_t cap; /* capacity of a node in bytes */
};

void dbg_itree_shape_free(struct dbg_itree_shape *s);
/* Add a node; `block` must have been checked. XW_ERR_NOMEM. */
int dbg_itree_shape_add(struct dbg_itree_shape *s, xw_blk blk, const struct xw_itree_hdr *h,
			const uint8_t *block);
/* Draw the tree of directory `name`. Sets `table` of all names, and sorts them. */
int dbg_itree_svg(struct dbg *d, struct dbg_itree_shape *s, FILE *out, const char *name);

#endif
