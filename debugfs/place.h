/* SPDX-License-Identifier: MIT */
/* A name to be, or to go, in write.c and remove.c. */
#ifndef XW_DEBUGFS_PLACE_H
#define XW_DEBUGFS_PLACE_H

#include "debugfs.h"

struct dbg_place {
	xw_ino dir; /* the directory it is in */
	const char *name; /* in the path */
};

/* XW_ERR_INPUT: the path ends with a slash; what dbg_inode_number() says of the directory. */
int dbg_find_place(struct dbg *d, const char *path, struct dbg_place *p);

#endif
