/* SPDX-License-Identifier: MIT */
/* Buffers the tar stream for the caller's write function. */
#ifndef XW_EXPORT_OUTPUT_H
#define XW_EXPORT_OUTPUT_H

#include "base/err.h"
#include "base/types.h"

/* Consumes all len bytes: 0, or a negative code that ends the run and is returned by it. */
typedef int xw_output_fn(void *arg, const void *buf, size_t len);

struct xw_output {
	xw_output_fn *write;
	void *arg;
	uint8_t *buf;
	size_t len; /* bytes in buf */
	uint64_t total; /* bytes written so far */
	int failed; /* sticky */
};

int xw_output_init(struct xw_output *o, xw_output_fn *write, void *arg);
void xw_output_free(struct xw_output *o);

int xw_output_put(struct xw_output *o, const void *p, size_t len);
int xw_output_zeros(struct xw_output *o, uint64_t len);
/* Write zeros up to the next multiple of `unit`, a power of two. */
int xw_output_pad(struct xw_output *o, uint64_t unit);
/* Get 1 to `want` bytes of the buffer to be filled in place; xw_output_made() then adds them. */
int xw_output_room(struct xw_output *o, size_t want, void **p, size_t *room);
void xw_output_made(struct xw_output *o, size_t len);
int xw_output_flush(struct xw_output *o);

#endif
