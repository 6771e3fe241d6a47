/* SPDX-License-Identifier: MIT */
/*
 * Opening an image, as every xw tool does it: an interrupted commit is completed or dropped first.
 *
 *   superblock has the number of a record         apply the record if it is this change's
 *   number marked as done, no record              remove bit, nonce and number
 *   superblock has the bit, redo file matches     apply it
 *   bit; no, another or a damaged record          XW_ERR_STATE; see xw_recover_abandon()
 *   file, no bit                                  delete the file
 *   superblock torn between its states            apply
 *   the same without the bit, blocks differ       clear nonce and numbers
 *   valid, nonce but no bit, none of the above    the same: others have changed the filesystem
 *   superblock checksum bad, nonce matches        apply
 *   superblock unreadable or garbage              apply a file, if UUID and all blocks match
 *   superblock torn around a journal commit       correct RECOVER, or replay the log
 *
 * With XW_RECOVER_RDONLY all this happens in memory and nothing on disk changes.
 */
#ifndef XW_SESSION_RECOVER_H
#define XW_SESSION_RECOVER_H

#include "commit/store.h"
#include "dev/dev.h"
#include "disk/super.h"
#include "session/journal.h"

#define XW_RECOVER_RDONLY 0x1 /* change nothing; the returned device is an overlay if necessary */
#define XW_RECOVER_JOURNAL 0x2 /* replay the journal as well */
/* checkers: open an image even if its pending change cannot be completed */
#define XW_RECOVER_FORCE 0x4
#define XW_RECOVER_SALVAGE 0x8 /* with JOURNAL: see XW_REPLAY_SALVAGE */
#define XW_RECOVER_UNSETTLED 0x10 /* with JOURNAL: see XW_REPLAY_UNSETTLED */
/*
 * In a directory of redo files, also remove files that a copy of the filesystem could need, if the
 * image has the old or the new superblock of their change.
 */
#define XW_RECOVER_CLEAR 0x20

struct xw_recover_info {
	bool redo_applied, redo_dropped;
	/* the remains of a change that is complete, or before its commit point, were removed */
	bool cleared;
	/*
	 * After a change was dropped before its commit point: the superblock that the change would
	 * have written, which identifies its undo file. All zeros: none.
	 */
	uint8_t dropped_super[XW_SUPER_SIZE];
	bool stuck; /* with FORCE: a change is pending that cannot be completed */
	bool stuck_file; /* the pending change is that of a redo file */
	bool super_fixed; /* a torn superblock was repaired */
	uint64_t blocks; /* blocks of the redo file that were written */
	/* xw_recover_read(): the contents of the journal are only partly visible */
	bool journal_lost;
	struct xw_journal_info journal;
};

/*
 * Open path (redo_file as for xw_redo_store_open(); offset: where the image starts in it) and
 * recover. The caller closes *out. XW_ERR_STATE: see the cases above; XW_ERR_UNSUPPORTED: fast
 * commits, which are not replayed in memory; otherwise errors of opening, replaying and the redo
 * file. info may be NULL.
 */
int xw_recover_open(const char *path, const char *redo_file, uint64_t offset, unsigned flags,
		    struct xw_diag *diag, struct xw_dev **out, struct xw_recover_info *info);

/*
 * Open an image for a tool that only reads, recovering in memory. If the journal cannot be
 * replayed, the rest is still accessible: as much as possible is replayed, info->journal_lost is
 * set and a warning logged. info may be NULL.
 */
int xw_recover_read(const char *path, const char *redo_file, uint64_t offset, struct xw_diag *diag,
		    struct xw_dev **out, struct xw_recover_info *info);

/*
 * Open the store of an image, like xw_redo_store_open(). A block device without redo_file is no
 * failure here, since there may be nothing to recover: *store is NULL. The store of a directory
 * also includes the file of an earlier version beside an image that begins at an offset.
 */
int xw_recover_store(const char *path, const char *redo_file, uint64_t offset, struct xw_diag *diag,
		     struct xw_redo_store **store);

/*
 * Likewise for an open device: *dev may be replaced by an overlay that owns the given device. store
 * NULL: no redo file. After a failure the caller still has to close *dev.
 */
int xw_recover_dev(struct xw_dev **dev, struct xw_redo_store *store, unsigned flags,
		   struct xw_diag *diag, struct xw_recover_info *info);

/*
 * For an image whose redo file is lost, opened with FORCE: remove the pending bit and nonce from
 * the superblock of dev and mark it as having errors, so that a full check comes next. Flushes.
 */
int xw_recover_abandon(struct xw_dev *dev, struct xw_diag *diag);

#endif
