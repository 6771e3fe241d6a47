/* SPDX-License-Identifier: MIT */
/*
 * All writes of a build to the batcher. Keeps them sequential: a short gap before unwritten space
 * is filled with zeros instead of being skipped.
 */
#ifndef XW_PLACE_OUT_H
#define XW_PLACE_OUT_H

#include "dev/batch.h"

struct xw_out {
	struct xw_batch *batch;
	uint64_t end; /* end offset of the last write */
	uint64_t high; /* nothing at or above this offset was written */
	uint64_t max_gap; /* largest gap to fill, in bytes */
};

int xw_out_write(struct xw_out *o, uint64_t off, const void *buf, size_t len);
int xw_out_zeros(struct xw_out *o, uint64_t off, uint64_t len);
/* Like xw_batch_reserve(): a zeroed area of len bytes to encode into, valid until the next call. */
int xw_out_reserve(struct xw_out *o, uint64_t off, size_t len, void **buf);

#endif
