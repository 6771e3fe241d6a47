/* SPDX-License-Identifier: MIT */
/* Parameters of the files that make_hugefiles of mke2fs.conf(5) creates. */
#ifndef XW_PLAN_HUGEFILES_H
#define XW_PLAN_HUGEFILES_H

#include "base/types.h"

struct xw_hugefiles {
	bool make;
	bool align_disk; /* alignment counts from the start of the disk */
	bool no_zeros; /* zero_hugefiles = false */
	char dir[256]; /* relative to the root; "" = the root */
	char name[128]; /* file name without its number */
	unsigned digits;
	uint32_t uid, gid;
	uint32_t umask;
	uint64_t count; /* 0: as many as fit */
	uint64_t size; /* bytes; 0: the free space, divided by count */
	uint64_t slack; /* bytes that remain free */
	uint64_t align; /* bytes; 0: none */
};

#endif
