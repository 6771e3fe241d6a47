/* SPDX-License-Identifier: MIT */
/*
 * One request as Linux's ext4 serves it, where the allocator of the suite would find a better
 * place: for images that shall be as fragmented as those that Linux leaves. The rules are from the
 * kernel's documentation and descriptions of its changes, and from what the trace events
 * ext4_mballoc_alloc and the statistics of Linux 6.18 show of its requests and results; not from
 * its source.
 *
 * A free run is seen as the buddies of which it consists. A request of a power of two takes the
 * smallest buddy of the nearest group that has one. Others are searched group by group, from the
 * goal's on; a candidate is a buddy with as many of its successors as the request needs, and the
 * shortest sufficient one of the first few is taken. When no group's average free run is long
 * enough, groups with as many free blocks are searched, then all; the search ends after
 * max_to_scan candidates with the longest one, wherever longer runs may be.
 */
#ifndef XW_SPACE_LINUX_H
#define XW_SPACE_LINUX_H

#include "space/space.h"

struct xw_linux_req {
	xw_blk goal; /* if all of it is free here, here; 0: no such place */
	xw_blk from; /* else searched from the group of this block on */
	uint64_t len; /* blocks wanted */
	/* With group order lists, where no average is long enough: */
	uint64_t least; /* shorter runs are searched for, but none below this */
	uint64_t then; /* after that, a run of this length */
	uint32_t max_order; /* of a buddy */
	/* Requests of a power of two skip the first group of so many; 0 or 1: none. */
	uint32_t flex;
};

/* Allocate one run of 1 .. len blocks inside one group. XW_ERR_NOSPC when nothing is free. */
int xw_space_alloc_linux(struct xw_space *s, const struct xw_linux_req *req, struct xw_run *out);

#endif
