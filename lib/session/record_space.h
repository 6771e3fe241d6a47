/* SPDX-License-Identifier: MIT */
/*
 * Space for a redo record in an image that is being changed: blocks that are free in the old and in
 * the new state, so that their contents are needed in neither.
 */
#ifndef XW_SESSION_RECORD_SPACE_H
#define XW_SESSION_RECORD_SPACE_H

#include "commit/commit.h"
#include "commit/inside.h"
#include "dev/overlay.h"
#include "disk/super.h"
#include "session/freemap.h"

struct xw_record_space {
	struct xw_dev *overlay; /* borrowed; shows the new state */
	/*
	 * Which filesystem blocks were free in the old state; an xw_overlay_free_fn. NULL: unknown.
	 */
	xw_overlay_free_fn *fn;
	void *arg;
	/* The freemap that fn asks, or NULL: its metadata locations need not be read again. */
	const struct xw_freemap *before;
	/* Which blocks a checker considers free in both states; NULL: no check was run. */
	xw_overlay_free_fn *claims;
	void *claims_arg;
	/* Overlay blocks written directly by the change, in any order; borrowed. */
	const struct xw_run *written;
	size_t n_written;
	bool written_more; /* and unknown other blocks: no space is found then */
	bool alone; /* the checker alone decides, ignoring the bitmaps of both states */
};

/*
 * May the bitmaps of the filesystem with this superblock be trusted without a check? Not if it was
 * not unmounted cleanly, has known errors or a log to be replayed. replayed: the log was just
 * replayed.
 */
bool xw_record_space_is_trusted(const uint8_t super[XW_SUPER_SIZE], bool replayed);

/*
 * The places for a record in an image, in the order in which a commit tries them: its free blocks,
 * if known; after its end, if the file ends there; blocks that only a checker considers free, which
 * may contain data of lost inodes.
 */
struct xw_record_places {
	struct xw_record_space room, alone;
	struct xw_redo_store *stores[XW_COMMIT_PLACES];
	const char *why_not; /* why there is no place */
};

struct xw_record_places_opts {
	const char *none; /* why the record may not be in the image; NULL: it may */
	bool trusted; /* the bitmaps of the old state can be trusted */
	bool at_end; /* the image file ends with the filesystem */
	bool undo; /* an undo file is written */
	bool undo_old; /* and it contains an earlier change */
};

/*
 * p contains a copy of room and must not be moved; stores are for one commit. p must be closed in
 * any case.
 */
int xw_record_places_open(struct xw_record_places *p, const struct xw_record_space *room,
			  const struct xw_record_places_opts *opts, struct xw_diag *diag);
void xw_record_places_offer(const struct xw_record_places *p, struct xw_commit_opts *opts);
void xw_record_places_close(struct xw_record_places *p);

#endif
