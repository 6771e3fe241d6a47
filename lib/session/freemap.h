/* SPDX-License-Identifier: MIT */
/*
 * The free blocks of the current state of an image: where new contents may be written before the
 * commit. From its bitmaps, each verified on first use; all blocks of an invalid one count as in
 * use. Blocks of inode tables after the last inode that was ever used count as free where the table
 * was never zeroed either, since their contents are undefined.
 *
 * For tools that trust the image. A checker uses its own claims.
 */
#ifndef XW_SESSION_FREEMAP_H
#define XW_SESSION_FREEMAP_H

#include "dev/dev.h"
#include "read/bitmaps.h"

struct xw_freemap;

/*
 * For the image on base, which must outlive the map and keep its state. For an image that cannot be
 * opened no block is free. XW_ERR_NOMEM.
 */
int xw_freemap_new(struct xw_dev *base, struct xw_diag *diag, struct xw_freemap **out);
void xw_freemap_free(struct xw_freemap *m); /* m may be NULL */
/* An xw_overlay_free_fn; arg is the map. */
uint64_t xw_freemap_ask(void *arg, uint64_t blk, uint64_t n, bool *is_free);
/*
 * The image as the map sees it and the places of its metadata, both owned by the map. NULL, and
 * *sys is not set: it cannot be opened.
 */
struct xw_image *xw_freemap_image(const struct xw_freemap *m, const struct xw_sysmap **sys);

#endif
