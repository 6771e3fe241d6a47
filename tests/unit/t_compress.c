/* SPDX-License-Identifier: MIT */
/* Compression in its thread: what goes in comes out, and whoever does not want it leaves. */
#include "config.h"

#include <archive.h>
#include <stdlib.h>
#include <string.h>

#include "base/types.h"
#include "base/vec.h"
#include "export/compress.h"
#include "unit.h"

static const char *const methods[] = {"bzip2", "gzip", "lz4", "xz", "zstd"};
#define METHODS ((int)XW_ARRAY_SIZE(methods))

static struct xw_diag diag;

struct sink {
	XW_VEC(uint8_t) got;
	size_t fail_at; /* bytes; 0: never */
	unsigned ticks, cancel_at; /* 0: never */
};

static int sink_write(void *arg, const void *buf, size_t len)
{
	struct sink *s = arg;

	for (size_t i = 0; i < len; i++)
		ck_assert_int_eq(xw_vec_push(&s->got, ((const uint8_t *)buf)[i]), 0);
	if (s->fail_at && s->got.n >= s->fail_at)
		return xw_fail(&diag, XW_ERR_HOSTFULL, "the sink is full");
	return 0;
}

static int sink_tick(void *arg)
{
	struct sink *s = arg;

	s->ticks++;
	if (!s->cancel_at || s->ticks < s->cancel_at)
		return 0;
	return xw_fail(&diag, XW_ERR_IO, "cancelled");
}

static struct xw_compressor *open_for(struct sink *s, const char *method, int level)
{
	const struct xw_compressor_calls calls = {sink_write, sink_tick, s};
	struct xw_archive_opts o = {.level = level, .jobs = 2};
	struct xw_compressor *c;

	memset(&diag, 0, sizeof(diag));
	ck_assert(xw_compression_by_name(method, &o.compression));
	if (xw_compressor_open(&o, &calls, &diag, &c))
		ck_abort_msg("%s: %s", method, diag.text);
	return c;
}

/* Bytes that no method makes small. */
static uint8_t *noise(size_t n)
{
	uint8_t *p = malloc(n);
	uint64_t x = 88172645463325252u;

	ck_assert_ptr_nonnull(p);
	for (size_t i = 0; i < n; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		p[i] = (uint8_t)(x >> 32);
	}
	return p;
}

static void check_unpacked(const struct sink *s, const uint8_t *want, size_t n)
{
	struct archive *a = archive_read_new();
	struct archive_entry *e;
	uint8_t *got = malloc(n + 1);

	archive_read_support_filter_all(a);
	archive_read_support_format_raw(a);
	ck_assert_int_eq(archive_read_open_memory(a, s->got.v, s->got.n), ARCHIVE_OK);
	ck_assert_int_eq(archive_read_next_header(a, &e), ARCHIVE_OK);
	ck_assert_int_eq(archive_read_data(a, got, n + 1), (la_ssize_t)n);
	ck_assert_mem_eq(got, want, n);
	archive_read_free(a);
	free(got);
}

/* More than both rings hold, in pieces of any size. */
START_TEST(round_trip)
{
	const size_t n = 5 << 20;
	uint8_t *data = noise(n);
	struct sink s = {0};
	struct xw_compressor *c = open_for(&s, methods[_i], XW_LEVEL_DEFAULT);

	for (size_t at = 0, len = 1; at < n; at += len) {
		len = XW_MIN(len * 3 + 7, n - at);
		ck_assert_int_eq(xw_compressor_write(c, data + at, len), 0);
	}
	ck_assert_int_eq(xw_compressor_finish(c), 0);
	ck_assert_uint_eq(xw_compressor_bytes(c), s.got.n);
	ck_assert_uint_gt(s.ticks, 0);
	xw_compressor_free(c);
	check_unpacked(&s, data, n);
	xw_vec_free(&s.got);
	free(data);
}
END_TEST

/* The write function's failure is the run's, at once or at the end, and stays. */
START_TEST(full)
{
	const size_t n = 6 << 20;
	uint8_t *data = noise(n);
	struct sink s = {.fail_at = _i % 2 ? 1 : 3 << 20};
	struct xw_compressor *c = open_for(&s, methods[_i / 2], XW_LEVEL_DEFAULT);
	size_t had;
	int rc = 0;

	for (size_t at = 0; at < n && !rc; at += 65536)
		rc = xw_compressor_write(c, data + at, 65536);
	if (!rc)
		rc = xw_compressor_finish(c);
	ck_assert_int_eq(rc, XW_ERR_HOSTFULL);
	ck_assert_str_eq(diag.text, "the sink is full");
	had = s.got.n;
	ck_assert_int_eq(xw_compressor_write(c, data, 1), XW_ERR_HOSTFULL);
	ck_assert_int_eq(xw_compressor_finish(c), XW_ERR_HOSTFULL);
	ck_assert_uint_eq(s.got.n, had);
	xw_compressor_free(c);
	xw_vec_free(&s.got);
	free(data);
}
END_TEST

/* Given up by the tick: before anything, in between, while the last of it is compressed. */
START_TEST(cancelled)
{
	const size_t n = 4 << 20;
	uint8_t *data = noise(n);
	struct sink s = {.cancel_at = 1 + (unsigned)_i % 3 * 8};
	struct xw_compressor *c = open_for(&s, methods[_i / 3], 9);
	int rc = 0;

	for (size_t at = 0; at < n && !rc; at += 256 << 10)
		rc = xw_compressor_write(c, data + at, 256 << 10);
	if (_i % 3 != 2) /* sixteen writes: the seventeenth tick is a wait's, if there is one */
		ck_assert_int_eq(rc, XW_ERR_IO);
	if (!rc)
		rc = xw_compressor_finish(c);
	if (rc)
		ck_assert_str_eq(diag.text, "cancelled");
	xw_compressor_free(c);
	xw_vec_free(&s.got);
	free(data);
}
END_TEST

START_TEST(left_alone)
{
	struct sink s = {0};
	struct xw_compressor *c = open_for(&s, methods[_i], XW_LEVEL_DEFAULT);

	xw_compressor_free(c);
	ck_assert_uint_eq(s.got.n, 0);
}
END_TEST

START_TEST(no_such_level)
{
	const struct xw_compressor_calls calls = {sink_write, NULL, NULL};
	const struct xw_archive_opts o = {.compression = XW_COMPRESS_GZIP, .level = 77};
	struct xw_compressor *c = NULL;

	memset(&diag, 0, sizeof(diag));
	ck_assert_int_eq(xw_compressor_open(&o, &calls, &diag, &c), XW_ERR_USAGE);
	ck_assert_ptr_nonnull(strstr(diag.text, "no level 77"));
	xw_compressor_free(c);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("compress");
	TCase *tc = tcase_create("compress");

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, round_trip, 0, METHODS);
	tcase_add_loop_test(tc, full, 0, METHODS * 2);
	tcase_add_loop_test(tc, cancelled, 0, METHODS * 3);
	tcase_add_loop_test(tc, left_alone, 0, METHODS);
	tcase_add_test(tc, no_such_level);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
