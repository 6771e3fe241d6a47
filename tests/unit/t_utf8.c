/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <string.h>

#include "base/types.h"
#include "base/utf8.h"
#include "unit.h"

static const struct {
	const char *text;
	size_t len, shown;
} cases[] = {
	{"a", 1, 1},
	{"~a", 1, 1},
	{" ", 1, 1},
	{"\\", 1, 1},
	{"\x1b", 1, 0},
	{"\x1f", 1, 0},
	{"\x7f", 1, 0},
	{"\x80", 0, 0}, /* a continuation alone */
	{"\x9b", 0, 0},
	{"\xbf", 0, 0},
	{"\xc0\x80", 0, 0}, /* long forms */
	{"\xc1\xbf", 0, 0},
	{"\xe0\x9f\xbf", 0, 0},
	{"\xf0\x8f\xbf\xbf", 0, 0},
	{"\xc2\x80", 2, 0}, /* C1 */
	{"\xc2\x9b", 2, 0},
	{"\xc2\x9f", 2, 0},
	{"\xc2\xa0", 2, 2},
	{"\xc3\xa9", 2, 2},
	{"\xc3\x9b", 2, 2},
	{"\xdf\xbf", 2, 2},
	{"\xd8\x9b", 2, 2}, /* direction of text: U+061C */
	{"\xd8\x9c", 2, 0},
	{"\xd8\x9d", 2, 2},
	{"\xe2\x80\x8d", 3, 3}, /* U+200E, U+200F */
	{"\xe2\x80\x8e", 3, 0},
	{"\xe2\x80\x8f", 3, 0},
	{"\xe2\x80\x90", 3, 3},
	{"\xe2\x80\xa9", 3, 3}, /* U+202A to U+202E */
	{"\xe2\x80\xaa", 3, 0},
	{"\xe2\x80\xae", 3, 0},
	{"\xe2\x80\xaf", 3, 3},
	{"\xe2\x81\xa5", 3, 3}, /* U+2066 to U+2069 */
	{"\xe2\x81\xa6", 3, 0},
	{"\xe2\x81\xa9", 3, 0},
	{"\xe2\x81\xaa", 3, 3},
	{"\xe3\x80\x8e", 3, 3}, /* the same low bits */
	{"\xe0\xa0\x80", 3, 3},
	{"\xed\x9f\xbf", 3, 3},
	{"\xed\xa0\x80", 0, 0}, /* surrogates */
	{"\xed\xbf\xbf", 0, 0},
	{"\xee\x80\x80", 3, 3},
	{"\xef\xbf\xbd", 3, 3},
	{"\xf0\x90\x80\x80", 4, 4},
	{"\xf4\x8f\xbf\xbf", 4, 4},
	{"\xf4\x90\x80\x80", 0, 0}, /* beyond Unicode */
	{"\xf5\x80\x80\x80", 0, 0},
	{"\xff", 0, 0},
	{"\xc3", 0, 0}, /* cut off */
	{"\xc3x", 0, 0},
	{"\xe2\x82", 0, 0},
	{"\xe2\x82x", 0, 0},
	{"\xe2x\x82", 0, 0},
	{"\xf0\x9f\x98", 0, 0},
};

START_TEST(sequences)
{
	const char *text = cases[_i].text;

	ck_assert_uint_eq(xw_utf8_len(text, strlen(text)), cases[_i].len);
	ck_assert_uint_eq(xw_utf8_shown(text, strlen(text)), cases[_i].shown);
	/* one byte less than it has */
	if (cases[_i].len > 1) {
		ck_assert_uint_eq(xw_utf8_len(text, cases[_i].len - 1), 0);
		ck_assert_uint_eq(xw_utf8_shown(text, cases[_i].len - 1), 0);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("utf8");
	TCase *t = tcase_create("utf8");

	unit_add_rows(t, sequences, cases, text);
	suite_add_tcase(s, t);
	return unit_main(s);
}
