/* SPDX-License-Identifier: MIT */
/*
 * Operations applied to an image under change. Directories stay open from one operation to the
 * next; xw_age_world_end() puts them all back, so that the next step, or a resumed run, begins with
 * nothing but the image.
 */
#ifndef XW_AGE_WORLD_H
#define XW_AGE_WORLD_H

#include "age/source.h"
#include "update/dir.h"
#include "update/edit.h"

#define XW_AGE_DIRS 32 /* open at once */

struct xw_age_dir {
	char *path; /* owned; NULL: unused */
	xw_ino ino;
	uint64_t used; /* clock */
	struct xw_update_dir ud;
};

struct xw_age_world {
	struct xw_update *u;
	const char *top; /* opts->dir */
	struct xw_age_counts *counts;
	struct xw_itree_stats *itree; /* summed up when directories are put back */
	struct xw_age_dir dirs[XW_AGE_DIRS];
	uint64_t clock;
	char *path; /* room for an operation's path */
	size_t path_room;
};

/* w->u, top, counts and itree are set, the rest is zero. */
#define XW_AGE_COMMIT_FIRST 1
/*
 * 0: done, or counted as skipped; XW_AGE_COMMIT_FIRST: nothing was done, space that this step freed
 * is needed; or a failure, after which the update can only be closed.
 */
int xw_age_world_apply(struct xw_age_world *w, const struct xw_age_op *op);
/* Put all directories back. */
int xw_age_world_end(struct xw_age_world *w);
/* Close them without that; needed in any case. */
void xw_age_world_close(struct xw_age_world *w);

/* An entry of the root: XW_ERR_NOTFOUND without a line. */
int xw_age_world_root(struct xw_age_world *w, struct xw_age_dir **out);
/* Give the file blocks for `bytes` bytes; it gets fewer where there are no more. */
int xw_age_world_resize(struct xw_age_world *w, xw_ino ino, uint64_t bytes, bool anew);

#endif
