/* SPDX-License-Identifier: MIT */
/* Verbs with --svg FILE: what they draw goes there, and nothing is printed. */
#ifndef XW_DEBUGFS_SVG_H
#define XW_DEBUGFS_SVG_H

#include "debugfs.h"
#include "disk/itree.h"

/* Remove "--svg FILE" from the words; *path: the file, or NULL. */
int dbg_take_svg(struct dbg *d, int *argc, char **argv, const char **path);
/* Draw to path, or with "-" to where results go. draw: 0, or a failure that it has said. */
int dbg_draw(struct dbg *d, const char *path, int (*draw)(void *arg, FILE *out), void *arg);

/* ---- an itree (itree_svg.c) ---- */

struct dbg_itree_node {
	xw_blk blk;
	xw_ino first, last; /* of a leaf's entries */
	uint32_t count, used;
	unsigned level;
};

struct dbg_itree_name {
	xw_ino ino;
	uint32_t hash;
	xw_blk table; /* the block of the inode tables that it is in */
};

/* All nodes and names of a tree, in its order. */
struct dbg_itree_shape {
	XW_VEC(struct dbg_itree_node) nodes;
	XW_VEC(struct dbg_itree_name) names;
	uint32_t cap; /* of a node, in bytes */
};

void dbg_itree_shape_free(struct dbg_itree_shape *s);
/* One more node; `block` is a checked one. XW_ERR_NOMEM. */
int dbg_itree_shape_add(struct dbg_itree_shape *s, xw_blk blk, const struct xw_itree_hdr *h,
			const uint8_t *block);
/* Draws it as that of `name`; finds out where the inodes are. */
int dbg_itree_svg(struct dbg *d, struct dbg_itree_shape *s, FILE *out, const char *name);

#endif
