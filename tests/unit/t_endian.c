/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <assert.h>
#include <string.h>

#include "base/endian.h"
#include "base/types.h"
#include "unit.h"

static_assert(sizeof(le16) == 2 && sizeof(le32) == 4 && sizeof(le64) == 8, "no padding");
static_assert(sizeof(be16) == 2 && sizeof(be32) == 4 && sizeof(be64) == 8, "no padding");
static_assert(_Alignof(le64) == 1 && _Alignof(be64) == 1, "usable at any address");

static const unsigned char bytes[8] = {0x81, 0x92, 0xa3, 0xb4, 0xc5, 0xd6, 0xe7, 0xf8};

START_TEST(known_bytes)
{
	unsigned char buf[9];

	for (int shift = 0; shift < 2; shift++) {
		memcpy(buf + shift, bytes, 8);
		ck_assert_uint_eq(peek16(buf + shift), 0x9281);
		ck_assert_uint_eq(peek32(buf + shift), 0xb4a39281u);
		ck_assert_uint_eq(peek64(buf + shift), 0xf8e7d6c5b4a39281u);
		ck_assert_uint_eq(getbe16(*(be16 *)(buf + shift)), 0x8192);
		ck_assert_uint_eq(getbe32(*(be32 *)(buf + shift)), 0x8192a3b4u);
		ck_assert_uint_eq(getbe64(*(be64 *)(buf + shift)), 0x8192a3b4c5d6e7f8u);
		memset(buf, 0, sizeof(buf));
		poke64(buf + shift, 0xf8e7d6c5b4a39281u);
		ck_assert_mem_eq(buf + shift, bytes, 8);
		poke32(buf + shift, 0x04030201);
		ck_assert_mem_eq(buf + shift, "\1\2\3\4\xc5", 5);
		poke16(buf + shift, 0x0605);
		ck_assert_mem_eq(buf + shift, "\5\6\3\4\xc5", 5);
	}
}
END_TEST

START_TEST(put_bytes)
{
	ck_assert_mem_eq(put16(0x9281).b, bytes, 2);
	ck_assert_mem_eq(put32(0xb4a39281u).b, bytes, 4);
	ck_assert_mem_eq(put64(0xf8e7d6c5b4a39281u).b, bytes, 8);
	ck_assert_mem_eq(putbe16(0x8192).b, bytes, 2);
	ck_assert_mem_eq(putbe32(0x8192a3b4u).b, bytes, 4);
	ck_assert_mem_eq(putbe64(0x8192a3b4c5d6e7f8u).b, bytes, 8);
}
END_TEST

/* Each bit alone, and its complement. */
START_TEST(round_trips)
{
	uint64_t v = (uint64_t)1 << (_i / 2);

	if (_i & 1)
		v = ~v;
	ck_assert_uint_eq(get64(put64(v)), v);
	ck_assert_uint_eq(getbe64(putbe64(v)), v);
	ck_assert_uint_eq(get32(put32((uint32_t)v)), (uint32_t)v);
	ck_assert_uint_eq(getbe32(putbe32((uint32_t)v)), (uint32_t)v);
	ck_assert_uint_eq(get16(put16((uint16_t)v)), (uint16_t)v);
	ck_assert_uint_eq(getbe16(putbe16((uint16_t)v)), (uint16_t)v);
}
END_TEST

START_TEST(rounding)
{
	ck_assert_uint_eq(xw_div_up(0, 7), 0);
	ck_assert_uint_eq(xw_div_up(7, 7), 1);
	ck_assert_uint_eq(xw_div_up(8, 7), 2);
	ck_assert_uint_eq(xw_div_up(UINT64_MAX, 2), (uint64_t)1 << 63);
	ck_assert_uint_eq(xw_round_up(0, 4096), 0);
	ck_assert_uint_eq(xw_round_up(1, 4096), 4096);
	ck_assert_uint_eq(xw_round_up(4096, 4096), 4096);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("endian");
	TCase *t = tcase_create("endian");

	tcase_add_test(t, known_bytes);
	tcase_add_test(t, put_bytes);
	tcase_add_loop_test(t, round_trips, 0, 128);
	tcase_add_test(t, rounding);
	suite_add_tcase(s, t);
	return unit_main(s);
}
