/* SPDX-License-Identifier: MIT */
/*
 * Where Linux would put an inode (Orlov's allocator, as ext4's documentation describes it): files
 * into their directory's group, directories of the root spread over the groups, others near their
 * parent while its group is not crowded.
 */
#ifndef XW_AGE_PLACE_H
#define XW_AGE_PLACE_H

#include "update/update.h"

/* A goal for allocating an inode. name: of a new directory. */
xw_ino xw_age_place_file(const struct xw_update *u, xw_ino dir);
xw_ino xw_age_place_dir(const struct xw_update *u, xw_ino parent, const char *name, size_t len);

#endif
