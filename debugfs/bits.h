/* SPDX-License-Identifier: MIT */
/* The bitmaps, whatever state they are in. */
#ifndef XW_DEBUGFS_BITS_H
#define XW_DEBUGFS_BITS_H

#include "debugfs.h"
#include "read/bitmaps.h"

/* A group's bitmap at a time; zero-initialised but for `d` is empty. */
struct dbg_bits {
	struct dbg *d;
	bool inodes; /* which bitmap */
	struct xw_sysmap *sysmap;
	uint64_t group; /* in `bits` */
	uint8_t *bits; /* NULL: none yet */
};

/* A bitmap that contradicts its group is complained of and taken as it is on disk. */
int dbg_bits_group(struct dbg_bits *b, uint64_t group);
/* Whether block or inode n, which is in the filesystem, is in use. */
int dbg_bits_test(struct dbg_bits *b, uint64_t n, bool *used);
void dbg_bits_end(struct dbg_bits *b);

#endif
