/* SPDX-License-Identifier: MIT */
/*
 * A device that records where writes go, in the order in which they reach it. Blocks of `early` are
 * dropped when they are written again with the contents that the medium has.
 */
#ifndef XW_BENCH_RECORDER_H
#define XW_BENCH_RECORDER_H

#include "base/vec.h"
#include "counted.h"

#define RECORDER_BLOCK 4096u

struct recorded {
	uint64_t off, len;
};

struct recorder {
	struct xw_dev dev;
	struct xw_dev *under;
	XW_VEC(struct recorded) writes;
	uint8_t *early; /* bitmap of blocks, or NULL */
	uint64_t blocks; /* that it covers */
};

static inline bool recorder_bit(const uint8_t *map, uint64_t blk)
{
	return map[blk / 8] >> blk % 8 & 1;
}

static inline void recorder_set(uint8_t *map, uint64_t blk)
{
	map[blk / 8] |= (uint8_t)(1u << blk % 8);
}

static inline int recorder_write(struct recorder *r, const void *buf, size_t len, uint64_t off)
{
	const struct iovec v = {.iov_base = (void *)(uintptr_t)buf, .iov_len = len};
	const struct recorded w = {off, len};
	int rc;

	if (!len)
		return 0;
	MUST(!xw_vec_push(&r->writes, w));
	rc = xw_dev_pwritev(r->under, &v, 1, off);
	r->dev.size = r->under->size;
	return rc;
}

static inline bool recorder_same(struct recorder *r, const uint8_t *block, uint64_t off)
{
	uint8_t old[RECORDER_BLOCK];

	return off / RECORDER_BLOCK < r->blocks && recorder_bit(r->early, off / RECORDER_BLOCK) &&
	       off + RECORDER_BLOCK <= r->under->size &&
	       !xw_dev_pread(r->under, old, sizeof(old), off) && !memcmp(old, block, sizeof(old));
}

/* One piece without the blocks that need no second write. */
static inline int recorder_piece(struct recorder *r, const uint8_t *buf, size_t len, uint64_t off)
{
	size_t from = 0;
	int rc = 0;

	if (!r->early || off % RECORDER_BLOCK || len % RECORDER_BLOCK)
		return recorder_write(r, buf, len, off);
	for (size_t at = 0; at < len && !rc; at += RECORDER_BLOCK) {
		if (!recorder_same(r, buf + at, off + at))
			continue;
		rc = recorder_write(r, buf + from, at - from, off + from);
		from = at + RECORDER_BLOCK;
	}
	return rc ? rc : recorder_write(r, buf + from, len - from, off + from);
}

static inline int recorder_pwritev(struct xw_dev *d, const struct iovec *iov, int n, uint64_t off)
{
	struct recorder *r = (struct recorder *)d;
	int rc = 0;

	for (int i = 0; i < n && !rc; i++) {
		rc = recorder_piece(r, iov[i].iov_base, iov[i].iov_len, off);
		off += iov[i].iov_len;
	}
	return rc;
}

static inline int recorder_pread(struct xw_dev *d, void *buf, size_t len, uint64_t off)
{
	return xw_dev_pread(((struct recorder *)d)->under, buf, len, off);
}

static inline int recorder_zero(struct xw_dev *d, uint64_t off, uint64_t len)
{
	struct recorder *r = (struct recorder *)d;
	const int rc = xw_dev_zero(r->under, off, len);

	d->size = r->under->size;
	return rc;
}

static inline int recorder_set_size(struct xw_dev *d, uint64_t size)
{
	struct recorder *r = (struct recorder *)d;
	const int rc = xw_dev_set_size(r->under, size);

	d->size = r->under->size;
	return rc;
}

static inline int recorder_flush(struct xw_dev *d)
{
	return xw_dev_flush(((struct recorder *)d)->under);
}

static inline void recorder_writeback(struct xw_dev *d, uint64_t off, uint64_t len)
{
	xw_dev_writeback(((struct recorder *)d)->under, off, len);
}

/* The record stays. */
static inline void recorder_close(struct xw_dev *d)
{
	xw_dev_close(((struct recorder *)d)->under);
}

static inline void recorder_init(struct recorder *r, struct xw_dev *under)
{
	static const struct xw_dev_ops ops = {
		.pread = recorder_pread,
		.pwritev = recorder_pwritev,
		.zero = recorder_zero,
		.flush = recorder_flush,
		.set_size = recorder_set_size,
		.close = recorder_close,
		.writeback = recorder_writeback,
	};

	r->dev = *under;
	r->dev.ops = &ops;
	r->under = under;
}

#endif
