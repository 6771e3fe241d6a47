/* SPDX-License-Identifier: MIT */
/* Opens files below a directory. A path or symlink must not lead out of it. */
#ifndef XW_IMPORT_BENEATH_H
#define XW_IMPORT_BENEATH_H

/* Like openat(2); fails with EXDEV if the path leads out of the directory. */
int xw_open_beneath(int dir, const char *path, int flags);
/* The implementation without openat2(2). */
int xw_walk_beneath(int dir, const char *path, int flags);

#endif
