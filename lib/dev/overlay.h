/* SPDX-License-Identifier: MIT */
/*
 * The overlay: a device over a base device. Writes stay in memory, reads see them, and the base is
 * unchanged until the dirty blocks are committed to it (room commit).
 *
 * Shadow writes. Blocks that are free in the state on the base need no commit: nothing refers to
 * their new contents until the metadata that does is committed. With a callback that knows which
 * blocks were free, writes to such blocks go straight to the base, and only overwritten live blocks
 * are held in memory.
 *
 * Memory: block size + 16 bytes (about 24 with the table's slack) for each dirty block; a zeroed
 * block needs no page. It is bounded by the shadow callback: bulk data goes to free space and is
 * never held. Nothing is spilled to disk.
 *
 * Like other devices, an overlay accepts reads and writes from several threads. The calls of this
 * header other than xw_overlay_block_size() must come from one thread while no other thread writes.
 */
#ifndef XW_DEV_OVERLAY_H
#define XW_DEV_OVERLAY_H

#include "dev/dev.h"

/*
 * block_size: the unit of dirty blocks, a power of two from 512 to 64k; use the filesystem's, so
 * that dirty blocks are its blocks. Owns `base` once it succeeds, and closes it.
 */
int xw_overlay_open(struct xw_dev *base, uint32_t block_size, struct xw_diag *diag,
		    struct xw_dev **out);
/* Close the overlay and drop its dirty blocks; the caller owns the base again. */
struct xw_dev *xw_overlay_detach(struct xw_dev *overlay);

struct xw_dev *xw_overlay_base(const struct xw_dev *overlay);
uint32_t xw_overlay_block_size(const struct xw_dev *overlay);

/*
 * Sets *is_free to whether block blk was free in the state on the base, and returns how many blocks
 * from blk on (1 .. n) are alike. Called with the overlay locked: must not use the overlay. Answers
 * must not change while the overlay is in use.
 */
typedef uint64_t xw_overlay_free_fn(void *arg, uint64_t blk, uint64_t n, bool *is_free);
/*
 * Enable shadow writes: writes and zeros to free, clean blocks go to the base. NULL disables them.
 * Blocks past the end of the base count as free when the callback says so: the base grows.
 */
void xw_overlay_set_shadow(struct xw_dev *overlay, xw_overlay_free_fn *fn, void *arg);

/*
 * Set a function that is called periodically before a read or write, which fails with its result
 * unless that is 0. NULL removes it.
 */
void xw_overlay_set_tick(struct xw_dev *overlay, int (*fn)(void *arg), void *arg);

/*
 * Set a function that the reading thread calls for each read of at most one block, at byte off,
 * that fails with XW_ERR_IO on the base. NULL removes it.
 */
void xw_overlay_set_unreadable(struct xw_dev *overlay, void (*fn)(void *arg, uint64_t off),
			       void *arg);

/*
 * Sets *through to whether a write to block blk would go to the base, and returns how many blocks
 * from blk on (1 .. n) are alike.
 */
uint64_t xw_overlay_write_target(const struct xw_dev *overlay, uint64_t blk, uint64_t n,
				 bool *through);

/* Numbers of the dirty blocks, ascending; the caller frees *blocks (NULL when there are none). */
int xw_overlay_dirty(const struct xw_dev *overlay, uint64_t **blocks, size_t *n);
/* Is blk dirty? Then *data is its contents (valid until the next change), NULL for zeros. */
bool xw_overlay_block(const struct xw_dev *overlay, uint64_t blk, const void **data);
/* Drop all dirty blocks: the overlay shows the base again, including its size. */
void xw_overlay_discard(struct xw_dev *overlay);

struct xw_overlay_stats {
	uint64_t dirty; /* number of dirty blocks */
	uint64_t memory; /* bytes allocated for them */
	uint64_t shadow; /* bytes written straight to the base */
};
void xw_overlay_stats(const struct xw_dev *overlay, struct xw_overlay_stats *out);

#endif
