/* SPDX-License-Identifier: MIT */
/*
 * Applies operations to an image under change. Directories stay open between operations;
 * xw_age_world_end() puts them all back, so that the next step, or a resumed run, depends only on
 * the image.
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
	struct xw_itree_stats *itree; /* added up when directories are put back */
	struct xw_age_linux *kernel; /* NULL: XW_AGE_OWN */
	struct xw_age_dir dirs[XW_AGE_DIRS];
	uint64_t clock;
	char *path; /* buffer for an operation's path */
	size_t path_room;
};

/* The caller sets w->u, top, counts, itree and kernel, and zeroes the rest. */
#define XW_AGE_COMMIT_FIRST 1
/*
 * 0: done, or counted as skipped; XW_AGE_COMMIT_FIRST: nothing was done, space freed by this step
 * is needed; or a failure, after which the update can only be closed.
 */
int xw_age_world_apply(struct xw_age_world *w, const struct xw_age_op *op);
/* Put all directories back. */
int xw_age_world_end(struct xw_age_world *w);
/* Close them without putting them back; required in any case. */
void xw_age_world_close(struct xw_age_world *w);

/* An entry of the root: XW_ERR_NOTFOUND without a message. */
int xw_age_world_root(struct xw_age_world *w, struct xw_age_dir **out);
/*
 * Resize the file to `bytes`, or less if there is no more space; blocks are allocated at once, as
 * by XW_AGE_OWN.
 */
int xw_age_world_resize(struct xw_age_world *w, xw_ino ino, uint64_t bytes, bool anew);

#endif
