/* SPDX-License-Identifier: MIT */
/* Ordering of directory entries by (major hash, minor hash, name). */
#ifndef XW_DIR_SORT_H
#define XW_DIR_SORT_H

#include "dir/build.h"

/* < 0, 0, > 0 as for qsort; total over distinct names. */
int xw_dir_entry_cmp(const struct xw_dir_entry *a, const struct xw_dir_entry *b);
/* In place; linear in n for well distributed hashes, n log n for names that all collide. */
void xw_dir_sort(struct xw_dir_entry *entries, size_t n);

#endif
