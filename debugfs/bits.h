/* SPDX-License-Identifier: MIT */
/* Read bitmaps that may be damaged. */
#ifndef XW_DEBUGFS_BITS_H
#define XW_DEBUGFS_BITS_H

#include "debugfs.h"
#include "read/bitmaps.h"

/* Reads the bitmap of one group at a time; start with everything zero except `d`. */
struct dbg_bits {
	struct dbg *d;
	bool inodes; /* inode bitmaps, else block bitmaps */
	struct xw_sysmap *sysmap;
	uint64_t group; /* group in `bits` */
	uint8_t *bits; /* bitmap of that group; NULL: not loaded yet */
};

/*
 * Load the bitmap of a group. If it contradicts the descriptor, this is reported, and it is used as
 * it is on disk.
 */
int dbg_bits_group(struct dbg_bits *b, uint64_t group);
/* Is block or inode n, which must be in the filesystem, in use? */
int dbg_bits_test(struct dbg_bits *b, uint64_t n, bool *used);
void dbg_bits_end(struct dbg_bits *b);

#endif
