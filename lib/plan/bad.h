/* SPDX-License-Identifier: MIT */
/* Bad blocks: the list as badblocks(8) prints it, and metadata that must avoid them. */
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
 * Sort p->bad and remove duplicates and blocks outside the filesystem, with a warning. To be called
 * after xw_params_finish. XW_ERR_UNSUPPORTED, XW_ERR_LIMIT: not possible with bad blocks.
 */
int xw_bad_finish(struct xw_mkfs_params *p, struct xw_diag *diag);

/*
 * Number of blocks after the descriptors that are good in all groups with a superblock; UINT32_MAX:
 * no bad block is near.
 */
uint32_t xw_geo_good_after_desc(const struct xw_geo *geo);
/* Is a bad block in [start, start + len)? */
bool xw_geo_bad_in(const struct xw_geo *geo, xw_blk start, uint64_t len);
/*
 * XW_ERR_LIMIT when a bad block is where nothing else is possible: on the first superblock or
 * descriptors. On a backup only a message is logged: that copy is then not written.
 */
int xw_geo_check_bad(const struct xw_geo *geo, struct xw_diag *diag);

#endif
