/* SPDX-License-Identifier: MIT */
/*
 * Room for a redo record in an image that is being changed: blocks that are free in the old and in
 * the new state, so that nobody misses what was in them, whichever state the image gets.
 */
#ifndef XW_SESSION_ROOM_H
#define XW_SESSION_ROOM_H

#include "commit/commit.h"
#include "commit/inside.h"
#include "dev/overlay.h"
#include "disk/super.h"
#include "session/freemap.h"

struct xw_room {
	struct xw_dev *overlay; /* borrowed; shows the new state */
	/* Which filesystem blocks were free in the old state, as for overlays. NULL: not known. */
	xw_overlay_free_fn *fn;
	void *arg;
	/* What fn asks, if it is one: its places of metadata need not be read again. Or NULL. */
	const struct xw_freemap *before;
	/* Which ones a checker calls free in both states; NULL: there was no check. */
	xw_overlay_free_fn *claims;
	void *claims_arg;
	/* Overlay blocks that the change has written directly, in any order; borrowed. */
	const struct xw_run *written;
	size_t n_written;
	bool written_more; /* and others, which are not known: there is no room then */
	bool alone; /* the checker alone decides, whatever the bitmaps of both states say */
};

/* An xw_inside_room_fn; arg is a struct xw_room. */
int xw_room_find(void *arg, uint32_t block_size, uint64_t bytes, struct xw_runs *out);

/*
 * May bitmaps of the filesystem with this superblock be believed without a check? Not if it was not
 * unmounted cleanly, has known errors or a log to be replayed. replayed: that was done just now.
 */
bool xw_room_is_trusted(const uint8_t super[XW_SUPER_SIZE], bool replayed);

/*
 * The places for a record in an image, in the order in which a commit tries them: in its free
 * blocks, if these are known; behind its end, if the file ends there; in blocks that only a checker
 * calls free, which may hold data of lost inodes.
 */
struct xw_places {
	struct xw_room room, alone;
	struct xw_redo_store *stores[XW_COMMIT_PLACES];
	const char *why_not; /* there is none */
};

struct xw_places_opts {
	const char *none; /* why the record may not be in the image; NULL: it may */
	bool trusted; /* the bitmaps of the old state can be believed */
	bool behind; /* the image file ends with the filesystem */
	bool undo; /* an undo file is written */
	bool undo_old; /* and it has an earlier change */
};

/* p holds a copy of room and is not moved; stores are for one commit. To be closed in any case. */
int xw_places_open(struct xw_places *p, const struct xw_room *room,
		   const struct xw_places_opts *opts, struct xw_diag *diag);
void xw_places_offer(const struct xw_places *p, struct xw_commit_opts *opts);
void xw_places_close(struct xw_places *p);

#endif
