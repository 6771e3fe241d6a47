/* SPDX-License-Identifier: MIT */
/* Copies of a superblock, for whoever has lost the first one. */
#ifndef XW_READ_COPIES_H
#define XW_READ_COPIES_H

#include "dev/dev.h"
#include "disk/super.h"

#pragma GCC visibility push(default)

/* The byte where a superblock says that it is: a file inside an image may hold an image, too. */
uint64_t xw_super_place(const struct xw_super *sb);

struct xw_copy_hint {
	char s[112];
};
/*
 * Behind a line that says what is wrong with the primary superblock: where dev has a copy that is
 * whole, and how e2fsck(8) is told. Empty where groups of the usual size have none.
 */
struct xw_copy_hint xw_super_copy_hint(struct xw_dev *dev);

#pragma GCC visibility pop

#endif
