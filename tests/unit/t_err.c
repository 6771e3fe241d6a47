/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/types.h"
#include "unit.h"

START_TEST(texts_and_values)
{
	static const struct {
		int code, value;
	} abi[] = {
#define X(name, value, text) {XW_ERR_##name, value},
		XW_ERRORS(X)
#undef X
	};

	for (size_t i = 0; i < XW_ARRAY_SIZE(abi); i++) {
		ck_assert_int_eq(abi[i].code, abi[i].value);
		ck_assert_int_eq(abi[i].code, -1 - (int)i);
		ck_assert_str_ne(xw_err_text(abi[i].code), "unknown error");
	}
	ck_assert_str_eq(xw_err_text(XW_ERR_NOMEM), "out of memory");
	ck_assert_str_eq(xw_err_text(XW_ERR_INTERNAL), "internal error");
	ck_assert_str_eq(xw_err_text(0), "unknown error");
	ck_assert_str_eq(xw_err_text(-1000), "unknown error");
	ck_assert_str_eq(xw_err_text(1), "unknown error");
}
END_TEST

START_TEST(first_line_wins)
{
	struct xw_diag d = {0};

	ck_assert_int_eq(xw_fail(&d, XW_ERR_IO, "%s: block %d", "a.img", 7), XW_ERR_IO);
	ck_assert_int_eq(xw_fail(&d, XW_ERR_NOMEM, "outer"), XW_ERR_NOMEM);
	ck_assert_int_eq(xw_fail_errno(&d, XW_ERR_NOSPC, EIO, "outer"), XW_ERR_NOSPC);
	ck_assert_int_eq(d.code, XW_ERR_IO);
	ck_assert_str_eq(d.text, "a.img: block 7");
	xw_diag_clear(&d);
	ck_assert_int_eq(d.code, 0);
	ck_assert_str_eq(d.text, "");
	ck_assert_int_eq(xw_fail_nomem(&d, "a tree"), XW_ERR_NOMEM);
	ck_assert_str_eq(d.text, "out of memory for a tree");
	ck_assert_int_eq(xw_fail(NULL, XW_ERR_IO, "nowhere"), XW_ERR_IO);
	ck_assert_int_eq(xw_fail_errno(NULL, XW_ERR_IO, EIO, "nowhere"), XW_ERR_IO);
	xw_diag_clear(NULL);
}
END_TEST

static const struct {
	const char *in, *out;
} lines[] = {
	{"plain", "plain"},
	{"two\nlines", "two\\012lines"},
	{"\x1b[31mred", "\\033[31mred"},
	{"\x01\x7f", "\\001\\177"},
	{"caf\xc3\xa9", "caf\xc3\xa9"},
	{"csi\xc2\x9bx", "csi\\302\\233x"},
	{"latin\xe9", "latin\\351"},
	{"csi\x9b[31m", "csi\\233[31m"},
	{"back\\slash %d", "back\\slash %d"},
	{"", ""},
};

START_TEST(lines_are_clean)
{
	struct xw_diag d = {0};

	xw_fail(&d, XW_ERR_INPUT, "<%s>", lines[_i].in);
	ck_assert_uint_eq(strlen(d.text), strlen(lines[_i].out) + 2);
	ck_assert_mem_eq(d.text + 1, lines[_i].out, strlen(lines[_i].out));
}
END_TEST

START_TEST(errno_line)
{
	struct xw_diag d = {0};

	ck_assert_int_eq(xw_fail_errno(&d, XW_ERR_HOSTFULL, ENOSPC, "x.img: write"),
			 XW_ERR_HOSTFULL);
	ck_assert_str_eq(d.text, "x.img: write: No space left on device");
	ck_assert_int_eq(d.code, XW_ERR_HOSTFULL);
	xw_diag_clear(&d);
	xw_fail_errno(&d, XW_ERR_IO, 123456, "odd");
	ck_assert_str_eq(d.text, "odd: Unknown error 123456");
}
END_TEST

/* Every length around the slot's: always terminated, the reason never lost, the cut marked. */
START_TEST(long_lines)
{
	for (size_t len = 700; len < 800; len++) {
		char name[801];
		struct xw_diag d = {0}, e = {0}, esc = {0};
		bool cut = len >= sizeof(d.text);

		memset(name, 'n', len);
		name[len] = '\0';
		xw_fail(&d, XW_ERR_IO, "%s", name);
		ck_assert_uint_eq(strlen(d.text), cut ? sizeof(d.text) - 1 : len);
		ck_assert_int_eq(strcmp(d.text + strlen(d.text) - 3, "...") == 0, cut);
		xw_fail_errno(&e, XW_ERR_IO, EIO, "%s", name);
		ck_assert_ptr_nonnull(strstr(e.text, ": Input/output error"));
		memset(name, '\n', len);
		xw_fail(&esc, XW_ERR_IO, "%s", name);
		ck_assert_uint_lt(strlen(esc.text), sizeof(esc.text));
		ck_assert_str_eq(esc.text + strlen(esc.text) - 3, "...");
	}
}
END_TEST

START_TEST(cut_keeps_characters_whole)
{
	for (int lead = 0; lead < 8; lead++) {
		char name[1200] = "";
		struct xw_diag d = {0};
		size_t end;

		memset(name, 'x', (size_t)lead);
		for (int i = 0; i < 350; i++)
			strcat(name, "\xe2\x82\xac");
		xw_fail(&d, XW_ERR_IO, "%s", name);
		end = strlen(d.text) - 3;
		ck_assert_str_eq(d.text + end, "...");
		ck_assert_uint_eq((end - (size_t)lead) % 3, 0);
	}
}
END_TEST

static void keep_line(void *arg, enum xw_log_level level, const char *line)
{
	snprintf(arg, 100, "%d:%s", level, line);
}

START_TEST(logging)
{
	char got[100] = "";
	struct xw_diag d = {.log = keep_line, .log_arg = got}, silent = {0};

	xw_log(&d, XW_LOG_INFO, "n = %d\n", 5);
	ck_assert_str_eq(got, "2:n = 5\\012");
	ck_assert_uint_eq(d.warnings, 0);
	xw_log(&d, XW_LOG_WARN, "careful");
	ck_assert_str_eq(got, "1:careful");
	ck_assert_uint_eq(d.warnings, 1);
	ck_assert_int_eq(d.code, 0);
	xw_log(&silent, XW_LOG_WARN, "lost");
	ck_assert_uint_eq(silent.warnings, 1);
	xw_log(NULL, XW_LOG_WARN, "lost");
}
END_TEST

struct racer {
	struct xw_diag *d;
	int id;
};

static void *race(void *arg)
{
	struct racer *r = arg;

	xw_fail(r->d, -r->id, "racer %d, racer %d", r->id, r->id);
	return NULL;
}

/* Whoever wins, code and text are of the same one. */
START_TEST(two_threads_fail)
{
	for (int round = 0; round < 200; round++) {
		struct xw_diag d = {0};
		struct racer r[4];
		pthread_t t[4];
		char want[64];

		for (int i = 0; i < 4; i++) {
			r[i] = (struct racer){&d, i + 1};
			ck_assert_int_eq(pthread_create(&t[i], NULL, race, &r[i]), 0);
		}
		for (int i = 0; i < 4; i++)
			pthread_join(t[i], NULL);
		ck_assert_int_lt(d.code, 0);
		snprintf(want, sizeof(want), "racer %d, racer %d", -d.code, -d.code);
		ck_assert_str_eq(d.text, want);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("err");
	TCase *t = tcase_create("err");

	tcase_add_test(t, texts_and_values);
	tcase_add_test(t, first_line_wins);
	unit_add_rows(t, lines_are_clean, lines, in);
	tcase_add_test(t, errno_line);
	tcase_add_test(t, long_lines);
	tcase_add_test(t, cut_keeps_characters_whole);
	tcase_add_test(t, logging);
	tcase_add_test(t, two_threads_fail);
	tcase_set_timeout(t, 60);
	suite_add_tcase(s, t);
	return unit_main(s);
}
