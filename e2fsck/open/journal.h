/* SPDX-License-Identifier: MIT */
/* Is the inode of the journal valid? Shared by the replay, which comes first, and the check. */
#ifndef XW_FSCK_JOURNAL_H
#define XW_FSCK_JOURNAL_H

#include "open/open.h"

/* s_jnl_backup_type: the superblock has a copy of the inode's map. */
enum { FSCK_JOURNAL_SAVED_TYPE = 1 };

struct fsck_journal {
	xw_ino ino;
	struct xw_inode in;
	xw_blk first; /* block 0 of the log */
	uint64_t blocks;
};

/* replay.c: the log of f->ses.img. XW_ERR_IO, and others without a message. */
int fsck_log_open(struct fsck *f, struct xw_log **log);
/*
 * Replay on the overlay. flags: of session/journal.h. 0: done, or nothing to do; 1: the journal is
 * unusable.
 */
int fsck_log_replay(struct fsck *f, unsigned flags);

bool fsck_journal_has_uuid(const struct xw_super *sb);
bool fsck_journal_is_external(const struct xw_super *sb);
/*
 * Does inode 8 hold a journal although the superblock names an external one? Then the superblock's
 * journal fields are wrong, unless the user has given a journal device.
 */
bool fsck_journal_is_inside(struct fsck *f);
/* May an inode of that number be the journal? */
bool fsck_journal_may_be(const struct xw_super *sb, xw_ino ino);
int fsck_journal_load(struct fsck *f, xw_ino ino, struct fsck_journal *j);
/*
 * Is the journal a regular file whose blocks are all mapped once and written, and none beyond its
 * size?
 */
bool fsck_journal_is_intact(struct fsck *f, struct fsck_journal *j);
/* Use the backup of the inode in the superblock. */
bool fsck_journal_from_saved(struct fsck *f, struct fsck_journal *j);
/*
 * Does block 0 hold a journal superblock that fits the inode? An internal journal has no more than
 * one user, and may be shorter than its inode.
 */
bool fsck_journal_has_log(struct fsck *f, const struct fsck_journal *j);
/* Drop the journal of the filesystem. again: create a new one later. */
int fsck_journal_drop(struct fsck *f, const struct fsck_journal *j, bool again);

#endif
