/* SPDX-License-Identifier: MIT */
/* Free inodes: allocates numbers in order, and maintains the per-group counts for descriptors. */
#ifndef XW_SPACE_INODES_H
#define XW_SPACE_INODES_H

#include "base/err.h"
#include "base/types.h"

struct xw_ispace;

/*
 * bitmap: returns inodes_per_group (a multiple of 8) bits of a group, 1 = used; called once for
 * every group by xw_ispace_new(), and again when a partly used group is accessed. NULL: all groups
 * are empty and use no memory until they are accessed.
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
/* XW_ERR_CORRUPT: a claimed inode is in use, a released one is free, or ino is out of range. */
int xw_ispace_claim(struct xw_ispace *s, xw_ino ino, bool dir);
int xw_ispace_release(struct xw_ispace *s, xw_ino ino, bool dir);
struct xw_igroup_summary {
	uint32_t free, used_dirs;
	uint32_t unused; /* inodes after the highest used one: bg_itable_unused */
	bool touched;
};
/*
 * Set the number of directories of an existing group, from its descriptor; the default is 0.
 * XW_ERR_CORRUPT if it exceeds the used inodes.
 */
int xw_ispace_set_dirs(struct xw_ispace *s, uint32_t group, uint32_t dirs);
void xw_ispace_group(const struct xw_ispace *s, uint32_t group, struct xw_igroup_summary *out);
/* inodes_per_group bits, then ones up to `size` bytes. */
int xw_ispace_group_bitmap(struct xw_ispace *s, uint32_t group, uint8_t *bits, size_t size);
uint64_t xw_ispace_free_count(const struct xw_ispace *s);

#endif
