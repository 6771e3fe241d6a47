/* SPDX-License-Identifier: MIT */
/*
 * UTF-8 without a locale: the result must not depend on the environment, which the library does
 * not read.
 */
#include "base/utf8.h"

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

size_t xw_utf8_shown(const char *text, size_t left)
{
	const unsigned char *s = (const unsigned char *)text;

	if (s[0] < 0x20 || s[0] == 0x7f || (s[0] == 0xc2 && left > 1 && s[1] < 0xa0))
		return 0;
	return xw_utf8_len(text, left);
}
