/* SPDX-License-Identifier: MIT */
/* Ordering of directory entries by (major hash, minor hash, name). */
#ifndef XW_DIR_SORT_H
#define XW_DIR_SORT_H

#include "dir/build.h"

/* Sort in place; linear in n for well distributed hashes, n log n for names that all collide. */
void xw_dir_sort(struct xw_dir_entry *entries, size_t n);

#endif
