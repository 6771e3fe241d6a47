/* SPDX-License-Identifier: MIT */
/* Shared by the files of this room. */
#ifndef XW_EDIT_EDIT_INTERNAL_H
#define XW_EDIT_EDIT_INTERNAL_H

#include "edit/edit.h"
#include "update/inode.h"
#include "update/map.h"

/*
 * contents.c: as xw_space_alloc_all(), for what will be written to u->data, with a line where there
 * is no space. When the last contents of a file have theirs: xw_update_contents_done().
 */
int xw_update_alloc_contents(struct xw_update *u, const struct xw_alloc_req *req,
			     struct xw_run **runs, size_t *n);
int xw_update_contents_done(struct xw_update *u);
/*
 * adopt.c: blocks of the sharer that the image has already get their place there, and the image's
 * take their references.
 */
int xw_update_adopt_xattrs(struct xw_update *u);
/*
 * dangling.c: once g has run. XW_ERR_CORRUPT: an inode went of which a name is left in a directory
 * that was not read; as far as that can be looked at for little.
 */
int xw_update_find_dangling(struct xw_update *u, const struct xw_tree *t, struct xw_removal *g);

#endif
