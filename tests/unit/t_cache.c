/* SPDX-License-Identifier: MIT */
/* The sharing cache: bounds, second chance, collisions, threads. */
#include "unit.h"

#include "base/err.h"
#include "xattr/cache.h"

#include <pthread.h>
#include <stdatomic.h>

static bool is(void *arg, uint64_t value)
{
	return *(uint64_t *)arg == value;
}

static bool any(void *arg, uint64_t value)
{
	(void)arg;
	(void)value;
	return true;
}

static bool has(struct xw_cache *c, uint64_t key, uint64_t value)
{
	uint64_t got = ~value;
	bool found = xw_cache_find(c, key, is, &value, &got);

	ck_assert(!found || got == value);
	return found;
}

static struct xw_cache_stats stats(struct xw_cache *c)
{
	struct xw_cache_stats st;

	xw_cache_stats(c, &st);
	return st;
}

START_TEST(basics)
{
	struct xw_cache *c = xw_cache_new(0, _i ? XW_CACHE_BUILD : 0);
	uint64_t got;

	ck_assert_ptr_nonnull(c);
	ck_assert_uint_eq(stats(c).max_entries, 16 * 1024);
	ck_assert(!has(c, 1, 2));
	ck_assert_int_eq(xw_cache_insert(c, 1, 2, true), 0);
	ck_assert_int_eq(xw_cache_insert(c, 1, 2, false), XW_ERR_EXISTS);
	ck_assert_int_eq(xw_cache_insert(c, 1, 3, true), 0);
	ck_assert_int_eq(xw_cache_insert(c, 2, 2, true), 0);
	ck_assert(has(c, 1, 2));
	ck_assert(has(c, 1, 3));
	ck_assert(!has(c, 2, 3));
	ck_assert(xw_cache_find(c, 1, any, NULL, &got));
	ck_assert_uint_eq(got, 3); /* the latest is offered first */
	xw_cache_set_reusable(c, 1, 3, false);
	ck_assert(xw_cache_find(c, 1, any, NULL, &got));
	ck_assert_uint_eq(got, 2);
	xw_cache_set_reusable(c, 1, 3, true);
	xw_cache_set_reusable(c, 9, 9, true);
	ck_assert(has(c, 1, 3));
	ck_assert(xw_cache_remove(c, 1, 3));
	ck_assert(!xw_cache_remove(c, 1, 3));
	ck_assert(!has(c, 1, 3));
	ck_assert(has(c, 1, 2));
	ck_assert_uint_eq(stats(c).entries, 2);
	ck_assert_uint_eq(stats(c).inserts, 3);
	ck_assert_uint_eq(stats(c).lookups, 9);
	ck_assert_uint_eq(stats(c).hits, 6);
	ck_assert_uint_eq(stats(c).reclaimed, 0);
	ck_assert(xw_cache_touch(c, 1, 2));
	ck_assert(!xw_cache_touch(c, 1, 3));
	ck_assert_uint_eq(stats(c).lookups, 11);
	ck_assert_uint_eq(stats(c).hits, 7);
	xw_cache_free(c);
}
END_TEST

START_TEST(bad_sizes)
{
	ck_assert_ptr_null(xw_cache_new(3, XW_CACHE_BUILD));
	ck_assert_ptr_null(xw_cache_new(1u << 25, XW_CACHE_BUILD));
	xw_cache_free(NULL);
}
END_TEST

/* All values of one key are offered, also more than one batch of them. */
START_TEST(one_key)
{
	struct xw_cache *c = xw_cache_new(16, XW_CACHE_BUILD);

	for (uint64_t v = 0; v < 100; v++)
		ck_assert_int_eq(xw_cache_insert(c, 7, v, v % 3 != 0), 0);
	for (uint64_t v = 0; v < 101; v++)
		ck_assert_int_eq(has(c, 7, v), v < 100 && v % 3 != 0);
	xw_cache_free(c);
}
END_TEST

START_TEST(build_bound)
{
	uint32_t buckets = 1u << _i;
	uint64_t max = 16u * buckets;
	struct xw_cache *c = xw_cache_new(buckets, XW_CACHE_BUILD);

	ck_assert_ptr_nonnull(c);
	for (uint64_t v = 0; v < 5 * max; v++) {
		ck_assert_int_eq(xw_cache_insert(c, v * 3, v, true), 0);
		ck_assert_uint_eq(stats(c).entries, v < max ? v + 1 : max);
	}
	/* unused entries go in order of insertion */
	for (uint64_t v = 0; v < 5 * max; v++)
		ck_assert_int_eq(has(c, v * 3, v), v >= 4 * max);
	ck_assert_uint_eq(stats(c).reclaimed, 4 * max);
	ck_assert_uint_eq(stats(c).second_chances, 0);
	ck_assert_uint_eq(stats(c).peak, max + 1);
	xw_cache_free(c);
}
END_TEST

/* A used entry outlives unused ones, once for each use. */
START_TEST(second_chance)
{
	struct xw_cache *c = xw_cache_new(1, XW_CACHE_BUILD);
	uint64_t v;

	for (v = 0; v < 16; v++)
		ck_assert_int_eq(xw_cache_insert(c, v, v, true), 0);
	ck_assert(has(c, 0, 0));
	ck_assert(xw_cache_touch(c, 5, 5));
	ck_assert_int_eq(xw_cache_insert(c, v, v, true), 0); /* spares 0, evicts 1 */
	ck_assert_uint_eq(stats(c).second_chances, 1);
	for (v = 17; v < 17 + 13; v++) /* evicts 2 3 4, spares 5, evicts 6 .. 15 */
		ck_assert_int_eq(xw_cache_insert(c, v, v, true), 0);
	ck_assert_uint_eq(stats(c).second_chances, 2);
	ck_assert_uint_eq(stats(c).reclaimed, 14);
	/*
	 * spared entries went behind what was inserted before: 16 0 17 18 19 20 5 21 .. 29, none
	 * referenced any more
	 */
	ck_assert_int_eq(xw_cache_insert(c, v, v, true), 0);
	v++;
	ck_assert_int_eq(xw_cache_insert(c, v, v, true), 0);
	ck_assert_uint_eq(stats(c).second_chances, 2);
	ck_assert(!has(c, 16, 16));
	ck_assert(!has(c, 0, 0));
	ck_assert(has(c, 17, 17));
	ck_assert(has(c, 5, 5));
	xw_cache_free(c);
}
END_TEST

START_TEST(all_referenced)
{
	struct xw_cache *c = xw_cache_new(4, XW_CACHE_BUILD);

	for (uint64_t v = 0; v < 64; v++) {
		ck_assert_int_eq(xw_cache_insert(c, v, v, true), 0);
		ck_assert(has(c, v, v));
	}
	ck_assert_int_eq(xw_cache_insert(c, 64, 64, true), 0);
	ck_assert_uint_eq(stats(c).entries, 64);
	ck_assert_uint_eq(stats(c).second_chances, 64);
	/* 64 was not referenced and behind all others: it is what went */
	ck_assert(!has(c, 64, 64));
	ck_assert(has(c, 0, 0));
	xw_cache_free(c);
}
END_TEST

/* The same calls give the same cache. */
START_TEST(build_deterministic)
{
	struct xw_cache *c[2] = {xw_cache_new(8, XW_CACHE_BUILD), xw_cache_new(8, XW_CACHE_BUILD)};
	bool trace[2][4000];

	for (int k = 0; k < 2; k++) {
		uint64_t seed = (uint64_t)_i;

		for (int i = 0; i < 4000; i++) {
			uint64_t key;

			seed = seed * 6364136223846793005u + 1442695040888963407u;
			key = (seed >> 40) % 300 * ((seed >> 50) % 300) / 300;
			trace[k][i] = has(c[k], key, key + 1);
			if (!trace[k][i])
				ck_assert_int_eq(xw_cache_insert(c[k], key, key + 1, true), 0);
		}
	}
	ck_assert_mem_eq(trace[0], trace[1], sizeof(trace[0]));
	ck_assert_uint_eq(stats(c[0]).second_chances, stats(c[1]).second_chances);
	ck_assert_uint_gt(stats(c[0]).second_chances, 0);
	ck_assert_uint_gt(stats(c[0]).reclaimed, 0);
	xw_cache_free(c[0]);
	xw_cache_free(c[1]);
}
END_TEST

/*
 * In parts, too, the bound holds after every call, parts fill evenly, and what is evicted are the
 * oldest.
 */
START_TEST(bound_of_parts)
{
	const uint32_t buckets = 1u << _i;
	const uint64_t max = 16u * buckets;
	struct xw_cache *c = xw_cache_new(buckets, 0);
	uint64_t found = 0;

	ck_assert_ptr_nonnull(c);
	ck_assert_uint_eq(stats(c).max_entries, max);
	for (uint64_t v = 0; v < 5 * max; v++) {
		ck_assert_int_eq(xw_cache_insert(c, v * 3, v, true), 0);
		ck_assert_uint_le(stats(c).entries, max);
		ck_assert_uint_ge(stats(c).entries + stats(c).reclaimed, XW_MIN(v + 1, max));
	}
	ck_assert_uint_ge(stats(c).entries, max - max / 16);
	for (uint64_t v = 0; v < 5 * max; v++) {
		const bool there = has(c, v * 3, v);

		ck_assert(!there || v >= 3 * max);
		found += there;
	}
	ck_assert_uint_eq(found, stats(c).entries);
	ck_assert_uint_eq(stats(c).reclaimed, 5 * max - found);
	ck_assert_uint_eq(stats(c).second_chances, 0);
	xw_cache_free(c);
}
END_TEST

/* Entries that were removed are used again, in other chains; the others stay what they were. */
START_TEST(reused_entries)
{
	struct xw_cache *c = xw_cache_new(64, _i ? XW_CACHE_BUILD : 0);

	for (uint64_t v = 0; v < 400; v++)
		ck_assert_int_eq(xw_cache_insert(c, v, v, true), 0);
	for (unsigned round = 1; round < 20; round++) {
		for (uint64_t v = 0; v < 400; v += 1 + round % 7) {
			ck_assert(xw_cache_remove(c, v, v));
			ck_assert(!has(c, v, v));
			ck_assert_int_eq(xw_cache_insert(c, v + 1000 * round, v, true), 0);
		}
		for (uint64_t v = 0; v < 400; v++)
			ck_assert_int_eq(has(c, v, v), v % (1 + round % 7) != 0);
		for (uint64_t v = 0; v < 400; v += 1 + round % 7) {
			ck_assert(xw_cache_remove(c, v + 1000 * round, v));
			ck_assert_int_eq(xw_cache_insert(c, v, v, true), 0);
		}
	}
	ck_assert_uint_eq(stats(c).entries, 400);
	ck_assert_uint_eq(stats(c).reclaimed, 0);
	xw_cache_free(c);
}
END_TEST

struct load {
	struct xw_cache *c;
	unsigned id, rounds;
	atomic_bool *wrong;
};

static void *hammer(void *arg)
{
	struct load *l = arg;
	uint64_t seed = l->id + 1;

	for (unsigned i = 0; i < l->rounds; i++) {
		uint64_t key, value;

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		key = (seed >> 33) % 5000;
		value = key << 8 | (seed >> 20 & 3);
		switch (seed >> 60) {
		case 0:
			xw_cache_remove(l->c, key, value);
			break;
		case 1:
			xw_cache_set_reusable(l->c, key, value, seed >> 59 & 1);
			break;
		default: {
			uint64_t got;

			if (xw_cache_find(l->c, key, any, NULL, &got)) {
				if (got >> 8 != key)
					*l->wrong = true;
			} else {
				int err = xw_cache_insert(l->c, key, value, true);

				if (err && err != XW_ERR_EXISTS)
					*l->wrong = true;
			}
		}
		}
	}
	return NULL;
}

START_TEST(threads)
{
	struct xw_cache *c = xw_cache_new(32, _i ? XW_CACHE_BUILD : 0);
	uint64_t max = 16 * 32;
	atomic_bool wrong = false;
	struct load l[8];
	pthread_t t[8];

	ck_assert_ptr_nonnull(c);
	for (unsigned i = 0; i < 8; i++) {
		l[i] = (struct load){c, i, 20000, &wrong};
		ck_assert_int_eq(pthread_create(&t[i], NULL, hammer, &l[i]), 0);
	}
	for (unsigned i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
	ck_assert(!wrong);
	ck_assert_uint_gt(stats(c).reclaimed, max);
	ck_assert_uint_gt(stats(c).hits, 1000);
	ck_assert_uint_le(stats(c).entries, max);
	ck_assert_uint_le(stats(c).peak, max + 32); /* one more in each part, until that evicts */
	xw_cache_free(c);
}
END_TEST

/* Entries come back out: insert minus removed minus reclaimed is what is there. */
START_TEST(accounting)
{
	struct xw_cache *c = xw_cache_new(16, 0);
	uint64_t removed = 0;
	struct xw_cache_stats st;

	for (uint64_t v = 0; v < 20000; v++) {
		ck_assert_int_eq(xw_cache_insert(c, v % 997, v, true), 0);
		if (v % 3 == 0)
			removed += xw_cache_remove(c, (v - v / 2) % 997, v - v / 2);
	}
	st = stats(c);
	ck_assert_uint_le(st.entries, st.max_entries);
	ck_assert_uint_le(st.peak, st.max_entries + 16);
	ck_assert_uint_eq(st.inserts - st.reclaimed - removed, st.entries);
	xw_cache_free(c);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("cache");
	TCase *tc = tcase_create("cache");

	tcase_set_timeout(tc, 120);
	unit_add_cases(tc, basics, "shared", "build");
	tcase_add_test(tc, bad_sizes);
	tcase_add_test(tc, one_key);
	tcase_add_loop_test(tc, build_bound, 0, 6);
	tcase_add_test(tc, second_chance);
	tcase_add_test(tc, all_referenced);
	tcase_add_loop_test(tc, build_deterministic, 0, 3);
	tcase_add_loop_test(tc, bound_of_parts, 0, 8);
	unit_add_cases(tc, reused_entries, "shared", "build");
	unit_add_cases(tc, threads, "shared", "build");
	tcase_add_test(tc, accounting);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
