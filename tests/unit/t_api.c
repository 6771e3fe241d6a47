/* SPDX-License-Identifier: MIT */
/* The public handle: what a caller does wrong is an error with a line, and the last one counts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/xw.h"
#include "base/types.h"
#include "tarmake.h"
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

/* "-F" "0" would set -F. Of each handle: an option without a value, given one. */
#define REFUSES_VALUE(handle, option, how)                                                         \
	do {                                                                                       \
		struct xw_##handle *h;                                                             \
		ck_assert_int_eq(xw_##handle##_new(&h), 0);                                        \
		ck_assert_int_eq(xw_##handle##_set(h, option, "0"), XW_E_USAGE);                   \
		ck_assert_str_eq(xw_##handle##_error(h), how);                                     \
		ck_assert_int_eq(xw_##handle##_set(h, option, NULL), 0);                           \
		xw_##handle##_free(h);                                                             \
	} while (0)

START_TEST(value_too_many)
{
	REFUSES_VALUE(mkfs, "-F", "-F: takes no value");
	REFUSES_VALUE(mkfs, "-j", "-j: takes no value");
	REFUSES_VALUE(mkfs, "--all-root", "--all-root: takes no value");
	REFUSES_VALUE(import, "--dry-run", "--dry-run: takes no value");
	REFUSES_VALUE(import, "--no-oci", "--no-oci: takes no value");
	REFUSES_VALUE(export, "--zstd", "--zstd: takes no value");
	REFUSES_VALUE(export, "--same-owner", "--same-owner: takes no value");
	REFUSES_VALUE(check, "-y", "option -y takes no value");
	REFUSES_VALUE(check, "-f", "option -f takes no value");
	REFUSES_VALUE(tune, "-f", "-f: takes no value");
	REFUSES_VALUE(age, "--fast", "--fast: takes no value");
	REFUSES_VALUE(fs, "--ignore-checksums", "--ignore-checksums: takes no value");
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

/* ---- a source from a callback ---- */

struct stream {
	const unsigned char *p;
	size_t left, piece;
	int64_t end; /* returned at the end */
	unsigned after; /* calls after that */
	bool over;
};

static int64_t give(void *arg, void *buf, size_t len)
{
	struct stream *s = arg;

	ck_assert_uint_gt(len, 0);
	s->after += s->over;
	len = XW_MIN(len, XW_MIN(s->left, s->piece));
	s->over = !len;
	if (s->over)
		return s->end;
	memcpy(buf, s->p, len);
	s->p += len;
	s->left -= len;
	return (int64_t)len;
}

static struct tm_tar two_files(void)
{
	static const char text[] = "contents of a file";
	struct tm_tar t = {0};

	tm_hdr(&t, '0', "one", "", sizeof(text));
	tm_sum(tm_last(&t));
	tm_add(&t, text, sizeof(text));
	tm_hdr(&t, '0', "two", "", 0);
	tm_sum(tm_last(&t));
	tm_add(&t, NULL, (size_t)2 * XW_TAR_BLOCK);
	return t;
}

static const size_t pieces[] = {SIZE_MAX, 1, 7, 512, 1000};

START_TEST(callback)
{
	struct tm_tar t = two_files();
	struct stream s = {.p = t.p, .left = t.n, .piece = pieces[_i]}, again = s;
	struct xw_import *x;

	ck_assert_int_eq(xw_mkfs_set(m, "SIZE", "8M"), 0);
	ck_assert_int_eq(xw_mkfs_add_source_cb(m, give, &s, "stream"), 0);
	ck_assert_msg(!xw_mkfs_run(m, image), "%s", xw_mkfs_error(m));
	ck_assert_uint_eq(xw_mkfs_result(m)->files, 2);
	ck_assert_uint_eq(xw_mkfs_result(m)->bytes_in, t.n);
	ck_assert_uint_eq(s.after, 0);

	ck_assert_int_eq(xw_import_new(&x), 0);
	ck_assert_int_eq(xw_import_set(x, "--directory", "sub"), 0);
	ck_assert_int_eq(xw_import_add_source_cb(x, give, &again, "stream"), 0);
	ck_assert_msg(!xw_import_run(x, image), "%s", xw_import_error(x));
	ck_assert_uint_eq(xw_import_result(x)->files, 2);
	ck_assert_uint_eq(again.after, 0);
	xw_import_free(x);
	free(t.p);
}
END_TEST

/* What fails, ends early, claims to have read more than fits, or is nothing. */
START_TEST(callback_fails)
{
	struct tm_tar t = two_files();
	const struct {
		size_t len;
		int64_t end;
		int rc;
	} rows[] = {
		{600, -1, XW_E_IO},        {0, -5, XW_E_IO},   {520, 0, XW_E_TRUNCATED},
		{600, INT64_MAX, XW_E_IO}, {0, 0, XW_E_INPUT},
	};
	struct stream s = {.p = t.p, .left = rows[_i].len, .piece = SIZE_MAX, .end = rows[_i].end};

	ck_assert_int_eq(xw_mkfs_set(m, "SIZE", "8M"), 0);
	ck_assert_int_eq(xw_mkfs_add_source_cb(m, NULL, &s, "stream"), XW_E_USAGE);
	ck_assert_int_eq(xw_mkfs_add_source_cb(m, give, &s, NULL), XW_E_USAGE);
	ck_assert_int_eq(xw_mkfs_add_source_cb(m, give, &s, "stream"), 0);
	ck_assert_int_eq(xw_mkfs_run(m, image), rows[_i].rc);
	ck_assert_ptr_nonnull(strstr(xw_mkfs_error(m), "stream"));
	ck_assert_uint_eq(s.after, 0);
	ck_assert_int_lt(access(image, F_OK), 0);
	free(t.p);
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
	ck_assert_int_eq(xw_mkfs_run(m, image), XW_E_RAN);
	ck_assert_int_eq(xw_mkfs_set(m, "-b", "1024"), XW_E_RAN);
	ck_assert_int_eq(xw_mkfs_set_config(m, "late.conf", "", 0), XW_E_RAN);
	ck_assert_int_eq(xw_mkfs_add_source(m, "late"), XW_E_RAN);
	ck_assert_ptr_nonnull(strstr(xw_mkfs_error(m), "late"));
}
END_TEST

/* ---- canceled by the progress callback ---- */

static int cancel(void *arg, const struct xw_progress *p)
{
	(void)p;
	++*(unsigned *)arg;
	return 1;
}

/* Supplies its data only when the next progress report is due. */
static int64_t give_late(void *arg, void *buf, size_t len)
{
	usleep(120000);
	return give(arg, buf, len);
}

static int drop(void *arg, const void *buf, size_t len)
{
	(void)arg;
	(void)buf;
	(void)len;
	usleep(120000);
	return 0;
}

START_TEST(canceled)
{
	struct tm_tar t = two_files();
	struct stream s = {.p = t.p, .left = t.n, .piece = 512}, second = s, third = s;
	struct xw_import *x;
	struct xw_export *e;
	struct xw_mkfs *again;
	unsigned asked = 0;

	ck_assert_int_eq(xw_mkfs_set(m, "SIZE", "8M"), 0);
	ck_assert_int_eq(xw_mkfs_add_source_cb(m, give_late, &s, "stream"), 0);
	xw_mkfs_on_progress(m, cancel, &asked);
	ck_assert_int_eq(xw_mkfs_run(m, image), XW_E_CANCELED);
	ck_assert_ptr_nonnull(strstr(xw_mkfs_error(m), "interrupted"));
	ck_assert_int_lt(access(image, F_OK), 0);
	ck_assert_uint_eq(asked, 1);

	ck_assert_int_eq(xw_mkfs_new(&again), 0);
	ck_assert_int_eq(xw_mkfs_set(again, "SIZE", "8M"), 0);
	ck_assert_int_eq(xw_mkfs_add_source_cb(again, give, &second, "stream"), 0);
	ck_assert_msg(!xw_mkfs_run(again, image), "%s", xw_mkfs_error(again));
	xw_mkfs_free(again);

	ck_assert_int_eq(xw_import_new(&x), 0);
	ck_assert_int_eq(xw_import_add_source_cb(x, give_late, &third, "stream"), 0);
	xw_import_on_progress(x, cancel, &asked);
	ck_assert_int_eq(xw_import_run(x, image), XW_E_CANCELED);
	ck_assert_ptr_nonnull(strstr(xw_import_error(x), "interrupted; the image is unchanged"));
	ck_assert_int_eq(xw_import_run(x, image), XW_E_RAN);
	ck_assert_int_eq(xw_import_set(x, "--dry-run", NULL), XW_E_RAN);
	xw_import_free(x);
	ck_assert_uint_eq(asked, 2);

	ck_assert_int_eq(xw_export_new(&e), 0);
	xw_export_on_progress(e, cancel, &asked);
	ck_assert_int_eq(xw_export_run(e, image, drop, NULL), XW_E_CANCELED);
	ck_assert_ptr_nonnull(strstr(xw_export_error(e), "interrupted"));
	xw_export_free(e);
	ck_assert_uint_eq(asked, 3);
	free(t.p);
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
	unit_add_strings(t, missing_value, valued);
	tcase_add_test(t, value_too_many);
	tcase_add_test(t, last_error_counts);
	unit_add_table(t, callback, pieces);
	tcase_add_loop_test(t, callback_fails, 0, 5);
	tcase_add_test(t, one_run);
	tcase_add_test(t, canceled);
	tcase_add_test(t, not_over_another);
	suite_add_tcase(s, t);
	return unit_main(s);
}
