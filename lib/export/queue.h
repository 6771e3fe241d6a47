/* SPDX-License-Identifier: MIT */
/*
 * The items of the walk, a window at a time: sorted in disk order, and read ahead. Memory is
 * bounded by the window for any image.
 *
 * In XW_ORDER_TREE entries of one directory are sorted by their data: see order.h.
 *
 * In XW_ORDER_DISK the files of a window are sorted by their first data block. Items without data
 * keep their position relative to their neighbors in the walk, and a directory precedes its
 * contents: a window whose data is ascending already, as in an image that was filled in one run,
 * keeps the order of the walk.
 */
#ifndef XW_EXPORT_QUEUE_H
#define XW_EXPORT_QUEUE_H

#include "export/walk.h"

struct xw_queue;

/* Takes ownership of w, even on failure. */
int xw_queue_new(struct xw_image *img, enum xw_export_order order, struct xw_walk *w,
		 struct xw_queue **out);
/* As xw_walk_next(). */
int xw_queue_next(struct xw_queue *q, struct xw_walk_item *e);
/* q may be NULL. */
void xw_queue_free(struct xw_queue *q);

#endif
