/* SPDX-License-Identifier: MIT */
/*
 * The free blocks of the current state of an image: new contents may be written there before the
 * commit. They are read from the bitmaps, each verified on first use; all blocks of an invalid
 * bitmap are reported as in use. Blocks of inode tables after the last inode that was ever used are
 * reported as free if the table was never zeroed either, since their contents are undefined.
 *
 * For tools that trust the image. A checker uses its own claims.
 */
#ifndef XW_SESSION_FREEMAP_H
#define XW_SESSION_FREEMAP_H

#include "dev/dev.h"
#include "read/bitmaps.h"

struct xw_freemap;

/*
 * Create the map of the image on base, which must outlive the map and keep its state. In an image
 * that cannot be opened no block is free. XW_ERR_NOMEM.
 */
int xw_freemap_new(struct xw_dev *base, struct xw_diag *diag, struct xw_freemap **out);
void xw_freemap_free(struct xw_freemap *m); /* m may be NULL */
/* An xw_overlay_free_fn; arg is the map. */
uint64_t xw_freemap_query(void *arg, uint64_t blk, uint64_t n, bool *is_free);
/*
 * The map's image and the locations of its metadata, both owned by the map. NULL, and *sys is not
 * set: the image cannot be opened.
 */
struct xw_image *xw_freemap_image(const struct xw_freemap *m, const struct xw_sysmap **sys);

#endif
