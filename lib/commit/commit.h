/* SPDX-License-Identifier: MIT */
/*
 * From an overlay to its image as one unit: cut at any write, the image is what it was, what it
 * should become, or something that the next xw tool completes when it opens it (session/recover.h).
 *
 * Redo serves every image. Journal serves images with a journal that is fit for it, and leaves what
 * a Linux mount or stock e2fsck completes as well.
 */
#ifndef XW_COMMIT_COMMIT_H
#define XW_COMMIT_COMMIT_H

#include "commit/guard.h"
#include "commit/store.h"
#include "dev/overlay.h"

enum xw_commit_how {
	XW_COMMIT_AUTO, /* the journal where it serves, else redo */
	XW_COMMIT_REDO,
	XW_COMMIT_JOURNAL, /* XW_ERR_STATE, saying why, where it does not serve */
};

/*
 * Who may want to end a change, and must know when it is too late. Functions may be NULL, and are
 * called by whichever thread works.
 */
struct xw_commit_watch {
	/* Shall it end? Asked for the last time right before the commit point. */
	bool (*ended)(void *arg);
	/*
	 * true: from now on until false comes a process that is killed leaves files behind, or an
	 * image that only xw tools open.
	 */
	void (*deciding)(void *arg, bool on);
	void *arg;
};

/* XW_ERR_IO: the watch (which may be NULL) wants the change to end. Nothing may be decided yet. */
int xw_commit_ask(const struct xw_commit_watch *watch, const char *name, struct xw_diag *diag);

struct xw_commit_opts {
	enum xw_commit_how how;
	/* Is the image still ours? Borrowed; NULL: not asked. It follows what the commit writes. */
	struct xw_guard *guard;
	struct xw_redo_store *store; /* NULL: no redo, XW_ERR_USAGE when it would be needed */
	int64_t now; /* seconds since 1970, for the commit block; 0 will do */
	uint64_t nonce; /* of the redo file; 0: random. For tests. */
	/* The new state has RECOVER set because its log is to be replayed by others. Redo only. */
	bool log_pending;
	/*
	 * An undo file for e2undo(8) (undo.h), of an image that begins at `offset`; NULL: none. The
	 * commit is by redo then: a journal's own blocks would need undoing too.
	 */
	const char *undo_file;
	uint64_t offset;
	/*
	 * The superblock of a change that was dropped when the image was opened, or NULL: an undo
	 * file that was written for it is continued as well, since the image has not changed.
	 */
	const uint8_t *dropped_super;
	/* A redo file of another filesystem gets another name, where it would end the commit. */
	bool set_aside;
	/*
	 * The log has no transactions and is not empty: its fast commits are part of the change,
	 * which ends them. The journal's form only; redo needs a log that is empty with the change.
	 */
	bool fast_commits;
	const struct xw_commit_watch *watch; /* borrowed; NULL: nobody */
	/*
	 * Write nothing: fail where it would fail, as far as that can be known, and say how it
	 * would be done. The overlay keeps the change; it may hold what would not be held else, so
	 * nobody asks whether the journal is large enough.
	 */
	bool dry_run;
	bool any_super; /* debuggers: the new superblock may be one that nobody opens */
};

struct xw_commit_info {
	enum xw_commit_how how; /* as it was done; AUTO: there was nothing to do */
	uint64_t blocks; /* live blocks overwritten */
	char why_no_journal[128]; /* "" where it served or was not asked for */
	bool undecided; /* it failed, and the image may be the new one all the same */
};

/*
 * Commit everything the overlay holds (its block size must be 1024 or more; the journal needs the
 * filesystem's) and discard it there. The base must be an image that needs no recovery, as
 * xw_recover_open() gives it.
 *
 * Shadow writes are made durable first, and the host has room for everything before the commit
 * point. After a failure the overlay still holds the change; whether the image has it is decided
 * when it is opened next, where info->undecided says so, and a warning is logged when it will have.
 * info may be NULL.
 */
int xw_commit(struct xw_dev *overlay, const struct xw_commit_opts *opts, struct xw_diag *diag,
	      struct xw_commit_info *info);

#endif
