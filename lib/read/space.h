/* SPDX-License-Identifier: MIT */
/* The allocator's view of an opened image: its current free space. */
#ifndef XW_READ_SPACE_H
#define XW_READ_SPACE_H

#include "read/bitmaps.h"
#include "space/space.h"

/*
 * The source of an allocator: group summaries come from descriptors, or from the location of the
 * metadata for groups with an uninitialized bitmap; bitmaps are read on demand.
 */
struct xw_space_view {
	struct xw_image *img;
	const struct xw_sysmap *sysmap;
	/*
	 * NULL: a damaged group is a failure. Otherwise called for each damaged group, with the
	 * message in img->diag (cleared afterwards), and the bitmap as read is used.
	 */
	void (*damaged)(void *arg, uint64_t group);
	/*
	 * Reads a bitmap, for callers with a policy of their own for bitmaps that contradict their
	 * descriptors; NULL: xw_image_block_bitmap().
	 */
	int (*bitmap)(void *arg, uint32_t group, uint8_t *bits);
	void *arg;
	void *scratch; /* set by xw_space_view_open() */
	/* state of the read-ahead for ascending requests; set by xw_space_view_open() */
	uint32_t last, in_order, ahead, window;
	uint64_t prefetched; /* number of bitmaps requested ahead */
};

/*
 * Create an allocator over the image. Only optimize_scan and the following fields of *tunables are
 * used. v must outlive the allocator.
 */
int xw_space_view_open(struct xw_space_view *v, const struct xw_space_params *tunables,
		       struct xw_space **out);
/*
 * As xw_space_resolve(), but bitmaps are read in large runs by `jobs` threads (0: one per
 * processor); memory: 4 MiB.
 */
int xw_space_view_resolve(struct xw_space_view *v, struct xw_space *space, unsigned jobs);
/* Must be called after the allocator was freed. */
void xw_space_view_close(struct xw_space_view *v);

#endif
