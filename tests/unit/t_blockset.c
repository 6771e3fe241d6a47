// SPDX-License-Identifier: MIT
/* lib/base/blockset against an array of bytes. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/blockset.h"
#include "base/types.h"
#include "unit.h"

enum { LIMIT = 3 * 32768 + 777 };

static uint8_t model[LIMIT];

static uint32_t rnd(uint32_t *state, uint32_t below)
{
	*state = *state * 1664525u + 1013904223u;
	return (uint32_t)(((uint64_t)*state * below) >> 32);
}

static uint64_t model_count(uint64_t start, uint64_t len)
{
	uint64_t n = 0;

	for (uint64_t i = start; i < start + len; i++)
		n += model[i];
	return n;
}

static void same_bits(const struct xw_blockset *s, uint64_t start, uint64_t len)
{
	uint8_t bits[LIMIT / 8 + 2];

	bits[(len + 7) / 8] = 0xA5;
	xw_blockset_bits(s, start, len, bits);
	for (uint64_t i = 0; i < len; i++)
		ck_assert_int_eq(bits[i / 8] >> i % 8 & 1, model[start + i]);
	if (len % 8)
		ck_assert_int_eq(bits[len / 8] >> len % 8, 0);
	ck_assert_int_eq(bits[(len + 7) / 8], 0xA5);
}

static void same_runs(const struct xw_blockset *s)
{
	uint64_t start, len, at = 0;

	while (xw_blockset_next(s, at, &start, &len)) {
		ck_assert_uint_eq(model_count(at, start - at), 0);
		ck_assert_uint_eq(model_count(start, len), len);
		at = start + len;
		ck_assert(at == LIMIT || !model[at]);
	}
	ck_assert_uint_eq(model_count(at, LIMIT - at), 0);
}

/* Runs of many lengths: lists that stay short, and ones that become bits, full and empty again. */
START_TEST(as_the_model)
{
	static const uint32_t lengths[] = {1, 3, 40, 900, 40000};
	const uint32_t most = lengths[_i % 5];
	uint32_t state = (uint32_t)_i + 1;
	struct xw_blockset *s;

	memset(model, 0, sizeof(model));
	ck_assert_int_eq(xw_blockset_new(LIMIT, &s), 0);
	for (int step = 0; step < 3000; step++) {
		const uint64_t start = rnd(&state, LIMIT);
		const uint64_t want = rnd(&state, most) + 1u;
		const uint64_t len = XW_MIN(want, LIMIT - start);
		const uint64_t was = model_count(start, len);
		const bool add = rnd(&state, 3) > (uint32_t)(step / 1000 == 1);
		uint64_t had = 99;

		ck_assert_uint_eq(xw_blockset_count(s, start, len), was);
		if (add)
			ck_assert_int_eq(xw_blockset_add(s, start, len, &had), 0);
		else
			ck_assert_int_eq(xw_blockset_remove(s, start, len), 0);
		ck_assert_uint_eq(had, add ? was : 99);
		memset(model + start, add, len);
		ck_assert_int_eq(xw_blockset_has(s, start), add);
		if (step % 500 == 0) {
			same_runs(s);
			same_bits(s, 0, LIMIT);
			same_bits(s, start, len);
		}
	}
	same_runs(s);
	xw_blockset_free(s);
}
END_TEST

START_TEST(bits_and_back)
{
	uint32_t state = (uint32_t)_i + 77;
	const uint64_t start = rnd(&state, 1000), len = LIMIT - 1000 - rnd(&state, 9);
	struct xw_blockset *s;

	memset(model, 0, sizeof(model));
	ck_assert_int_eq(xw_blockset_new(LIMIT, &s), 0);
	for (uint64_t i = 0; i < len;) {
		const uint64_t want = rnd(&state, _i ? 5000 : 3) + 1u;
		const uint64_t n = XW_MIN(want, len - i);

		if (rnd(&state, 2)) {
			memset(model + start + i, 1, n);
			ck_assert_int_eq(xw_blockset_add(s, start + i, n, NULL), 0);
		}
		i += n;
	}
	same_runs(s);
	same_bits(s, start, len);
	xw_blockset_free(s);
}
END_TEST

START_TEST(the_end)
{
	struct xw_blockset *s;
	uint64_t start, len, had;

	ck_assert_int_eq(xw_blockset_new(2 * 32768, &s), 0);
	ck_assert(!xw_blockset_next(s, 0, &start, &len));
	ck_assert_int_eq(xw_blockset_add(s, 0, 2 * 32768, &had), 0);
	ck_assert_uint_eq(had, 0);
	ck_assert(xw_blockset_next(s, 5, &start, &len));
	ck_assert_uint_eq(start, 5);
	ck_assert_uint_eq(len, 2 * 32768 - 5);
	ck_assert(xw_blockset_next_in(s, 5, 32768, &start, &len));
	ck_assert_uint_eq(len, 32768 - 5);
	ck_assert(xw_blockset_next_in(s, 32767, 32769, &start, &len));
	ck_assert_uint_eq(start, 32767);
	ck_assert_uint_eq(len, 2);
	ck_assert(!xw_blockset_next_in(s, 7, 7, &start, &len));
	ck_assert(!xw_blockset_next_in(s, 32768, 32768, &start, &len));
	ck_assert(!xw_blockset_next_in(s, 2 * 32768, 2 * 32768, &start, &len));
	ck_assert_int_eq(xw_blockset_remove(s, 40000, 1), 0);
	ck_assert(!xw_blockset_has(s, 40000));
	ck_assert_uint_eq(xw_blockset_count(s, 0, 2 * 32768), 2 * 32768 - 1);
	ck_assert(!xw_blockset_has(s, 2 * 32768));
	xw_blockset_free(s);
	xw_blockset_free(NULL);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("blockset");
	TCase *t = tcase_create("blockset");

	tcase_add_loop_test(t, as_the_model, 0, 10);
	tcase_add_loop_test(t, bits_and_back, 0, 2);
	tcase_add_test(t, the_end);
	suite_add_tcase(s, t);
	return unit_main(s);
}
