/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <assert.h>
#include <endian.h>
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

struct XW_ON_DISK disk_one {
	le32 a, b;
};
struct XW_ON_DISK disk_other {
	le32 a;
	le16 b, c;
};

/*
 * Each writes through p, through q as another type, and reads p again: with p and q at one place
 * the second write must be seen. Not inlined, so that the compiler knows no more of p and q than it
 * would in a decoder.
 */
#define NOINLINE __attribute__((noinline))

static NOINLINE uint32_t integers(void *p, void *q)
{
	*(le32 *)p = put32(1);
	*(be32 *)q = putbe32(2);
	return peek32(p);
}

static NOINLINE uint32_t integer_host(void *p, void *q)
{
	poke32(p, 1);
	*(uint32_t *)q = 2;
	return peek32(p);
}

static NOINLINE uint32_t members(void *p, void *q)
{
	struct disk_one *x = p;
	struct disk_other *y = q;

	x->a = put32(1);
	y->a = put32(2);
	return get32(x->a);
}

static NOINLINE uint32_t member_host(void *p, void *q)
{
	struct disk_one *x = p;

	x->a = put32(1);
	*(uint32_t *)q = 2;
	return get32(x->a);
}

static NOINLINE uint32_t structs(void *p, void *q)
{
	struct disk_one *x = p;
	struct disk_other *y = q;

	*x = (struct disk_one){.a = put32(1)};
	*y = (struct disk_other){.a = put32(2)};
	return get32(x->a);
}

static NOINLINE uint32_t host_member(void *p, void *q)
{
	*(uint32_t *)q = 1;
	((struct disk_one *)p)->a = put32(2);
	return *(uint32_t *)q;
}

START_TEST(one_buffer_many_types)
{
	const uint32_t host_two = htole32(2);
	uint64_t place;

	ck_assert_uint_eq(integers(&place, &place), 0x02000000);
	ck_assert_uint_eq(integer_host(&place, &place), host_two);
	ck_assert_uint_eq(members(&place, &place), 2);
	ck_assert_uint_eq(member_host(&place, &place), host_two);
	ck_assert_uint_eq(structs(&place, &place), 2);
	ck_assert_uint_eq(host_member(&place, &place), host_two);
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
	tcase_add_test(t, one_buffer_many_types);
	tcase_add_test(t, rounding);
	suite_add_tcase(s, t);
	return unit_main(s);
}
