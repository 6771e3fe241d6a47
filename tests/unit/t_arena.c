/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "unit.h"

START_TEST(empty)
{
	struct xw_arena a = {0};

	xw_arena_free(&a);
	ck_assert_ptr_nonnull(xw_arena_alloc(&a, 0, 1));
	ck_assert_ptr_null(xw_arena_alloc(&a, SIZE_MAX, 1));
	ck_assert_ptr_null(xw_arena_alloc(&a, SIZE_MAX - 8, 16));
	ck_assert_ptr_nonnull(xw_arena_alloc(&a, 1, 1));
	xw_arena_free(&a);
	ck_assert_ptr_null(a.head);
	ck_assert_uint_eq(a.total, 0);
}
END_TEST

static bool all_are(const unsigned char *p, size_t n, int value)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != value)
			return false;
	return true;
}

/* Sizes around every chunk limit: zeroed, aligned, and no two share a byte. */
START_TEST(blocks_are_apart)
{
	enum { N = 4000 };
	static const size_t odd[] = {0,    1,    3,    8,    24,    100,   1000,
				     1024, 1025, 4080, 4096, 70000, 300000};
	struct xw_arena a = {0};
	unsigned char *p[N];
	size_t size[N], sum = 0;
	uint32_t rnd = 12345u + (uint32_t)_i;

	for (int i = 0; i < N; i++) {
		size_t align = (size_t)1 << (i % 5);

		rnd = rnd * 1664525u + 1013904223u;
		size[i] = rnd >> 24 ? (rnd >> 16) % 200 : odd[(rnd >> 8) % 13];
		p[i] = xw_arena_alloc(&a, size[i], align);
		ck_assert_ptr_nonnull(p[i]);
		ck_assert_uint_eq((uintptr_t)p[i] % align, 0);
		ck_assert(all_are(p[i], size[i], 0));
		memset(p[i], i & 0xff, size[i]);
		sum += size[i];
	}
	for (int i = 0; i < N; i++)
		ck_assert(all_are(p[i], size[i], i & 0xff));
	ck_assert_uint_ge(a.total, sum);
	ck_assert_uint_le(a.total, 2 * sum + 16 * N + (1 << 20));
	xw_arena_free(&a);
}
END_TEST

START_TEST(big_block_keeps_the_head)
{
	struct xw_arena a = {0};
	char *x = xw_arena_alloc(&a, 10, 1), *big, *y;

	big = xw_arena_alloc(&a, 5 << 20, 16);
	y = xw_arena_alloc(&a, 10, 1);
	ck_assert_ptr_nonnull(big);
	ck_assert_ptr_eq(y, x + 10);
	ck_assert_uint_lt(a.total, (5 << 20) + 8192);
	xw_arena_free(&a);
	/* A big one first must not pretend to have room. */
	big = xw_arena_alloc(&a, 100000, 1);
	memset(big, 1, 100000);
	for (int i = 0; i < 100; i++) {
		y = xw_arena_alloc(&a, 100, 1);
		ck_assert(y + 100 <= big || y >= big + 100000);
		ck_assert_int_eq(y[0], 0);
	}
	xw_arena_free(&a);
}
END_TEST

START_TEST(copies)
{
	struct xw_arena a = {0};
	struct thing {
		long l;
	} * t;

	ck_assert_mem_eq(xw_arena_dup(&a, "abc", 3), "abc", 3);
	ck_assert_ptr_nonnull(xw_arena_dup(&a, NULL, 0));
	t = XW_ARENA_NEW(&a, struct thing);
	ck_assert_uint_eq((uintptr_t)t % _Alignof(struct thing), 0);
	ck_assert_int_eq(t->l, 0);
	xw_arena_free(&a);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("arena");
	TCase *t = tcase_create("arena");

	tcase_add_test(t, empty);
	tcase_add_loop_test(t, blocks_are_apart, 0, 4);
	tcase_add_test(t, big_block_keeps_the_head);
	tcase_add_test(t, copies);
	tcase_set_timeout(t, 60);
	suite_add_tcase(s, t);
	return unit_main(s);
}
