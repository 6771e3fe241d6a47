/* SPDX-License-Identifier: MIT */
/*
 * Devices over open file descriptors, and parts of the file device that other files of this room
 * use.
 */
#ifndef XW_DEV_FILE_H
#define XW_DEV_FILE_H

#include "dev/dev.h"

/* As xw_dev_open_file(), for an open file; owns fd once it succeeds. */
int xw_dev_open_fd(int fd, const char *path, unsigned flags, struct xw_diag *diag,
		   struct xw_dev **out);
/* hold.c: xw_dev_hold() of a regular file. */
bool xw_dev_lease(int fd, enum xw_dev_hold what);
/* Read up to 64 KiB of a block device past the page cache. False if the host cannot do so. */
bool xw_dev_read_direct(int fd, void *buf, size_t len, uint64_t off);
/* Record the message and return the code for an errno of open(). */
int xw_dev_fail_open(struct xw_diag *diag, const char *path, int err);

#endif
