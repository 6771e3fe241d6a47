/* SPDX-License-Identifier: MIT */
/*
 * Commits an overlay to its image as one unit: after an interruption at any write, the image has
 * the old state, the new state, or a state that the next xw tool completes when it opens the image
 * (session/recover.h).
 *
 * The redo form works for every image. The journal form works for images with a suitable journal,
 * and leaves a state that a Linux mount or stock e2fsck completes as well.
 */
#ifndef XW_COMMIT_COMMIT_H
#define XW_COMMIT_COMMIT_H

#include "commit/guard.h"
#include "commit/store.h"
#include "dev/overlay.h"

enum xw_commit_how {
	XW_COMMIT_AUTO, /* the journal if possible, else redo */
	XW_COMMIT_REDO, /* a record in the image if possible, else a file */
	XW_COMMIT_JOURNAL, /* XW_ERR_STATE, with the reason, if the journal cannot be used */
	XW_COMMIT_INSIDE, /* XW_ERR_NOSPC if there is no room for the record in the image */
	XW_COMMIT_FILE, /* XW_ERR_USAGE if no place for a redo file is known */
};

/* "auto", "journal", ...; false: unknown name. */
bool xw_commit_how_parse(const char *name, enum xw_commit_how *how);
const char *xw_commit_how_name(enum xw_commit_how how);
/* The value of an option --commit. XW_ERR_USAGE names it. */
int xw_commit_how_set(const char *value, enum xw_commit_how *how, struct xw_diag *diag);

/*
 * A user who may cancel a change, and is told when it is too late. Functions may be NULL, and are
 * called from any thread.
 */
struct xw_commit_watch {
	/* Is the change canceled? Called for the last time right before the commit point. */
	bool (*ended)(void *arg);
	/*
	 * true: from now on until false, a killed process leaves files behind, or an image that
	 * only xw tools can open.
	 */
	void (*deciding)(void *arg, bool on);
	void *arg;
};

/*
 * XW_ERR_CANCELED: the watch (which may be NULL) has canceled the change. Must be called before the
 * commit point.
 */
int xw_commit_check_canceled(const struct xw_commit_watch *watch, const char *name,
			     struct xw_diag *diag);

#define XW_COMMIT_PLACES 3 /* for a record in the image */

struct xw_commit_opts {
	enum xw_commit_how how;
	/*
	 * Detects changes by others, and is updated with what the commit writes. Borrowed; NULL: no
	 * checks.
	 */
	struct xw_guard *guard;
	struct xw_redo_store *store; /* store of a redo file; NULL: none, XW_ERR_USAGE if needed */
	/*
	 * Stores of a record in the image (inside.h), tried in this order before `store`; NULL:
	 * none.
	 */
	struct xw_redo_store *inside[XW_COMMIT_PLACES];
	const char *why_not_inside; /* the reason if `inside` is empty */
	int64_t now; /* seconds since 1970, for the commit block; may be 0 */
	uint64_t nonce; /* nonce of the redo record; 0: random. For tests. */
	/*
	 * The new state has RECOVER set because its log is to be replayed by another tool. Redo
	 * only.
	 */
	bool log_pending;
	/*
	 * Write an undo file for e2undo(8) (undo.h), for an image that starts at `offset`; NULL:
	 * none. The commit then uses redo: the blocks of a journal would need an undo, too.
	 */
	const char *undo_file;
	struct xw_undo *undo; /* the same file, begun before the commit; NULL: it was not */
	uint64_t offset;
	/*
	 * The superblock of a change that was dropped when the image was opened, or NULL: an undo
	 * file written for it is continued as well, since the image has not changed.
	 */
	const uint8_t *dropped_super;
	/* Rename a redo file of another filesystem that would prevent the commit. */
	bool set_aside;
	/*
	 * The log has no transactions but is not empty: its fast commits are part of the change,
	 * and the commit empties it. Journal form only; a redo commit must contain the empty log.
	 */
	bool fast_commits;
	const struct xw_commit_watch *watch; /* borrowed; may be NULL */
	/*
	 * Write nothing: fail where the commit would fail, as far as that can be determined, and
	 * report its form. The overlay keeps the change; it may hold blocks that would otherwise be
	 * shadow writes, so the size of the journal is not checked.
	 */
	bool dry_run;
	bool any_super; /* debuggers: the new superblock may be invalid */
};

struct xw_commit_info {
	/* the form that was used: JOURNAL, INSIDE or FILE; AUTO: there was no change */
	enum xw_commit_how how;
	uint64_t blocks; /* live blocks overwritten */
	char why_no_journal[128]; /* "" if it was used or not requested */
	bool undecided; /* the commit failed, but the image may have the new state */
};

/*
 * Commit everything that the overlay holds (its block size must be at least 1024; the journal form
 * needs the filesystem's) and discard the overlay's contents. The base must be an image that needs
 * no recovery, as returned by xw_recover_open().
 *
 * Shadow writes are flushed first, and the host has space for everything before the commit point.
 * After a failure the overlay still holds the change. If info->undecided is set, the next tool that
 * opens the image determines its state; a warning is logged if that will be the new state. info may
 * be NULL.
 */
int xw_commit(struct xw_dev *overlay, const struct xw_commit_opts *opts, struct xw_diag *diag,
	      struct xw_commit_info *info);
/*
 * Called before a change to the image on dev that is to be committed through the journal only.
 * XW_ERR_STATE: that is impossible, whatever the change.
 */
int xw_commit_journal_check(struct xw_dev *dev, struct xw_diag *diag);

#endif
