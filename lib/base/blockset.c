// SPDX-License-Identifier: MIT
/* Sets of runs; see the header. For now plain bits, allocated chunk by chunk. */
#include "config.h"

#include <stdlib.h>

#include "base/blockset.h"

enum { CHUNK = 32768 };

struct xw_blockset {
	uint64_t limit, chunks;
	uint8_t **bits;
};

int xw_blockset_new(uint64_t limit, struct xw_blockset **out)
{
	struct xw_blockset *s = calloc(1, sizeof(*s));

	*out = NULL;
	if (!s)
		return XW_ERR_NOMEM;
	s->limit = limit;
	s->chunks = limit / CHUNK + 1;
	s->bits = calloc(s->chunks, sizeof(*s->bits));
	if (!s->bits) {
		free(s);
		return XW_ERR_NOMEM;
	}
	*out = s;
	return 0;
}

void xw_blockset_free(struct xw_blockset *s)
{
	if (!s)
		return;
	for (uint64_t i = 0; i < s->chunks; i++)
		free(s->bits[i]);
	free(s->bits);
	free(s);
}

bool xw_blockset_has(const struct xw_blockset *s, uint64_t n)
{
	const uint8_t *c = n < s->limit ? s->bits[n / CHUNK] : NULL;

	return c && c[n % CHUNK / 8] & 1 << n % 8;
}

int xw_blockset_add(struct xw_blockset *s, uint64_t start, uint64_t len, uint64_t *had)
{
	uint64_t there = 0;

	for (uint64_t n = start; n < start + len; n++) {
		uint8_t **c = &s->bits[n / CHUNK];

		if (!*c && !(*c = calloc(1, CHUNK / 8)))
			return XW_ERR_NOMEM;
		there += (*c)[n % CHUNK / 8] >> n % 8 & 1;
		(*c)[n % CHUNK / 8] |= (uint8_t)(1 << n % 8);
	}
	if (had)
		*had = there;
	return 0;
}

int xw_blockset_remove(struct xw_blockset *s, uint64_t start, uint64_t len)
{
	for (uint64_t n = start; n < start + len; n++) {
		uint8_t *c = s->bits[n / CHUNK];

		if (c)
			c[n % CHUNK / 8] &= (uint8_t) ~(1 << n % 8);
	}
	return 0;
}

uint64_t xw_blockset_count(const struct xw_blockset *s, uint64_t start, uint64_t len)
{
	uint64_t count = 0;

	for (uint64_t n = start; n < start + len; n++)
		count += xw_blockset_has(s, n);
	return count;
}

void xw_blockset_bits(const struct xw_blockset *s, uint64_t start, uint64_t n, uint8_t *bits)
{
	for (uint64_t i = 0; i < (n + 7) / 8; i++)
		bits[i] = 0;
	for (uint64_t i = 0; i < n; i++)
		if (xw_blockset_has(s, start + i))
			bits[i / 8] |= (uint8_t)(1 << i % 8);
}

int xw_blockset_add_bits(struct xw_blockset *s, uint64_t start, uint64_t n, const uint8_t *bits)
{
	for (uint64_t i = 0; i < n; i++)
		if (bits[i / 8] >> i % 8 & 1) {
			const int rc = xw_blockset_add(s, start + i, 1, NULL);

			if (rc)
				return rc;
		}
	return 0;
}

bool xw_blockset_next(const struct xw_blockset *s, uint64_t from, uint64_t *start, uint64_t *len)
{
	uint64_t n = from;

	while (n < s->limit && !xw_blockset_has(s, n))
		n += !s->bits[n / CHUNK] ? CHUNK - n % CHUNK : 1;
	if (n >= s->limit)
		return false;
	*start = n;
	while (xw_blockset_has(s, n))
		n++;
	*len = n - *start;
	return true;
}
