/* SPDX-License-Identifier: MIT */
/*
 * Reads a window of items from the walk, sorts them and reads their data ahead. The size of the
 * window bounds the memory used for any image.
 *
 * With XW_ORDER_TREE the entries of each directory are sorted by the place of their data: see
 * order.h.
 *
 * With XW_ORDER_DISK the files of a window are sorted by their first data block. Items without data
 * keep their position relative to their neighbors in the walk, and a directory precedes its
 * contents. If the data of a window is already in ascending order, as in an image that was filled
 * in one run, the order of the walk is kept.
 */
#ifndef XW_EXPORT_QUEUE_H
#define XW_EXPORT_QUEUE_H

#include "export/walk.h"

struct xw_queue;

/* Takes ownership of w, even on failure. */
int xw_queue_new(struct xw_image *img, enum xw_export_order order, struct xw_walk *w,
		 struct xw_queue **out);
/* Get the next item: *e and the result are as for xw_walk_next(). */
int xw_queue_next(struct xw_queue *q, struct xw_walk_item *e);
/* q may be NULL. */
void xw_queue_free(struct xw_queue *q);

#endif
