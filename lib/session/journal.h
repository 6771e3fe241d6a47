/* SPDX-License-Identifier: MIT */
/*
 * Journal recovery of an image, which a mount does before anything else: replay, empty the log, and
 * clear RECOVER in the superblock, in this order with flushes between. It can be interrupted at any
 * point and repeated.
 */
#ifndef XW_SESSION_JOURNAL_H
#define XW_SESSION_JOURNAL_H

#include "journal/replay.h"

/* Flags in addition to XW_REPLAY_SALVAGE: */
/* Replay the log even if RECOVER is not set (Linux drops the log then). */
#define XW_REPLAY_UNASKED 0x2
/* The superblock is torn: use it only to find the log, which must contain a valid copy. */
#define XW_REPLAY_TORN_SUPER 0x4
/*
 * The caller completes the recovery: RECOVER stays set, and xw_journal_finish() clears it. Has no
 * effect if an error must be recorded in the filesystem, which is done at once.
 */
#define XW_REPLAY_UNSETTLED 0x8
/*
 * The device is an overlay: replay fast commits, too. On other devices their writes would not be
 * atomic.
 */
#define XW_REPLAY_FAST 0x10
/*
 * Write nothing of the log, and end the recovery as after damage: for a log that is older than the
 * filesystem. For XW_REPLAY_BEYOND and _REST see journal/replay.h.
 */
#define XW_REPLAY_NOTHING 0x40

struct xw_journal_info {
	bool needed; /* RECOVER was set, or UNASKED found a log in use */
	bool unsettled; /* RECOVER is still set */
	bool damaged; /* as in struct xw_replay; only ever true under SALVAGE */
	/* Number of blocks of fast commits. While unsettled they have not been replayed. */
	size_t fast_blocks;
	uint32_t transactions;
	uint64_t blocks; /* blocks written */
	uint64_t revoked, bad;
	bool recounted; /* the superblock's free counts differed from the replayed state */
	/*
	 * an error that the kernel recorded in the journal; it is recorded in the filesystem, too
	 */
	int32_t err;
};

/*
 * Recover the journal of the filesystem on dev (in memory, if dev is an overlay). An empty log is
 * no error. *info may be NULL. XW_ERR_CHECKSUM, XW_ERR_CORRUPT: the log is damaged, nothing was
 * written. XW_ERR_UNSUPPORTED: external journal, unknown features, or fast commits without
 * UNSETTLED or FAST.
 */
int xw_journal_recover(struct xw_dev *dev, unsigned flags, struct xw_diag *diag,
		       struct xw_journal_info *info);

/*
 * Called after a replay: Linux writes free counts to the superblock only on unmount, until then
 * they are in the descriptors. 1: the superblock was updated with their sums; 0: it was correct, or
 * a descriptor is damaged, and a checker counts itself.
 */
int xw_journal_count_free(struct xw_dev *dev);
/*
 * orphans.c: called after a replay: clear ORPHAN_PRESENT if there is no orphan. 1: cleared; 0: not,
 * or the orphan file is damaged, which a checker reports.
 */
int xw_journal_settle_orphans(struct xw_dev *overlay);
/*
 * End a recovery with UNSETTLED, on an overlay over the image: write the superblock with those
 * counts and without RECOVER and a needless ORPHAN_PRESENT, and replay the fast commits. 1: the
 * overlay has a change to be committed (also if only counts changed: a torn write of them would
 * leave an invalid superblock); 0: only RECOVER changed.
 */
int xw_journal_finish(struct xw_dev *overlay, struct xw_journal_info *info, struct xw_diag *diag);
/* Set or clear RECOVER in the superblock, which a replay may have changed; error: mark errors. */
int xw_journal_set_recover(struct xw_dev *dev, bool on, bool error, struct xw_diag *diag);
/*
 * Apply a log on another device to an overlay: the state after a complete recovery, with RECOVER
 * clear. The caller commits it with RECOVER set, and empties the log before clearing that.
 */
int xw_journal_apply_external(struct xw_dev *overlay, struct xw_log *log, const struct xw_replay *r,
			      struct xw_diag *diag);
/* Make the log empty as part of a commit that does not use it. */
int xw_journal_empty(struct xw_dev *overlay, struct xw_diag *diag);

#endif
