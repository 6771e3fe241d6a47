/* SPDX-License-Identifier: MIT */
/* A search for blocks that cannot be read, or do not keep what is written: badblocks(8)'s. */
#ifndef XW_DEV_SCAN_H
#define XW_DEV_SCAN_H

#include "dev/dev.h"

#pragma GCC visibility push(default)

struct xw_scan {
	uint32_t block_size; /* bytes, a power of two */
	uint64_t blocks; /* from the device's beginning; those behind its end are not looked at */
	bool write; /* patterns are written and read back: destroys the content */
	bool rewrite; /* what is read is written back and read again: keeps the content */
	/* Now and then; non-zero ends the scan and is returned. May be NULL. */
	int (*tick)(void *arg, uint64_t done, uint64_t total);
	/* A bad block: the same one may come more than once, in no order. Non-zero as above. */
	int (*bad)(void *arg, uint64_t block);
	void *arg;
};

/* Failures of the device are findings, and leave nothing in its diag. */
int xw_dev_scan(struct xw_dev *d, const struct xw_scan *s);

#pragma GCC visibility pop

#endif
