/* SPDX-License-Identifier: MIT */
#include "base/parse.h"

#include <string.h>

static const struct {
	char letter;
	uint64_t bytes;
} suffixes[] = {
	{'s', 512},        {'k', 1ull << 10}, {'K', 1ull << 10}, {'m', 1ull << 20},
	{'M', 1ull << 20}, {'g', 1ull << 30}, {'G', 1ull << 30}, {'t', 1ull << 40},
	{'T', 1ull << 40}, {'p', 1ull << 50}, {'P', 1ull << 50},
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static uint64_t suffix_bytes(char c)
{
	for (size_t i = 0; i < XW_ARRAY_SIZE(suffixes); i++) {
		if (suffixes[i].letter == c)
			return suffixes[i].bytes;
	}
	return 0;
}

/* Bytes of a decimal unit as in dd(1) and numfmt(1), such as MB for 1000^2. 0: no such suffix. */
static uint64_t decimal_bytes(const char *text, size_t n)
{
	static const char letters[] = "KMGTP";
	const char *at = n > 2 && text[n - 1] == 'B' ? strchr(letters, text[n - 2]) : NULL;
	uint64_t bytes = 1000;

	if (n > 2 && !strcmp(text + n - 2, "kB"))
		at = letters;
	for (const char *l = letters; at && l < at; l++)
		bytes *= 1000;
	return at ? bytes : 0;
}

/* The unit in bytes of the suffix, *len characters long; MiB is the same as M. 0: no suffix. */
static uint64_t suffix(const char *text, size_t *len)
{
	const size_t n = strlen(text);

	*len = 2;
	if (decimal_bytes(text, n))
		return decimal_bytes(text, n);
	*len = n > 3 && !strcmp(text + n - 2, "iB") && text[n - 3] != 's' ? 3 : 1;
	return n ? suffix_bytes(text[n - *len]) : 0;
}

bool xw_size_has_suffix(const char *text)
{
	size_t len;

	return suffix(text, &len) != 0;
}

static unsigned digit_of(char c)
{
	if (is_digit(c))
		return (unsigned)(c - '0');
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 : 16;
}

int xw_parse_digits(const char *text, unsigned base, uint64_t *out, const char **end)
{
	uint64_t n = 0;

	if (digit_of(*text) >= base)
		return XW_ERR_USAGE;
	for (; digit_of(*text) < base; text++) {
		if (__builtin_mul_overflow(n, base, &n) ||
		    __builtin_add_overflow(n, digit_of(*text), &n))
			return XW_ERR_USAGE;
	}
	*out = n;
	*end = text;
	return 0;
}

static int whole(const char *text, unsigned base, uint64_t *out)
{
	const char *end;
	uint64_t n;

	if (xw_parse_digits(text, base, &n, &end) || *end)
		return XW_ERR_USAGE;
	*out = n;
	return 0;
}

int xw_parse_u64(const char *text, uint64_t *out)
{
	return whole(text, 10, out);
}

int xw_parse_u32(const char *text, uint32_t *out)
{
	uint64_t n;

	if (whole(text, 10, &n) || n > UINT32_MAX)
		return XW_ERR_USAGE;
	*out = (uint32_t)n;
	return 0;
}

int xw_parse_i64(const char *text, int64_t *out)
{
	const bool minus = *text == '-';
	uint64_t n;

	if (whole(text + minus, 10, &n) || n > (uint64_t)INT64_MAX + minus)
		return XW_ERR_USAGE;
	*out = minus ? (int64_t)(0 - n) : (int64_t)n;
	return 0;
}

int xw_parse_c_digits(const char *text, uint64_t *out, const char **end)
{
	if (*text != '0')
		return xw_parse_digits(text, 10, out, end);
	if ((text[1] | 0x20) == 'x' && digit_of(text[2]) < 16)
		return xw_parse_digits(text + 2, 16, out, end);
	return xw_parse_digits(text, 8, out, end);
}

int xw_parse_c(const char *text, uint64_t *out)
{
	const char *end;
	uint64_t n;

	if (xw_parse_c_digits(text, &n, &end) || *end)
		return XW_ERR_USAGE;
	*out = n;
	return 0;
}

int xw_parse_octal(const char *text, uint64_t *out)
{
	return whole(text, 8, out);
}

int xw_parse_decimal(const char *text, size_t len, double *out)
{
	double n = 0, unit = 1;
	bool point = false, any = false;

	for (size_t i = 0; i < len; i++) {
		if (text[i] == '.' && !point) {
			point = true;
			continue;
		}
		if (!is_digit(text[i]))
			return XW_ERR_USAGE;
		any = true;
		n = n * 10 + (text[i] - '0');
		if (point)
			unit *= 10;
	}
	if (!any || len > 40)
		return XW_ERR_USAGE;
	*out = n / unit;
	return 0;
}

/* Convert digits after the decimal point to bytes; only the first nine digits are significant. */
static int fraction(const char *text, uint64_t unit, uint64_t *out, const char **end)
{
	uint64_t n = 0, scale = 1;

	if (!is_digit(*text))
		return XW_ERR_USAGE;
	for (; is_digit(*text); text++) {
		if (scale == 1000000000)
			continue;
		n = n * 10 + (uint64_t)(*text - '0');
		scale *= 10;
	}
	/* n < scale <= 10^9, so neither product exceeds 64 bits */
	*out = unit / scale * n + unit % scale * n / scale;
	*end = text;
	return 0;
}

int xw_parse_size(const char *text, uint64_t unit, uint64_t *out)
{
	size_t len;
	const uint64_t bytes = suffix(text, &len);
	uint64_t n, part = 0;

	if (xw_parse_digits(text, 10, &n, &text))
		return XW_ERR_USAGE;
	if (bytes)
		unit = bytes;
	if (*text == '.' && (!bytes || fraction(text + 1, unit, &part, &text)))
		return XW_ERR_USAGE;
	if (bytes)
		text += len;
	if (*text || __builtin_mul_overflow(n, unit, &n) || __builtin_add_overflow(n, part, &n))
		return XW_ERR_USAGE;
	*out = n;
	return 0;
}

int xw_parse_offset(const char *value, uint64_t *out, struct xw_diag *diag)
{
	/* the end of a filesystem there is still a position in a file */
	if (!value || xw_parse_size(value, 1, out) || *out > INT64_MAX / 2)
		return xw_fail(diag, XW_ERR_USAGE,
			       "-E offset=%.80s: must be a number of bytes, or one with s K M G T",
			       value ? value : "");
	return 0;
}
