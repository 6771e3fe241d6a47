/* SPDX-License-Identifier: MIT */
/* Free inodes: allocates numbers in order, and maintains the per-group counts for descriptors. */
#ifndef XW_SPACE_INODES_H
#define XW_SPACE_INODES_H

#include "base/err.h"
#include "base/types.h"

struct xw_ispace;

/*
 * bitmap: inodes_per_group (a multiple of 8) bits of a group, 1 = used; called once for every group
 * now, and again when a partly used group is accessed. NULL = every group is empty and costs
 * nothing until it is accessed.
 */
int xw_ispace_new(uint32_t groups, uint32_t inodes_per_group,
		  int (*bitmap)(void *arg, uint32_t group, uint8_t *bits), void *arg,
		  struct xw_ispace **out);
void xw_ispace_free(struct xw_ispace *s);
/*
 * Lowest free inode at or after goal, wrapping around; XW_ERR_NOINODES. dir: count it as a
 * directory of its group.
 */
int xw_ispace_alloc(struct xw_ispace *s, xw_ino goal, bool dir, xw_ino *out);
/* XW_ERR_CORRUPT when it is used (or, to release, free) already, or out of range. */
int xw_ispace_claim(struct xw_ispace *s, xw_ino ino, bool dir);
int xw_ispace_release(struct xw_ispace *s, xw_ino ino, bool dir);
struct xw_igroup_summary {
	uint32_t free, used_dirs;
	uint32_t unused; /* inodes after the highest used one: bg_itable_unused */
	bool touched;
};
/*
 * Set the number of existing directories of a group given by the source, from its descriptor.
 * XW_ERR_CORRUPT when it exceeds the used inodes. Without this call used_dirs starts at 0.
 */
int xw_ispace_set_dirs(struct xw_ispace *s, uint32_t group, uint32_t dirs);
void xw_ispace_group(const struct xw_ispace *s, uint32_t group, struct xw_igroup_summary *out);
/* inodes_per_group bits, then ones up to `size` bytes. */
int xw_ispace_group_bitmap(struct xw_ispace *s, uint32_t group, uint8_t *bits, size_t size);
uint64_t xw_ispace_free_count(const struct xw_ispace *s);

#endif
