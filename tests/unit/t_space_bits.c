/* SPDX-License-Identifier: MIT */
/*
 * Searching and counting in bitmap words, against a reference that visits bit by bit: bitmaps of
 * many sizes, of noise, of runs of any length, and of long aligned runs.
 */
#include <string.h>

#include "base/popcount.h"
#include "space/bits.h"
#include "unit.h"

#define WORDS ((XW_GROUP_BLOCKS_MAX + 63) / 64)

static const uint32_t sizes[] = {8,   16,   56,   64,   72,   128,   248,   256,
				 264, 1000, 2048, 4088, 8192, 32760, 32768, 65528};

static uint32_t rnd(uint64_t *seed, uint32_t n)
{
	*seed ^= *seed >> 12;
	*seed ^= *seed << 25;
	*seed ^= *seed >> 27;
	return (uint32_t)((*seed * UINT64_C(0x2545F4914F6CDD1D) >> 33) % n);
}

static bool is_free(const uint64_t *w, uint32_t i)
{
	return !(w[i / 64] >> i % 64 & 1);
}

/* Runs of 1..most blocks, free and used by turns, each but the last a multiple of `unit`. */
static void draw(uint64_t *w, uint32_t size, uint32_t most, uint32_t unit, uint64_t *seed)
{
	bool used = rnd(seed, 2);

	memset(w, 0xff, WORDS * sizeof(*w));
	for (uint32_t at = 0, n; at < size; at += n, used = !used) {
		n = (1 + rnd(seed, most)) * unit;
		n = XW_MIN(n, size - at);
		for (uint32_t i = at; !used && i < at + n; i++)
			w[i / 64] &= ~(UINT64_C(1) << i % 64);
	}
}

struct reference {
	uint32_t free, fragments, longest, first;
	unsigned order1;
	uint16_t buddies[XW_SPACE_ORDERS];
};

static bool aligned_free(const uint64_t *w, uint32_t size, uint32_t at, unsigned order)
{
	for (uint32_t i = at; i < at + (1u << order); i++)
		if (i >= size || !is_free(w, i))
			return false;
	return true;
}

static struct reference refer(const uint64_t *w, uint32_t size)
{
	struct reference r = {0};
	uint32_t run = 0, at, step;

	for (uint32_t i = 0; i < size; i++) {
		run = is_free(w, i) ? run + 1 : 0;
		if (run && !r.free++)
			r.first = i;
		r.fragments += run == 1;
		r.longest = XW_MAX(r.longest, run);
	}
	for (at = 0; at < size; at += step) {
		unsigned k = 0;

		step = 1;
		if (!is_free(w, at))
			continue;
		while (k + 1 < XW_SPACE_ORDERS && at % (2u << k) == 0 &&
		       aligned_free(w, size, at, k + 1))
			k++;
		r.buddies[k]++;
		r.order1 = XW_MAX(r.order1, k + 1);
		step = 1u << k;
	}
	return r;
}

static void longest(const uint64_t *w, uint32_t size, const struct reference *r, uint64_t *seed)
{
	uint32_t enough = 1 + rnd(seed, r->longest + 2), got;

	ck_assert_uint_eq(xw_bits_longest(w, size, UINT32_MAX), r->longest);
	ck_assert_uint_eq(xw_bits_longest(w, size, r->longest), r->longest);
	/* The search may end early, but with a run that exists. */
	got = xw_bits_longest(w, size, enough);
	ck_assert_uint_le(got, r->longest);
	ck_assert_uint_ge(got, XW_MIN(enough, r->longest));
}

static void find_runs(const uint64_t *w, uint32_t size, const struct reference *r, uint64_t *seed)
{
	for (unsigned i = 0; i < 4; i++) {
		uint32_t n = 1 + rnd(seed, r->longest + 2), from = rnd(seed, size), at, run = 0;

		for (at = from; at < size && run < n; at++)
			run = is_free(w, at) ? run + 1 : 0;
		ck_assert_uint_eq(xw_bits_find_run(w, from, size, n), run < n ? size : at - n);
	}
}

static void compare(const uint64_t *w, uint32_t size, uint64_t *seed)
{
	const struct reference r = refer(w, size);
	uint16_t hist[XW_SPACE_ORDERS];
	uint32_t nfree, fragments, skip = rnd(seed, size / 8);

	xw_bits_count(w, size, &nfree, &fragments);
	ck_assert_uint_eq(nfree, r.free);
	ck_assert_uint_eq(fragments, r.fragments);
	longest(w, size, &r, seed);
	find_runs(w, size, &r, seed);
	ck_assert_uint_eq(xw_bits_order1(w, size, r.first, r.longest), r.order1);
	ck_assert_uint_eq(xw_bits_order1(w, size, 0, r.longest), r.order1);
	xw_bits_buddies(w, size, hist);
	ck_assert_int_eq(memcmp(hist, r.buddies, sizeof(hist)), 0);
	ck_assert_uint_eq(xw_popcount(w, size / 8), size - r.free);
	nfree = 0;
	for (uint32_t i = skip * 8; i < size; i++)
		nfree += is_free(w, i);
	ck_assert_uint_eq(xw_popcount((const uint8_t *)w + skip, size / 8 - skip),
			  size - skip * 8 - nfree);
	ck_assert_uint_eq(xw_popcount_sw((const uint8_t *)w + skip, size / 8 - skip),
			  size - skip * 8 - nfree);
}

START_TEST(as_the_reference)
{
	static const uint32_t kinds[][2] = {{1, 1},  {2, 1},   {3, 1},    {9, 1},  {26, 1},
					    {64, 1}, {130, 1}, {900, 1},  {1, 64}, {3, 256},
					    {2, 8},  {5, 16},  {70000, 1}};
	const uint32_t size = sizes[_i];
	uint64_t w[WORDS], seed = 1 + (uint64_t)_i;

	for (unsigned k = 0; k < XW_ARRAY_SIZE(kinds); k++)
		for (unsigned round = 0; round < (size < 3000 ? 60u : 6u); round++) {
			draw(w, size, kinds[k][0], kinds[k][1], &seed);
			compare(w, size, &seed);
			/* and one bit changed */
			w[rnd(&seed, size) / 64] ^= UINT64_C(1) << rnd(&seed, XW_MIN(size, 64));
			xw_bits_fill(w, size, WORDS * 64, true);
			compare(w, size, &seed);
		}
}
END_TEST

START_TEST(one_run_anywhere)
{
	uint64_t w[WORDS], seed = 5;

	for (uint32_t len = 1; len <= 300; len++)
		for (unsigned round = 0; round < 20; round++) {
			uint32_t at = rnd(&seed, 2048 - len);

			memset(w, 0xff, sizeof(w));
			xw_bits_fill(w, at, at + len, false);
			compare(w, 2048, &seed);
			ck_assert_uint_eq(xw_bits_order1(w, 2048, at, len),
					  xw_buddy_order1(at, at + len));
		}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("space bits");
	TCase *tc = tcase_create("bits");

	tcase_set_timeout(tc, 120);
	unit_add_table(tc, as_the_reference, sizes);
	tcase_add_test(tc, one_run_anywhere);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
