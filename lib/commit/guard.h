/* SPDX-License-Identifier: MIT */
/*
 * Whether an image that is being changed is still as this process left it. Locks keep other xw
 * tools away, but neither a mount nor other programs. Whoever writes to a filesystem begins with
 * its superblock: where that differs from what this process wrote or read last, what an overlay
 * holds and what was free belong to a state that is gone.
 */
#ifndef XW_COMMIT_GUARD_H
#define XW_COMMIT_GUARD_H

#include "dev/dev.h"
#include "disk/super.h"

struct xw_guard {
	struct xw_dev *base; /* borrowed; messages go to its diag */
	bool in_use_too; /* a loop device on the image is no reason to refuse */
	bool has_super; /* else there is no filesystem to protect */
	uint8_t super[XW_SUPER_SIZE]; /* on the image, as far as this process knows */
	int64_t mtime; /* of the image file, where nothing is to be written now; 0: not compared */
};

/* Remember superblock and size as they are. */
void xw_guard_init(struct xw_guard *g, struct xw_dev *base, bool in_use_too);
/* This process has put another superblock there. g may be NULL. */
void xw_guard_set_super(struct xw_guard *g, const uint8_t super[XW_SUPER_SIZE]);
/* From here on this process does not write to the image, until xw_guard_unfreeze(). */
void xw_guard_freeze(struct xw_guard *g);
void xw_guard_unfreeze(struct xw_guard *g);

/* The usual end of the message below. */
#define XW_COMMIT_NOTHING "nothing was committed"
/*
 * XW_ERR_BUSY: mounted, behind a loop device, of another size, or with another superblock; then:
 * the end of the message, what that means ("nothing was committed"). Superblocks on block devices
 * are read from the medium.
 */
int xw_guard_look(const struct xw_guard *g, const char *then);
/*
 * The same in a few microseconds, without a message: no loop devices, and no change that a cache
 * may hide. True: still ours. xw_guard_fail() describes a false one.
 */
bool xw_guard_glance(const struct xw_guard *g);
int xw_guard_fail(const struct xw_guard *g, const char *then);

#endif
