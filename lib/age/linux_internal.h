/* SPDX-License-Identifier: MIT */
/*
 * Private to the allocator model: delayed allocation (linux.c) and block allocation
 * (linux_blocks.c).
 */
#ifndef XW_AGE_LINUX_INTERNAL_H
#define XW_AGE_LINUX_INTERNAL_H

#include "age/linux.h"

#define XW_AGE_WRITE (UINT64_C(1) << 20) /* size of a program's write() calls in bytes */

/* A file being written back. */
struct xw_age_writing {
	xw_ino ino;
	struct xw_inode in;
	struct xw_update_map m;
	uint64_t from, pos, end; /* blocks [from, end) are to be allocated; [pos, end) are left */
	bool open;
	struct xw_run rest; /* unused part of a normalized request */
};

static inline uint64_t xw_age_blocks_of(const struct xw_update *u, uint64_t bytes)
{
	return XW_MAX(bytes / u->img->block_size, 1);
}

/* Allocate blocks from f->pos on. On return f->pos is below f->end if a commit is needed first. */
int xw_age_linux_allocate(struct xw_age_linux *l, struct xw_age_writing *f);
/* Upper bound of the blocks needed to rewrite the file's extent tree or indirect blocks. */
uint64_t xw_age_linux_map_blocks(const struct xw_age_linux *l, const struct xw_age_writing *f);
/* Remove a preallocation from the list without freeing its blocks. */
void xw_age_linux_forget_pool(struct xw_age_pools *p, uint32_t i);
/* Free the blocks of all preallocations. */
int xw_age_linux_drop_pools(struct xw_age_linux *l);

#endif
