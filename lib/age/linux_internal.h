/* SPDX-License-Identifier: MIT */
/* Shared by files that wait for their blocks (linux.c) and the choice of these (linux_blocks.c). */
#ifndef XW_AGE_LINUX_INTERNAL_H
#define XW_AGE_LINUX_INTERNAL_H

#include "age/linux.h"
#include "update/map.h"

#define XW_AGE_WRITE (UINT64_C(1) << 20) /* in bytes: programs write in pieces of this size */

/* A file being written back. */
struct xw_age_writing {
	xw_ino ino;
	struct xw_inode in;
	struct xw_update_map m;
	uint64_t from, pos, end; /* blocks to allocate: those behind pos are left */
	bool open;
	struct xw_run rest; /* of an extended request */
};

static inline uint64_t xw_age_blocks_of(const struct xw_update *u, uint64_t bytes)
{
	return XW_MAX(bytes / u->img->block_size, 1);
}

/* Allocate blocks from f->pos on; it stays below f->end when a commit is needed first. */
int xw_age_linux_allocate(struct xw_age_linux *l, struct xw_age_writing *f);
/* The most blocks that the file's map needs: it is written anew. */
uint64_t xw_age_linux_map_blocks(const struct xw_age_linux *l, const struct xw_age_writing *f);
/* Forget one run, without releasing it. */
void xw_age_linux_forget_pool(struct xw_age_pools *p, uint32_t i);
/* Release all runs. */
int xw_age_linux_drop_pools(struct xw_age_linux *l);

#endif
