/* SPDX-License-Identifier: MIT */
/*
 * Bitmap words, see bits.h. The counting functions never visit runs one by one: a group may hold
 * 16,000 of them, and every group of a full 65 TB image passes here once.
 */
#include "space/bits.h"

#include <string.h>

#define WORD_ORDERS 6 /* orders 0..5 lie inside a word */

static const uint64_t order_mask[WORD_ORDERS] = {
	UINT64_MAX,
	UINT64_C(0x5555555555555555),
	UINT64_C(0x1111111111111111),
	UINT64_C(0x0101010101010101),
	UINT64_C(0x0001000100010001),
	UINT64_C(0x0000000100000001),
};

uint32_t xw_bits_run_start(const uint64_t *w, uint32_t at)
{
	uint32_t i = at >> 6;
	uint64_t v;

	if (!at)
		return 0;
	v = at & 63 ? w[i] & ((UINT64_C(1) << (at & 63)) - 1) : 0;
	while (!v) {
		if (!i)
			return 0;
		v = w[--i];
	}
	return i * 64 + xw_floor_log2(v) + 1;
}

void xw_bits_fill(uint64_t *w, uint32_t from, uint32_t to, bool used)
{
	while (from < to) {
		uint32_t bit = from & 63, n = XW_MIN(64 - bit, to - from);
		uint64_t mask = (n == 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1) << bit;

		if (used)
			w[from >> 6] |= mask;
		else
			w[from >> 6] &= ~mask;
		from += n;
	}
}

static uint32_t longest_in_word(uint64_t nfree)
{
	uint32_t n = 0;

	for (; nfree; n++)
		nfree &= nfree << 1;
	return n;
}

uint32_t xw_bits_longest(const uint64_t *w, uint32_t nbits, uint32_t enough)
{
	uint32_t best = 0, run = 0;

	for (uint32_t i = 0; i < (nbits + 63) / 64 && best < enough; i++) {
		if (!w[i]) {
			run += 64;
			continue;
		}
		run += (uint32_t)__builtin_ctzll(w[i]);
		best = XW_MAX(best, run);
		/* A run inside the word is at most 62 long: two used blocks bound it. */
		if (best < 62 && w[i] != UINT64_MAX)
			best = XW_MAX(best, longest_in_word(~w[i]));
		run = (uint32_t)__builtin_clzll(w[i]);
	}
	return XW_MAX(best, run);
}

void xw_bits_count(const uint64_t *w, uint32_t nbits, uint32_t *nfree, uint32_t *fragments)
{
	uint64_t before = 1; /* a run starts where a free block follows a used one */
	uint32_t n = 0, starts = 0;

	for (uint32_t i = 0; i < (nbits + 63) / 64; i++) {
		n += (uint32_t)__builtin_popcountll(~w[i]);
		starts += (uint32_t)__builtin_popcountll(~w[i] & (w[i] << 1 | before));
		before = w[i] >> 63;
	}
	*nfree = n;
	*fragments = starts;
}

/* Bit 0 of every 2^order bits: that aligned block is free. */
static uint64_t free_of_order(uint64_t word, unsigned order)
{
	uint64_t f = ~word;

	for (unsigned k = 0; k < order; k++)
		f &= f >> (1u << k);
	return f & order_mask[order];
}

/* 64 words in one bit: set unless the whole word is free. Returns the number of bits. */
static uint32_t coarsen(const uint64_t *w, uint32_t nbits, uint64_t *out, size_t nout)
{
	uint32_t n = (nbits + 63) / 64;

	memset(out, 0xff, nout * sizeof(*out));
	for (uint32_t i = 0; i < n; i++)
		if (!w[i])
			out[i >> 6] &= ~(UINT64_C(1) << (i & 63));
	return n;
}

void xw_bits_buddies(const uint64_t *w, uint32_t nbits, uint16_t hist[XW_SPACE_ORDERS])
{
	uint32_t count[3 * WORD_ORDERS + 1] = {0};
	uint64_t mid[(XW_GROUP_BLOCKS_MAX + 8) / 64 / 64], top[1];
	const uint64_t *level[3] = {w, mid, top};
	uint32_t bits[3] = {nbits, 0, 0};

	bits[1] = coarsen(w, nbits, mid, XW_ARRAY_SIZE(mid));
	bits[2] = coarsen(mid, bits[1], top, XW_ARRAY_SIZE(top));
	for (unsigned l = 0; l < 3; l++)
		for (uint32_t i = 0; i < (bits[l] + 63) / 64; i++) {
			uint64_t f = ~level[l][i];

			for (unsigned k = 0; k < WORD_ORDERS && f; k++) {
				f &= order_mask[k];
				count[l * WORD_ORDERS + k] += (uint32_t)__builtin_popcountll(f);
				f &= f >> (1u << k);
			}
		}
	/* An aligned free block is a buddy unless it is half of a larger one. */
	for (unsigned k = 0; k < XW_SPACE_ORDERS; k++)
		hist[k] = (uint16_t)(count[k] - 2 * count[k + 1]);
}

static bool block_free(const uint64_t *w, uint32_t nbits, uint32_t at, unsigned order)
{
	uint32_t end = at + (1u << order);

	return end <= nbits && xw_bits_next_used(w, at, end) == end;
}

uint32_t xw_bits_find_buddy(const uint64_t *w, uint32_t nbits, unsigned order)
{
	if (order >= WORD_ORDERS) {
		for (uint32_t at = 0; at + (1u << order) <= nbits; at += 1u << order)
			if (block_free(w, nbits, at, order) &&
			    !block_free(w, nbits, at & ~((2u << order) - 1), order + 1))
				return at;
		return nbits;
	}
	for (uint32_t i = 0; i < (nbits + 63) / 64; i++) {
		uint64_t f = free_of_order(w[i], order), parent;

		if (order == WORD_ORDERS - 1)
			parent = !w[i];
		else
			parent = free_of_order(w[i], order + 1);
		f &= ~(parent | parent << (1u << order));
		if (f)
			return i * 64 + (uint32_t)__builtin_ctzll(f);
	}
	return nbits;
}

/* Order of the buddy that starts at a in the free run [a, b). */
static unsigned first_buddy(uint32_t a, uint32_t b)
{
	unsigned fits = xw_floor_log2(b - a);
	unsigned aligned = a ? (unsigned)__builtin_ctz(a) : 31;

	return XW_MIN(fits, aligned);
}

void xw_buddies_of_run(uint16_t hist[XW_SPACE_ORDERS], uint32_t a, uint32_t b, int sign)
{
	while (a < b) {
		unsigned k = first_buddy(a, b);

		hist[k] = (uint16_t)(hist[k] + sign);
		a += 1u << k;
	}
}

unsigned xw_buddy_order1(uint32_t a, uint32_t b)
{
	unsigned best = 0;

	while (a < b) {
		unsigned k = first_buddy(a, b);

		best = XW_MAX(best, k + 1);
		a += 1u << k;
	}
	return best;
}
