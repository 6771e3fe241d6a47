/* SPDX-License-Identifier: MIT */
/* Do two names refer to the same file? */
#ifndef XW_BASE_SAME_H
#define XW_BASE_SAME_H

#include <stdbool.h>
#include <sys/stat.h>

/*
 * True also for two device nodes of one block device: data written to one is read from the other.
 */
static inline bool xw_same_file(const struct stat *a, const struct stat *b)
{
	return (a->st_dev == b->st_dev && a->st_ino == b->st_ino) ||
	       (S_ISBLK(a->st_mode) && S_ISBLK(b->st_mode) && a->st_rdev == b->st_rdev);
}

#endif
