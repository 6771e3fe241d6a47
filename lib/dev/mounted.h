/* SPDX-License-Identifier: MIT */
/* Users of a block device, as /proc and /sys list them. */
#ifndef XW_DEV_MOUNTED_H
#define XW_DEV_MOUNTED_H

struct xw_diag;

enum xw_mounted {
	XW_NOT_MOUNTED, /* also: not a block device, or mounted in another mount namespace */
	XW_MOUNTED,
	XW_MOUNTED_RDONLY, /* the filesystem is read-only, not only a mount of it */
	XW_MOUNTED_RDONLY_ROOT, /* as above, and it is mounted at / */
};

enum xw_mounted xw_dev_mounted(const char *path);
/*
 * Record and return XW_ERR_BUSY after open() with O_EXCL failed on a block device; the message
 * names the user of the device.
 */
int xw_dev_fail_busy(struct xw_diag *diag, const char *path);

#endif
