/* SPDX-License-Identifier: MIT */
/* Tables of references and of slots with contents, beside an array. */
#include "config.h"

#include "base/table.h"
#include "unit.h"

#define KEYS 5000u

struct slot {
	uint32_t key;
	bool used;
	uint32_t count;
};

static bool used(const void *slot)
{
	return ((const struct slot *)slot)->used;
}

static bool same(const void *arg, const void *slot, const void *key)
{
	(void)arg;
	return ((const struct slot *)slot)->key == *(const uint32_t *)key;
}

/* arg: bits of the number that count; few: everything collides. */
static uint64_t of_key(const struct xw_table *t, const void *arg, uint32_t key)
{
	return xw_table_number(t, key) & *(const uint64_t *)arg;
}

static uint64_t hash(const struct xw_table *t, const void *arg, const void *slot)
{
	return of_key(t, arg, ((const struct slot *)slot)->key);
}

static const struct xw_table_kind kind = {sizeof(struct slot), used, same, hash};

static const uint64_t masks[] = {UINT64_MAX, 0xff, 1, 0};

START_TEST(counts)
{
	const uint64_t mask = masks[_i];
	const uint32_t keys = mask > 1 ? KEYS : KEYS / 10;
	uint32_t *model = calloc(keys, sizeof(*model)), state = 1, some = 7;
	struct xw_table t = {0};
	size_t n = 0;

	ck_assert_ptr_null(xw_table_get(&t, &kind, &mask, of_key(&t, &mask, some), &some));
	for (uint32_t i = 0; i < 4 * keys; i++) {
		uint32_t key;
		struct slot *s;

		state = state * 1664525 + 1013904223;
		key = (state >> 8) % keys;
		ck_assert_int_eq(xw_table_room(&t, &kind, &mask), 0);
		s = xw_table_slot(&t, &kind, &mask, of_key(&t, &mask, key), &key);
		ck_assert_int_eq(s->used, model[key] != 0);
		t.n += !s->used;
		s->used = true;
		s->key = key;
		s->count++;
		n += !model[key]++;
		ck_assert_uint_eq(t.n, n);
		ck_assert_uint_le(2 * t.n, t.size);
	}
	for (uint32_t key = 0; key < keys; key++) {
		const struct slot *s = xw_table_get(&t, &kind, &mask, of_key(&t, &mask, key), &key);

		ck_assert_uint_eq(s ? s->count : 0, model[key]);
	}
	n = 0;
	for (size_t i = 0; i < t.size; i++)
		n += used(xw_table_at(&t, &kind, i));
	ck_assert_uint_eq(n, t.n);
	xw_table_free(&t);
	ck_assert_ptr_null(t.slots);
	ck_assert_uint_eq(t.size + t.n, 0);
	free(model);
}
END_TEST

/* Slots walked by all look-ups of numbers, which all have one value of the former fixed hash. */
START_TEST(crafted_numbers_are_spread)
{
	static const struct xw_table_kind numbers = XW_TABLE_BY_U64(uint64_t);
	struct xw_table t = {0};
	size_t walked = 0;

	for (uint64_t i = 1; i <= KEYS; i++) {
		const uint64_t n = _i ? i << 44 : i * UINT64_C(0xF1DE83E19937733D) << 40;

		ck_assert_int_ge(xw_numbers_add(&t, n), 0);
	}
	for (size_t i = 0; i < t.size; i++) {
		const uint64_t *slot = xw_table_at(&t, &numbers, i);

		if (*slot)
			walked += (i - xw_table_number(&t, *slot)) & (t.size - 1);
	}
	/* Half full or less: half a step each on average. */
	ck_assert_uint_lt(walked, 4 * t.n);
	xw_table_free(&t);
}
END_TEST

START_TEST(key_stays)
{
	const struct xw_hash_key key = xw_hash_process_key();
	struct xw_table t = {0};

	ck_assert(!xw_numbers_has(&t, 1));
	for (uint64_t i = 1; i <= KEYS; i++) {
		ck_assert_int_eq(xw_numbers_add(&t, i), 1);
		ck_assert_mem_eq(&t.key, &key, sizeof(key));
	}
	for (uint64_t i = 1; i <= KEYS; i++)
		ck_assert_int_eq(xw_numbers_add(&t, i), 0);
	for (uint64_t i = 1; i <= 2 * KEYS; i++)
		ck_assert_int_eq(xw_numbers_has(&t, i), i <= KEYS);
	xw_table_free(&t);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("table");
	TCase *t = tcase_create("table");

	unit_add_table(t, counts, masks);
	unit_add_cases(t, crafted_numbers_are_spread, "inverse of the multiplier", "high bits");
	tcase_add_test(t, key_stays);
	suite_add_tcase(s, t);
	return unit_main(s);
}
