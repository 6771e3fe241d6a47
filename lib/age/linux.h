/* SPDX-License-Identifier: MIT */
/*
 * Blocks of files as Linux's ext4 would choose them (`--allocator linux`): which requests it makes,
 * of how many blocks, and where they are searched (space/linux.h serves them). The rules follow
 * what its trace events, its statistics and its documentation show of Linux 6.18:
 *
 * - Blocks are allocated late: when the data is written back, file by file in the order in which
 *   they became dirty. Files deleted before get none. A step is such a writeback. A file that was
 *   truncated to nothing and rewritten is written back when it is closed, as is one that
 *   replaces another by renaming it.
 * - Files of up to 16 blocks share a processor's runs of 512 blocks ("locality groups").
 * - The end of a larger file that nobody writes to is allocated as it is: the place behind the
 *   file's last block is not looked at, only its group is where the search begins.
 * - Any other request of such a file is extended to a window: up to 1 MiB the file's size
 *   rounded up to a power of two, above that 2, 4 or 8 MiB. At the start of a window, the place
 *   behind the last block is tried, else the group of the last such request. Blocks that remain are
 *   released when the file was written back.
 * - A request has at most 2048 blocks. When it gets fewer, the next one is only for the rest of the
 *   page cache's folio.
 *
 * Runs of small files and groups of the last requests pass from step to step by the state file; in
 * between, the runs are free for everybody.
 */
#ifndef XW_AGE_LINUX_H
#define XW_AGE_LINUX_H

#include "base/table.h"
#include "base/vec.h"
#include "space/space.h"
#include "update/update.h"

#define XW_AGE_CPUS 2 /* of the modelled machine: each has runs for small files */
#define XW_AGE_POOLS 16 /* maximum number of these runs */

/* What the kernel remembers from one writeback to the next. */
struct xw_age_memory {
	uint32_t stream[XW_AGE_CPUS]; /* groups of the last extended requests, by inode number */
	struct xw_age_pools {
		uint32_t n;
		struct xw_run run[XW_AGE_POOLS]; /* unused rests, oldest first */
	} pools[XW_AGE_CPUS];
};

/* Delayed allocation: files whose size is set, and whose blocks are not allocated yet. */
struct xw_age_linux {
	struct xw_update *u; /* of the current step */
	struct xw_age_memory *mem;
	unsigned cpu; /* that does this step's writeback */
	XW_VEC(xw_ino) dirty; /* in this order; 0: no longer */
	struct xw_table at; /* position in `dirty`, by inode */
	uint64_t delayed; /* blocks */
	uint64_t reserved; /* blocks needed for directories in this step; set by the caller */
	uint64_t quota; /* blocks needed for new quota files */
	uint64_t shortened; /* files that lost blocks that they were promised */
	bool full; /* a commit is needed before more can be written back */
	xw_ino writer; /* the file that is being written to; 0: none */
	struct xw_run rest; /* of its last extended request */
};

/*
 * A step begins: allocate the runs of l->mem, which is borrowed as is l->u; the caller sets both
 * and zeroes the rest.
 */
int xw_age_linux_begin(struct xw_age_linux *l, uint64_t step);
/* A step ends: release the runs; mem keeps them. */
int xw_age_linux_end(struct xw_age_linux *l);
void xw_age_linux_free(struct xw_age_linux *l);
/*
 * Blocks that no file was promised: those that are free, or will be after the commit. Releases all
 * runs if these are below `want`.
 */
uint64_t xw_age_linux_room(struct xw_age_linux *l, uint64_t want);
/* Blocks that the file has, or was promised. */
int xw_age_linux_promised(struct xw_age_linux *l, xw_ino ino, uint64_t *blocks);

/*
 * The kernel does not wait when dirty blocks, with so many more, amount to more than half of those
 * that are free: xw_age_linux_resize() writes back then.
 */
bool xw_age_linux_is_tight(const struct xw_age_linux *l, uint64_t want);
/*
 * Set the size of a file; anew: all of its contents are rewritten. *written: bytes that became
 * dirty.
 */
int xw_age_linux_resize(struct xw_age_linux *l, xw_ino ino, uint64_t bytes, bool anew,
			uint64_t *written);
/* The inode will be deleted. */
int xw_age_linux_forget(struct xw_age_linux *l, xw_ino ino);
/*
 * Write back one file now, if it is dirty; open: somebody may still write to it. It remains dirty
 * when only blocks are left that are free after the commit.
 */
int xw_age_linux_write(struct xw_age_linux *l, xw_ino ino, bool open);
/*
 * Write back everything, or, when a commit is needed first, as much as is possible: then l->dirty
 * has the rest, in the order of inode numbers, which continues in the next step.
 */
int xw_age_linux_sync(struct xw_age_linux *l);
/* Continue a writeback of an interrupted run: a file whose last blocks are missing is dirty. */
int xw_age_linux_recall(struct xw_age_linux *l, xw_ino ino);

#endif
