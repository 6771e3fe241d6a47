/* SPDX-License-Identifier: MIT */
/*
 * The secret hash of in-memory tables, the fixed hash of stored values, and the two directory hash
 * rounds of the format.
 *
 * xw_hash_secret is SipHash-1-3 (Aumasson and Bernstein, "SipHash: a fast short-input PRF",
 * 2012) of the seed as 8 little-endian bytes and then the input. A fixed function, or one with a
 * guessable seed, lets an archive choose names that all belong in one slot; each of them then
 * costs a walk over all earlier ones.
 *
 * xw_hash_number is the multiply-and-fold function below with a secret factor and a secret
 * offset. That is enough for numbers: whoever makes an image never sees a hash, nor how long one
 * run took, before its numbers are chosen, and for one number a cheap function matters, since it
 * is hashed for each access to a block.
 *
 * xw_hash_fixed multiplies pairs of 8-byte words to 128 bits and folds the halves onto the
 * inputs (the multiply-and-fold family of wyhash). A factor of 0 or 1 discards the other one,
 * and anybody can provoke that, since the function and its seeds are known. Words are read
 * little-endian, so the result is the same on every machine; decisions of a build may depend on
 * it.
 *
 * half-MD4: the three rounds of MD4 (RFC 1320) with eight steps each instead of sixteen, on eight
 * words of input. TEA: 16 cycles of the Tiny Encryption Algorithm (Wheeler and Needham), output
 * added to the input register. Both are checked against dx_hash of stock debugfs.
 */
#include "config.h"

#include <sys/auxv.h>

#include "base/endian.h"
#include "base/hash.h"

/* Odd constants with half their bits set; the digits of pi, e, sqrt(2) and the golden ratio. */
#define K0 0x243f6a8885a308d3u
#define K1 0xb7e151628aed2a6bu
#define K2 0x6a09e667f3bcc909u
#define K3 0x9e3779b97f4a7c15u

static inline uint64_t fold_mul(uint64_t a, uint64_t b)
{
#ifdef __SIZEOF_INT128__
	__extension__ typedef unsigned __int128 u128;
	u128 r = (u128)a * b;
	uint64_t lo = (uint64_t)r, hi = (uint64_t)(r >> 64);
#else
	uint64_t al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
	uint64_t ll = al * bl, lh = al * bh, hl = ah * bl;
	uint64_t mid = (ll >> 32) + (uint32_t)lh + (uint32_t)hl;
	uint64_t lo = mid << 32 | (uint32_t)ll;
	uint64_t hi = ah * bh + (lh >> 32) + (hl >> 32) + (mid >> 32);
#endif
	return a ^ b ^ lo ^ hi;
}

/* 1 to 7 bytes, little-endian */
static inline uint64_t load_part(const uint8_t *p, size_t n)
{
	uint64_t v = 0;

	if (n >= 4)
		return peek32(p) | (uint64_t)peek32(p + n - 4) << (8 * (n - 4));
	for (size_t i = 0; i < n; i++)
		v |= (uint64_t)p[i] << (8 * i);
	return v;
}

uint64_t xw_hash_fixed(const void *buf, size_t len, uint64_t seed)
{
	const uint8_t *p = buf;
	size_t left = len;
	uint64_t a, b, h = fold_mul(seed ^ K0, K1), k = fold_mul(seed ^ K2, K3);

	if (left > 48) {
		uint64_t h1 = h, h2 = h;

		do {
			h = fold_mul(peek64(p) ^ k, peek64(p + 8) ^ h);
			h1 = fold_mul(peek64(p + 16) ^ k ^ K1, peek64(p + 24) ^ h1);
			h2 = fold_mul(peek64(p + 32) ^ k ^ K2, peek64(p + 40) ^ h2);
			p += 48;
			left -= 48;
		} while (left > 48);
		h = fold_mul(h ^ K2, h1) ^ fold_mul(h2 ^ K3, h1 ^ K0);
	}
	for (; left > 16; left -= 16, p += 16)
		h = fold_mul(peek64(p) ^ k ^ K3, peek64(p + 8) ^ h);
	a = left >= 8 ? peek64(p) : load_part(p, left);
	b = left > 8 ? left == 16 ? peek64(p + 8) : load_part(p + 8, left - 8) : 0;
	h = fold_mul(a ^ k ^ K0, b ^ h);
	return fold_mul(h ^ k, K0 ^ (uint64_t)len);
}

/* ---- SipHash ---- */

struct sip {
	uint64_t v0, v1, v2, v3;
};

static inline uint64_t rol64(uint64_t v, int n)
{
	return v << n | v >> (64 - n);
}

static inline void sip_round(struct sip *s)
{
	s->v0 += s->v1;
	s->v2 += s->v3;
	s->v1 = rol64(s->v1, 13) ^ s->v0;
	s->v3 = rol64(s->v3, 16) ^ s->v2;
	s->v0 = rol64(s->v0, 32);
	s->v2 += s->v1;
	s->v0 += s->v3;
	s->v1 = rol64(s->v1, 17) ^ s->v2;
	s->v3 = rol64(s->v3, 21) ^ s->v0;
	s->v2 = rol64(s->v2, 32);
}

static inline struct sip sip_begin(const struct xw_hash_key *key)
{
	/* "somepseudorandomlygeneratedbytes", as the specification has it */
	return (struct sip){
		key->k[0] ^ 0x736f6d6570736575u,
		key->k[1] ^ 0x646f72616e646f6du,
		key->k[0] ^ 0x6c7967656e657261u,
		key->k[1] ^ 0x7465646279746573u,
	};
}

static inline void sip_block(struct sip *s, uint64_t m)
{
	s->v3 ^= m;
	sip_round(s);
	s->v0 ^= m;
}

static inline uint64_t sip_end(struct sip *s)
{
	s->v2 ^= 0xff;
	sip_round(s);
	sip_round(s);
	sip_round(s);
	return s->v0 ^ s->v1 ^ s->v2 ^ s->v3;
}

uint64_t xw_hash_secret(const struct xw_hash_key *key, uint64_t seed, const void *buf, size_t len)
{
	struct sip s = sip_begin(key);
	const uint8_t *p = buf;
	size_t left = len;

	sip_block(&s, seed);
	for (; left >= 8; left -= 8, p += 8)
		sip_block(&s, peek64(p));
	sip_block(&s, load_part(p, left) | (uint64_t)(len + sizeof(seed)) << 56);
	return sip_end(&s);
}

uint64_t xw_hash_number(const struct xw_hash_key *key, uint64_t n)
{
	return fold_mul(fold_mul(n ^ key->k[0], key->k[1]) ^ key->k[0], K1);
}

/*
 * The kernel gives each program 16 random bytes (AT_RANDOM in getauxval(3)): a secret of the
 * process without a global variable, a system call, or waiting for entropy at boot. The C library
 * derives the stack protector's value from them, so that the key is a hash of them and no copy.
 * Without them, the address at which the library was loaded has to serve.
 */
struct xw_hash_key xw_hash_process_key(void)
{
	const uint8_t *random = (const uint8_t *)(uintptr_t)getauxval(AT_RANDOM);
	struct xw_hash_key key = {{(uintptr_t)xw_hash_process_key, 0}};

	if (random)
		key = (struct xw_hash_key){{peek64(random), peek64(random + 8)}};
	return (struct xw_hash_key){
		{xw_hash_secret(&key, 0, NULL, 0), xw_hash_secret(&key, 1, NULL, 0)}};
}

/* ---- the rounds of directory hashes ---- */

static inline uint32_t rol(uint32_t v, int n)
{
	return v << n | v >> (32 - n);
}

static inline uint32_t md4_f(uint32_t x, uint32_t y, uint32_t z)
{
	return z ^ (x & (y ^ z));
}

static inline uint32_t md4_g(uint32_t x, uint32_t y, uint32_t z)
{
	return (x & y) + ((x ^ y) & z);
}

static inline uint32_t md4_h(uint32_t x, uint32_t y, uint32_t z)
{
	return x ^ y ^ z;
}

/*
 * One step: the register that changes comes first; the four registers rotate through that position.
 */
#define STEP(f, a, b, c, d, x, s) ((a) = rol((a) + f(b, c, d) + (x), (s)))
#define STEPS4(f, k, w0, w1, w2, w3, s0, s1, s2, s3)                                               \
	(STEP(f, a, b, c, d, (w0) + (k), s0), STEP(f, d, a, b, c, (w1) + (k), s1),                 \
	 STEP(f, c, d, a, b, (w2) + (k), s2), STEP(f, b, c, d, a, (w3) + (k), s3))

void xw_half_md4(uint32_t buf[4], const uint32_t in[8])
{
	const uint32_t k2 = 0x5a827999, k3 = 0x6ed9eba1; /* RFC 1320: sqrt(2), sqrt(3) */
	uint32_t a = buf[0], b = buf[1], c = buf[2], d = buf[3];

	STEPS4(md4_f, 0, in[0], in[1], in[2], in[3], 3, 7, 11, 19);
	STEPS4(md4_f, 0, in[4], in[5], in[6], in[7], 3, 7, 11, 19);
	STEPS4(md4_g, k2, in[1], in[3], in[5], in[7], 3, 5, 9, 13);
	STEPS4(md4_g, k2, in[0], in[2], in[4], in[6], 3, 5, 9, 13);
	STEPS4(md4_h, k3, in[3], in[7], in[2], in[6], 3, 9, 11, 15);
	STEPS4(md4_h, k3, in[1], in[5], in[0], in[4], 3, 9, 11, 15);
	buf[0] += a;
	buf[1] += b;
	buf[2] += c;
	buf[3] += d;
}

void xw_tea(uint32_t buf[4], const uint32_t in[4])
{
	uint32_t sum = 0, x = buf[0], y = buf[1];

	for (int n = 0; n < 16; n++) {
		sum += 0x9e3779b9;
		x += ((y << 4) + in[0]) ^ (y + sum) ^ ((y >> 5) + in[1]);
		y += ((x << 4) + in[2]) ^ (x + sum) ^ ((x >> 5) + in[3]);
	}
	buf[0] += x;
	buf[1] += y;
}
