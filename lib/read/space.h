/* SPDX-License-Identifier: MIT */
/* The allocator's view of an opened image: its free space as it stands. */
#ifndef XW_READ_SPACE_H
#define XW_READ_SPACE_H

#include "read/bitmaps.h"
#include "space/space.h"

#pragma GCC visibility push(default)

/*
 * What the allocator asks about groups goes through here: descriptors when it is made, bitmaps when
 * it wants them. Groups with an uninitialised bitmap are known from the places of metadata alone.
 */
struct xw_space_view {
	struct xw_image *img;
	const struct xw_sysmap *sysmap;
	/*
	 * NULL: a damaged group is a failure. Else it is told of each, the failure's line being in
	 * img->diag (and forgotten afterwards), and what is there counts.
	 */
	void (*damaged)(void *arg, uint64_t group);
	/*
	 * NULL: xw_image_block_bitmap(). Else bitmaps come from here, from a caller that has an
	 * opinion of its own on those that contradict their descriptors.
	 */
	int (*bitmap)(void *arg, uint32_t group, uint8_t *bits);
	void *arg;
	void *scratch; /* set by xw_space_view_open() */
	/* How bitmaps were asked for, to read ahead of who goes forward. Set likewise. */
	uint32_t last, in_order, ahead;
};

/*
 * An allocator over the image. Of *tunables only the settings count (optimize_scan and what follows
 * it). Both it and v are used as long as the allocator is.
 */
int xw_space_view_open(struct xw_space_view *v, const struct xw_space_params *tunables,
		       struct xw_space **out);
/*
 * As xw_space_resolve(), with bitmaps read in large runs by as many threads as there are processors
 * (jobs = 0) or as jobs says; memory: 4 MiB.
 */
int xw_space_view_resolve(struct xw_space_view *v, struct xw_space *space, unsigned jobs);
/* After the allocator was freed. */
void xw_space_view_close(struct xw_space_view *v);

#pragma GCC visibility pop

#endif
