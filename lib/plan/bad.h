/* SPDX-License-Identifier: MIT */
/* Bad blocks: the list in the format of badblocks(8), and the placement of metadata around them. */
#ifndef XW_PLAN_BAD_H
#define XW_PLAN_BAD_H

#include "plan/geometry.h"

/*
 * Add the numbers of a text, one per line, to p->bad; empty lines and comments (#) are skipped.
 * XW_ERR_USAGE: "NAME:LINE: reason".
 */
int xw_bad_parse(const char *name, const char *text, size_t len, struct xw_mkfs_params *p,
		 struct xw_diag *diag);
/*
 * Sort p->bad; remove duplicates, and blocks outside the filesystem with a warning. To be called
 * after xw_params_finish. XW_ERR_UNSUPPORTED: bigalloc; XW_ERR_LIMIT: a number of over 32 bits.
 */
int xw_bad_finish(struct xw_mkfs_params *p, struct xw_diag *diag);

/*
 * The number of blocks directly after the descriptors that are good in every group with a
 * superblock, an upper limit of s_reserved_gdt_blocks. UINT32_MAX: no such group has a bad block.
 */
uint32_t xw_geo_good_after_desc(const struct xw_geo *geo);
/* Is a bad block in [start, start + len)? */
bool xw_geo_bad_in(const struct xw_geo *geo, xw_blk start, uint64_t len);
/*
 * XW_ERR_LIMIT if a bad block lies in the primary superblock or descriptors, which cannot be moved.
 * A bad block in a backup causes a warning: that backup is not written.
 */
int xw_geo_check_bad(const struct xw_geo *geo, struct xw_diag *diag);

#endif
