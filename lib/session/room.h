/* SPDX-License-Identifier: MIT */
/*
 * Room for a redo record in an image that is being changed: blocks that are free in the old and in
 * the new state, so that nobody misses what was in them, whichever state the image gets.
 */
#ifndef XW_SESSION_ROOM_H
#define XW_SESSION_ROOM_H

#include "commit/inside.h"
#include "dev/overlay.h"
#include "disk/super.h"

struct xw_room {
	struct xw_dev *overlay; /* borrowed; shows the new state */
	/* Which filesystem blocks were free in the old state, as for overlays. NULL: not known. */
	xw_overlay_free_fn *fn;
	void *arg;
	/* Which ones a checker calls free in both states; NULL: there was no check. */
	xw_overlay_free_fn *claims;
	void *claims_arg;
	/* Overlay blocks that the change has written directly, in any order; borrowed. */
	const struct xw_run *written;
	size_t n_written;
	bool alone; /* the checker alone decides, whatever the bitmaps of both states say */
};

/* An xw_inside_room_fn; arg is a struct xw_room. */
int xw_room_find(void *arg, uint32_t block_size, uint64_t bytes, struct xw_runs *out);

/*
 * May bitmaps of the filesystem with this superblock be believed without a check? Not if it was not
 * unmounted cleanly, has known errors or a log to be replayed. replayed: that was done just now.
 */
bool xw_room_is_trusted(const uint8_t super[XW_SUPER_SIZE], bool replayed);

#endif
