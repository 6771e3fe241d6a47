/* SPDX-License-Identifier: MIT */
/*
 * Opening an image, as every xw tool does it: an interrupted commit is completed or dropped first.
 *
 *   superblock has the bit, redo file matches     apply it
 *   bit, no or another or a damaged file          XW_ERR_STATE; see xw_recover_give_up()
 *   file, no bit                                  the file is deleted
 *   superblock torn between its states            apply
 *   superblock checksum bad, nonce matches        apply
 *   superblock unreadable or garbage              apply, when UUID and all blocks match
 *   superblock torn around a journal commit       RECOVER set right, or the log replayed
 *
 * With XW_RECOVER_RDONLY all this happens in memory and nothing on disk changes.
 */
#ifndef XW_SESSION_RECOVER_H
#define XW_SESSION_RECOVER_H

#include "commit/store.h"
#include "dev/dev.h"
#include "disk/super.h"
#include "session/journal.h"

#pragma GCC visibility push(default)

#define XW_RECOVER_RDONLY 0x1 /* change nothing; the device given is an overlay where need be */
#define XW_RECOVER_JOURNAL 0x2 /* replay the journal as well */
#define XW_RECOVER_FORCE 0x4 /* checkers: open also what cannot be completed, bit and all */
#define XW_RECOVER_SALVAGE 0x8 /* with JOURNAL: see XW_REPLAY_SALVAGE */
#define XW_RECOVER_UNSETTLED 0x10 /* with JOURNAL: see XW_REPLAY_UNSETTLED */

struct xw_recover_info {
	bool redo_applied, redo_dropped;
	/*
	 * Of a change that was dropped before its commit point: the superblock that it would have
	 * written, by which its undo file is recognized. All zeros: there was none.
	 */
	uint8_t dropped_super[XW_SUPER_SIZE];
	bool stuck; /* under FORCE: a change is pending that cannot be completed */
	bool super_fixed; /* a torn superblock was set right */
	uint64_t blocks; /* of the redo file, written */
	bool journal_lost; /* xw_recover_read(): what is in the journal is not all seen */
	struct xw_journal_info journal;
};

/*
 * Open path (redo_file as for xw_redo_store_open(); offset: where in it the image begins) and
 * recover. *out is the caller's to close. XW_ERR_STATE as above; XW_ERR_UNSUPPORTED: fast commits
 * that are not replayed in memory; what opening, replaying and the redo file report otherwise. info
 * may be NULL.
 */
int xw_recover_open(const char *path, const char *redo_file, uint64_t offset, unsigned flags,
		    struct xw_diag *diag, struct xw_dev **out, struct xw_recover_info *info);

/*
 * As tools that only read open an image: in memory. A journal that cannot be replayed does not keep
 * them from the rest: what can be replayed is, info->journal_lost is set and a warning logged.
 */
int xw_recover_read(const char *path, const char *redo_file, uint64_t offset, struct xw_diag *diag,
		    struct xw_dev **out, struct xw_recover_info *info);

/*
 * The store of an image, as xw_redo_store_open(), but for a block device without redo_file: there
 * may be nothing to recover, so that is no failure, and *store is NULL.
 */
int xw_recover_store(const char *path, const char *redo_file, uint64_t offset, struct xw_diag *diag,
		     struct xw_redo_store **store);

/*
 * The same on an open device: *dev may come back as an overlay that owns the device given. store
 * may be NULL: there is no redo file. After a failure *dev is still the caller's to close.
 */
int xw_recover_dev(struct xw_dev **dev, struct xw_redo_store *store, unsigned flags,
		   struct xw_diag *diag, struct xw_recover_info *info);

/*
 * For an image whose redo file is lost, opened under FORCE: the superblock of dev without pending
 * bit and nonce, and marked as having errors, so that the next thing is a full check. Flushed.
 */
int xw_recover_give_up(struct xw_dev *dev, struct xw_diag *diag);

#pragma GCC visibility pop

#endif
