/* SPDX-License-Identifier: MIT */
/*
 * Inode allocation as in Linux (the Orlov allocator, as ext4's documentation describes it): files
 * go to their directory's group, top-level directories are spread over the groups, others stay near
 * their parent while its group has space.
 */
#ifndef XW_AGE_PLACE_H
#define XW_AGE_PLACE_H

#include "update/update.h"

/* The goal for the inode of a new file or directory; name: that of the directory. */
xw_ino xw_age_place_file(const struct xw_update *u, xw_ino dir);
xw_ino xw_age_place_dir(const struct xw_update *u, xw_ino parent, const char *name, size_t len);

#endif
