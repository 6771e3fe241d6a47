/* SPDX-License-Identifier: MIT */
/* Numbers, sizes, modes and dates; tests/oracle/coreutils.sh compares with coreutils. */
#include "config.h"

#include <string.h>

#include "base/date.h"
#include "base/mode.h"
#include "base/parse.h"
#include "base/types.h"
#include "unit.h"

START_TEST(numbers)
{
	uint64_t n = 7;
	uint32_t w = 7;
	int64_t i = 7;

	ck_assert_int_eq(xw_parse_u64("18446744073709551615", &n), 0);
	ck_assert_uint_eq(n, UINT64_MAX);
	ck_assert_int_eq(xw_parse_u64("0010", &n), 0);
	ck_assert_uint_eq(n, 10);
	ck_assert_int_eq(xw_parse_u64("18446744073709551616", &n), XW_ERR_USAGE);
	ck_assert_int_eq(xw_parse_u64("", &n), XW_ERR_USAGE);
	ck_assert_int_eq(xw_parse_u64(" 1", &n), XW_ERR_USAGE);
	ck_assert_int_eq(xw_parse_u64("+1", &n), XW_ERR_USAGE);
	ck_assert_int_eq(xw_parse_u64("-1", &n), XW_ERR_USAGE);
	ck_assert_int_eq(xw_parse_u64("1a", &n), XW_ERR_USAGE);
	ck_assert_uint_eq(n, 10); /* a failure changes nothing */
	ck_assert_int_eq(xw_parse_u32("4294967295", &w), 0);
	ck_assert_uint_eq(w, UINT32_MAX);
	ck_assert_int_eq(xw_parse_u32("4294967296", &w), XW_ERR_USAGE);
	ck_assert_int_eq(xw_parse_i64("-9223372036854775808", &i), 0);
	ck_assert(i == INT64_MIN);
	ck_assert_int_eq(xw_parse_i64("9223372036854775807", &i), 0);
	ck_assert(i == INT64_MAX);
	ck_assert_int_eq(xw_parse_i64("9223372036854775808", &i), XW_ERR_USAGE);
	ck_assert_int_eq(xw_parse_i64("-9223372036854775809", &i), XW_ERR_USAGE);
	ck_assert_int_eq(xw_parse_i64("--1", &i), XW_ERR_USAGE);
	ck_assert_int_eq(xw_parse_c("0x1F", &n), 0);
	ck_assert_uint_eq(n, 31);
	ck_assert_int_eq(xw_parse_c("017", &n), 0);
	ck_assert_uint_eq(n, 15);
	ck_assert_int_eq(xw_parse_c("0", &n), 0);
	ck_assert_uint_eq(n, 0);
	ck_assert_int_eq(xw_parse_c("18", &n), 0);
	ck_assert_uint_eq(n, 18);
	ck_assert_int_eq(xw_parse_c("018", &n), XW_ERR_USAGE);
	ck_assert_int_eq(xw_parse_c("0x", &n), XW_ERR_USAGE);
	ck_assert_int_eq(xw_parse_octal("7777", &n), 0);
	ck_assert_uint_eq(n, 07777);
	ck_assert_int_eq(xw_parse_octal("8", &n), XW_ERR_USAGE);
}
END_TEST

static const struct {
	const char *text, *shown; /* NULL: refused */
} seconds[] = {
	{"0", "0.000000000"},
	{"-0", "0.000000000"},
	{"-1.5", "-1.500000000"},
	{"-0.5", "-0.500000000"},
	{"-0.000000001", "-0.000000001"},
	{"-1.999999999", "-1.999999999"},
	{"1.5", "1.500000000"},
	{"1,25", "1.250000000"},
	{"+3", "3.000000000"},
	{"1.0000000009", "1.000000000"},
	{"-1.0000000001", "-1.000000001"},
	{"-1.9999999999", "-2.000000000"},
	{"-1.0000000000", "-1.000000000"},
	{"", NULL},
	{"-", NULL},
	{"--1", NULL},
	{"1.", NULL},
	{".5", NULL},
	{"1.5.5", NULL},
	{"1e3", NULL},
	{" 1", NULL},
	{"9223372036854775808", NULL},
};

START_TEST(shown_seconds)
{
	char text[XW_DATE_TEXT];
	struct xw_time t, back;
	const bool ok = xw_date_seconds(seconds[_i].text, &t);

	ck_assert_int_eq(ok, seconds[_i].shown != NULL);
	if (!ok)
		return;
	ck_assert_uint_lt(t.nsec, 1000000000u);
	xw_date_text(t, text);
	ck_assert_str_eq(text, seconds[_i].shown);
	ck_assert(xw_date_seconds(text, &back));
	ck_assert(back.sec == t.sec && back.nsec == t.nsec);
}
END_TEST

static time_t west(struct tm *tm)
{
	return timegm(tm) + 3600;
}

START_TEST(dates)
{
	struct xw_time t;
	int64_t at;

	ck_assert(xw_date_calendar("1970-01-02", west, &t));
	ck_assert_int_eq(t.sec, 86400 + 3600);
	ck_assert(xw_date_calendar("1969-12-31 23:59:59.25Z", west, &t));
	ck_assert_int_eq(t.sec, -1);
	ck_assert_uint_eq(t.nsec, 250000000);
	ck_assert(xw_date_calendar("2000-2-29T01:02:03 +0130", west, &t));
	ck_assert_int_eq(t.sec, 951780723);
	ck_assert(!xw_date_calendar("2001-02-29", west, &t));
	ck_assert(!xw_date_calendar("2000-13-01", west, &t));
	ck_assert(!xw_date_calendar("2000-01-01 25:00", west, &t));
	ck_assert(!xw_date_calendar("2000-01-01 10:60", west, &t));
	ck_assert(!xw_date_calendar("2000-01-01 10", west, &t));
	ck_assert(!xw_date_calendar("2000-01-01 +2500", west, &t));
	ck_assert(!xw_date_calendar("2000-01-01x", west, &t));
	ck_assert(!xw_date_calendar(" 2000-01-01", west, &t));
	ck_assert(!xw_date_calendar("", west, &t));
	ck_assert(xw_date_digits("19700102", west, &at));
	ck_assert_int_eq(at, 86400 + 3600);
	ck_assert(xw_date_digits("19700101000102", timegm, &at));
	ck_assert_int_eq(at, 62);
	ck_assert(!xw_date_digits("19701301", timegm, &at));
	ck_assert(!xw_date_digits("197001011", timegm, &at));
	ck_assert(!xw_date_digits("1970", timegm, &at));
}
END_TEST

static const struct {
	const char *text;
	unsigned mode, file, dir;
} modes[] = {
	{"755", 06644, 0755, 06755}, /* setuid and setgid of directories are kept */
	{"0755", 06644, 0755, 06755},  {"00755", 06644, 0755, 0755},
	{"=755", 06644, 0755, 0755},   {"+1001", 0644, 01645, 01645},
	{"-44", 0644, 0600, 0600},     {"4755", 02644, 04755, 06755},
	{"u=rw", 06644, 02644, 06644}, {"u=rws", 02644, 06644, 06644},
	{"g-s", 02755, 0755, 0755},    {"ug-s", 06755, 0755, 0755},
	{"a=", 07777, 0, 06000},       {"u=rwxX", 0644, 0744, 0744},
	{"uo+Xx", 0644, 0745, 0745},   {"a-x+X", 0755, 0644, 0755},
	{"+X", 0744, 0755, 0755},      {"+X", 0644, 0644, 0755},
	{"u+r-w", 0200, 0400, 0400},   {"g=u", 0740, 0770, 0770},
	{"g=u-w", 0740, 0750, 0750},   {"o=g,g=", 0750, 0705, 0705},
	{"+t", 0644, 01644, 01644},    {"u+t", 0644, 0644, 0644},
	{"o-t", 01777, 0777, 0777},    {"+w", 0444, 0666, 0666},
	{"=r", 0777, 0444, 0444},      {"u=g=o", 0754, 0454, 0454},
};

START_TEST(changes)
{
	struct xw_mode m = {0};

	ck_assert_int_eq(xw_mode_parse(modes[_i].text, &m), 0);
	ck_assert_uint_eq(xw_mode_apply(&m, modes[_i].mode, false), modes[_i].file);
	ck_assert_uint_eq(xw_mode_apply(&m, modes[_i].mode, true), modes[_i].dir);
	xw_mode_free(&m);
}
END_TEST

static const char *const no_modes[] = {
	"ug", "", "u+r,", ",u+r", "u=gr", "a=755", "=755+x", "8", "77777", "755x", "u+q", "+8",
};

START_TEST(refused)
{
	struct xw_mode m = {0};

	ck_assert_int_eq(xw_mode_parse(no_modes[_i], &m), XW_ERR_USAGE);
	ck_assert_uint_eq(m.v.n, 0);
	xw_mode_free(&m);
}
END_TEST

START_TEST(octal_digits)
{
	uint32_t m = 1;

	ck_assert(xw_mode_octal("7777", &m));
	ck_assert_uint_eq(m, 07777);
	ck_assert(!xw_mode_octal("10000", &m));
	ck_assert(!xw_mode_octal("", &m));
	ck_assert(!xw_mode_octal("-1", &m));
	ck_assert(!xw_mode_octal("18", &m));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("parse");
	TCase *t = tcase_create("parse");

	tcase_add_test(t, numbers);
	unit_add_rows(t, shown_seconds, seconds, text);
	tcase_add_test(t, dates);
	unit_add_rows(t, changes, modes, text);
	unit_add_strings(t, refused, no_modes);
	tcase_add_test(t, octal_digits);
	suite_add_tcase(s, t);
	return unit_main(s);
}
