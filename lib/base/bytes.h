/* SPDX-License-Identifier: MIT */
/* Byte buffers: tests for zeros, and little-endian bitmaps as on disk. */
#ifndef XW_BASE_BYTES_H
#define XW_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline bool xw_all_zero(const void *buf, size_t len)
{
	const uint8_t *p = buf;

	return !len || (!p[0] && !memcmp(p, p + 1, len - 1));
}

/* How many of the first len bytes are the same in both, from their start. */
static inline size_t xw_same_start(const void *a, const void *b, size_t len)
{
	const uint8_t *x = a, *y = b;
	size_t n = 0;

	/* paths share all but their last bytes: large pieces first */
	while (len - n >= 256 && !memcmp(x + n, y + n, 256))
		n += 256;
	while (n < len && x[n] == y[n])
		n++;
	return n;
}

/* Set bits [from, to). */
static inline void xw_set_bits(uint8_t *bits, uint64_t from, uint64_t to)
{
	for (; from < to && from % 8; from++)
		bits[from / 8] |= (uint8_t)(1u << from % 8);
	if (from + 8 <= to) {
		memset(bits + from / 8, 0xFF, (to - from) / 8);
		from += (to - from) / 8 * 8;
	}
	for (; from < to; from++)
		bits[from / 8] |= (uint8_t)(1u << from % 8);
}

#endif
