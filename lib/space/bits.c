/* SPDX-License-Identifier: MIT */
/*
 * Bitmap words, see bits.h. The counting functions do not visit runs one by one: a group may have
 * 16,000 of them, and opening a full 65 TB image counts every group.
 */
#include "config.h"

#include "base/popcount.h"
#include "space/bits.h"

#include <assert.h>
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

/* The bits where a run of at least n (1..64) free blocks starts in the word; f: bit set = free. */
static uint64_t runs_of(uint64_t f, uint32_t n)
{
	uint32_t have = 1;

	for (; have * 2 <= n; have *= 2)
		f &= f >> have;
	return have < n ? f & f >> (n - have) : f;
}

/* Four words at a time: in most bitmaps most of them are all used or all free. */
static bool four_used(const uint64_t *w)
{
	return !~(w[0] & w[1] & w[2] & w[3]);
}

static bool four_free(const uint64_t *w)
{
	return !(w[0] | w[1] | w[2] | w[3]);
}

/* As runs_of(), with the order of the largest power of two up to n as a compile-time constant. */
static inline __attribute__((always_inline)) uint64_t runs_of_order(uint64_t f, uint32_t n,
								    unsigned order)
{
	for (unsigned k = 0; k < order; k++)
		f &= f >> (1u << k);
	return f & f >> (n - (1u << order));
}

/* State of a search for the longest run. */
struct longest {
	uint32_t at; /* next word */
	uint32_t run; /* free blocks at the end of the previous word */
	uint32_t best; /* longest run so far */
};

/*
 * Continue while the longest run is below 2^(order + 1) - 1 blocks, so that each word needs a fixed
 * number of shifts.
 */
static inline __attribute__((always_inline)) void longest_of_order(struct longest *l,
								   const uint64_t *w, uint32_t n,
								   uint32_t enough, unsigned order)
{
	const uint32_t end =
		XW_MIN(enough, order < WORD_ORDERS - 1 ? (2u << order) - 1 : UINT32_MAX);
	uint32_t i = l->at, run = l->run, best = l->best;

	while (i < n && best < end) {
		uint64_t f = ~w[i], at;

		if (!f || !w[i]) {
			if (i + 4 <= n && four_free(w + i)) {
				run += 256;
				i += 4;
			} else if (!w[i]) {
				run += 64;
				i++;
			} else {
				best = XW_MAX(best, run);
				run = 0;
				i += i + 4 <= n && four_used(w + i) ? 4 : 1;
			}
			continue;
		}
		best = XW_MAX(best, run + (uint32_t)__builtin_ctzll(w[i]));
		/* A run inside the word is at most 62 long, with a used block on either side. */
		if (best < 62)
			for (at = best < end ? runs_of_order(f, best + 1, order)
					     : runs_of(f, best + 1);
			     at; best++)
				at &= f >> (best + 1);
		run = (uint32_t)__builtin_clzll(w[i++]);
	}
	*l = (struct longest){i, run, best};
}

uint32_t xw_bits_longest(const uint64_t *w, uint32_t nbits, uint32_t enough)
{
	const uint32_t n = (nbits + 63) / 64;
	struct longest l = {0};

	longest_of_order(&l, w, n, enough, 0);
	longest_of_order(&l, w, n, enough, 1);
	longest_of_order(&l, w, n, enough, 2);
	longest_of_order(&l, w, n, enough, 3);
	longest_of_order(&l, w, n, enough, 4);
	longest_of_order(&l, w, n, enough, 5);
	return XW_MAX(l.best, l.run);
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
	/* Bit 7 of every byte that is not 0; the multiplication gathers these eight bits. */
	uint64_t used = (((v & low7) + low7) | v) & ~low7;

	return (used >> 7) * UINT64_C(0x0102040810204080) >> 56;
}

static inline __attribute__((always_inline)) uint32_t bits_of(uint64_t v)
{
	return (uint32_t)__builtin_popcountll(v);
}

/*
 * Count the aligned free chunks of three orders. `above` becomes the bitmap for the next three:
 * each of its bits represents 8 bits of w and is clear if all 8 are. Returns its number of words.
 */
static inline __attribute__((always_inline)) uint32_t count_level(const uint64_t *w,
								  uint32_t nwords,
								  uint32_t count[3],
								  uint64_t *above)
{
	uint32_t n = (nwords + 7) / 8, alike = 0;

	memset(above, 0xff, n * sizeof(*above));
	count[0] = count[1] = count[2] = 0;
	for (uint32_t i = 0; i < nwords; i++) {
		const uint64_t f = ~w[i], pairs = f & f >> 1 & order_mask[1];

		if (i % 4 == 0 && i + 4 <= nwords && four_used(w + i)) {
			i += 3;
			continue;
		}
		if (i % 4 == 0 && i + 4 <= nwords && four_free(w + i)) {
			alike += 4;
			above[i / 8] &= ~((uint64_t)UINT32_MAX << i % 8 * 8);
			i += 3;
			continue;
		}
		count[0] += bits_of(f);
		count[1] += bits_of(pairs);
		count[2] += bits_of(pairs & pairs >> 2 & order_mask[2]);
		above[i / 8] &= ~((uint64_t)0xff << i % 8 * 8) | used_bytes(w[i]) << i % 8 * 8;
	}
	for (unsigned k = 0; k < 3; k++)
		count[k] += alike * (64u >> k);
	return n;
}

/*
 * The loop of xw_bits_count(). Runs begin and end where a bit differs from the bit before it; the
 * block before the group counts as used.
 */
static inline __attribute__((always_inline)) void count_words(const uint64_t *w, uint32_t n,
							      uint32_t *nfree, uint32_t *fragments)
{
	uint64_t before = 1;
	uint32_t i = 0, used = 0, changes = 0;

	for (; i + 4 <= n; i += 4) {
		if (four_used(w + i)) {
			used += 256;
			changes += !before;
			before = 1;
			continue;
		}
		if (four_free(w + i)) {
			changes += before != 0;
			before = 0;
			continue;
		}
		for (uint32_t k = 0; k < 4; k++) {
			used += bits_of(w[i + k]);
			changes += bits_of(w[i + k] ^ (w[i + k] * 2 + before));
			before = w[i + k] >> 63;
		}
	}
	for (; i < n; i++) {
		used += bits_of(w[i]);
		changes += bits_of(w[i] ^ (w[i] * 2 + before));
		before = w[i] >> 63;
	}
	*nfree = n * 64 - used;
	*fragments = (changes + 1) / 2;
}

static inline __attribute__((always_inline)) void buddies(const uint64_t *w, uint32_t n,
							  uint16_t hist[XW_SPACE_ORDERS])
{
	uint64_t coarse[2][(XW_GROUP_BLOCKS_MAX + 8) / 64 / 8];
	uint32_t count[XW_SPACE_ORDERS + 1];

	/* Three orders per level: a bit of a level is a byte of the level below. */
	static_assert((XW_SPACE_ORDERS + 1) % 3 == 0, "whole levels");
	for (unsigned l = 0; l * 3 <= XW_SPACE_ORDERS; l++) {
		n = count_level(w, n, count + l * 3, coarse[l % 2]);
		w = coarse[l % 2];
	}
	/* An aligned free block is a buddy unless it is half of a larger one. */
	for (unsigned k = 0; k < XW_SPACE_ORDERS; k++)
		hist[k] = (uint16_t)(count[k] - 2 * count[k + 1]);
}

/* Both loops with the CPU's instruction; the fallback calls libgcc for each word. */
#if defined(__x86_64__)
static __attribute__((target("popcnt"))) void count_hw(const uint64_t *w, uint32_t n,
						       uint32_t *nfree, uint32_t *fragments)
{
	count_words(w, n, nfree, fragments);
}

static __attribute__((target("popcnt"))) void buddies_hw(const uint64_t *w, uint32_t n,
							 uint16_t hist[XW_SPACE_ORDERS])
{
	buddies(w, n, hist);
}
#else
#define count_hw count_words
#define buddies_hw buddies
#endif

void xw_bits_count(const uint64_t *w, uint32_t nbits, uint32_t *nfree, uint32_t *fragments)
{
	const uint32_t n = (nbits + 63) / 64;

	if (xw_has_popcnt())
		count_hw(w, n, nfree, fragments);
	else
		count_words(w, n, nfree, fragments);
}

void xw_bits_buddies(const uint64_t *w, uint32_t nbits, uint16_t hist[XW_SPACE_ORDERS])
{
	const uint32_t n = (nbits + 63) / 64;

	if (xw_has_popcnt())
		buddies_hw(w, n, hist);
	else
		buddies(w, n, hist);
}

/* Of every 2^order bits, the lowest is set if all of them are free. */
static uint64_t free_of_order(uint64_t word, unsigned order)
{
	uint64_t f = ~word;

	for (unsigned k = 0; k < order; k++)
		f &= f >> (1u << k);
	return f & order_mask[order];
}

/* Does an aligned free chunk of 2^order blocks end after `from`? */
static bool has_order(const uint64_t *w, uint32_t from, uint32_t nbits, unsigned order)
{
	const uint32_t n = (nbits + 63) / 64, step = order > WORD_ORDERS ? 1u << (order - 6) : 1;

	for (uint32_t i = from / 64 & ~(step - 1); i + step <= n; i += step) {
		uint32_t k = 0;

		if (order < WORD_ORDERS) {
			if (free_of_order(w[i], order))
				return true;
			continue;
		}
		while (k < step && !w[i + k])
			k++;
		if (k == step)
			return true;
	}
	return false;
}

unsigned xw_bits_order1(const uint64_t *w, uint32_t nbits, uint32_t first, uint32_t longest)
{
	unsigned k;

	if (!longest)
		return 0;
	/* A run of 2^k to 2^(k+1) - 1 blocks contains an aligned chunk of 2^(k-1) at least. */
	k = xw_floor_log2(longest);
	return k + (!k || has_order(w, first, nbits, k));
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

unsigned xw_buddy_first(uint32_t a, uint32_t b)
{
	unsigned fits = xw_floor_log2(b - a);
	unsigned aligned = a ? (unsigned)__builtin_ctz(a) : 31;

	return XW_MIN(fits, aligned);
}

void xw_buddies_of_run(uint16_t hist[XW_SPACE_ORDERS], uint32_t a, uint32_t b, int sign)
{
	while (a < b) {
		unsigned k = xw_buddy_first(a, b);

		hist[k] = (uint16_t)(hist[k] + sign);
		a += 1u << k;
	}
}

unsigned xw_buddy_order1(uint32_t a, uint32_t b)
{
	unsigned best = 0;

	while (a < b) {
		unsigned k = xw_buddy_first(a, b);

		best = XW_MAX(best, k + 1);
		a += 1u << k;
	}
	return best;
}
