/* SPDX-License-Identifier: MIT */
/*
 * What the walk finds, a window at a time: put in the order that the disk likes, and read ahead.
 * Memory is bounded by the window, whatever the image.
 *
 * In XW_ORDER_DISK the files of a window come by the first block of their data. What has no data
 * stays where the walk had it relative to its neighbours, and a directory comes before what is in
 * it: a window whose data ascend already, as those of an image that was filled in one go, keeps the
 * walk's order.
 */
#ifndef XW_EXPORT_QUEUE_H
#define XW_EXPORT_QUEUE_H

#include "export/walk.h"

struct xw_queue;

/* Takes over w, also when it fails. */
int xw_queue_new(struct xw_image *img, enum xw_export_order order, struct xw_walk *w,
		 struct xw_queue **out);
/* As xw_walk_next(). */
int xw_queue_next(struct xw_queue *q, struct xw_walk_item *e);
/* q may be NULL. */
void xw_queue_free(struct xw_queue *q);

#endif
