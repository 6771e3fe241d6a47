/* SPDX-License-Identifier: MIT */
/*
 * Inodes to which only the superblock refers: quota files, the orphan file, a journal with a number
 * other than 8. Such a number is valid only with its feature. Whether the inode is what the number
 * says is decided by its contents, or else by whether a directory entry refers to it.
 */
#ifndef XW_FSCK_HIDDEN_H
#define XW_FSCK_HIDDEN_H

#include "facts/facts.h"

/* Where the superblock stores the inode of a quota file; type: enum xw_quota_type. */
uint32_t *fsck_quota_inum(struct xw_super *sb, int type);
/* May a user's inode or a hidden inode have this number? */
bool fsck_is_user_inode(const struct xw_super *sb, xw_ino ino);
/* Does the superblock validly refer to ino, with the required feature set? */
bool fsck_is_hidden(const struct xw_super *sb, xw_ino ino);
/*
 * The same, and the contents of the inode match: directory entries that refer to it are wrong.
 * Excludes the journal: a journal with a number other than 8 may have a name.
 */
bool fsck_is_hidden_file(struct fsck *f, xw_ino ino, const struct xw_inode *in);
/*
 * Does the superblock name this inode as a quota file, and do its contents begin like one? The mode
 * is ignored.
 */
bool fsck_is_quota_file(struct fsck *f, xw_ino ino, const struct xw_inode *in);
/* Does the inode begin like a quota file of that type? All other contents can be recomputed. */
bool fsck_has_quota(struct fsck *f, xw_ino ino, const struct xw_inode *in, int type);

#endif
