/* SPDX-License-Identifier: MIT */
/*
 * Counting set bits, with the CPU's instruction where it has one: without it, each word costs a
 * call of libgcc.
 */
#include "config.h"

#include "base/popcount.h"

#include <string.h>

static inline __attribute__((always_inline)) uint64_t count(const uint8_t *p, size_t len)
{
	uint64_t word, sum = 0;

	for (; len >= sizeof(word); len -= sizeof(word), p += sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		sum += (uint64_t)__builtin_popcountll(word);
	}
	for (; len; len--, p++)
		sum += (uint64_t)__builtin_popcount(*p);
	return sum;
}

/* Most words of a bitmap are all ones or all zeros. */
uint64_t xw_popcount_sw(const void *buf, size_t len)
{
	const uint8_t *p = buf;
	uint64_t sum = 0, four[4];

	for (; len >= sizeof(four); len -= sizeof(four), p += sizeof(four)) {
		memcpy(four, p, sizeof(four));
		if (!~(four[0] & four[1] & four[2] & four[3]))
			sum += 256;
		else if (four[0] | four[1] | four[2] | four[3])
			sum += count(p, sizeof(four));
	}
	return sum + count(p, len);
}

#if defined(__x86_64__)
static __attribute__((target("popcnt"))) uint64_t count_hw(const uint8_t *p, size_t len)
{
	return count(p, len);
}

uint64_t xw_popcount(const void *buf, size_t len)
{
	return xw_has_popcnt() ? count_hw(buf, len) : xw_popcount_sw(buf, len);
}
#else
uint64_t xw_popcount(const void *buf, size_t len)
{
	return xw_popcount_sw(buf, len);
}
#endif
