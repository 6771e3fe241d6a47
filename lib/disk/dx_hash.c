/* SPDX-License-Identifier: MIT */
/*
 * dx hashes: the keys of an htree.
 *
 * A name is fed to the mixing function in pieces of up to 32 (half MD4) or 16 (TEA) bytes; a piece
 * becomes big-endian words, and words past the end of the name are filled with a pad made of the
 * remaining length. The result is two registers: the major hash orders the directory, the minor one
 * only breaks ties.
 *
 * Two historical accidents are part of the format:
 * - The bytes of a name count as signed or unsigned char, depending on the machine that made the
 *   filesystem (s_flags says which). A negative byte borrows from the byte above it in the word.
 * - Bit 0 of the major hash is not part of the key: an index entry uses it to say that its leaf
 *   continues the hash of the previous leaf. The largest key is reserved for the end-of-directory
 *   position of readdir cookies (31 bits of which are hash), so Linux stores names with that hash
 *   under the next lower key. Stock debugfs prints the hash unchanged; this affects one name in
 *   2^31, and both find it in the last leaf.
 */
#include "config.h"

#include "disk/dx_hash.h"

#include "base/endian.h"
#include "base/err.h"
#include "base/hash.h"

#define HASH_EOF 0xFFFFFFFEu /* 2 * (2^31 - 1) */

#define MD4_WORDS 8
#define TEA_WORDS 4

static const uint32_t default_seed[4] = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476};

static inline uint32_t name_byte(const char *p, bool is_unsigned)
{
	return is_unsigned ? (uint32_t)(uint8_t)*p : (uint32_t)(int32_t)(int8_t)*p;
}

/*
 * The words of one piece of a name: len is the length remaining from p on, and also makes the pad.
 */
static void piece_words(const char *p, size_t len, bool is_unsigned, uint32_t *out, unsigned words)
{
	uint32_t pad = (uint32_t)len | (uint32_t)len << 8;
	size_t take = XW_MIN(len, (size_t)words * 4);
	unsigned w = 0;

	pad |= pad << 16;
	for (; take >= 4; take -= 4, p += 4)
		out[w++] = (name_byte(p, is_unsigned) << 24) +
			   (name_byte(p + 1, is_unsigned) << 16) +
			   (name_byte(p + 2, is_unsigned) << 8) + name_byte(p + 3, is_unsigned);
	if (w < words) {
		uint32_t v = pad;

		for (; take; take--, p++)
			v = name_byte(p, is_unsigned) + (v << 8);
		out[w++] = v;
	}
	while (w < words)
		out[w++] = pad;
}

static uint32_t hash_legacy(const char *name, size_t len, bool is_unsigned)
{
	uint32_t cur = 0x12A3FE2D, prev = 0x37ABE8F9;

	for (size_t i = 0; i < len; i++) {
		uint32_t next = prev + (cur ^ name_byte(name + i, is_unsigned) * 7152373u);

		if (next & 0x80000000u)
			next -= 0x7FFFFFFFu;
		prev = cur;
		cur = next;
	}
	return cur << 1;
}

/* Feed the whole name, one piece at a time, through one of the two mixers. */
static void mix_name(uint32_t buf[4], const char *name, size_t len, bool is_unsigned, bool tea)
{
	const unsigned words = tea ? TEA_WORDS : MD4_WORDS;
	uint32_t in[MD4_WORDS];

	for (size_t at = 0; at < len; at += (size_t)words * 4) {
		piece_words(name + at, len - at, is_unsigned, in, words);
		if (tea)
			xw_tea(buf, in);
		else
			xw_half_md4(buf, in);
	}
}

int xw_dx_hash(enum xw_dx_version version, const uint32_t seed[4], const char *name, size_t len,
	       struct xw_dx_hash *out)
{
	const uint32_t *init = seed[0] | seed[1] | seed[2] | seed[3] ? seed : default_seed;
	uint32_t buf[4] = {init[0], init[1], init[2], init[3]};
	uint32_t major, minor;

	switch (version) {
	case XW_DX_LEGACY:
	case XW_DX_LEGACY_U:
		major = hash_legacy(name, len, version == XW_DX_LEGACY_U);
		minor = 0;
		break;
	case XW_DX_HALF_MD4:
	case XW_DX_HALF_MD4_U:
		mix_name(buf, name, len, version == XW_DX_HALF_MD4_U, false);
		major = buf[1];
		minor = buf[2];
		break;
	case XW_DX_TEA:
	case XW_DX_TEA_U:
		mix_name(buf, name, len, version == XW_DX_TEA_U, true);
		major = buf[0];
		minor = buf[1];
		break;
	/* keyed by the encryption key of the directory, which is not in the image */
	case XW_DX_SIPHASH:
	default:
		return XW_ERR_UNSUPPORTED;
	}
	major &= ~1u;
	if (major == HASH_EOF)
		major = HASH_EOF - 2;
	out->major = major;
	out->minor = minor;
	return 0;
}

void xw_dx_seed(const struct xw_super *sb, uint32_t seed[4])
{
	for (int i = 0; i < 4; i++)
		seed[i] = peek32(sb->hash_seed + 4 * i);
}

enum xw_dx_version xw_dx_version(const struct xw_super *sb, unsigned stored)
{
	const bool shift = sb->flags & XW_FLAG_UNSIGNED_HASH && stored <= XW_DX_TEA;

	return (enum xw_dx_version)(stored + (shift ? (unsigned)XW_DX_LEGACY_U : 0u));
}
