/* SPDX-License-Identifier: MIT */
/*
 * UTF-8 without a locale: the result must not depend on the environment, which the library does
 * not read.
 */
#include "base/utf8.h"

#include <stdbool.h>

size_t xw_utf8_len(const char *text, size_t left)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;

	if (s[0] > 0xf4 || !n || n > left)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

/* A character that changes the direction of the text around it. */
static bool is_bidi(unsigned c)
{
	return c == 0x061c || c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e) ||
	       (c >= 0x2066 && c <= 0x2069);
}

unsigned xw_utf8_control(const char *text, size_t len)
{
	const unsigned char *s = (const unsigned char *)text;
	unsigned c;

	if (len == 1)
		return s[0] < 0x20 || s[0] == 0x7f ? s[0] : 0;
	if (len == 2)
		c = (s[0] & 0x1fu) << 6 | (s[1] & 0x3fu);
	else if (len == 3 && s[0] == 0xe2) /* U+2000 to U+2FFF */
		c = 0x2000u | (s[1] & 0x3fu) << 6 | (s[2] & 0x3fu);
	else
		return 0;
	return c < 0xa0 || is_bidi(c) ? c : 0;
}

size_t xw_utf8_shown(const char *text, size_t left)
{
	const size_t len = xw_utf8_len(text, left);

	return !*text || xw_utf8_control(text, len) ? 0 : len;
}
