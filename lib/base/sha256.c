/* SPDX-License-Identifier: MIT */
/* SHA-256 as FIPS 180-4 defines it, in plain C, for digests that leave the process. */
#include "config.h"

#include <string.h>

#include "base/endian.h"
#include "base/hash.h"

/* First 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t k256[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
	0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
	0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
	0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
	0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
	0xc67178f2,
};

static inline uint32_t ror(uint32_t v, int n)
{
	return v >> n | v << (32 - n);
}

static void block(uint32_t h[8], const uint8_t *p)
{
	uint32_t w[64], s[8];

	for (int i = 0; i < 16; i++)
		w[i] = getbe32(*(const be32 *)(p + 4 * i));
	for (int i = 16; i < 64; i++) {
		uint32_t x = w[i - 15], y = w[i - 2];

		w[i] = w[i - 16] + (ror(x, 7) ^ ror(x, 18) ^ x >> 3) + w[i - 7] +
		       (ror(y, 17) ^ ror(y, 19) ^ y >> 10);
	}
	memcpy(s, h, sizeof(s));
	for (int i = 0; i < 64; i++) {
		uint32_t e = s[4], a = s[0];
		uint32_t t1 = s[7] + (ror(e, 6) ^ ror(e, 11) ^ ror(e, 25)) +
			      ((e & s[5]) ^ (~e & s[6])) + k256[i] + w[i];
		uint32_t t2 = (ror(a, 2) ^ ror(a, 13) ^ ror(a, 22)) +
			      ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));

		memmove(s + 1, s, 7 * sizeof(s[0]));
		s[4] += t1;
		s[0] = t1 + t2;
	}
	for (int i = 0; i < 8; i++)
		h[i] += s[i];
}

void xw_sha256_init(struct xw_sha256 *s)
{
	/* square roots of the first 8 primes */
	*s = (struct xw_sha256){.h = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
				      0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void xw_sha256_update(struct xw_sha256 *s, const void *buf, size_t len)
{
	const uint8_t *p = buf;
	size_t have = s->len % 64;

	s->len += len;
	if (have) {
		size_t n = len < 64 - have ? len : 64 - have;

		memcpy(s->buf + have, p, n);
		p += n;
		len -= n;
		if (have + n < 64)
			return;
		block(s->h, s->buf);
	}
	for (; len >= 64; len -= 64, p += 64)
		block(s->h, p);
	if (len)
		memcpy(s->buf, p, len);
}

void xw_sha256_final(struct xw_sha256 *s, uint8_t out[32])
{
	uint64_t bits = s->len * 8;
	size_t have = s->len % 64;

	s->buf[have++] = 0x80;
	if (have > 56) {
		memset(s->buf + have, 0, 64 - have);
		block(s->h, s->buf);
		have = 0;
	}
	memset(s->buf + have, 0, 56 - have);
	*(be64 *)(s->buf + 56) = putbe64(bits);
	block(s->h, s->buf);
	for (int i = 0; i < 8; i++)
		*(be32 *)(out + 4 * i) = putbe32(s->h[i]);
}
