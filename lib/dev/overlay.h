/* SPDX-License-Identifier: MIT */
/*
 * The overlay: a device over a base device. Writes stay in memory, reads see them, and the base is
 * what it was until somebody (commit/) carries the dirty blocks over.
 *
 * Shadow writes. New contents of space that is free in the state on the base need no commit: nobody
 * looks there until the metadata that names it is committed. With a callback that knows what was
 * free, writes to such blocks go straight to the base, and only overwritten live blocks are held.
 *
 * Memory: block size + 16 bytes (about 24 with the table's slack) a dirty block; a zeroed block
 * needs no page. What bounds it is the shadow callback: bulk data goes to free space and is never
 * held. Nothing spills to disk.
 *
 * As other devices, an overlay takes reads and writes from several threads; the calls of this
 * header other than xw_overlay_block_size() belong to one thread, while no other writes.
 */
#ifndef XW_DEV_OVERLAY_H
#define XW_DEV_OVERLAY_H

#include "dev/dev.h"

#pragma GCC visibility push(default)

/*
 * block_size: the unit kept, a power of two from 512 to 64k; use the filesystem's, so that dirty
 * blocks are its blocks. Owns `base` once it succeeds, and closes it.
 */
int xw_overlay_open(struct xw_dev *base, uint32_t block_size, struct xw_diag *diag,
		    struct xw_dev **out);
/* Close the overlay, dropping what it holds; the base is the caller's again. */
struct xw_dev *xw_overlay_detach(struct xw_dev *overlay);

struct xw_dev *xw_overlay_base(const struct xw_dev *overlay);
uint32_t xw_overlay_block_size(const struct xw_dev *overlay);

/*
 * Were the blocks from blk on free in the state that the base holds? Sets *is_free and returns for
 * how many of the n blocks (1 .. n) that answer holds. Called with the overlay locked: it must not
 * use the overlay. Answers must not change while the overlay is in use.
 */
typedef uint64_t xw_overlay_free_fn(void *arg, uint64_t blk, uint64_t n, bool *is_free);
/*
 * From here on writes and zeros to free blocks that are not yet dirty go to the base. NULL ends it.
 * Blocks beyond the base's end count as free when the callback says so: the base grows.
 */
void xw_overlay_set_shadow(struct xw_dev *overlay, xw_overlay_free_fn *fn, void *arg);

/*
 * Called now and then, before something is read or written, by the thread that does so: non-zero is
 * what the call then fails with. NULL ends it.
 */
void xw_overlay_set_tick(struct xw_dev *overlay, int (*fn)(void *arg), void *arg);

/*
 * Called, by whichever thread reads, for each read of at most one block that the base answers with
 * XW_ERR_IO; off: where it begins, in bytes. NULL ends it.
 */
void xw_overlay_set_unreadable(struct xw_dev *overlay, void (*fn)(void *arg, uint64_t off),
			       void *arg);

/*
 * Where would a write to the blocks from blk on go, to the base or into memory? Sets *through and
 * returns for how many of the n blocks (1 .. n) that answer holds.
 */
uint64_t xw_overlay_ask(const struct xw_dev *overlay, uint64_t blk, uint64_t n, bool *through);

/* Numbers of the dirty blocks, ascending; the caller frees *blocks (NULL when there are none). */
int xw_overlay_dirty(const struct xw_dev *overlay, uint64_t **blocks, size_t *n);
/*
 * Whether blk is dirty; then *data is its contents (valid until the next change), NULL for zeros.
 */
bool xw_overlay_block(const struct xw_dev *overlay, uint64_t blk, const void **data);
/* Drop everything held: the overlay shows the base again, size included. */
void xw_overlay_discard(struct xw_dev *overlay);

struct xw_overlay_stats {
	uint64_t dirty; /* blocks held */
	uint64_t memory; /* bytes allocated for them */
	uint64_t shadow; /* bytes written straight to the base */
};
void xw_overlay_stats(const struct xw_dev *overlay, struct xw_overlay_stats *out);

#pragma GCC visibility pop

#endif
