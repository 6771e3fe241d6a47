/* SPDX-License-Identifier: MIT */
/*
 * Changing an existing image, from opening it to the commit. The way for every writing tool:
 *
 *      rc = xw_edit_begin(path, &opts, diag, &e);      finish or drop what was interrupted, replay
 *                                                      the journal; the image is locked
 *      xw_image_open(xw_edit_dev(e), ...)              everything reads and writes this device
 *      xw_dev_pwrite(xw_edit_dev(e), ...)              blocks that are free in the old state go to
 *                                                      the image at once, live ones are held
 *      xw_edit_shadow(e, blk, n, data)                 the same for what must not be held: it fails
 *                                                      where a block was not free
 *      rc = xw_edit_commit(e, &info);                  all that is held, as one unit
 *      xw_edit_end(e);                                 without a commit: the image is what it was
 *
 * The rule for callers: contents of the old state stay where they are until the commit. So blocks
 * that the change itself frees must not be given out again before it.
 */
#ifndef XW_SESSION_EDIT_H
#define XW_SESSION_EDIT_H

#include "commit/commit.h"
#include "session/recover.h"
#include "dev/overlay.h"

#pragma GCC visibility push(default)

struct xw_edit;

struct xw_edit_opts {
	const char *redo_file; /* --redo-file; NULL: beside the image */
	/* For e2undo(8): commits add to it; NULL: none. Where it has an earlier change, all that is
	 * written is held. */
	const char *undo_file;
	uint64_t offset; /* where in the file the image begins, bytes */
	enum xw_commit_how how;
	int64_t now; /* seconds since 1970, for the commit block; 0 will do */
	/*
	 * XW_RECOVER_RDONLY: nothing on disk ever changes, the commit is XW_ERR_STATE.
	 * XW_RECOVER_FORCE, XW_RECOVER_SALVAGE: for checkers.
	 */
	unsigned recover;
	bool keep_log; /* do not replay the journal; while it is full, commits are by redo */
	/*
	 * For debuggers: what is committed may have a superblock that nobody opens, or a journal
	 * that others are to replay.
	 */
	bool any_state;
	/*
	 * Keep other processes from opening the image from the beginning to the end, where the host
	 * can, and not just during recovery and commits: who opens it waits (dev/hold.c).
	 */
	bool hold;
	/*
	 * Also a file that a loop device stands on, or that MMP says is in use; to read only, one
	 * that another process has locked as well.
	 */
	bool in_use_too;
	/*
	 * Borrowed until the edit ends; NULL: nobody. `ended` is asked at accesses to the edit's
	 * device as well: when it is true they fail, and so does what they were for.
	 */
	const struct xw_commit_watch *watch;
	uint32_t block_size; /* where no superblock says it; 0: 1024 then */
};

/*
 * Open and recover. XW_ERR_BUSY: another xw tool, a mount or a loop device has it. Else what
 * xw_recover_open() reports. An image that is no filesystem opens: who reads it next says so.
 */
int xw_edit_begin(const char *path, const struct xw_edit_opts *opts, struct xw_diag *diag,
		  struct xw_edit **out);
/* The same on a device, owned once this succeeds. store: borrowed, may be NULL: no redo. */
int xw_edit_begin_dev(struct xw_dev *dev, struct xw_redo_store *store,
		      const struct xw_edit_opts *opts, struct xw_diag *diag, struct xw_edit **out);

struct xw_dev *xw_edit_dev(const struct xw_edit *e); /* the edit's own; never to be closed */
const struct xw_recover_info *xw_edit_recovered(const struct xw_edit *e);

/*
 * Who says what was free in the old state: xw_freemap_ask() on the image's bitmaps unless something
 * else is set here, before the first write. A checker sets its claims.
 */
void xw_edit_set_free(struct xw_edit *e, xw_overlay_free_fn *fn, void *arg);
/* No shadow writes from here on: everything is held. */
void xw_edit_hold_all(struct xw_edit *e);

/*
 * With `hold`, to be called now and then while input is read: where nothing was written for some
 * seconds, whoever waits for the image may have it. The commit notices what they change.
 */
void xw_edit_yield(struct xw_edit *e);

/*
 * n blocks of data to blocks from blk on, straight to the image. XW_ERR_INTERNAL, and nothing is
 * written: one of them was in use in the old state, or has been held already.
 */
int xw_edit_shadow(struct xw_edit *e, xw_blk blk, uint64_t n, const void *data);

/*
 * As xw_commit(); XW_ERR_BUSY when the image was mounted or changed meanwhile, or is mounted now.
 * When it succeeds the edit goes on from the new state (with the image's bitmaps again, if the
 * caller had set something else); when it fails it can only be ended: the next opening decides what
 * the image is, and the message says so where it matters.
 */
int xw_edit_commit(struct xw_edit *e, struct xw_commit_info *info);
/*
 * What that would do, without doing any of it, as far as it can be known: the same failures, and
 * info->how. Also of an edit that is XW_RECOVER_RDONLY.
 */
int xw_edit_foretell(struct xw_edit *e, struct xw_commit_info *info);
/*
 * Close the image. What was not committed is gone; in a regular file the space that shadow writes
 * took is given back, unless a failed commit left open which state holds, or somebody else has had
 * the image meanwhile. e may be NULL.
 */
void xw_edit_end(struct xw_edit *e);

#pragma GCC visibility pop

#endif
