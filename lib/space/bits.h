/* SPDX-License-Identifier: MIT */
/*
 * Words of a group bitmap: bit set = block used, bit 0 of word 0 = first block of the group. Host
 * byte order; bits past the end of the group are set, so searches need no size. Everything is
 * processed one word at a time.
 */
#ifndef XW_SPACE_BITS_H
#define XW_SPACE_BITS_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/types.h"
#include "space/space.h"

#define XW_GROUP_BLOCKS_MAX 65528 /* all counts of a group fit 16 bits */

/* First bit in [from, end) that differs from `same` (0 or ~0), or end. */
static inline uint32_t xw_bits_next(const uint64_t *w, uint32_t from, uint32_t end, uint64_t same)
{
	uint32_t i = from >> 6, last, r;
	uint64_t v;

	if (from >= end)
		return end;
	last = (end - 1) >> 6;
	v = (w[i] ^ same) & (~UINT64_C(0) << (from & 63));
	while (!v) {
		if (i == last)
			return end;
		v = w[++i] ^ same;
	}
	r = i * 64 + (uint32_t)__builtin_ctzll(v);
	return XW_MIN(r, end);
}

static inline uint32_t xw_bits_next_free(const uint64_t *w, uint32_t from, uint32_t end)
{
	return xw_bits_next(w, from, end, ~UINT64_C(0));
}

static inline uint32_t xw_bits_next_used(const uint64_t *w, uint32_t from, uint32_t end)
{
	return xw_bits_next(w, from, end, 0);
}

/* Convert an on-disk bitmap to words in place, and words to `size` bytes of an on-disk bitmap. */
static inline void xw_bits_from_le(uint64_t *w, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		w[i] = le64toh(w[i]);
}

static inline void xw_bits_to_le(const uint64_t *w, uint8_t *bits, uint32_t size)
{
	for (uint32_t i = 0; i < size; i += 8) {
		const uint64_t v = htole64(w[i / 8]);

		memcpy(bits + i, &v, XW_MIN(8, size - i));
	}
}

/* Start of the free run that ends before `at`; `at` itself if the block before it is used. */
uint32_t xw_bits_run_start(const uint64_t *w, uint32_t at);
void xw_bits_fill(uint64_t *w, uint32_t from, uint32_t to, bool used);
/* Longest free run; the search may stop at the first run of length `enough`. */
uint32_t xw_bits_longest(const uint64_t *w, uint32_t nbits, uint32_t enough);
/* First run of at least n free blocks from `from` on; `end`, the size of the group, if none. */
uint32_t xw_bits_find_run(const uint64_t *w, uint32_t from, uint32_t end, uint32_t n);
void xw_bits_count(const uint64_t *w, uint32_t nbits, uint32_t *nfree, uint32_t *fragments);
/* Count the buddies of each order: maximal aligned free chunks of 2^order blocks. */
void xw_bits_buddies(const uint64_t *w, uint32_t nbits, uint16_t hist[XW_SPACE_ORDERS]);
/*
 * 1 + the largest buddy order, 0 if the group is full. first: the first free block; longest: length
 * of the longest free run.
 */
unsigned xw_bits_order1(const uint64_t *w, uint32_t nbits, uint32_t first, uint32_t longest);
/* Lowest buddy of exactly this order that does not end before `from`; nbits if none. */
uint32_t xw_bits_find_buddy(const uint64_t *w, uint32_t from, uint32_t nbits, unsigned order);

/* Order of the buddy that starts at a in the free run [a, b). */
unsigned xw_buddy_first(uint32_t a, uint32_t b);
/* Add (or, with sign -1, subtract) the buddies of the free run [a, b). */
void xw_buddies_of_run(uint16_t hist[XW_SPACE_ORDERS], uint32_t a, uint32_t b, int sign);
/* 1 + the largest buddy order of the free run [a, b); 0 if it is empty. */
unsigned xw_buddy_order1(uint32_t a, uint32_t b);

static inline unsigned xw_floor_log2(uint64_t v)
{
	return 63 - (unsigned)__builtin_clzll(v);
}

#endif
