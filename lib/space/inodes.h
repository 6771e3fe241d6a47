/* SPDX-License-Identifier: MIT */
/* Free inodes: numbers handed out in order, with the per-group counts that descriptors need. */
#ifndef XW_SPACE_INODES_H
#define XW_SPACE_INODES_H

#include "base/err.h"
#include "base/types.h"

struct xw_ispace;

/* bitmap: inodes_per_group bits of a group, 1 = used; NULL = every group starts empty. */
int xw_ispace_new(uint32_t groups, uint32_t inodes_per_group,
		  int (*bitmap)(void *arg, uint32_t group, uint8_t *bits), void *arg, struct xw_ispace **out);
void xw_ispace_free(struct xw_ispace *s);
/* Lowest free inode at or after goal, wrapping round; XW_ERR_NOINODES. dir: counts as a directory in its group. */
int xw_ispace_alloc(struct xw_ispace *s, xw_ino goal, bool dir, xw_ino *out);
int xw_ispace_claim(struct xw_ispace *s, xw_ino ino, bool dir);     /* XW_ERR_CORRUPT when used or out of range */
int xw_ispace_release(struct xw_ispace *s, xw_ino ino, bool dir);
struct xw_igroup_summary {
	uint32_t free, used_dirs;
	uint32_t unused;        /* inodes after the highest used one: bg_itable_unused */
	bool touched;
};
void xw_ispace_group(const struct xw_ispace *s, uint32_t group, struct xw_igroup_summary *out);
/* inodes_per_group bits, then ones to the end of `size` bytes. */
int xw_ispace_group_bitmap(struct xw_ispace *s, uint32_t group, uint8_t *bits, size_t size);
uint64_t xw_ispace_free_count(const struct xw_ispace *s);

#endif
