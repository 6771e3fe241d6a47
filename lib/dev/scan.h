/* SPDX-License-Identifier: MIT */
/* A search for blocks that cannot be read or do not keep their contents, as badblocks(8) does. */
#ifndef XW_DEV_SCAN_H
#define XW_DEV_SCAN_H

#include "dev/dev.h"

struct xw_scan {
	uint32_t block_size; /* bytes, a power of two */
	/* counted from the beginning of the device; blocks past its end are skipped */
	uint64_t blocks;
	bool write; /* write patterns and read them back: destroys the contents */
	bool rewrite; /* write back what was read, and read it again: keeps the contents */
	/* Called periodically; a non-zero result ends the scan and is returned. May be NULL. */
	int (*tick)(void *arg, uint64_t done, uint64_t total);
	/* Reports a bad block, possibly several times, in no order. Non-zero as above. */
	int (*bad)(void *arg, uint64_t block);
	void *arg;
};

/* Failures of the device are findings and leave no message in its diag. */
int xw_dev_scan(struct xw_dev *d, const struct xw_scan *s);

#endif
