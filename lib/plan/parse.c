/* SPDX-License-Identifier: MIT */
/*
 * Parsing of numbers in option values. strtoull and strtod are not used because they accept signs,
 * blanks, hexadecimal, "inf" and the decimal point of the locale.
 */
#include "plan/parse.h"

#include <stdio.h>
#include <stdlib.h>
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

/* Parse leading digits, and set *end after them. XW_ERR_USAGE: no digit, or over 64 bits. */
static int digits(const char *text, uint64_t *out, const char **end)
{
	uint64_t n = 0;

	if (!is_digit(*text))
		return XW_ERR_USAGE;
	for (; is_digit(*text); text++) {
		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(*text - '0'), &n))
			return XW_ERR_USAGE;
	}
	*out = n;
	*end = text;
	return 0;
}

int xw_parse_u64(const char *text, uint64_t *out)
{
	const char *end;
	int rc = digits(text, out, &end);

	return rc ? rc : *end ? XW_ERR_USAGE : 0;
}

int xw_bad_value(struct xw_diag *diag, const char *name, const char *value, const char *why)
{
	const bool letter = *name == '-' && !strchr(name, ' ');

	return xw_fail(diag, XW_ERR_USAGE, "%s%c%.80s: %s", name, letter ? ' ' : '=', value, why);
}

int xw_set_text(char **text, const char *value, struct xw_diag *diag)
{
	char *copy = strdup(value);

	if (!copy)
		return xw_fail_nomem(diag, "option value");
	free(*text);
	*text = copy;
	return 0;
}

int xw_parse_ranged(const char *name, const char *text, uint64_t min, uint64_t max, uint64_t *out,
		    struct xw_diag *diag)
{
	uint64_t n;

	if (xw_parse_u64(text, &n) || n < min || n > max) {
		char why[80];

		snprintf(why, sizeof(why), "must be a number from %llu to %llu",
			 (unsigned long long)min, (unsigned long long)max);
		return xw_bad_value(diag, name, text, why);
	}
	*out = n;
	return 0;
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

	if (digits(text, &n, &text))
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
