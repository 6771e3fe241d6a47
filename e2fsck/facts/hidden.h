/* SPDX-License-Identifier: MIT */
/*
 * Inodes to which only the superblock refers: quota files, the orphan file, a journal of another
 * number than 8. A number there means something only with its feature. Whether the inode behind it
 * is what the number says is told by its contents, or else by whether a name refers to it.
 */
#ifndef XW_FSCK_HIDDEN_H
#define XW_FSCK_HIDDEN_H

#include "fsck.h"

/* Where the superblock stores the inode of a quota file; type: enum xw_quota_type. */
uint32_t *fsck_quota_inum(struct xw_super *sb, int type);
/* Does the superblock refer to ino, with the feature that this needs, and may it? */
bool fsck_is_hidden(const struct xw_super *sb, xw_ino ino);
/*
 * The same, and its contents are what the superblock says: names of it are wrong. The journal is
 * not included: one with another number than 8 may have a name.
 */
bool fsck_is_hidden_file(struct fsck *f, xw_ino ino, const struct xw_inode *in);
/*
 * Is it the inode of a quota file that the filesystem uses, by number, and do its contents begin as
 * those of one? Its mode is not looked at.
 */
bool fsck_is_quota_file(struct fsck *f, xw_ino ino, const struct xw_inode *in);
/*
 * An orphan file is of use only beside a journal: tune2fs(8) leaves it behind when it removes the
 * journal. After the journal and the orphans were checked.
 */
int fsck_check_orphan_journal(struct fsck *f);
/*
 * When names are known: numbers in the superblock that belong to files of users are cleared, quota
 * files that no feature uses are deleted, and the number of a project quota file that was lost is
 * restored.
 */
int fsck_settle_hidden(struct fsck *f);

#endif
