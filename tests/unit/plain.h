/* SPDX-License-Identifier: MIT */
/*
 * Check's assertions for programs that are no suite of Check (fuzz targets that use a fixture of
 * the unit tests): they abort. unit.h takes these when XW_UNIT_PLAIN is defined.
 */
#ifndef XW_TESTS_PLAIN_H
#define XW_TESTS_PLAIN_H

#include <stdio.h>
#include <stdlib.h>

#define ck_abort_msg(...)                                                                          \
	do {                                                                                       \
		fprintf(stderr, "%s:%d: ", __FILE__, __LINE__);                                    \
		fprintf(stderr, __VA_ARGS__);                                                      \
		fputc('\n', stderr);                                                               \
		abort();                                                                           \
	} while (0)
#define ck_assert(x)                                                                               \
	do {                                                                                       \
		if (!(x))                                                                          \
			ck_abort_msg("%s", #x);                                                    \
	} while (0)
#define ck_assert_ptr_nonnull(p) ck_assert((p) != NULL)
#define ck_assert_ptr_null(p) ck_assert((p) == NULL)
#define ck_assert_int_eq(a, b) ck_assert((a) == (b))
#define ck_assert_int_lt(a, b) ck_assert((a) < (b))
#define ck_assert_uint_eq(a, b) ck_assert((a) == (b))
#define ck_assert_uint_le(a, b) ck_assert((a) <= (b))
#define ck_assert_uint_ge(a, b) ck_assert((a) >= (b))
#define ck_assert_uint_gt(a, b) ck_assert((a) > (b))

#endif
