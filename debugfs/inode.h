/* SPDX-License-Identifier: MIT */
/* Prints an inode, for stat and for copies of inodes in a journal. */
#ifndef XW_DEBUGFS_INODE_H
#define XW_DEBUGFS_INODE_H

#include "debugfs.h"

/* The lines of stat from the number to the times, each after `prefix`. raw: the record. */
void dbg_print_inode_head(struct dbg *d, const char *prefix, xw_ino ino, const struct xw_inode *in,
			  const uint8_t *raw);
/* The line about extra fields, if the filesystem has them. */
void dbg_print_inode_tail(struct dbg *d, const struct xw_inode *in);

#endif
