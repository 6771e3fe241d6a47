/* SPDX-License-Identifier: MIT */
/*
 * The one way bytes of a build reach the batcher. Keeps the writes sequential: a short gap in front
 * of ground that nothing was written to yet is filled with zeros instead of being jumped over.
 */
#ifndef XW_PLACE_OUT_H
#define XW_PLACE_OUT_H

#include "dev/batch.h"

struct xw_out {
	struct xw_batch *batch;
	uint64_t end; /* where the last write ended */
	uint64_t high; /* nothing at or above was written */
	uint64_t max_gap; /* bytes of gap worth filling */
};

int xw_out_write(struct xw_out *o, uint64_t off, const void *buf, size_t len);
int xw_out_zeros(struct xw_out *o, uint64_t off, uint64_t len);
/* As xw_batch_reserve: a zeroed place of len bytes to encode into, valid until the next call. */
int xw_out_reserve(struct xw_out *o, uint64_t off, size_t len, void **buf);

#endif
