/* SPDX-License-Identifier: MIT */
/* Binary search, and comparators for qsort(). */
#ifndef XW_BASE_SEARCH_H
#define XW_BASE_SEARCH_H

#include <stddef.h>
#include <stdint.h>

/*
 * The first index i in [0, n) for which the expression `is_after`, which refers to i, is true; n if
 * none. The expression must be false for all indexes below the result and true from it on.
 *
 *	i = XW_LOWER_BOUND(k, n, v[k] >= wanted);
 */
#define XW_LOWER_BOUND(i, n, is_after)                                                             \
	__extension__({                                                                            \
		size_t low_ = 0, high_ = (n);                                                      \
                                                                                                   \
		while (low_ < high_) {                                                             \
			const size_t i = low_ + (high_ - low_) / 2;                                \
                                                                                                   \
			if (is_after)                                                              \
				high_ = i;                                                         \
			else                                                                       \
				low_ = i + 1;                                                      \
		}                                                                                  \
		low_;                                                                              \
	})

/*
 * Ascending by the uint64_t, or uint32_t, at the start of the element: a number, or a run by its
 * first block.
 */
static inline int xw_by_u64(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static inline int xw_by_u32(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

#endif
