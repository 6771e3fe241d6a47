/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/endian.h"
#include "base/hash.h"
#include "base/types.h"
#include "unit.h"

/* ---- xw_hash_fixed ---- */

static uint64_t next(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

static void fill(unsigned char *buf, size_t len, uint64_t seed)
{
	uint64_t x = seed * 0x9e3779b97f4a7c15u + 1;

	for (size_t i = 0; i < len; i++)
		buf[i] = (unsigned char)(next(&x) >> 32);
}

/* Pinned: build decisions follow the hash, so it may not change between machines or versions. */
static const struct {
	size_t len;
	uint64_t seed, hash;
} pinned[] = {
	{0, 0, 0x1fd1b44973070383},
	{0, 0xfedcba9876543210, 0x6e906851daec6116},
	{1, 0, 0x1798d16666eb28f0},
	{2, 0, 0xf6abf8f307e927be},
	{3, 0, 0x37b6bac304023049},
	{4, 0, 0x897fd82e48882d63},
	{4, 0xfedcba9876543210, 0xb3074b25877d161d},
	{5, 0, 0x766784e24539e92f},
	{7, 0, 0x28b7682c080f3d25},
	{8, 0, 0x24a1671532745c83},
	{9, 0, 0x62cd03059308fd71},
	{9, 0xfedcba9876543210, 0x8aec8cb9a4512234},
	{12, 0, 0xab5bbc01007863d2},
	{15, 0, 0x61b7d705b96ccb39},
	{16, 0, 0x9aee0f5259307693},
	{17, 0, 0x04383b9aafa5e731},
	{17, 0xfedcba9876543210, 0xa0ebb463a37cf449},
	{24, 0, 0x0f4226ab453e866c},
	{32, 0, 0x35c9adf469b2059d},
	{33, 0, 0xee8f9a08a2aebc55},
	{47, 0, 0x7c3a5ec5dc096848},
	{47, 0xfedcba9876543210, 0x9925f171e629e8ba},
	{48, 0, 0xa900cee3d556e2c2},
	{49, 0, 0xcc54fc3f2dce2d6b},
	{64, 0, 0xd11c8167acb055ec},
	{96, 0, 0x7746e399bfe89b4e},
	{96, 0xfedcba9876543210, 0x8fdc32a37194e42c},
	{97, 0, 0x4e2bae89907d7d0e},
	{255, 0, 0xfa5ac496da471762},
	{256, 0, 0xf20a77d32211e9db},
};

START_TEST(hash64_is_fixed)
{
	unsigned char buf[300], *p = buf + _i % 8;

	for (size_t i = 0; i < pinned[_i].len; i++)
		p[i] = (unsigned char)(i * 7 + 3);
	ck_assert_uint_eq(xw_hash_fixed(p, pinned[_i].len, pinned[_i].seed), pinned[_i].hash);
}
END_TEST

/* Each input bit flips each output bit with a probability near one half, seed bits too. */
START_TEST(hash64_avalanche)
{
	enum { ROUNDS = 1500 };
	static const size_t lens[] = {1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 48, 49, 96, 97};
	size_t len = lens[_i], bits = len * 8 + 64;

	for (size_t bit = 0; bit<bits; bit += bits> 200 ? 5 : 1) {
		unsigned flips[64] = {0};

		for (unsigned round = 0; round < ROUNDS; round++) {
			uint64_t seed = round * 0x1234567u, diff;
			unsigned char buf[128];

			fill(buf, len, round + 1);
			diff = xw_hash_fixed(buf, len, seed);
			if (bit < len * 8)
				buf[bit / 8] ^= (unsigned char)(1u << bit % 8);
			else
				seed ^= (uint64_t)1 << (bit - len * 8);
			diff ^= xw_hash_fixed(buf, len, seed);
			for (int o = 0; o < 64; o++)
				flips[o] += diff >> o & 1;
		}
		/* 7 standard deviations of a fair coin: 750 +- 136 */
		for (int o = 0; o < 64; o++)
			ck_assert_msg(flips[o] > 614 && flips[o] < 886, "bit %zu -> %d: %u of %d",
				      bit, o, flips[o], ROUNDS);
	}
}
END_TEST

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

enum { KEYS = 200000 };

/* Keys of the kinds that defeat weak hashes. */
static uint64_t hash_key(int kind, uint32_t i)
{
	unsigned char buf[512] = {0};

	switch (kind) {
	case 0: /* counters */
		poke32(buf, i);
		return xw_hash_fixed(buf, 4, 0);
	case 1: /* counters, high half */
		poke64(buf, (uint64_t)i << 32);
		return xw_hash_fixed(buf, 8, 0);
	case 2: /* zeros of different lengths, seeds */
		return xw_hash_fixed(buf, i % 500, i / 500);
	case 3: /* a changing word among zeros, moving */
		poke32(buf + i % 60 * 4, i / 60 + 1);
		return xw_hash_fixed(buf, 256, 0);
	default: /* all words even, as h_hash cannot take them */
		for (size_t k = 0; k < 16; k++)
			poke64(buf + 8 * k, ((uint64_t)i >> k & 1) << 40 | (k == 15 ? i & ~1u : 0));
		poke32(buf + 128, i << 1);
		return xw_hash_fixed(buf, 132, 0);
	}
}

START_TEST(hash64_spreads)
{
	static uint64_t h[KEYS];
	static unsigned low[1024], high[1024];
	double chi_low = 0, chi_high = 0, want = KEYS / 1024.0;

	memset(low, 0, sizeof(low));
	memset(high, 0, sizeof(high));
	for (uint32_t i = 0; i < KEYS; i++) {
		h[i] = hash_key(_i, i);
		low[h[i] & 1023]++;
		high[h[i] >> 54]++;
	}
	for (int i = 0; i < 1024; i++) {
		chi_low += (low[i] - want) * (low[i] - want) / want;
		chi_high += (high[i] - want) * (high[i] - want) / want;
	}
	/* 1023 degrees of freedom: 45 is the standard deviation */
	ck_assert_msg(chi_low < 1300 && chi_high < 1300, "%f %f", chi_low, chi_high);
	qsort(h, KEYS, sizeof(h[0]), by_value);
	for (int i = 1; i < KEYS; i++)
		ck_assert_uint_ne(h[i - 1], h[i]);
}
END_TEST

/* ---- xw_hash_secret ---- */

/*
 * SipHash-1-3 with the key 00 01 .. 0f of the bytes 00 01 02 ..: the first eight of them are the
 * seed. Computed by a second implementation.
 */
static const struct {
	size_t len;
	uint64_t hash;
} sip[] = {
	{0, 0x369095118d299a8e},   {1, 0x25a48eb36c063de4},   {4, 0x78a384b157b4d9a2},
	{7, 0xd320d86d2a519956},   {8, 0xcc4fdd1a7d908b66},   {9, 0x9cf2689063dbd80c},
	{16, 0xf464aeb267349c8c},  {23, 0x2370dd1f8c21d1bc},  {32, 0xc1d2363299e41531},
	{55, 0x9d199062b7bbb3a8},  {255, 0x32a9a86921d2a10c}, {256, 0xc8fedcc289a35d66},
	{292, 0x4016a23bda5a2224},
};

START_TEST(secret_is_siphash)
{
	const struct xw_hash_key key = {{0x0706050403020100, 0x0f0e0d0c0b0a0908}};
	unsigned char buf[320];

	for (size_t i = 0; i < sizeof(buf); i++)
		buf[i] = (unsigned char)i;
	ck_assert_uint_eq(xw_hash_secret(&key, peek64(buf), buf + 8, sip[_i].len), sip[_i].hash);
}
END_TEST

/*
 * Names whose value of the fixed hash is one and the same, because a factor is 0: with the secret
 * key their hashes differ, also in the low bits that select a slot.
 */
START_TEST(crafted_names_are_spread)
{
	const struct xw_hash_key key = xw_hash_process_key();
	enum { NAMES = 4096 };
	static unsigned low[NAMES];
	uint64_t first = 0, most = 0;
	unsigned char name[40] = {0};

	memset(low, 0, sizeof(low));
	memcpy(name + 32, "the same", 8);
	poke64(name, 0xec4215c2dc465831);
	poke64(name + 16, 0xec4215c2dc465831);
	for (uint32_t i = 0; i < NAMES; i++) {
		const uint64_t x = 0x6161616161616161u + i;
		unsigned *n;

		poke64(name + 8, x);
		poke64(name + 24, x ^ 0x4040404040404040u);
		if (!i)
			first = xw_hash_fixed(name, sizeof(name), 0);
		ck_assert_uint_eq(xw_hash_fixed(name, sizeof(name), 0), first);
		n = &low[xw_hash_secret(&key, 0, name, sizeof(name)) % NAMES];
		most = XW_MAX(most, ++*n);
	}
	/* Of 4096 balls in as many urns, 20 in one have a probability of 1e-15. */
	ck_assert_uint_lt(most, 20);
}
END_TEST

START_TEST(numbers_and_keys_differ)
{
	const struct xw_hash_key key = xw_hash_process_key();
	struct xw_hash_key other = key;

	ck_assert_uint_ne(xw_hash_number(&key, 1), xw_hash_number(&key, 2));
	ck_assert(key.k[0] && key.k[1] && key.k[0] != key.k[1]);
	for (unsigned bit = 0; bit < 128; bit++) {
		other.k[bit / 64] ^= UINT64_C(1) << bit % 64;
		ck_assert_uint_ne(xw_hash_number(&key, 1), xw_hash_number(&other, 1));
		ck_assert_uint_ne(xw_hash_secret(&key, 0, "x", 1),
				  xw_hash_secret(&other, 0, "x", 1));
		other = key;
	}
	other = xw_hash_process_key();
	ck_assert_mem_eq(&key, &other, sizeof(key)); /* one key for each process */
}
END_TEST

/* ---- directory hashes, against what stock debugfs 1.47.0 `dx_hash` prints ---- */

#define N5 "nnnnn"
#define N51 N5 N5 N5 N5 N5 N5 N5 N5 N5 N5 "n"
#define N255 N51 N51 N51 N51 N51

static const struct {
	const char *name;
	bool seeded; /* -s 01020304-0506-0708-090a-0b0c0d0e0f10 */
	bool tea;
	uint32_t major, minor;
} dx[] = {
	{"a", false, false, 0xd5fa7d7a, 0xacb48187},
	{"a", true, false, 0x8d08ec4c, 0x2fbccd78},
	{"a", false, true, 0x6d0ea4c0, 0xc18922df},
	{"a", true, true, 0xf53528f0, 0xea54fb01},
	{"hello", false, false, 0x1746da32, 0x420013b5},
	{"hello", true, false, 0xe2ddf968, 0xc8bc0924},
	{"hello", false, true, 0x6f5bb1a8, 0x231917c2},
	{"hello", true, true, 0x1a5692b6, 0x2fd9857d},
	{"lost+found", false, false, 0x591de422, 0x6ffc56e0},
	{"lost+found", true, false, 0x694c8bb4, 0x74b39433},
	{"lost+found", false, true, 0x2dbf9e80, 0xbfebee4f},
	{"lost+found", true, true, 0x3e95424c, 0xc33595ee},
	{"0123456789abcdef0123456789abcdef", false, false, 0x36184620, 0xc959df59},
	{"0123456789abcdef0123456789abcdef", true, false, 0xd7680c2c, 0xe50252d7},
	{"0123456789abcdef0123456789abcdef", false, true, 0xcbe95e3c, 0x17627589},
	{"0123456789abcdef0123456789abcdef", true, true, 0xbd1f63f0, 0x57bb8b20},
	{"0123456789abcdef0123456789abcdefX", false, false, 0x75e0fd86, 0x42338bcb},
	{"0123456789abcdef0123456789abcdefX", true, false, 0xc60fb6d0, 0x461969dd},
	{"0123456789abcdef0123456789abcdefX", false, true, 0x993c84be, 0x64feec4c},
	{"0123456789abcdef0123456789abcdefX", true, true, 0x36d6c32e, 0x980a64a7},
	{N255, false, false, 0xc0f8fde8, 0xa0c44aea},
	{N255, true, false, 0x5aea33c0, 0xfbcd617},
	{N255, false, true, 0x4156e7c, 0x5ae99eca},
	{N255, true, true, 0xd4a5bb16, 0x5c991622},
};

/* What dir/ does around the rounds: words of four bytes, big end first, padded with the length. */
static void pack(const char *name, size_t len, uint32_t *in, size_t words)
{
	uint32_t pad = (uint32_t)len * 0x01010101u, v = pad;
	size_t n = XW_MIN(len, words * 4), k = 0;

	for (size_t i = 0; i < n; i++) {
		v = (v << 8) + (unsigned char)name[i];
		if (i % 4 == 3) {
			in[k++] = v;
			v = pad;
		}
	}
	if (k < words)
		in[k++] = v;
	while (k < words)
		in[k++] = pad;
}

START_TEST(dx_rounds)
{
	uint32_t buf[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476}, in[8];
	const char *p = dx[_i].name;
	size_t len = strlen(p), words = dx[_i].tea ? 4 : 8;

	if (dx[_i].seeded)
		for (uint32_t i = 0; i < 4; i++)
			buf[i] = 0x04030201u + 0x04040404u * i;
	for (;; p += words * 4, len -= words * 4) {
		pack(p, len, in, words);
		if (dx[_i].tea)
			xw_tea(buf, in);
		else
			xw_half_md4(buf, in);
		if (len <= words * 4)
			break;
	}
	ck_assert_uint_eq(buf[dx[_i].tea ? 0 : 1] & ~1u, dx[_i].major);
	ck_assert_uint_eq(buf[dx[_i].tea ? 1 : 2], dx[_i].minor);
}
END_TEST

/* ---- SHA-256 ---- */

int main(void)
{
	Suite *s = suite_create("hash");
	TCase *t = tcase_create("hash");

	unit_add_table(t, hash64_is_fixed, pinned);
	tcase_add_loop_test(t, hash64_avalanche, 0, 14);
	tcase_add_loop_test(t, hash64_spreads, 0, 5);
	unit_add_table(t, secret_is_siphash, sip);
	tcase_add_test(t, crafted_names_are_spread);
	tcase_add_test(t, numbers_and_keys_differ);
	unit_add_rows(t, dx_rounds, dx, name);
	tcase_set_timeout(t, 120);
	suite_add_tcase(s, t);
	return unit_main(s);
}
