/* SPDX-License-Identifier: MIT */
/* Prints extended attributes. */
#ifndef XW_DEBUGFS_XATTR_H
#define XW_DEBUGFS_XATTR_H

#include "debugfs.h"

/* Print "Extended attributes:" and a line for each; nothing if there are none. */
int dbg_print_xattrs(struct dbg *d, xw_ino ino, const struct xw_inode *in, const uint8_t *raw);
/* Print the structure of an xattr block or of the area in an inode, as it is stored. */
void dbg_dump_xattr_block(struct dbg *d, const uint8_t *block);
void dbg_dump_xattr_inode(struct dbg *d, const uint8_t *area, size_t size);

/* share.c; in the table of xattr.c */
int dbg_verb_xattr_share(struct dbg *d, int argc, char **argv);

#endif
