/* SPDX-License-Identifier: MIT */
/*
 * Inodes to which only the superblock refers: quota files, the orphan file, a journal of another
 * number than 8. A number there means something only with its feature. Whether the inode behind it
 * is what the number says is told by its contents, or else by whether a name refers to it.
 */
#ifndef XW_FSCK_HIDDEN_H
#define XW_FSCK_HIDDEN_H

#include "facts/facts.h"

/* Where the superblock stores the inode of a quota file; type: enum xw_quota_type. */
uint32_t *fsck_quota_inum(struct xw_super *sb, int type);
/* Is it a number that inodes of users, and hidden ones, can have? */
bool fsck_is_user_inode(const struct xw_super *sb, xw_ino ino);
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
/* Does the inode begin as a quota file of that type? All else in one can be computed anew. */
bool fsck_has_quota(struct fsck *f, xw_ino ino, const struct xw_inode *in, int type);

#endif
