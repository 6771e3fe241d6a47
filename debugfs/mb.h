/* SPDX-License-Identifier: MIT */
/*
 * The allocator's lists and statistics for an image as it stands: what Linux shows of a mounted one
 * in /proc/fs/ext4/DEV. Text is YAML, or with `kernel` exactly Linux's layout (which is not: it
 * indents with tabs and gives a scalar children).
 */
#ifndef XW_DEBUGFS_MB_H
#define XW_DEBUGFS_MB_H

#include "read/space.h"
#include "debugfs.h"
#include "show/show.h"

/* An allocator over an image that does not change meanwhile. */
struct mb {
	struct xw_show *s; /* where results and problems go */
	struct xw_space_view view;
	struct xw_space *space;
};

/* optimize_scan: 0, 1, or -1 for Linux's default. A failure is in img->diag. */
int mb_open(struct mb *m, struct xw_show *s, struct xw_image *img, int optimize_scan);
void mb_close(struct mb *m);

/* Groups by largest free order and by average free fragment. All bitmaps in use are looked at. */
int mb_structs_summary(struct mb *m, bool kernel);
/* Free space, runs and buddies of groups first to last, clipped to those there are. */
int mb_groups(struct mb *m, uint64_t first, uint64_t last, bool kernel);
/* What the allocator has done since mb_open(). */
int mb_stats(struct mb *m, bool kernel);
/*
 * Where a request for len blocks near goal would go (one run, in one group), which criterion serves
 * it and what was looked at on the way. Nothing is taken.
 */
int mb_find(struct mb *m, uint64_t len, xw_blk goal);

/* stats.c: how misc/show is to print for this session. */
struct xw_show dbg_show(struct dbg *d);

#endif
