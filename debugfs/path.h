/* SPDX-License-Identifier: MIT */
/* The directory and name of an entry to be created or removed. */
#ifndef XW_DEBUGFS_PATH_H
#define XW_DEBUGFS_PATH_H

#include "debugfs.h"

struct dbg_path {
	xw_ino dir;
	const char *name; /* the last component of the path that was split */
};

/* XW_ERR_INPUT: the path ends with a slash; otherwise errors of dbg_inode_number(). */
int dbg_split_path(struct dbg *d, const char *path, struct dbg_path *p);

#endif
