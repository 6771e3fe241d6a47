/* SPDX-License-Identifier: MIT */
/* Types shared by every room: block, inode and logical block numbers, runs, times. */
#ifndef XW_BASE_TYPES_H
#define XW_BASE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint64_t xw_blk; /* physical block, 48 bits used */
typedef uint32_t xw_ino; /* inode number, 0 = none */
typedef uint64_t xw_lblk; /* logical block of a file, 32 bits used on disk */

#define XW_BLK_MAX ((xw_blk)1 << 48)

/* A run of len blocks starting at start. */
struct xw_run {
	xw_blk start;
	uint64_t len;
};

/* Seconds since 1970, negative before; 0 <= nsec < 10^9. */
struct xw_time {
	int64_t sec;
	uint32_t nsec;
};

#define XW_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define XW_MIN(a, b) ((a) < (b) ? (a) : (b))
#define XW_MAX(a, b) ((a) > (b) ? (a) : (b))

#define XW_CACHE_LINE 64u

/* Prefetch the whole range: for memory whose access pattern the processor cannot predict. */
static inline void xw_prefetch(const void *p, size_t len)
{
	for (size_t i = 0; i < len; i += XW_CACHE_LINE)
		__builtin_prefetch((const uint8_t *)p + i);
}

static inline uint64_t xw_div_up(uint64_t n, uint64_t d)
{
	return n / d + (n % d != 0);
}

/* to must be a power of two */
static inline uint64_t xw_round_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) & ~(to - 1);
}

#endif
