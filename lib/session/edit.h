/* SPDX-License-Identifier: MIT */
/*
 * Changing an existing image, from opening it to the commit. Used by every writing tool:
 *
 *        rc = xw_edit_begin(path, &opts, diag, &e);      complete or drop an interrupted change,
 *                                                        replay the journal, lock the image
 *        xw_image_open(xw_edit_dev(e), ...)              all reads and writes use this device
 *        xw_dev_pwrite(xw_edit_dev(e), ...)              blocks that are free in the old state are
 *                                                        written to the image at once (shadow
 *                                                        writes); live ones are held in memory
 *        rc = xw_edit_commit(e, &info);                  commit all held blocks atomically
 *        xw_edit_end(e);                                 without a commit: the image is unchanged
 *
 * Contents of the old state stay in place until the commit. So callers must not reallocate blocks
 * that the change itself frees before the commit.
 */
#ifndef XW_SESSION_EDIT_H
#define XW_SESSION_EDIT_H

#include "commit/commit.h"
#include "session/recover.h"
#include "dev/overlay.h"

struct xw_edit;

struct xw_edit_opts {
	/*
	 * --redo-file: the redo record is never in the image. NULL: if the image has no room, in a
	 * file in redo_dir; if that is NULL, too, beside the image or, if offset is not 0, nowhere.
	 */
	const char *redo_file, *redo_dir;
	/*
	 * For e2undo(8): commits add to this file; NULL: none. If it contains an earlier change,
	 * all writes are held in memory.
	 */
	const char *undo_file;
	uint64_t offset; /* offset of the image in the file, in bytes */
	enum xw_commit_how how;
	int64_t now; /* seconds since 1970, for the commit block; may be 0 */
	/*
	 * XW_RECOVER_RDONLY: nothing on disk is changed, and a commit fails with XW_ERR_STATE.
	 * XW_RECOVER_FORCE, XW_RECOVER_SALVAGE: for checkers.
	 */
	unsigned recover;
	bool keep_log; /* do not replay the journal; while it is not empty, commits use redo */
	/*
	 * For debuggers: the committed state may have an invalid superblock, or a journal that
	 * another tool has to replay.
	 */
	bool any_state;
	/*
	 * Exclude other processes from opening the image from beginning to end if the host can, not
	 * only during recovery and commits: they wait in open() (dev/hold.c).
	 */
	bool hold;
	/* Accept a block device that is mounted read-only, which xw_dev_open_file() refuses. */
	bool mounted;
	/*
	 * Accept a file that a loop device uses, or that is in use according to MMP; a reader also
	 * accepts a file locked by another process.
	 */
	bool in_use_too;
	/*
	 * Borrowed until the edit ends; may be NULL. `ended` is also called on accesses to the
	 * edit's device, which fail if it returns true.
	 */
	const struct xw_commit_watch *watch;
	uint32_t block_size; /* used without a valid superblock; 0: 1024 */
	/*
	 * Borrowed during xw_edit_begin(); may be NULL. As in xw_mmp_check(): a caller that opens
	 * an image again does not wait again. An impossible sequence number, which no mount writes,
	 * is left in the block for such a caller, a checker; otherwise it is replaced.
	 */
	uint32_t *mmp_idle;
	/*
	 * May be NULL. Set to whether MMP says that a checker is at work, whose writes make a check
	 * meaningless: then even reading is refused (XW_ERR_BUSY).
	 */
	bool *checked;
};

/*
 * Open and recover. XW_ERR_BUSY: another xw tool, a mount or a loop device uses the image. If the
 * MMP block is not marked clean, the call first waits (session/mmp.h). Otherwise the errors of
 * xw_recover_open(). An image without a filesystem can be opened: reading it reports that.
 */
int xw_edit_begin(const char *path, const struct xw_edit_opts *opts, struct xw_diag *diag,
		  struct xw_edit **out);
/* Likewise for a device, owned once this succeeds. store: borrowed; NULL: no redo files. */
int xw_edit_begin_dev(struct xw_dev *dev, struct xw_redo_store *store,
		      const struct xw_edit_opts *opts, struct xw_diag *diag, struct xw_edit **out);

struct xw_dev *xw_edit_dev(const struct xw_edit *e); /* owned by the edit; must not be closed */
const struct xw_recover_info *xw_edit_recovered(const struct xw_edit *e);

/*
 * Set which filesystem blocks a checker considers free in the old and in the new state, for the
 * next commit only: a redo record may be written there, if the bitmaps of both states agree; alone:
 * even if they do not, as a last resort. By default only the bitmaps decide, if the filesystem was
 * unmounted cleanly.
 */
void xw_edit_set_record_space(struct xw_edit *e, xw_overlay_free_fn *claims, void *arg, bool alone);
/*
 * The change uses blocks that may be free in its bitmaps, as when a debugger writes a map: never
 * put a redo record into free blocks. Applies to all further commits of e, since the map remains.
 */
void xw_edit_doubt(struct xw_edit *e);
/* No shadow writes from here on: all writes are held in memory. */
void xw_edit_hold_all(struct xw_edit *e);
/*
 * A shadow write even so, for a checker that knows that nothing uses these whole blocks, neither in
 * the old state nor in any that led to the new one. *written: it was done; otherwise nothing was
 * written, because a block is held in memory, or is not free in the bitmaps of the old state. With
 * `alone` these are not asked. If the edit has an undo file, the old contents are added to it
 * first.
 */
int xw_edit_write_free(struct xw_edit *e, bool alone, const void *buf, size_t len, uint64_t off,
		       bool *written);

/*
 * From here on the edit behaves as with keep_log: the committed state may have a journal that needs
 * recovery.
 */
void xw_edit_keep_log(struct xw_edit *e);

/*
 * With `hold`, to be called periodically while input is read: if nothing was written for some
 * seconds, waiting processes may open the image. The commit detects their changes.
 */
void xw_edit_yield(struct xw_edit *e);

/*
 * As xw_commit(). XW_ERR_BUSY: the image was changed by another process, or is mounted. On success
 * the edit continues from the new state. After a failure the edit can only be ended: the next tool
 * that opens the image determines its state, and the message says so if it matters.
 */
int xw_edit_commit(struct xw_edit *e, struct xw_commit_info *info);
/*
 * Best-effort dry run of xw_edit_commit(): the same failures, and info->how. Also for an edit with
 * XW_RECOVER_RDONLY.
 */
int xw_edit_preview(struct xw_edit *e, struct xw_commit_info *info);
/* The next range of an iteration, in bytes of the filesystem; false: there is none. */
typedef bool xw_edit_range_fn(void *arg, uint64_t *off, uint64_t *len);
/*
 * After a commit: allow the host to discard these ranges, which the filesystem does not use.
 * Nothing is discarded if an undo file may have to restore the old contents. XW_ERR_BUSY as for a
 * commit; XW_ERR_UNSUPPORTED, without a message: the host cannot discard.
 */
int xw_edit_discard(struct xw_edit *e, xw_edit_range_fn *next, void *arg);
/*
 * Close the image. Uncommitted changes are lost; in a regular file the space of shadow writes is
 * released, unless a failed commit left the state undecided, or another process has used the image
 * in the meantime. e may be NULL.
 */
void xw_edit_end(struct xw_edit *e);

#endif
