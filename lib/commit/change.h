/* SPDX-License-Identifier: MIT */
/*
 * A change: the live blocks of an image that an overlay holds and that differ from the image, in
 * ascending order. The superblock's block is always among them; its superblock is set when the
 * block is written, since the superblock goes through several states.
 */
#ifndef XW_COMMIT_CHANGE_H
#define XW_COMMIT_CHANGE_H

#include "base/vec.h"
#include "dev/overlay.h"
#include "disk/redo.h"
#include "disk/super.h"
#include "journal/txn.h"

struct xw_change {
	struct xw_dev *overlay, *base; /* borrowed */
	struct xw_diag *diag;
	struct xw_guard *guard; /* borrowed; NULL: no check for changes by others */
	bool foreign; /* another process did change it: do not touch the image */
	bool half; /* written in part; the message tells which tool completes it */
	bool done; /* the base has the new state completely */
	uint32_t block_size;
	uint64_t super_blk;
	uint64_t old_size, new_size; /* sizes of the device in bytes */
	uint64_t *blocks; /* n block numbers */
	uint64_t *hashes; /* hash of each XW_CHANGE_SECTOR of their contents on the base */
	size_t n;
	bool empty; /* no difference, including superblock and size */
	XW_VEC(struct xw_run) reserved; /* blocks of holes that xw_change_reserve() has allocated */
	uint8_t old_super[XW_SUPER_SIZE], new_super[XW_SUPER_SIZE];
	/* the superblock's block as in the overlay, except for the superblock itself */
	uint8_t *super_page;
};

/*
 * Compare an overlay (block size at least 1024) with its base. Blocks equal to those of the base
 * are skipped. If the superblock of the base cannot be read, its block counts as zeros.
 */
int xw_change_collect(struct xw_dev *overlay, struct xw_diag *diag, struct xw_change *out);
void xw_change_free(struct xw_change *c);

/* Read bytes of the old state, zeros past its end; invalid once apply has started. */
int xw_change_before(const struct xw_change *c, uint64_t off, size_t len, void *buf);
/*
 * Copy `super` to its place in super_page: the contents that get and apply return for super_blk
 * from now on.
 */
void xw_change_set_super(struct xw_change *c, const uint8_t super[XW_SUPER_SIZE]);
/*
 * Allocate space on the host for those blocks of the change that are holes in the image file. The
 * contents of the image do not change.
 */
int xw_change_reserve(struct xw_change *c);
/*
 * Best effort: punch the space that xw_change_reserve() allocated, in an image with its old
 * contents.
 */
void xw_change_unreserve(struct xw_change *c);
/* The blocks as the source of a transaction; valid as long as c. */
struct xw_block_source xw_change_source(struct xw_change *c);
/*
 * Write all blocks to the base (extending it first if necessary), merging adjacent ones. Does not
 * flush.
 */
int xw_change_apply(struct xw_change *c);

/* The unit that media write atomically. */
#define XW_CHANGE_SECTOR XW_REDO_SECTOR
uint64_t xw_change_hash(const uint8_t sector[XW_CHANGE_SECTOR]);

#endif
