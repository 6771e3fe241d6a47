/* SPDX-License-Identifier: MIT */
/*
 * Bitmap words, see bits.h. The counting functions never visit runs one by one: a group may hold
 * 16,000 of them, and every group of a full 65 TB image passes here once.
 */
#include "config.h"

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

/*
 * For a bitmap byte, in 16 bits each: free blocks, free aligned pairs, free halves, free runs. A
 * group has less than 2^16 blocks, so that sums over all its bytes fit. Instructions for counting
 * bits may be missing, and 8 lookups are faster than counting without.
 */
#define F(b) (~(b)&0xffu)
#define SUM(x)                                                                                     \
	(((x)&1u) + ((x) >> 1 & 1u) + ((x) >> 2 & 1u) + ((x) >> 3 & 1u) + ((x) >> 4 & 1u) +        \
	 ((x) >> 5 & 1u) + ((x) >> 6 & 1u) + ((x) >> 7 & 1u))
#define PAIRS(b) (F(b) & F(b) >> 1 & 0x55u)
#define HALVES(b) (PAIRS(b) & PAIRS(b) >> 2 & 0x11u)
#define STARTS(b) (F(b) & ~(F(b) << 1))
#define T1(b)                                                                                      \
	((uint64_t)SUM(F(b)) | (uint64_t)SUM(PAIRS(b)) << 16 | (uint64_t)SUM(HALVES(b)) << 32 |    \
	 (uint64_t)SUM(STARTS(b)) << 48)
#define T4(b) T1(b), T1((b) + 1u), T1((b) + 2u), T1((b) + 3u)
#define T16(b) T4(b), T4((b) + 4u), T4((b) + 8u), T4((b) + 12u)
#define T64(b) T16(b), T16((b) + 16u), T16((b) + 32u), T16((b) + 48u)
static const uint64_t byte_counts[256] = {T64(0u), T64(64u), T64(128u), T64(192u)};

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

/* The bits at which at least n (1..64) free blocks start inside the word; `f`: bit set = free. */
static uint64_t runs_of(uint64_t f, uint32_t n)
{
	uint32_t have = 1;

	for (; have * 2 <= n; have *= 2)
		f &= f >> have;
	return have < n ? f & f >> (n - have) : f;
}

/* Do four words say the same: all used, all free? In most bitmaps most of them do. */
static bool four_used(const uint64_t *w)
{
	return !~(w[0] & w[1] & w[2] & w[3]);
}

static bool four_free(const uint64_t *w)
{
	return !(w[0] | w[1] | w[2] | w[3]);
}

uint32_t xw_bits_longest(const uint64_t *w, uint32_t nbits, uint32_t enough)
{
	uint32_t best = 0, run = 0, nwords = (nbits + 63) / 64;

	for (uint32_t i = 0; i < nwords && best < enough; i++) {
		uint64_t f;

		for (; i + 4 < nwords && four_free(w + i); i += 4)
			run += 256;
		if (i + 4 < nwords && four_used(w + i)) {
			best = XW_MAX(best, run);
			run = 0;
			i += 3;
			continue;
		}
		f = ~w[i];
		if (!w[i]) {
			run += 64;
			continue;
		}
		if (!f) {
			best = XW_MAX(best, run);
			run = 0;
			continue;
		}
		run += (uint32_t)__builtin_ctzll(w[i]);
		best = XW_MAX(best, run);
		/* A run inside the word is at most 62 long, with a used block on either side. */
		if (best < 62)
			for (uint64_t at = runs_of(f, best + 1); at; best++)
				at &= f >> (best + 1);
		run = (uint32_t)__builtin_clzll(w[i]);
	}
	return XW_MAX(best, run);
}

uint32_t xw_bits_find_run(const uint64_t *w, uint32_t from, uint32_t end, uint32_t n)
{
	uint32_t run = 0, last = (end + 63) / 64;

	if (from >= end)
		return end;
	for (uint32_t i = from / 64; i < last; i++) {
		uint64_t v = w[i], at;

		if (i == from / 64)
			v |= (UINT64_C(1) << from % 64) - 1;
		if (!v) {
			run += 64;
			continue;
		}
		if (run + (uint32_t)__builtin_ctzll(v) >= n)
			return i * 64 - run;
		at = n <= 64 ? runs_of(~v, n) : 0;
		if (at)
			return i * 64 + (uint32_t)__builtin_ctzll(at);
		run = (uint32_t)__builtin_clzll(v);
	}
	return run >= n ? last * 64 - run : end;
}

/* One bit for every byte of the word: clear if all its 8 blocks are free. */
static uint64_t used_bytes(uint64_t v)
{
	const uint64_t low7 = UINT64_C(0x7f7f7f7f7f7f7f7f);
	/* Bit 7 of every byte that is not 0; the product gathers all eight of them. */
	uint64_t used = (((v & low7) + low7) | v) & ~low7;

	return (used >> 7) * UINT64_C(0x0102040810204080) >> 56;
}

static uint64_t count_word(uint64_t v)
{
	uint64_t sum = 0;

	for (unsigned k = 0; k < 8; k++, v >>= 8)
		sum += byte_counts[v & 0xff];
	return sum;
}

/* Sums of byte_counts over all bytes. */
static uint64_t count_bytes(const uint64_t *w, uint32_t nwords)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < nwords; i++)
		sum += count_word(w[i]);
	return sum;
}

/*
 * The bytes of a word whose first block continues the run at the end of the previous byte. before:
 * 1 if the block before the word is used.
 */
static uint32_t joints(uint64_t v, uint64_t before)
{
	uint64_t joint = ~(v | v << 1 | before) & UINT64_C(0x0101010101010101);

	return (uint32_t)(joint * UINT64_C(0x0101010101010101) >> 56);
}

static uint32_t count_joints(const uint64_t *w, uint32_t nwords)
{
	uint64_t before = 1;
	uint32_t n = 0;

	for (uint32_t i = 0; i < nwords; i++) {
		n += joints(w[i], before);
		before = w[i] >> 63;
	}
	return n;
}

/*
 * One level of a survey: counts of all bytes, and the bitmap of the next level, in which a bit
 * represents 8 blocks and is set unless all are free. Returns its number of words; *njoints is
 * optional.
 */
static uint32_t count_level(const uint64_t *w, uint32_t nwords, uint64_t *counts, uint64_t *above,
			    uint32_t *njoints)
{
	uint64_t sum = 0, before = 1;
	uint32_t n = (nwords + 7) / 8, nj = 0;

	memset(above, 0xff, n * sizeof(*above));
	for (uint32_t i = 0; i < nwords; before = w[i++] >> 63) {
		uint64_t v = w[i], byte = 0;

		if (i % 4 == 0 && i + 4 <= nwords && four_used(w + i)) {
			i += 3;
			continue;
		}
		if (i % 4 == 0 && i + 4 <= nwords && four_free(w + i)) {
			sum += 32 * byte_counts[0];
			nj += 32 - (uint32_t)before;
			above[i / 8] &= ~((uint64_t)UINT32_MAX << i % 8 * 8);
			i += 3;
			continue;
		}
		if (!~v)
			continue;
		if (!v) {
			sum += 8 * byte_counts[0];
			nj += 8 - (uint32_t)before;
		} else {
			sum += count_word(v);
			nj += joints(v, before);
			byte = used_bytes(v);
		}
		above[i / 8] &= ~((uint64_t)0xff << i % 8 * 8) | byte << i % 8 * 8;
	}
	*counts = sum;
	*njoints = nj;
	return n;
}

void xw_bits_count(const uint64_t *w, uint32_t nbits, uint32_t *nfree, uint32_t *fragments)
{
	uint32_t nwords = (nbits + 63) / 64;
	uint64_t sum = count_bytes(w, nwords);

	*nfree = sum & 0xffff;
	*fragments = (uint32_t)(sum >> 48) - count_joints(w, nwords);
}

void xw_bits_survey(const uint64_t *w, uint32_t nbits, struct xw_survey *out)
{
	uint64_t coarse[2][(XW_GROUP_BLOCKS_MAX + 8) / 64 / 8];
	uint32_t count[XW_SPACE_ORDERS + 1], n = (nbits + 63) / 64;

	/* Three orders a level; a level's blocks are the free bytes of the level below. */
	for (unsigned l = 0; l * 3 <= XW_SPACE_ORDERS; l++) {
		uint32_t njoints;
		uint64_t sum;

		n = count_level(w, n, &sum, coarse[l % 2], &njoints);
		for (unsigned k = 0; k < 3; k++)
			count[l * 3 + k] = sum >> 16 * k & 0xffff;
		if (!l)
			out->fragments = (uint32_t)(sum >> 48) - njoints;
		w = coarse[l % 2];
	}
	out->free = count[0];
	/* An aligned free block is a buddy unless it is half of a larger one. */
	for (unsigned k = 0; k < XW_SPACE_ORDERS; k++)
		out->buddies[k] = (uint16_t)(count[k] - 2 * count[k + 1]);
}

/* Bit 0 of every 2^order bits: that aligned block is free. */
static uint64_t free_of_order(uint64_t word, unsigned order)
{
	uint64_t f = ~word;

	for (unsigned k = 0; k < order; k++)
		f &= f >> (1u << k);
	return f & order_mask[order];
}

static bool block_free(const uint64_t *w, uint32_t nbits, uint32_t at, unsigned order)
{
	uint32_t end = at + (1u << order);

	return end <= nbits && xw_bits_next_used(w, at, end) == end;
}

uint32_t xw_bits_find_buddy(const uint64_t *w, uint32_t from, uint32_t nbits, unsigned order)
{
	if (order >= WORD_ORDERS) {
		for (uint32_t at = from & ~((1u << order) - 1); at + (1u << order) <= nbits;
		     at += 1u << order)
			if (block_free(w, nbits, at, order) &&
			    !block_free(w, nbits, at & ~((2u << order) - 1), order + 1))
				return at;
		return nbits;
	}
	for (uint32_t i = from / 64; i < (nbits + 63) / 64; i++) {
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
