/* SPDX-License-Identifier: MIT */
/*
 * Applies operations to an image. Directories stay open between operations; xw_age_world_end()
 * writes and closes them all, so that the next step or a resumed run depends only on the image.
 */
#ifndef XW_AGE_WORLD_H
#define XW_AGE_WORLD_H

#include "age/linux.h"
#include "age/source.h"
#include "edit/dir.h"
#include "edit/edit.h"

#define XW_AGE_DIRS 32 /* maximum number of open directories */

struct xw_age_dir {
	char *path; /* owned; NULL: unused */
	xw_ino ino;
	uint64_t used; /* time of last use */
	struct xw_update_dir ud;
};

struct xw_age_world {
	struct xw_update *u;
	const char *top; /* opts->dir */
	struct xw_age_counts *counts;
	struct xw_itree_stats *itree; /* updated when a directory is closed */
	struct xw_age_linux *kernel; /* NULL: XW_AGE_OWN */
	struct xw_age_dir dirs[XW_AGE_DIRS];
	uint64_t clock;
	char *path; /* buffer for the path of the current operation */
	size_t path_room;
};

/* The caller sets u, top, counts, itree and kernel, and zeroes the rest. */
#define XW_AGE_COMMIT_FIRST 1
/*
 * Apply one operation. 0: done, or counted as skipped; XW_AGE_COMMIT_FIRST: nothing was done, since
 * space that this step has freed is needed; or a negative code, after which the update can only be
 * closed.
 */
int xw_age_world_apply(struct xw_age_world *w, const struct xw_age_op *op);
/* Write and close all directories. */
int xw_age_world_end(struct xw_age_world *w);
/* Close all directories without writing them, and free w. Must always be called. */
void xw_age_world_close(struct xw_age_world *w);

/* Open the root directory. */
int xw_age_world_root(struct xw_age_world *w, struct xw_age_dir **out);
/*
 * Resize a file to `bytes`, or less if there is not enough space. Blocks are allocated immediately,
 * as with XW_AGE_OWN.
 */
int xw_age_world_resize(struct xw_age_world *w, xw_ino ino, uint64_t bytes, bool anew);

#endif
