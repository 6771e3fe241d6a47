/* SPDX-License-Identifier: MIT */
/*
 * The write batcher, through which all bulk writes to an image go. Writes that continue where the
 * last one ended are merged into buffers of `unit` bytes, and a writer thread writes full buffers
 * to the device while the caller fills the next ones. A jump closes the buffer early. With jobs = 1
 * there is no thread and the bytes written are the same.
 *
 * The order on the device is the order of the calls. The first device error is sticky: every later
 * call returns it.
 */
#ifndef XW_DEV_BATCH_H
#define XW_DEV_BATCH_H

#include "dev/dev.h"

/* Size of a device write in bytes; measured, see batch.c. */
#define XW_BATCH_UNIT ((size_t)32 << 10)

struct xw_batch;

struct xw_batch_stats {
	uint64_t bytes; /* bytes written */
	uint64_t writes; /* device writes */
	uint64_t sequential; /* writes that started where the last one ended */
	uint64_t backward; /* writes that started before the end of the last one */
};

/* unit: size of a device write in bytes, 0 = XW_BATCH_UNIT. threaded: use a writer thread. */
int xw_batch_new(struct xw_dev *dev, size_t unit, bool threaded, struct xw_diag *diag,
		 struct xw_batch **out);
/* Copies buf. */
int xw_batch_write(struct xw_batch *b, uint64_t off, const void *buf, size_t len);
/* Write zeros literally, so that a short gap does not break the sequence. */
int xw_batch_zeros(struct xw_batch *b, uint64_t off, uint64_t len);
/*
 * Reserve a buffer of `len` bytes (at most `unit`) for offset off, to encode into without a copy.
 * *buf is zeroed and valid until the next call on b, which writes its contents.
 */
int xw_batch_reserve(struct xw_batch *b, uint64_t off, size_t len, void **buf);
/* When this returns, all data has been written to the device (but not flushed). */
int xw_batch_drain(struct xw_batch *b);
void xw_batch_stats(const struct xw_batch *b, struct xw_batch_stats *out);
/* Does not drain: data that was not drained may be lost. b may be NULL. */
void xw_batch_free(struct xw_batch *b);

#endif
