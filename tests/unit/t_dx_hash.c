/* SPDX-License-Identifier: MIT */
/* dx hashes against vectors taken from stock debugfs 1.47.0, and the rules every hash keeps. */
#include "unit.h"

#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "disk/dx_hash.h"

#define A15 "aaaaaaaaaaaaaaa"
#define A255 A15 A15 A15 A15 A15 A15 A15 A15 A15 A15 A15 A15 A15 A15 A15 A15 A15

static const uint32_t no_seed[4];
/* 01020304-8506-0708-f90a-0b0c0d0e0f10 */
static const uint32_t a_seed[4] = {0x04030201, 0x08070685, 0x0C0B0AF9, 0x100F0E0D};

static const struct {
	enum xw_dx_version version;
	bool seeded;
	const char *name;
	uint32_t major, minor;
} vectors[] = {
	{XW_DX_LEGACY, false, "a", 0xe74b53e2, 0x00000000},
	{XW_DX_LEGACY, false, "abcd", 0xfafa23ca, 0x00000000},
	{XW_DX_LEGACY, false, "hello", 0x32252546, 0x00000000},
	{XW_DX_LEGACY, false, "abcdefghijklmnop", 0xf2b18e8a, 0x00000000},
	{XW_DX_LEGACY, false, "abcdefghijklmnopqrstuvwxyz012345", 0x8be22c02, 0x00000000},
	{XW_DX_LEGACY, false, "abcdefghijklmnopqrstuvwxyz0123456", 0xcfbc04f6, 0x00000000},
	{XW_DX_LEGACY, false, A255, 0x1db9c686, 0x00000000},
	{XW_DX_LEGACY, false, "\xff\xfe\x80\x81", 0xe76293b4, 0x00000000},
	{XW_DX_LEGACY, false, "abcdefghijklmnopqrstuvwxyz012345\xe9", 0x91550d92, 0x00000000},
	{XW_DX_LEGACY, true, "caf\xc3\xa9", 0x96ca5a2c, 0x00000000},
	{XW_DX_HALF_MD4, false, "a", 0xd5fa7d7a, 0xacb48187},
	{XW_DX_HALF_MD4, false, "abcd", 0xad7557a8, 0xb1da437c},
	{XW_DX_HALF_MD4, false, "hello", 0x1746da32, 0x420013b5},
	{XW_DX_HALF_MD4, false, "abcdefghijklmnop", 0x0089e0be, 0xd74fb59c},
	{XW_DX_HALF_MD4, false, "abcdefghijklmnopqrstuvwxyz012345", 0x19643b1a, 0xdde3a0bf},
	{XW_DX_HALF_MD4, false, "abcdefghijklmnopqrstuvwxyz0123456", 0x16ed9a9c, 0x2fb8454f},
	{XW_DX_HALF_MD4, false, A255, 0x9b65f0f0, 0x759bf120},
	{XW_DX_HALF_MD4, false, "\xff\xfe\x80\x81", 0x36df17d2, 0x01173133},
	{XW_DX_HALF_MD4, false, "abcdefghijklmnopqrstuvwxyz012345\xe9", 0x5975805e, 0x0f89cabd},
	{XW_DX_HALF_MD4, true, "caf\xc3\xa9", 0xef0cb29a, 0x16d71eb1},
	{XW_DX_TEA, false, "a", 0x6d0ea4c0, 0xc18922df},
	{XW_DX_TEA, false, "abcd", 0x5a24112e, 0x95442076},
	{XW_DX_TEA, false, "hello", 0x6f5bb1a8, 0x231917c2},
	{XW_DX_TEA, false, "abcdefghijklmnop", 0xf4ac8cb4, 0x664dabe7},
	{XW_DX_TEA, false, "abcdefghijklmnopqrstuvwxyz012345", 0xe78c76dc, 0x94dd872b},
	{XW_DX_TEA, false, "abcdefghijklmnopqrstuvwxyz0123456", 0x521eac64, 0xffc99004},
	{XW_DX_TEA, false, A255, 0xb6b383e4, 0xaf482821},
	{XW_DX_TEA, false, "\xff\xfe\x80\x81", 0xb8908e52, 0xe33825fd},
	{XW_DX_TEA, false, "abcdefghijklmnopqrstuvwxyz012345\xe9", 0x374a2818, 0xc7dc67c4},
	{XW_DX_TEA, true, "caf\xc3\xa9", 0x1bdd32f8, 0x45882667},
	{XW_DX_LEGACY_U, false, "a", 0xe74b53e2, 0x00000000},
	{XW_DX_LEGACY_U, false, "abcd", 0xfafa23ca, 0x00000000},
	{XW_DX_LEGACY_U, false, "hello", 0x32252546, 0x00000000},
	{XW_DX_LEGACY_U, false, "abcdefghijklmnop", 0xf2b18e8a, 0x00000000},
	{XW_DX_LEGACY_U, false, "abcdefghijklmnopqrstuvwxyz012345", 0x8be22c02, 0x00000000},
	{XW_DX_LEGACY_U, false, "abcdefghijklmnopqrstuvwxyz0123456", 0xcfbc04f6, 0x00000000},
	{XW_DX_LEGACY_U, false, A255, 0x1db9c686, 0x00000000},
	{XW_DX_LEGACY_U, false, "\xff\xfe\x80\x81", 0x255bfbaa, 0x00000000},
	{XW_DX_LEGACY_U, false, "abcdefghijklmnopqrstuvwxyz012345\xe9", 0x771eff90, 0x00000000},
	{XW_DX_LEGACY_U, true, "caf\xc3\xa9", 0x6dde4230, 0x00000000},
	{XW_DX_HALF_MD4_U, false, "a", 0xd5fa7d7a, 0xacb48187},
	{XW_DX_HALF_MD4_U, false, "abcd", 0xad7557a8, 0xb1da437c},
	{XW_DX_HALF_MD4_U, false, "hello", 0x1746da32, 0x420013b5},
	{XW_DX_HALF_MD4_U, false, "abcdefghijklmnop", 0x0089e0be, 0xd74fb59c},
	{XW_DX_HALF_MD4_U, false, "abcdefghijklmnopqrstuvwxyz012345", 0x19643b1a, 0xdde3a0bf},
	{XW_DX_HALF_MD4_U, false, "abcdefghijklmnopqrstuvwxyz0123456", 0x16ed9a9c, 0x2fb8454f},
	{XW_DX_HALF_MD4_U, false, A255, 0x9b65f0f0, 0x759bf120},
	{XW_DX_HALF_MD4_U, false, "\xff\xfe\x80\x81", 0xd8df5c4c, 0xea076ea6},
	{XW_DX_HALF_MD4_U, false, "abcdefghijklmnopqrstuvwxyz012345\xe9", 0xbbd7eb22, 0x11843596},
	{XW_DX_HALF_MD4_U, true, "caf\xc3\xa9", 0xa8a2a93c, 0x7c0a7d35},
	{XW_DX_TEA_U, false, "a", 0x6d0ea4c0, 0xc18922df},
	{XW_DX_TEA_U, false, "abcd", 0x5a24112e, 0x95442076},
	{XW_DX_TEA_U, false, "hello", 0x6f5bb1a8, 0x231917c2},
	{XW_DX_TEA_U, false, "abcdefghijklmnop", 0xf4ac8cb4, 0x664dabe7},
	{XW_DX_TEA_U, false, "abcdefghijklmnopqrstuvwxyz012345", 0xe78c76dc, 0x94dd872b},
	{XW_DX_TEA_U, false, "abcdefghijklmnopqrstuvwxyz0123456", 0x521eac64, 0xffc99004},
	{XW_DX_TEA_U, false, A255, 0xb6b383e4, 0xaf482821},
	{XW_DX_TEA_U, false, "\xff\xfe\x80\x81", 0x39f5bd88, 0x23394e2f},
	{XW_DX_TEA_U, false, "abcdefghijklmnopqrstuvwxyz012345\xe9", 0x629d06de, 0xc1d479b2},
	{XW_DX_TEA_U, true, "caf\xc3\xa9", 0xb66c9fee, 0xdbee50ec},
};

START_TEST(vector)
{
	struct xw_dx_hash h;

	ck_assert_int_eq(xw_dx_hash(vectors[_i].version, vectors[_i].seeded ? a_seed : no_seed,
				    vectors[_i].name, strlen(vectors[_i].name), &h),
			 0);
	ck_assert_uint_eq(h.major, vectors[_i].major);
	ck_assert_uint_eq(h.minor, vectors[_i].minor);
}
END_TEST

/* The built-in seed, given explicitly, is the same as none; any other one is not. */
START_TEST(built_in_seed)
{
	static const uint32_t built_in[4] = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476};
	struct xw_dx_hash none, same, other;

	for (int v = XW_DX_HALF_MD4; v <= XW_DX_TEA_U; v++) {
		if (v == XW_DX_LEGACY_U)
			continue;
		ck_assert_int_eq(xw_dx_hash((enum xw_dx_version)v, no_seed, "name", 4, &none), 0);
		ck_assert_int_eq(xw_dx_hash((enum xw_dx_version)v, built_in, "name", 4, &same), 0);
		ck_assert_int_eq(xw_dx_hash((enum xw_dx_version)v, a_seed, "name", 4, &other), 0);
		ck_assert_int_eq(memcmp(&none, &same, sizeof(none)), 0);
		ck_assert_int_ne(memcmp(&none, &other, sizeof(none)), 0);
	}
}
END_TEST

/* This name's legacy hash is 0xFFFFFFFE, which is where a readdir cookie means the end. */
START_TEST(end_of_directory)
{
	struct xw_dx_hash h;

	ck_assert_int_eq(xw_dx_hash(XW_DX_LEGACY, no_seed, "7245bma", 7, &h), 0);
	ck_assert_uint_eq(h.major, 0xFFFFFFFC);
	ck_assert_uint_eq(h.minor, 0);
}
END_TEST

/* Over many names: bit 0 clear; signedness matters exactly when a byte is 0x80 or above; every byte
 * matters. */
START_TEST(rules)
{
	enum xw_dx_version v = (enum xw_dx_version)_i;
	uint64_t state = 1;
	char name[255];

	for (unsigned len = 1; len <= 255; len++) {
		struct xw_dx_hash s, u, changed;
		bool high = false;

		for (unsigned i = 0; i < len; i++) {
			state = state * 6364136223846793005u + 1442695040888963407u;
			name[i] = (char)(state >> (len & 1 ? 57 : 56));
			high |= name[i] & 0x80;
		}
		ck_assert_int_eq(xw_dx_hash(v, a_seed, name, len, &s), 0);
		ck_assert_int_eq(xw_dx_hash(v + XW_DX_LEGACY_U, a_seed, name, len, &u), 0);
		ck_assert_uint_eq(s.major & 1, 0);
		ck_assert_uint_eq(u.major & 1, 0);
		if (!high)
			ck_assert(s.major == u.major && s.minor == u.minor);
		if (high && len > 4)
			ck_assert(s.major != u.major || s.minor != u.minor);
		name[len - 1] ^= 1;
		ck_assert_int_eq(xw_dx_hash(v, a_seed, name, len, &changed), 0);
		ck_assert(s.major != changed.major || s.minor != changed.minor);
	}
}
END_TEST

START_TEST(siphash_is_refused)
{
	struct xw_dx_hash h;

	ck_assert_int_eq(xw_dx_hash(XW_DX_SIPHASH, no_seed, "a", 1, &h), XW_ERR_UNSUPPORTED);
	ck_assert_int_eq(xw_dx_hash((enum xw_dx_version)99, no_seed, "a", 1, &h),
			 XW_ERR_UNSUPPORTED);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("dx_hash");
	TCase *tc = tcase_create("dx_hash");

	unit_add_rows(tc, vector, vectors, name);
	tcase_add_test(tc, built_in_seed);
	tcase_add_test(tc, end_of_directory);
	tcase_add_loop_test(tc, rules, XW_DX_LEGACY, XW_DX_LEGACY_U);
	tcase_add_test(tc, siphash_is_refused);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
