/* SPDX-License-Identifier: MIT */
/* The public handle: what a caller does wrong is an error with a line, and the last one counts. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/xw.h"
#include "base/types.h"
#include "tmp.h"
#include "unit.h"

static struct xw_mkfs *m;
static char image[64];

static void setup(void)
{
	int fd;

	fd = mkstemp(tmp_template(image, sizeof(image), "xw-t-api"));
	ck_assert_int_ge(fd, 0);
	close(fd);
	ck_assert_int_eq(unlink(image), 0);
	ck_assert_int_eq(xw_mkfs_new(&m), 0);
}

static void teardown(void)
{
	xw_mkfs_free(m);
	unlink(image);
}

static const char *const valued[] = {
	"SIZE", "-b", "-d",     "-E",     "-J",      "-L",     "-N",
	"-O",   "-T", "--free", "--jobs", "--owner", "--mode", "--strip-components",
	"now",
};

START_TEST(missing_value)
{
	ck_assert_int_eq(xw_mkfs_set(m, valued[_i], NULL), XW_E_USAGE);
	ck_assert_str_ne(xw_mkfs_error(m), "");
}
END_TEST

START_TEST(last_error_counts)
{
	ck_assert_int_eq(xw_mkfs_set(m, "--no-such", "x"), XW_E_USAGE);
	ck_assert_ptr_nonnull(strstr(xw_mkfs_error(m), "--no-such"));
	ck_assert_int_eq(xw_mkfs_add_source(m, "one"), 0);
	ck_assert_str_eq(xw_mkfs_error(m), "");
	ck_assert_int_eq(xw_mkfs_set(m, "-b", "77"), XW_E_USAGE);
	ck_assert_ptr_nonnull(strstr(xw_mkfs_error(m), "77"));
}
END_TEST

START_TEST(one_run)
{
	const struct xw_mkfs_result *r;
	char json[64];

	ck_assert_int_eq(xw_mkfs_set(m, "SIZE", "8M"), 0);
	ck_assert_msg(!xw_mkfs_run(m, image), "%s", xw_mkfs_error(m));
	r = xw_mkfs_result(m);
	ck_assert_uint_eq(r->size_bytes, 8u << 20);
	snprintf(json, sizeof(json), "\"free_blocks\":%llu,", (unsigned long long)r->free_blocks);
	ck_assert_ptr_nonnull(strstr(xw_mkfs_json(m), json));
	ck_assert_int_lt(xw_mkfs_run(m, image), 0);
	ck_assert_int_lt(xw_mkfs_set(m, "-b", "1024"), 0);
	ck_assert_int_lt(xw_mkfs_add_source(m, "late"), 0);
	ck_assert_ptr_nonnull(strstr(xw_mkfs_error(m), "late"));
}
END_TEST

START_TEST(not_over_another)
{
	struct xw_mkfs *second;

	ck_assert_int_eq(xw_mkfs_set(m, "SIZE", "8M"), 0);
	ck_assert_msg(!xw_mkfs_run(m, image), "%s", xw_mkfs_error(m));
	ck_assert_int_eq(xw_mkfs_new(&second), 0);
	ck_assert_int_eq(xw_mkfs_set(second, "SIZE", "8M"), 0);
	ck_assert_int_eq(xw_mkfs_run(second, image), XW_E_EXISTS);
	xw_mkfs_free(second);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("api");
	TCase *t = tcase_create("api");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, missing_value, 0, XW_ARRAY_SIZE(valued));
	tcase_add_test(t, last_error_counts);
	tcase_add_test(t, one_run);
	tcase_add_test(t, not_over_another);
	suite_add_tcase(s, t);
	return unit_main(s);
}
