/* SPDX-License-Identifier: MIT */
/*
 * CRC-32C, big-endian CRC-32 and CRC-16 on raw registers.
 *
 * A CRC is linear over GF(2): the table entry of a byte is the XOR of the entries of its bits. So
 * each table is expanded by the preprocessor from eight constants, needs no initialisation and no
 * lock, and lies in read-only memory.
 *
 * CRC-32C slices by 8 in software. In hardware the crc32 instruction takes 3 cycles but a new one
 * can start each cycle, so buffers are cut in three streams; the registers of the first two are
 * moved over the length of what follows them by a carry-less multiplication with x^(8n - 33) mod P
 * (33: 32 bits that the closing crc32 instruction multiplies in, one from bit reflection).
 */
#include "config.h"

#include <string.h>

#include "base/cpu.h"
#include "base/crc.h"
#include "base/endian.h"

#define BIT(i, b, v) ((i) >> (b)&1 ? (v) : 0)
#define ENTRY(i, v0, v1, v2, v3, v4, v5, v6, v7)                                                   \
	BIT(i, 0, v0) ^ BIT(i, 1, v1) ^ BIT(i, 2, v2) ^ BIT(i, 3, v3) ^ BIT(i, 4, v4) ^            \
		BIT(i, 5, v5) ^ BIT(i, 6, v6) ^ BIT(i, 7, v7)
#define ENTRIES4(i, ...)                                                                           \
	ENTRY(i, __VA_ARGS__), ENTRY(i + 1, __VA_ARGS__), ENTRY(i + 2, __VA_ARGS__),               \
		ENTRY(i + 3, __VA_ARGS__)
#define ENTRIES16(i, ...)                                                                          \
	ENTRIES4(i, __VA_ARGS__), ENTRIES4(i + 4, __VA_ARGS__), ENTRIES4(i + 8, __VA_ARGS__),      \
		ENTRIES4(i + 12, __VA_ARGS__)
#define ENTRIES64(i, ...)                                                                          \
	ENTRIES16(i, __VA_ARGS__), ENTRIES16(i + 16, __VA_ARGS__), ENTRIES16(i + 32, __VA_ARGS__), \
		ENTRIES16(i + 48, __VA_ARGS__)
#define TABLE(...)                                                                                 \
	{                                                                                          \
		ENTRIES64(0, __VA_ARGS__), ENTRIES64(64, __VA_ARGS__),                             \
			ENTRIES64(128, __VA_ARGS__), ENTRIES64(192, __VA_ARGS__)                   \
	}

/* Row k: the register after the bytes 1, 2, 4 .. 128 and k zero bytes. P = 0x82f63b78. */
static const uint32_t crc32c_table[8][256] = {
	TABLE(0xf26b8303u, 0xe13b70f7u, 0xc79a971fu, 0x8ad958cfu, 0x105ec76fu, 0x20bd8edeu,
	      0x417b1dbcu, 0x82f63b78u),
	TABLE(0x13a29877u, 0x274530eeu, 0x4e8a61dcu, 0x9d14c3b8u, 0x3fc5f181u, 0x7f8be302u,
	      0xff17c604u, 0xfbc3faf9u),
	TABLE(0xa541927eu, 0x4f6f520du, 0x9edea41au, 0x38513ec5u, 0x70a27d8au, 0xe144fb14u,
	      0xc76580d9u, 0x8b277743u),
	TABLE(0xdd45aab8u, 0xbf672381u, 0x7b2231f3u, 0xf64463e6u, 0xe964b13du, 0xd725148bu,
	      0xaba65fe7u, 0x52a0c93fu),
	TABLE(0x38116facu, 0x7022df58u, 0xe045beb0u, 0xc5670b91u, 0x8f2261d3u, 0x1ba8b557u,
	      0x37516aaeu, 0x6ea2d55cu),
	TABLE(0xef306b19u, 0xdb8ca0c3u, 0xb2f53777u, 0x6006181fu, 0xc00c303eu, 0x85f4168du,
	      0x0e045bebu, 0x1c08b7d6u),
	TABLE(0x68032cc8u, 0xd0065990u, 0xa5e0c5d1u, 0x4e2dfd53u, 0x9c5bfaa6u, 0x3d5b83bdu,
	      0x7ab7077au, 0xf56e0ef4u),
	TABLE(0x493c7d27u, 0x9278fa4eu, 0x211d826du, 0x423b04dau, 0x847609b4u, 0x0d006599u,
	      0x1a00cb32u, 0x34019664u),
};

/* P = 0x04c11db7, most significant bit first */
static const uint32_t crc32_be_table[256] =
	TABLE(0x04c11db7u, 0x09823b6eu, 0x130476dcu, 0x2608edb8u, 0x4c11db70u, 0x9823b6e0u,
	      0x34867077u, 0x690ce0eeu);

/* P = 0x8005, reflected 0xa001 */
static const uint16_t crc16_table[256] =
	TABLE(0xc0c1, 0xc181, 0xc301, 0xc601, 0xcc01, 0xd801, 0xf001, 0xa001);

uint32_t xw_crc32c_back(uint32_t crc, const void *buf, size_t len)
{
	const uint32_t *const t = crc32c_table[0];
	const uint8_t *p = (const uint8_t *)buf + len;
	uint8_t index[256]; /* index of the table entry with this highest byte, which is unique */

	for (unsigned i = 0; i < 256; i++)
		index[t[i] >> 24] = (uint8_t)i;
	while (p-- > (const uint8_t *)buf) {
		const uint8_t i = index[crc >> 24];

		crc = (crc ^ t[i]) << 8 | (uint32_t)(i ^ *p);
	}
	return crc;
}

uint32_t xw_crc32c_sw(uint32_t crc, const void *buf, size_t len)
{
	const uint32_t(*t)[256] = crc32c_table;
	const uint8_t *p = buf;

	for (; len >= 8; len -= 8, p += 8) {
		uint32_t lo = crc ^ peek32(p), hi = peek32(p + 4);

		crc = t[7][lo & 0xff] ^ t[6][lo >> 8 & 0xff] ^ t[5][lo >> 16 & 0xff] ^
		      t[4][lo >> 24] ^ t[3][hi & 0xff] ^ t[2][hi >> 8 & 0xff] ^
		      t[1][hi >> 16 & 0xff] ^ t[0][hi >> 24];
	}
	while (len--)
		crc = crc >> 8 ^ t[0][(crc ^ *p++) & 0xff];
	return crc;
}

uint32_t xw_crc32_be(uint32_t crc, const void *buf, size_t len)
{
	const uint8_t *p = buf;

	while (len--)
		crc = crc << 8 ^ crc32_be_table[(crc >> 24) ^ *p++];
	return crc;
}

uint16_t xw_crc16(uint16_t crc, const void *buf, size_t len)
{
	const uint8_t *p = buf;

	while (len--)
		crc = (uint16_t)(crc >> 8 ^ crc16_table[(crc ^ *p++) & 0xff]);
	return crc;
}

#if defined(__x86_64__)
#include <immintrin.h>

#define HW static inline __attribute__((target("sse4.2,pclmul")))

#define STREAM_LONG 512
#define STREAM_SHORT 64

/* x^(8 * 2n - 33) and x^(8 * n - 33) mod P, reflected, for n the stream length */
static const uint64_t fold_long[2] = {0x170076fa, 0xdd7e3b0c};
static const uint64_t fold_short[2] = {0x0d3b6092, 0x9e4addf8};

HW uint64_t fold(uint64_t crc, uint64_t by)
{
	__m128i r = _mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)crc),
					 _mm_cvtsi64_si128((long long)by), 0);

	return (uint64_t)_mm_cvtsi128_si64(r);
}

HW uint64_t three_streams(uint64_t a, const uint8_t *p, size_t n, const uint64_t by[2])
{
	uint64_t b = 0, c = 0;
	size_t i;

	for (i = 0; i < n - 8; i += 8) {
		a = _mm_crc32_u64(a, peek64(p + i));
		b = _mm_crc32_u64(b, peek64(p + n + i));
		c = _mm_crc32_u64(c, peek64(p + 2 * n + i));
	}
	a = _mm_crc32_u64(a, peek64(p + i));
	b = _mm_crc32_u64(b, peek64(p + n + i));
	return _mm_crc32_u64(c, peek64(p + 2 * n + i) ^ fold(a, by[0]) ^ fold(b, by[1]));
}

static __attribute__((target("sse4.2,pclmul"))) uint32_t crc32c_hw(uint32_t crc, const uint8_t *p,
								   size_t len)
{
	uint64_t c = crc;

	for (; len >= 3 * STREAM_LONG; len -= 3 * STREAM_LONG, p += 3 * STREAM_LONG)
		c = three_streams(c, p, STREAM_LONG, fold_long);
	for (; len >= 3 * STREAM_SHORT; len -= 3 * STREAM_SHORT, p += 3 * STREAM_SHORT)
		c = three_streams(c, p, STREAM_SHORT, fold_short);
	for (; len >= 8; len -= 8, p += 8)
		c = _mm_crc32_u64(c, peek64(p));
	crc = (uint32_t)c;
	for (; len; len--, p++)
		crc = _mm_crc32_u8(crc, *p);
	return crc;
}

static inline bool has_hw(void)
{
	return XW_CPU_HAS(SSE4_2, "sse4.2") && XW_CPU_HAS(PCLMULQDQ, "pclmul");
}

uint32_t xw_crc32c(uint32_t crc, const void *buf, size_t len)
{
	if (has_hw())
		return crc32c_hw(crc, buf, len);
	return xw_crc32c_sw(crc, buf, len);
}

#else

uint32_t xw_crc32c(uint32_t crc, const void *buf, size_t len)
{
	return xw_crc32c_sw(crc, buf, len);
}

#endif
