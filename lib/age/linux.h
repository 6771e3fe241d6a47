/* SPDX-License-Identifier: MIT */
/*
 * A model of block allocation in Linux's ext4 (`--allocator linux`): size, goal and order of the
 * requests, which space/linux.h serves. The rules are derived from trace events, statistics and
 * documentation of Linux 6.18:
 *
 * - Delayed allocation: blocks are allocated at writeback, file by file in the order in which the
 *   files became dirty. Files deleted earlier get none. A step is one writeback. A file that was
 *   truncated to 0 and rewritten is written back when it is closed, and so is a file that replaces
 *   another by rename.
 * - Files of up to 16 blocks are allocated from per-CPU preallocations of 512 blocks ("locality
 *   groups").
 * - The tail of a larger file that is not open for writing is not normalized: the search starts in
 *   the group of the file's last block, without a goal.
 * - Any other request of such a file is normalized to a window: up to 1 MiB the file's size rounded
 *   up to a power of two, above that 2, 4 or 8 MiB. At the start of a window the block after the
 *   file's last one is the goal, otherwise the search starts in the group of the last such request.
 *   Blocks left in the window are released after writeback.
 * - A request has at most 2048 blocks. If it gets fewer, the next request is only for the rest of
 *   the page cache's folio.
 *
 * Locality group preallocations and last groups are kept in the state file from step to step;
 * between steps the preallocated blocks are free.
 */
#ifndef XW_AGE_LINUX_H
#define XW_AGE_LINUX_H

#include "base/table.h"
#include "base/vec.h"
#include "commit/commit.h"
#include "disk/age_state.h"
#include "space/space.h"
#include "update/map.h"
#include "update/update.h"

#define XW_AGE_CHECK 32u /* operations, or pieces written, between questions to the watch */

/* Delayed allocation: files whose size is set and whose blocks are not allocated yet. */
struct xw_age_linux {
	struct xw_update *u; /* of the current step */
	struct xw_age_memory *mem;
	const struct xw_commit_watch *watch; /* as in xw_edit_opts */
	unsigned pieces; /* counts how often the watch could be asked */
	unsigned cpu; /* CPU of this step's writeback */
	XW_VEC(xw_ino) dirty; /* dirty inodes in the order of writeback; 0: unused entry */
	struct xw_table at; /* inode number to position in `dirty` */
	uint64_t delayed; /* blocks */
	uint64_t reserved; /* blocks needed for directories in this step; set by the caller */
	uint64_t quota; /* blocks needed for new quota files */
	uint64_t shortened; /* files truncated because delayed blocks could not be allocated */
	bool full; /* writeback needs a commit, which frees blocks */
	xw_ino writer; /* the file that is being written to; 0: none */
	struct xw_run rest; /* its preallocation: the rest of its last normalized request */
};

/*
 * Begin a step: allocate the preallocations of l->mem. The caller sets l->mem, l->watch and l->u,
 * which are borrowed, and zeroes the rest.
 */
int xw_age_linux_begin(struct xw_age_linux *l, uint64_t step);
/* End a step: free the blocks of the preallocations, which stay in l->mem. */
int xw_age_linux_end(struct xw_age_linux *l);
void xw_age_linux_free(struct xw_age_linux *l);
/*
 * Blocks that are free now or after the commit, less delayed ones. Releases all preallocations if
 * these are fewer than `want`.
 */
uint64_t xw_age_linux_room(struct xw_age_linux *l, uint64_t want);
/* *blocks: allocated and delayed blocks of the file. */
int xw_age_linux_promised(struct xw_age_linux *l, xw_ino ino, uint64_t *blocks);

/*
 * Would delayed blocks, with `want` more, be more than half of the free blocks? Then ext4 stops
 * delaying, and xw_age_linux_resize() starts writeback.
 */
bool xw_age_linux_is_tight(const struct xw_age_linux *l, uint64_t want);
/* Set the size of a file; anew: truncate it to 0 first. *written: bytes that became dirty. */
int xw_age_linux_resize(struct xw_age_linux *l, xw_ino ino, uint64_t bytes, bool anew,
			uint64_t *written);
/* Drop the delayed blocks of an inode that will be deleted. */
int xw_age_linux_forget(struct xw_age_linux *l, xw_ino ino);
/*
 * Write back one file if it is dirty; open: it is still open for writing. It remains dirty if
 * blocks become free only after the commit.
 */
int xw_age_linux_write(struct xw_age_linux *l, xw_ino ino, bool open);
/*
 * Write back all dirty files, or as many as possible if a commit is needed first: then l->dirty has
 * the rest, in inode order, for the next step.
 */
int xw_age_linux_sync(struct xw_age_linux *l);
/*
 * Continue the writeback of an interrupted run: mark the file as dirty if its last blocks are
 * unallocated.
 */
int xw_age_linux_recall(struct xw_age_linux *l, xw_ino ino);

/* Blocks allocated to a file, which has no holes. */
static inline uint64_t xw_age_allocated(const struct xw_update_map *m)
{
	const struct xw_extent *last = m->e.n ? &m->e.v[m->e.n - 1] : NULL;

	return last ? last->lblk + (uint64_t)last->len : 0;
}

#endif
