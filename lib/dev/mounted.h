/* SPDX-License-Identifier: MIT */
/* Who uses a block device, by what the system says of it. */
#ifndef XW_DEV_MOUNTED_H
#define XW_DEV_MOUNTED_H

struct xw_diag;

enum xw_mounted {
	XW_NOT_MOUNTED, /* also: not a block device, or mounted in another mount namespace */
	XW_MOUNTED,
	XW_MOUNTED_RDONLY, /* the filesystem, not only some mount of it */
	XW_MOUNTED_RDONLY_ROOT, /* and one of its mounts is / */
};

enum xw_mounted xw_dev_mounted(const char *path);
/*
 * Record XW_ERR_BUSY for a block device that O_EXCL did not open, and who uses it: "is mounted",
 * or "is in use".
 */
int xw_dev_fail_busy(struct xw_diag *diag, const char *path);

#endif
