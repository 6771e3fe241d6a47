/* SPDX-License-Identifier: MIT */
/* Files below a directory: symlinks are followed as long as they do not lead out of it. */
#ifndef XW_IMPORT_BENEATH_H
#define XW_IMPORT_BENEATH_H

/* As openat(2). -1 with EXDEV: the path leads out. */
int xw_open_beneath(int dir, const char *path, int flags);
/* The same without openat2(2). */
int xw_walk_beneath(int dir, const char *path, int flags);

#endif
