/* SPDX-License-Identifier: MIT */
/*
 * A change: the live blocks of an image that an overlay holds and that differ from the image, in
 * ascending order. The block with the superblock is always among them; what stands in its place
 * there is chosen when it is written, since the superblock goes through several states.
 */
#ifndef XW_COMMIT_CHANGE_H
#define XW_COMMIT_CHANGE_H

#include "base/vec.h"
#include "dev/overlay.h"
#include "disk/super.h"
#include "journal/txn.h"

#pragma GCC visibility push(default)

struct xw_change {
	struct xw_dev *overlay, *base; /* borrowed */
	struct xw_diag *diag;
	struct xw_guard *guard; /* borrowed; NULL: nobody asks whether others changed the image */
	bool foreign; /* somebody did: leave it alone */
	bool half; /* it was written in part, and a line of the log says who finishes that */
	bool done; /* the base has the new state, and nothing is left to do there */
	uint32_t block_size;
	uint64_t super_blk;
	uint64_t old_size, new_size; /* bytes of the device */
	uint64_t *blocks; /* n of them */
	uint64_t *hashes; /* of each XW_CHANGE_SECTOR of their contents on the base */
	size_t n;
	bool empty; /* nothing differs, superblock and size included */
	XW_VEC(struct xw_run) reserved; /* blocks of holes that xw_change_reserve() has filled */
	uint8_t old_super[XW_SUPER_SIZE], new_super[XW_SUPER_SIZE];
	/* the superblock's block: as the overlay has it, but for the superblock itself */
	uint8_t *super_page;
};

/*
 * Compare an overlay (block size at least 1024) with its base. Blocks that hold what the base has
 * are left out. A base whose superblock cannot be read counts as having zeros there.
 */
int xw_change_collect(struct xw_dev *overlay, struct xw_diag *diag, struct xw_change *out);
void xw_change_free(struct xw_change *c);

/* Bytes of the old state, zeros behind its end; of no use once apply has begun. */
int xw_change_before(const struct xw_change *c, uint64_t off, size_t len, void *buf);
/* Put `super` into its place in super_page: what get and apply give for super_blk from now on. */
void xw_change_set_super(struct xw_change *c, const uint8_t super[XW_SUPER_SIZE]);
/*
 * Make sure that the host has room for the blocks, some of which may be holes of the image's file.
 * The image stays what it is.
 */
int xw_change_reserve(struct xw_change *c);
/* Best effort: holes again where that allocated room, in an image with its old contents. */
void xw_change_unreserve(struct xw_change *c);
/* The blocks, for a transaction. Lives as long as c. */
struct xw_block_source xw_change_source(struct xw_change *c);
/* Write all blocks to the base (grown first where need be), neighbours together. Not flushed. */
int xw_change_apply(struct xw_change *c);

/* Of a sector: what media write in one piece. */
#define XW_CHANGE_SECTOR 512u
uint64_t xw_change_hash(const uint8_t sector[XW_CHANGE_SECTOR]);

#pragma GCC visibility pop

#endif
