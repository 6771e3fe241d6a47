/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <stdint.h>
#include <string.h>

#include "base/auto.h"
#include "base/vec.h"
#include "unit.h"

START_TEST(push_and_read)
{
	XW_VEC(uint64_t) v = {0};
	size_t grown = 0;

	for (uint64_t i = 0; i < 100000; i++) {
		uint64_t *was = v.v;
		size_t cap = v.cap;

		ck_assert_int_eq(xw_vec_push(&v, i * i), 0);
		ck_assert(v.n <= v.cap);
		grown += v.cap != cap;
		ck_assert(v.cap != cap || v.v == was);
	}
	ck_assert_uint_lt(grown, 40);
	for (uint64_t i = 0; i < 100000; i++)
		ck_assert_uint_eq(v.v[i], i * i);
	xw_vec_free(&v);
	ck_assert_ptr_null(v.v);
	ck_assert_uint_eq(v.n + v.cap, 0);
	ck_assert_int_eq(xw_vec_push(&v, 1), 0);
	xw_vec_free(&v);
}
END_TEST

struct wide {
	char c[1000];
};

START_TEST(reserve)
{
	XW_VEC(struct wide) v = {0};
	struct wide *at;

	ck_assert_int_eq(xw_vec_reserve(&v, 0), 0);
	ck_assert_int_eq(xw_vec_reserve(&v, 7), 0);
	ck_assert_uint_ge(v.cap, 7);
	at = v.v;
	ck_assert_int_eq(xw_vec_reserve(&v, 7), 0);
	ck_assert_ptr_eq(v.v, at);
	memset(v.v, 1, 7 * sizeof(*v.v));
	xw_vec_free(&v);
}
END_TEST

START_TEST(too_much)
{
	XW_VEC(struct wide) v = {0};
	struct wide w = {{5}};

	ck_assert_int_eq(xw_vec_push(&v, w), 0);
	ck_assert_int_eq(xw_vec_reserve(&v, SIZE_MAX), XW_ERR_NOMEM);
	ck_assert_int_eq(xw_vec_reserve(&v, SIZE_MAX / sizeof(w)), XW_ERR_NOMEM);
	ck_assert_int_eq(xw_vec_reserve(&v, SIZE_MAX / sizeof(w) + 2), XW_ERR_NOMEM);
	/* What was there is still there. */
	ck_assert_uint_eq(v.n, 1);
	ck_assert_int_eq(v.v[0].c[0], 5);
	xw_vec_free(&v);
}
END_TEST

static char *keep_or_drop(int keep)
{
	auto_free char *p = malloc(4);

	memcpy(p, "abc", 4);
	return keep ? steal(p) : NULL;
}

START_TEST(ownership)
{
	char *p = keep_or_drop(1);
	int fd[2];

	ck_assert_str_eq(p, "abc");
	free(p);
	ck_assert_ptr_null(keep_or_drop(0));
	ck_assert_int_eq(pipe(fd), 0);
	{
		auto_fd int end = fd[1];
		auto_fd int none = -1;

		ck_assert_int_ge(end, 0);
		ck_assert_int_lt(none, 0);
	}
	ck_assert_int_lt((int)write(fd[1], "x", 1), 0); /* closed */
	close(fd[0]);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("vec");
	TCase *t = tcase_create("vec");

	tcase_add_test(t, push_and_read);
	tcase_add_test(t, reserve);
	tcase_add_test(t, too_much);
	tcase_add_test(t, ownership);
	suite_add_tcase(s, t);
	return unit_main(s);
}
