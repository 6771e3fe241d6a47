/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <string.h>

#include "base/crc.h"
#include "base/types.h"
#include "unit.h"

/* RFC 3720 B.4 (stored least significant byte first there), and the common check string. */
START_TEST(crc32c_vectors)
{
	unsigned char zero[32] = {0}, ones[32], up[32], down[32];
	const struct {
		const void *buf;
		size_t len;
		uint32_t crc;
	} v[] = {
		{zero, 32, 0x8a9136aa}, {ones, 32, 0x62a8ab43},       {up, 32, 0x46dd794e},
		{down, 32, 0x113fdb5c}, {"123456789", 9, 0xe3069283}, {"", 0, 0},
		{"a", 1, 0xc1d04330},
	};

	memset(ones, 0xff, 32);
	for (int i = 0; i < 32; i++) {
		up[i] = (unsigned char)i;
		down[i] = (unsigned char)(31 - i);
	}
	for (size_t i = 0; i < XW_ARRAY_SIZE(v); i++) {
		ck_assert_uint_eq(~xw_crc32c(~0u, v[i].buf, v[i].len), v[i].crc);
		ck_assert_uint_eq(~xw_crc32c_sw(~0u, v[i].buf, v[i].len), v[i].crc);
	}
}
END_TEST

static uint32_t bitwise(uint32_t crc, const unsigned char *p, size_t len, uint32_t poly)
{
	while (len--) {
		crc ^= *p++;
		for (int i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? poly : 0);
	}
	return crc;
}

static void fill(unsigned char *buf, size_t len)
{
	uint32_t x = 1;

	for (size_t i = 0; i < len; i++) {
		x = x * 1664525u + 1013904223u;
		buf[i] = (unsigned char)(x >> 24);
	}
}

/* The register before any part of a buffer is found from the one behind it. */
START_TEST(crc32c_back)
{
	unsigned char buf[600];

	fill(buf, sizeof(buf));
	for (size_t len = 0; len <= sizeof(buf); len += 1 + len / 8)
		for (uint32_t crc = 1; crc; crc <<= 1)
			ck_assert_uint_eq(xw_crc32c_back(xw_crc32c(~crc, buf, len), buf, len),
					  ~crc);
}
END_TEST

/* Every length over the stream limits, every alignment, against the definition. */
START_TEST(crc32c_lengths)
{
	unsigned char buf[3400];

	fill(buf, sizeof(buf));
	for (size_t len = 0; len < 3300; len += len < 420 ? 1 : 37) {
		uint32_t seed = (uint32_t)len * 0x9e3779b9u;
		const unsigned char *p = buf + _i;
		uint32_t want = bitwise(seed, p, len, 0x82f63b78);

		ck_assert_uint_eq(xw_crc32c(seed, p, len), want);
		ck_assert_uint_eq(xw_crc32c_sw(seed, p, len), want);
	}
}
END_TEST

/* In pieces as at once: what checksums of seed, number and generation rely on. */
START_TEST(pieces)
{
	unsigned char buf[2000];

	fill(buf, sizeof(buf));
	for (size_t cut = 0; cut <= sizeof(buf); cut += 13) {
		size_t rest = sizeof(buf) - cut;

		ck_assert_uint_eq(xw_crc32c(xw_crc32c(7, buf, cut), buf + cut, rest),
				  xw_crc32c(7, buf, sizeof(buf)));
		ck_assert_uint_eq(xw_crc32_be(xw_crc32_be(7, buf, cut), buf + cut, rest),
				  xw_crc32_be(7, buf, sizeof(buf)));
		ck_assert_uint_eq(xw_crc16(xw_crc16(7, buf, cut), buf + cut, rest),
				  xw_crc16(7, buf, sizeof(buf)));
	}
}
END_TEST

START_TEST(crc16_vectors)
{
	unsigned char buf[300];

	/* CRC-16/ARC and CRC-16/MODBUS differ in the start value only. */
	ck_assert_uint_eq(xw_crc16(0, "123456789", 9), 0xbb3d);
	ck_assert_uint_eq(xw_crc16(0xffff, "123456789", 9), 0x4b37);
	fill(buf, sizeof(buf));
	for (size_t len = 0; len <= sizeof(buf); len++)
		ck_assert_uint_eq(xw_crc16(0xffff, buf, len), bitwise(0xffff, buf, len, 0xa001));
}
END_TEST

static uint32_t bitwise_be(uint32_t crc, const unsigned char *p, size_t len)
{
	while (len--) {
		crc ^= (uint32_t)*p++ << 24;
		for (int i = 0; i < 8; i++)
			crc = crc << 1 ^ (crc >> 31 ? 0x04c11db7u : 0);
	}
	return crc;
}

START_TEST(crc32_be_vectors)
{
	unsigned char buf[300];

	/* CRC-32/MPEG-2, and CRC-32/BZIP2 as its complement */
	ck_assert_uint_eq(xw_crc32_be(~0u, "123456789", 9), 0x0376e6e7);
	ck_assert_uint_eq(~xw_crc32_be(~0u, "123456789", 9), 0xfc891918);
	fill(buf, sizeof(buf));
	for (size_t len = 0; len <= sizeof(buf); len++)
		ck_assert_uint_eq(xw_crc32_be(~0u, buf, len), bitwise_be(~0u, buf, len));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("crc");
	TCase *t = tcase_create("crc");

	tcase_add_test(t, crc32c_vectors);
	tcase_add_test(t, crc32c_back);
	tcase_add_loop_test(t, crc32c_lengths, 0, 9);
	tcase_add_test(t, pieces);
	tcase_add_test(t, crc16_vectors);
	tcase_add_test(t, crc32_be_vectors);
	tcase_set_timeout(t, 60);
	suite_add_tcase(s, t);
	return unit_main(s);
}
