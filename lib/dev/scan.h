/* SPDX-License-Identifier: MIT */
/* A search for blocks that cannot be read or do not keep their contents, as badblocks(8) does. */
#ifndef XW_DEV_SCAN_H
#define XW_DEV_SCAN_H

#include "dev/dev.h"

struct xw_scan {
	uint32_t block_size; /* bytes, a power of two */
	uint64_t blocks; /* from the beginning of the device; blocks past its end are skipped */
	bool write; /* write patterns and read them back: destroys the contents */
	bool rewrite; /* read, write back and read again: keeps the contents */
	/* Called periodically; a non-zero result ends the scan and is returned. May be NULL. */
	int (*tick)(void *arg, uint64_t done, uint64_t total);
	/* Receives bad blocks, possibly repeatedly, in any order. Non-zero result as above. */
	int (*bad)(void *arg, uint64_t block);
	void *arg;
};

/* Failures of the device are findings and leave no message in its diag. */
int xw_dev_scan(struct xw_dev *d, const struct xw_scan *s);

#endif
