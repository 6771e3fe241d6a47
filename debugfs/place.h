/* SPDX-License-Identifier: MIT */
/* The directory and name of an entry to be created or removed. */
#ifndef XW_DEBUGFS_PLACE_H
#define XW_DEBUGFS_PLACE_H

#include "debugfs.h"

struct dbg_place {
	xw_ino dir;
	const char *name; /* its last component, pointing into the path */
};

/* XW_ERR_INPUT: the path ends with a slash; errors of dbg_inode_number() for the directory. */
int dbg_find_place(struct dbg *d, const char *path, struct dbg_place *p);

#endif
