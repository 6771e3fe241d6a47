/* SPDX-License-Identifier: MIT */
/* Default mount options of the superblock, by the names of tune2fs(8) -o. */
#ifndef XW_PLAN_MNTOPTS_H
#define XW_PLAN_MNTOPTS_H

#include "base/err.h"
#include "base/types.h"

#define XW_MNTOPT_XATTR_USER 0x0004u
#define XW_MNTOPT_ACL 0x0008u

/* Find an option by name: the bits that it sets, of those in the mask. XW_ERR_NOTFOUND. */
int xw_mntopt_find(const char *name, size_t len, uint32_t *bits, uint32_t *mask);
/*
 * Apply a list ("acl,^debug") to *opts in order. XW_ERR_USAGE names an unknown option, prefixed
 * with `what`, for example "-o".
 */
int xw_mntopts_apply(uint32_t *opts, const char *what, const char *list, struct xw_diag *diag);

#endif
