/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <locale.h>
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/types.h"
#include "unit.h"

START_TEST(document)
{
	struct xw_json j = {0};

	xw_json_object(&j, NULL);
	xw_json_str(&j, "name", "a\"b", 3);
	xw_json_array(&j, "list");
	xw_json_end(&j, ']');
	xw_json_array(&j, "more");
	xw_json_u64(&j, NULL, UINT64_MAX);
	xw_json_i64(&j, NULL, INT64_MIN);
	xw_json_object(&j, NULL);
	xw_json_end(&j, '}');
	xw_json_object(&j, NULL);
	xw_json_bool(&j, "t", true);
	xw_json_bool(&j, "f", false);
	xw_json_end(&j, '}');
	xw_json_end(&j, ']');
	xw_json_f64(&j, "odd\nkey", 0.125, 2);
	xw_json_end(&j, '}');
	ck_assert_str_eq(xw_json_text(&j),
			 "{\"name\":\"a\\\"b\",\"list\":[],\"more\":[18446744073709551615,"
			 "-9223372036854775808,{},{\"t\":true,\"f\":false}],\"odd\\nkey\":0.12}");
	ck_assert_uint_eq(j.depth, 0);
	xw_json_free(&j);
	ck_assert_str_eq(xw_json_text(&j), "");
	xw_json_free(&j);
}
END_TEST

/* What UTF-8 cannot say is said twice, where there is a place for it. */
START_TEST(not_text)
{
	struct xw_json j = {0};

	xw_json_object(&j, NULL);
	xw_json_str(&j, "name", "a\xff\xfe", 3);
	xw_json_str(&j, "odd\"key", "\x80", 1);
	xw_json_str(&j, "good", "\xc3\xa9", 2);
	xw_json_array(&j, "list");
	xw_json_str(&j, NULL, "\x80", 1);
	xw_json_end(&j, ']');
	xw_json_hex(&j, "raw", "\x00\x1f\xa0", 3);
	xw_json_hex(&j, "none", "", 0);
	xw_json_null(&j, "nothing");
	xw_json_end(&j, '}');
	ck_assert_str_eq(
		xw_json_text(&j),
		"{\"name\":\"a\xef\xbf\xbd\xef\xbf\xbd\",\"name_hex\":\"61fffe\","
		"\"odd\\\"key\":\"\xef\xbf\xbd\",\"odd\\\"key_hex\":\"80\",\"good\":\"\xc3\xa9\","
		"\"list\":[\"\xef\xbf\xbd\"],\"raw\":\"001fa0\",\"none\":\"\",\"nothing\":null}");
	xw_json_free(&j);
}
END_TEST

#define BAD "\xef\xbf\xbd"
#define S(lit) lit, sizeof(lit) - 1

static const struct {
	const char *in;
	size_t len;
	const char *out;
} strings[] = {
	{S(""), ""},
	{S("plain /text"), "plain /text"},
	{S("\"\\\b\f\n\r\t"), "\\\"\\\\\\b\\f\\n\\r\\t"},
	{S("\0\x01\x1f\x7f"), "\\u0000\\u0001\\u001f\\u007f"},
	{S("\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0"), "\\u0080\\u009b\\u009f\xc2\xa0"},
	{S("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"),
	 "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"},
	{S("latin \xe9t\xe9"), "latin " BAD "t" BAD},
	{S("\x80"), BAD},
	{S("\xc0\xaf"), BAD BAD}, /* long form of '/' */
	{S("\xe0\x80\xaf"), BAD BAD BAD}, /* likewise */
	{S("\xed\xa0\x80"), BAD BAD BAD}, /* a surrogate */
	{S("\xed\x9f\xbf"), "\xed\x9f\xbf"}, /* the last before them */
	{S("\xf0\x8f\xbf\xbf"), BAD BAD BAD BAD}, /* long form */
	{S("\xf4\x8f\xbf\xbf"), "\xf4\x8f\xbf\xbf"}, /* U+10FFFF */
	{S("\xf4\x90\x80\x80"), BAD BAD BAD BAD}, /* past it */
	{S("\xf5\x80\x80\x80"), BAD BAD BAD BAD}, /* likewise */
	{S("cut \xe2\x82"), "cut " BAD BAD}, /* ends inside a character */
	{S("\xe2\x82\"x"), BAD BAD "\\\"x"}, /* broken off by a quote */
	{S("\xff\xfe"), BAD BAD},
};

START_TEST(escapes)
{
	struct xw_json j = {0};
	const char *text;
	size_t n = strlen(strings[_i].out);

	xw_json_str(&j, NULL, strings[_i].in, strings[_i].len);
	text = xw_json_text(&j);
	ck_assert_uint_eq(j.len, n + 2);
	ck_assert_uint_eq(strlen(text), n + 2);
	ck_assert_int_eq(text[0], '"');
	ck_assert_mem_eq(text + 1, strings[_i].out, n);
	ck_assert_int_eq(text[n + 1], '"');
	xw_json_free(&j);
}
END_TEST

static const struct {
	double v;
	int decimals;
	const char *out;
} numbers[] = {
	{0, 0, "0"},
	{-1.5, 1, "-1.5"},
	{1e20, 0, "100000000000000000000"},
	{1.0 / 3, 4, "0.3333"},
	{2, -3, "2"},
	{0.5, 40, "0.50000000000000000"},
	{NAN, 2, "null"},
	{INFINITY, 2, "null"},
	{-INFINITY, 2, "null"},
};

START_TEST(floats)
{
	/* The locale of the process must not reach the document, where one is there to try. */
	const char *locale = _i % 2 ? "de_DE.UTF-8" : "C";
	struct xw_json j = {0};

	setlocale(LC_ALL, locale);
	xw_json_f64(&j, NULL, numbers[_i / 2].v, numbers[_i / 2].decimals);
	setlocale(LC_ALL, "C");
	ck_assert_str_eq(xw_json_text(&j), numbers[_i / 2].out);
	xw_json_free(&j);
	xw_json_f64(&j, NULL, 1.7976931348623157e308, 17);
	ck_assert_uint_eq(j.len, 309 + 1 + 17);
	xw_json_free(&j);
}
END_TEST

START_TEST(long_document)
{
	struct xw_json j = {0};

	xw_json_array(&j, NULL);
	for (unsigned i = 0; i < 100000; i++)
		xw_json_u64(&j, NULL, i % 10);
	xw_json_end(&j, ']');
	ck_assert_uint_eq(j.len, 200001);
	ck_assert_uint_eq(strlen(xw_json_text(&j)), 200001);
	for (size_t i = 0; i < 100000; i++)
		ck_assert_int_eq(j.buf[1 + 2 * i], (int)('0' + i % 10));
	xw_json_free(&j);
}
END_TEST

/* Memory runs out in the middle: one answer at the end. */
START_TEST(out_of_memory)
{
	struct xw_json j = {0};

	xw_json_object(&j, NULL);
	j.nomem = true;
	xw_json_u64(&j, "x", 1);
	xw_json_end(&j, '}');
	ck_assert_ptr_null(xw_json_text(&j));
	ck_assert_str_eq(j.buf, "{");
	xw_json_free(&j);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("json");
	TCase *t = tcase_create("json");

	tcase_add_test(t, document);
	tcase_add_test(t, not_text);
	unit_add_rows(t, escapes, strings, in);
	tcase_add_loop_test(t, floats, 0, 2 * XW_ARRAY_SIZE(numbers));
	tcase_add_test(t, long_document);
	tcase_add_test(t, out_of_memory);
	suite_add_tcase(s, t);
	return unit_main(s);
}
