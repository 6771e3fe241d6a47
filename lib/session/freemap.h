/* SPDX-License-Identifier: MIT */
/*
 * What was free in the state that an image has now: where new contents may go before the commit.
 * From its bitmaps, each checked when it is first asked for; one that fails is all in use. Blocks
 * of inode tables behind the last inode that was ever used count as free where the table was never
 * zeroed either, since what lies there may be anything.
 *
 * For tools that trust the image. A checker has its own claims.
 */
#ifndef XW_SESSION_FREEMAP_H
#define XW_SESSION_FREEMAP_H

#include "dev/dev.h"

#pragma GCC visibility push(default)

struct xw_freemap;

/*
 * For the image on base, which must outlive it and keep its state. An image that cannot be opened
 * gives a map in which nothing is free. XW_ERR_NOMEM.
 */
int xw_freemap_new(struct xw_dev *base, struct xw_diag *diag, struct xw_freemap **out);
void xw_freemap_free(struct xw_freemap *m); /* NULL is fine */
/* An xw_overlay_free_fn; arg is the map. */
uint64_t xw_freemap_ask(void *arg, uint64_t blk, uint64_t n, bool *is_free);

#pragma GCC visibility pop

#endif
