/* SPDX-License-Identifier: MIT */
/*
 * The allocator's lists and statistics for the current image, as Linux shows them for a mounted
 * filesystem in /proc/fs/ext4/DEV. The text is YAML, or with `kernel` the exact layout of Linux
 * (which is not YAML: it indents with tabs and gives a scalar children).
 */
#ifndef XW_DEBUGFS_MB_H
#define XW_DEBUGFS_MB_H

#include "plan/params.h"
#include "read/space.h"
#include "debugfs.h"
#include "show/show.h"

/* An allocator over an image that does not change during its use. */
struct mb {
	struct xw_show *s; /* destination of results and problems */
	struct xw_space_view view;
	struct xw_space *space;
};

/* A failure is in img->diag. */
int mb_open(struct mb *m, struct xw_show *s, struct xw_image *img,
	    const struct xw_alloc_tunables *how);
void mb_close(struct mb *m);

/* Groups by largest free order and by average free fragment. Reads all initialized bitmaps. */
int mb_structs_summary(struct mb *m, bool kernel);
/* The same as a drawing of the image `name`, to a file. */
int mb_structs_svg(struct mb *m, FILE *out, const char *name);
/* Free space, runs and buddies of groups first to last, limited to existing groups. */
int mb_groups(struct mb *m, uint64_t first, uint64_t last, bool kernel);
/* Statistics of the allocator since mb_open(). */
int mb_stats(struct mb *m, bool kernel);
/*
 * Where a request for len blocks near goal would be placed (one run, in one group), which criterion
 * serves it and how many groups were considered. Nothing is allocated.
 */
int mb_find(struct mb *m, uint64_t len, xw_blk goal);

/* stats.c: print settings of this session for misc/show. */
struct xw_show dbg_show(struct dbg *d);

#endif
