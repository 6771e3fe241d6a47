/* SPDX-License-Identifier: MIT */
/*
 * Emulates the ext4 allocator of Linux, even where the allocator of the suite would choose a better
 * place, so that aged images are fragmented as under Linux. The rules come from the kernel's
 * documentation and change descriptions, and from the trace event ext4_mballoc_alloc and the
 * statistics of Linux 6.18; not from its source.
 *
 * A free run is treated as a sequence of buddies. A request of a power of two is served from the
 * smallest buddy of the nearest group with a sufficient one. For other requests, groups are
 * searched from the goal's group on; a candidate is a buddy plus as many of the following buddies
 * as the request needs, and the shortest sufficient one of the first few candidates is used. If no
 * group's average free run is long enough, groups with enough free blocks are searched, then all
 * groups. The search ends after max_to_scan candidates and uses the longest of them.
 */
#ifndef XW_SPACE_LINUX_H
#define XW_SPACE_LINUX_H

#include "space/space.h"

struct xw_linux_req {
	xw_blk goal; /* allocate here if the whole request is free here; 0: no goal */
	xw_blk from; /* else the search starts in the group of this block */
	uint64_t len; /* blocks wanted */
	/* with group order lists, if no group's average free run is long enough: */
	uint64_t least; /* minimum length to which BEST_AVAIL trims the request */
	uint64_t then; /* length of the request after BEST_AVAIL found nothing */
	uint32_t max_order; /* maximum order of a buddy */
	/* P2_ALIGNED skips the first group of every flex_bg of this many groups; 0 or 1: none */
	uint32_t flex;
};

/* Allocate one run of 1 .. len blocks inside one group. XW_ERR_NOSPC if nothing is free. */
int xw_space_alloc_linux(struct xw_space *s, const struct xw_linux_req *req, struct xw_run *out);

#endif
