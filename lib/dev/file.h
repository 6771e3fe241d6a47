/* SPDX-License-Identifier: MIT */
/*
 * Files that are open already: not yet named, or to be compared with the file that now has their
 * name.
 */
#ifndef XW_DEV_FILE_H
#define XW_DEV_FILE_H

#include "dev/dev.h"

/* As xw_dev_open_file, for an open file; owns fd once it succeeds. */
int xw_dev_open_fd(int fd, const char *path, unsigned flags, struct xw_diag *diag,
		   struct xw_dev **out);
/* hold.c: xw_dev_hold() of a regular file. */
bool xw_dev_lease(int fd, enum xw_dev_hold what);
/* Bypass the page cache of a block device, up to 64 KiB. False: not possible here. */
bool xw_dev_read_direct(int fd, void *buf, size_t len, uint64_t off);
/* Record the message and return the code for an errno of open(). */
int xw_dev_fail_open(struct xw_diag *diag, const char *path, int err);

#endif
