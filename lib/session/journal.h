/* SPDX-License-Identifier: MIT */
/*
 * Journal recovery of an image: what a mount does before anything else. Replay, an empty log, and a
 * superblock that no longer asks for recovery, in this order with flushes between: cut anywhere, it
 * can be done again.
 */
#ifndef XW_SESSION_JOURNAL_H
#define XW_SESSION_JOURNAL_H

#include "journal/replay.h"

#pragma GCC visibility push(default)

/* Beside XW_REPLAY_SALVAGE: */
/* Replay what the log holds although the superblock does not ask for it (Linux drops it then). */
#define XW_REPLAY_UNASKED 0x2
/* The superblock is torn: trust it only to find the log, which must hold a good copy of it. */
#define XW_REPLAY_TORN_SUPER 0x4
/* The caller goes on with the recovery: RECOVER stays set, and xw_journal_settle() clears it. Not
 * where the filesystem is to be marked for errors, which is done at once. */
#define XW_REPLAY_UNSETTLED 0x8
/* The device is an overlay: fast commits are replayed, too. Elsewhere many writes are not one. */
#define XW_REPLAY_FAST 0x10

struct xw_journal_info {
	bool needed; /* the superblock asked for recovery, or UNASKED found something */
	bool unsettled; /* RECOVER is still set */
	bool damaged; /* as in struct xw_replay; only ever true under SALVAGE */
	/* Blocks of fast commits. While unsettled they are still to be carried out. */
	size_t fast_blocks;
	uint32_t transactions;
	uint64_t blocks; /* written */
	uint64_t revoked, bad;
	int32_t err; /* what the kernel left in the journal; the filesystem is marked for it */
};

/*
 * Recover the journal of the filesystem on dev (in memory, when dev is an overlay). Nothing to do
 * is success. *info may be NULL. XW_ERR_CHECKSUM, XW_ERR_CORRUPT: the log is damaged, nothing was
 * written. XW_ERR_UNSUPPORTED: external journal, unknown features, or fast commits and neither
 * UNSETTLED nor FAST.
 */
int xw_journal_recover(struct xw_dev *dev, unsigned flags, struct xw_diag *diag,
		       struct xw_journal_info *info);

/*
 * Behind a replay: Linux writes what is free into the superblock when it unmounts, until then only
 * the descriptors know it. 1: their sums are in the superblock now; 0: they were, or a descriptor
 * is damaged, and who looks for damage counts for itself.
 */
int xw_journal_count_free(struct xw_dev *dev);
/*
 * The end of a recovery under UNSETTLED, on an overlay over the image: the superblock with those
 * counts and without RECOVER, and the fast commits carried out. 1: what the overlay holds is a
 * commit (where only counts changed, too: a torn write of them would be no superblock that anybody
 * could mend); 0: only RECOVER changed.
 */
int xw_journal_settle(struct xw_dev *overlay, const struct xw_journal_info *info,
		      struct xw_diag *diag);
/* For a commit that does not go through the log: the log is empty with it. */
int xw_journal_empty(struct xw_dev *overlay, struct xw_diag *diag);

#pragma GCC visibility pop

#endif
