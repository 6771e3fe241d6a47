/* SPDX-License-Identifier: MIT */
/* Private to lib/edit. */
#ifndef XW_EDIT_EDIT_INTERNAL_H
#define XW_EDIT_EDIT_INTERNAL_H

#include "edit/edit.h"
#include "update/inode.h"
#include "update/map.h"

/*
 * contents.c: like xw_space_alloc_all(), for blocks that will be written to u->data; with a message
 * if space is missing. Call xw_update_contents_done() when all contents of a file are allocated.
 */
int xw_update_alloc_contents(struct xw_update *u, const struct xw_alloc_req *req,
			     struct xw_run **runs, size_t *n);
int xw_update_contents_done(struct xw_update *u);
/* remove.c: sort a list of inode numbers. */
void xw_update_sort_inos(struct xw_update_inos *list);
/*
 * reuse_xattrs.c: use existing blocks of the image for blocks of the sharer, and take references to
 * them.
 */
int xw_update_reuse_xattrs(struct xw_update *u);
/*
 * dangling.c: called after g has run. XW_ERR_CORRUPT: a freed inode has a name in a directory that
 * was not read. Best effort: the number of reads is bounded.
 */
int xw_update_find_dangling(struct xw_update *u, const struct xw_tree *t, struct xw_removal *g);

#endif
