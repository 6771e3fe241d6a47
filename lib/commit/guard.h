/* SPDX-License-Identifier: MIT */
/*
 * Detects whether an image that is being changed is still as this process left it. Locks exclude
 * other xw tools, but neither mounts nor other programs. Any program that writes to a filesystem
 * writes its superblock first: if the superblock differs from what this process wrote or read last,
 * the contents of the overlay and the map of free blocks are stale.
 */
#ifndef XW_COMMIT_GUARD_H
#define XW_COMMIT_GUARD_H

#include "dev/dev.h"
#include "disk/super.h"

struct xw_guard {
	struct xw_dev *base; /* borrowed; messages go to its diag */
	bool in_use_too; /* accept a loop device on the image */
	/*
	 * Mounted read-only: the kernel's cache of the superblock, which this process reads and
	 * writes, may differ from the medium.
	 */
	bool mounted;
	bool has_super; /* otherwise there is no filesystem to protect */
	/* current superblock of the image, as far as this process knows */
	uint8_t super[XW_SUPER_SIZE];
	int64_t mtime; /* of the image file while frozen; 0: not compared */
};

/* Record the current superblock and size. */
void xw_guard_init(struct xw_guard *g, struct xw_dev *base, bool in_use_too);
/* This process has written another superblock. g may be NULL. */
void xw_guard_set_super(struct xw_guard *g, const uint8_t super[XW_SUPER_SIZE]);
/* This process does not write to the image until xw_guard_unfreeze(). */
void xw_guard_freeze(struct xw_guard *g);
void xw_guard_unfreeze(struct xw_guard *g);

/* The usual end of the following message. */
#define XW_COMMIT_NOTHING "nothing was committed"
/*
 * XW_ERR_BUSY: the image is mounted, used by a loop device, or its size or superblock has changed.
 * `then`: the end of the message, the consequence ("nothing was committed"). On block devices the
 * superblock is read from the medium, unless it is mounted.
 */
int xw_guard_check(const struct xw_guard *g, const char *then);
/*
 * A check in a few microseconds, without a message, which detects neither loop devices nor changes
 * hidden by a cache. True: unchanged. If false, xw_guard_fail() records the message.
 */
bool xw_guard_glance(const struct xw_guard *g);
int xw_guard_fail(const struct xw_guard *g, const char *then);

#endif
