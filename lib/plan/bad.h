/* SPDX-License-Identifier: MIT */
/* Bad blocks: the list as badblocks(8) prints it, and what must not lie on them. */
#ifndef XW_PLAN_BAD_H
#define XW_PLAN_BAD_H

#include "plan/geometry.h"

/*
 * Add the numbers of a text, one a line, to p->bad; empty lines and comments (#) are skipped.
 * XW_ERR_USAGE: "NAME:LINE: what is wrong".
 */
int xw_bad_parse(const char *name, const char *text, size_t len, struct xw_mkfs_params *p,
		 struct xw_diag *diag);
/*
 * p->bad ascending, each once, without what lies outside of the filesystem, which is warned of.
 * Once xw_params_finish is done. XW_ERR_UNSUPPORTED, XW_ERR_LIMIT: goes without bad blocks.
 */
int xw_bad_settle(struct xw_mkfs_params *p, struct xw_diag *diag);

/*
 * Blocks behind the descriptors that are good in all groups with a superblock, once those are
 * known; UINT32_MAX: no bad one near.
 */
uint32_t xw_geo_good_after_desc(const struct xw_geo *geo);
/* Is one in [start, start + len)? */
bool xw_geo_bad_in(const struct xw_geo *geo, xw_blk start, uint64_t len);
/*
 * XW_ERR_LIMIT when one lies where nothing else can: on the first superblock or descriptors. On a
 * backup it is only said: that copy is not written then.
 */
int xw_geo_check_bad(const struct xw_geo *geo, struct xw_diag *diag);

#endif
