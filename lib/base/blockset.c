// SPDX-License-Identifier: MIT
/*
 * Sets of numbers as chunks of 32,768, each in the smallest form that can represent it:
 *
 *	empty	p NULL, n 0
 *	full	p NULL, n FULL
 *	runs	p an array of n runs: ascending, never adjacent
 *	bits	p a bitmap of 4 KiB, n BITS
 *
 * A list of runs that grows beyond RUNS_MAX is converted to bits; bits become full when the last
 * number is added, and never revert to runs. The blocks of healthy filesystems are claimed nearly
 * in order, so almost every call changes the last run of a chunk.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/blockset.h"
#include "base/bytes.h"
#include "base/search.h"
#include "base/types.h"

enum { CHUNK = 32768, WORDS = CHUNK / 64, RUNS_FIRST = 4, RUNS_MAX = 256 };

#define BITS 0xFFFEu
#define FULL 0xFFFFu

struct run {
	uint16_t first, last;
};

struct chunk {
	void *p;
	uint16_t n; /* number of runs, or BITS, FULL */
	uint16_t cap; /* runs: allocated entries of p; bits: number of bits set */
};

struct xw_blockset {
	uint64_t limit, chunks;
	struct chunk *chunk;
};

int xw_blockset_new(uint64_t limit, struct xw_blockset **out)
{
	struct xw_blockset *s = calloc(1, sizeof(*s));

	*out = NULL;
	if (!s)
		return XW_ERR_NOMEM;
	s->limit = limit;
	s->chunks = limit / CHUNK + 1;
	s->chunk = calloc(s->chunks, sizeof(*s->chunk));
	if (!s->chunk) {
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
		free(s->chunk[i].p);
	free(s->chunk);
	free(s);
}

/* ---- bits ---- */

/* The bits of word w that lie in first .. last. */
static uint64_t mask(uint32_t w, uint32_t first, uint32_t last)
{
	const uint32_t low = first > w * 64 ? first % 64 : 0;
	const uint32_t high = last < w * 64 + 63 ? last % 64 : 63;

	return ~UINT64_C(0) >> (63 - high + low) << low;
}

static uint32_t bits_count(const uint64_t *bits, uint32_t first, uint32_t last)
{
	uint32_t n = 0;

	for (uint32_t w = first / 64; w <= last / 64; w++)
		n += (uint32_t)__builtin_popcountll(bits[w] & mask(w, first, last));
	return n;
}

static void bits_assign(uint64_t *bits, uint32_t first, uint32_t last, bool on)
{
	for (uint32_t w = first / 64; w <= last / 64; w++) {
		const uint64_t m = mask(w, first, last);

		bits[w] = on ? bits[w] | m : bits[w] & ~m;
	}
}

/* Convert a chunk of any form to bits. */
static int to_bits(struct chunk *c)
{
	const struct run *r = c->p;
	uint64_t *bits = calloc(WORDS, sizeof(*bits));

	if (!bits)
		return XW_ERR_NOMEM;
	if (c->n == FULL)
		memset(bits, 0xFF, WORDS * sizeof(*bits));
	else
		for (uint32_t i = 0; i < c->n; i++)
			bits_assign(bits, r[i].first, r[i].last, true);
	free(c->p);
	*c = (struct chunk){.p = bits, .n = BITS, .cap = (uint16_t)bits_count(bits, 0, CHUNK - 1)};
	return 0;
}

/* ---- runs ---- */

/* The first run that ends at or after `at`. */
static uint32_t runs_find(const struct chunk *c, uint32_t at)
{
	const struct run *r = c->p;

	if (!c->n || r[c->n - 1].last < at)
		return c->n;
	return (uint32_t)XW_LOWER_BOUND(i, c->n, r[i].last >= at);
}

static uint32_t runs_count(const struct chunk *c, uint32_t first, uint32_t last)
{
	const struct run *r = c->p;
	uint32_t n = 0;

	for (uint32_t i = runs_find(c, first); i < c->n && r[i].first <= last; i++)
		n += XW_MIN(r[i].last, last) - XW_MAX(r[i].first, first) + 1;
	return n;
}

/*
 * Replace runs [at, at + gone) of the list by the `fresh` runs of v. The list may exceed RUNS_MAX.
 */
static int runs_splice(struct chunk *c, uint32_t at, uint32_t gone, const struct run *v,
		       uint32_t fresh)
{
	const uint32_t n = c->n - gone + fresh;
	struct run *r = c->p;

	if (n > c->cap) {
		const uint32_t cap = XW_MAX(XW_MAX(2u * c->cap, RUNS_FIRST), n);

		r = realloc(c->p, cap * sizeof(*r));
		if (!r)
			return XW_ERR_NOMEM;
		c->p = r;
		c->cap = (uint16_t)cap;
	}
	if (c->n > at + gone)
		memmove(r + at + fresh, r + at + gone, (c->n - at - gone) * sizeof(*r));
	if (fresh)
		memcpy(r + at, v, fresh * sizeof(*r));
	c->n = (uint16_t)n;
	return 0;
}

static int runs_add(struct chunk *c, uint32_t first, uint32_t last)
{
	const struct run *r = c->p;
	uint32_t at = runs_find(c, first ? first - 1 : 0), end = at;
	struct run joined = {(uint16_t)first, (uint16_t)last};

	for (; end < c->n && r[end].first <= last + 1; end++) {
		joined.first = XW_MIN(joined.first, r[end].first);
		joined.last = XW_MAX(joined.last, r[end].last);
	}
	return runs_splice(c, at, end - at, &joined, 1);
}

static int runs_remove(struct chunk *c, uint32_t first, uint32_t last)
{
	const struct run *r = c->p;
	uint32_t at = runs_find(c, first), end = at, n = 0;
	struct run left[2];

	for (; end < c->n && r[end].first <= last; end++) {
		const struct run was = r[end];

		if (was.first < first)
			left[n++] = (struct run){was.first, (uint16_t)(first - 1)};
		if (was.last > last)
			left[n++] = (struct run){(uint16_t)(last + 1), was.last};
	}
	return runs_splice(c, at, end - at, left, n);
}

/* ---- chunks ---- */

static uint32_t chunk_count(const struct chunk *c, uint32_t first, uint32_t last)
{
	if (c->n == FULL)
		return last - first + 1;
	return c->n == BITS ? bits_count(c->p, first, last) : runs_count(c, first, last);
}

static void make_full(struct chunk *c)
{
	free(c->p);
	*c = (struct chunk){.n = FULL};
}

static int chunk_add(struct chunk *c, uint32_t first, uint32_t last, uint32_t had)
{
	int rc = 0;

	if (had == last - first + 1)
		return 0;
	if (!first && last == CHUNK - 1) {
		make_full(c);
		return 0;
	}
	if (c->n >= RUNS_MAX && c->n != BITS)
		rc = to_bits(c);
	if (rc)
		return rc;
	if (c->n != BITS) {
		const struct run *r;

		rc = runs_add(c, first, last);
		r = c->p;
		if (!rc && c->n == 1 && !r->first && r->last == CHUNK - 1)
			make_full(c);
		return rc;
	}
	if (c->cap + (last - first + 1 - had) == CHUNK) {
		make_full(c);
		return 0;
	}
	bits_assign(c->p, first, last, true);
	c->cap = (uint16_t)(c->cap + (last - first + 1 - had));
	return 0;
}

static int chunk_remove(struct chunk *c, uint32_t first, uint32_t last)
{
	int rc = 0;

	if (!first && last == CHUNK - 1) {
		free(c->p);
		*c = (struct chunk){0};
		return 0;
	}
	if (c->n == FULL) {
		const struct run all = {0, CHUNK - 1};

		c->n = 0;
		rc = runs_splice(c, 0, 0, &all, 1);
		if (rc) {
			c->n = FULL;
			return rc;
		}
	}
	if (c->n >= RUNS_MAX && c->n != BITS)
		rc = to_bits(c);
	if (rc)
		return rc;
	if (c->n != BITS)
		return runs_remove(c, first, last);
	c->cap = (uint16_t)(c->cap - bits_count(c->p, first, last));
	bits_assign(c->p, first, last, false);
	return 0;
}

/* The part of [at, end) that lies in the chunk of `at`, relative to the start of that chunk. */
struct part {
	struct chunk *c;
	uint32_t first, last;
};

static struct part part_of(const struct xw_blockset *s, uint64_t at, uint64_t end)
{
	const uint64_t base = at / CHUNK * CHUNK;

	return (struct part){&s->chunk[at / CHUNK], (uint32_t)(at - base),
			     (uint32_t)(XW_MIN(end - base, CHUNK) - 1)};
}

int xw_blockset_add(struct xw_blockset *s, uint64_t start, uint64_t len, uint64_t *had)
{
	uint64_t present = 0;

	for (uint64_t at = start, end = start + len; at < end;) {
		const struct part p = part_of(s, at, end);
		const uint32_t n = chunk_count(p.c, p.first, p.last);
		const int rc = chunk_add(p.c, p.first, p.last, n);

		if (rc)
			return rc;
		present += n;
		at += p.last - p.first + 1;
	}
	if (had)
		*had = present;
	return 0;
}

int xw_blockset_remove(struct xw_blockset *s, uint64_t start, uint64_t len)
{
	for (uint64_t at = start, end = start + len; at < end;) {
		const struct part p = part_of(s, at, end);
		const int rc = p.c->n ? chunk_remove(p.c, p.first, p.last) : 0;

		if (rc)
			return rc;
		at += p.last - p.first + 1;
	}
	return 0;
}

bool xw_blockset_has(const struct xw_blockset *s, uint64_t n)
{
	const uint32_t at = n % CHUNK;

	return n < s->limit && chunk_count(&s->chunk[n / CHUNK], at, at);
}

uint64_t xw_blockset_count(const struct xw_blockset *s, uint64_t start, uint64_t len)
{
	const uint64_t end = XW_MIN(start + len, s->limit);
	uint64_t count = 0;

	for (uint64_t at = start; at < end;) {
		const struct part p = part_of(s, at, end);

		count += chunk_count(p.c, p.first, p.last);
		at += p.last - p.first + 1;
	}
	return count;
}

void xw_blockset_bits(const struct xw_blockset *s, uint64_t start, uint64_t n, uint8_t *bits)
{
	uint64_t at = start, first, len;

	memset(bits, 0, (n + 7) / 8);
	while (xw_blockset_next_in(s, at, start + n, &first, &len)) {
		at = first + len;
		xw_set_bits(bits, first - start, at - start);
	}
}

/* The first number of a bitmap at or after `at` that is set (or clear); CHUNK if none. */
static uint32_t bits_scan(const uint64_t *bits, uint32_t at, bool set)
{
	for (uint32_t w = at / 64; w < WORDS; w++) {
		const uint64_t here =
			(set ? bits[w] : ~bits[w]) & mask(w, XW_MAX(at, w * 64), w * 64 + 63);

		if (here)
			return w * 64 + (uint32_t)__builtin_ctzll(here);
	}
	return CHUNK;
}

/* The first number of a chunk at or after `at` that is in the set (or not); CHUNK if none. */
static uint32_t chunk_scan(const struct chunk *c, uint32_t at, bool set)
{
	const struct run *r = c->p;
	uint32_t i;

	if (c->n == FULL)
		return set ? at : CHUNK;
	if (c->n == BITS)
		return bits_scan(c->p, at, set);
	i = runs_find(c, at);
	if (set)
		return i < c->n ? XW_MAX(at, r[i].first) : CHUNK;
	return i < c->n && r[i].first <= at ? r[i].last + 1u : at;
}

bool xw_blockset_next_in(const struct xw_blockset *s, uint64_t from, uint64_t end, uint64_t *start,
			 uint64_t *len)
{
	const uint64_t chunks = XW_MIN(s->chunks, xw_div_up(end, CHUNK));
	uint64_t chunk = from / CHUNK;
	uint32_t at = from % CHUNK;

	for (; chunk < chunks; chunk++, at = 0) {
		at = chunk_scan(&s->chunk[chunk], at, true);
		if (at < CHUNK)
			break;
	}
	if (chunk >= chunks || chunk * CHUNK + at >= end)
		return false;
	*start = chunk * CHUNK + at;
	for (; chunk < chunks; chunk++, at = 0) {
		at = chunk_scan(&s->chunk[chunk], at, false);
		if (at < CHUNK)
			break;
	}
	*len = XW_MIN(chunk * CHUNK + (chunk < chunks ? at : 0), end) - *start;
	return true;
}

bool xw_blockset_next(const struct xw_blockset *s, uint64_t from, uint64_t *start, uint64_t *len)
{
	return xw_blockset_next_in(s, from, s->chunks * CHUNK, start, len);
}
