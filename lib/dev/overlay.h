/* SPDX-License-Identifier: MIT */
/*
 * The overlay: a device over a base device. Writes stay in memory, reads see them, and the base is
 * unchanged until the dirty blocks are committed to it (room commit).
 *
 * Shadow writes. New contents of space that is free in the state on the base need no commit:
 * nothing refers to it until the metadata that does is committed. With a callback that knows which
 * blocks were free, writes to such blocks go straight to the base, and only overwritten live blocks
 * are held in memory.
 *
 * Memory: block size + 16 bytes (about 24 with the table's slack) for each dirty block; a zeroed
 * block needs no page. It is bounded by the shadow callback: bulk data goes to free space and is
 * never held. Nothing is spilled to disk.
 *
 * Like other devices, an overlay accepts reads and writes from several threads; the calls of this
 * header other than xw_overlay_block_size() belong to one thread, while no other one writes.
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
 * Were the blocks from blk on free in the state that the base holds? Sets *is_free and returns for
 * how many of the n blocks (1 .. n) that holds. Called with the overlay locked: must not use the
 * overlay. Answers must not change while the overlay is in use.
 */
typedef uint64_t xw_overlay_free_fn(void *arg, uint64_t blk, uint64_t n, bool *is_free);
/*
 * From here on writes and zeros to free blocks that are not yet dirty go to the base. NULL ends it.
 * Blocks past the end of the base count as free when the callback says so: the base grows.
 */
void xw_overlay_set_shadow(struct xw_dev *overlay, xw_overlay_free_fn *fn, void *arg);

/*
 * Called periodically by a reading or writing thread, before it reads or writes: a non-zero result
 * makes that call fail with it. NULL ends it.
 */
void xw_overlay_set_tick(struct xw_dev *overlay, int (*fn)(void *arg), void *arg);

/*
 * Called by the reading thread for each read of at most one block that fails with XW_ERR_IO on the
 * base; off: its start, in bytes. NULL ends it.
 */
void xw_overlay_set_unreadable(struct xw_dev *overlay, void (*fn)(void *arg, uint64_t off),
			       void *arg);

/*
 * Would a write to the blocks from blk on go to the base or into memory? Sets *through and returns
 * for how many of the n blocks (1 .. n) that holds.
 */
uint64_t xw_overlay_ask(const struct xw_dev *overlay, uint64_t blk, uint64_t n, bool *through);

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
