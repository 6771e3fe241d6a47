/* SPDX-License-Identifier: MIT */
/*
 * Compact JSON (RFC 8259) into one growing buffer.
 *
 * Invariants: the text is NUL-terminated whenever buf is set; after nomem nothing is added, so a
 * caller can write a whole document and check once at the end. The output does not depend on the
 * locale.
 */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/utf8.h"
#include "base/vec.h"

static void put(struct xw_json *j, const char *s, size_t len)
{
	if (j->nomem)
		return;
	if (xw_vec_reserve_((void **)&j->buf, &j->cap, j->len + len + 1, 1)) {
		j->nomem = true;
		return;
	}
	memcpy(j->buf + j->len, s, len);
	j->len += len;
	j->buf[j->len] = '\0';
}

static void put_escaped(struct xw_json *j, unsigned c)
{
	static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
	const char *at = c && c < 0x80 ? strchr(from, (int)c) : NULL;
	char esc[8];

	if (at)
		snprintf(esc, sizeof(esc), "\\%c", to[at - from]);
	else
		snprintf(esc, sizeof(esc), "\\u%04x", c);
	put(j, esc, strlen(esc));
}

/* Write a string without its quotes; returns whether all of it was valid UTF-8. */
static bool put_text(struct xw_json *j, const char *str, size_t len)
{
	const unsigned char *s = (const unsigned char *)str;
	size_t plain = 0, i = 0; /* s[plain..i) is pending and copied verbatim */
	bool whole = true;

	while (i < len) {
		size_t n = xw_utf8_len(str + i, len - i);

		if (n && s[i] && s[i] != '"' && s[i] != '\\' && !xw_utf8_control(str + i, n)) {
			i += n;
			continue;
		}
		put(j, str + plain, i - plain);
		if (n)
			put_escaped(j, n == 1 ? s[i] : xw_utf8_control(str + i, n));
		else
			put(j, "\xef\xbf\xbd", 3);
		whole &= n != 0;
		i += n ? n : 1;
		plain = i;
	}
	put(j, str + plain, i - plain);
	return whole;
}

static void begin(struct xw_json *j, const char *key)
{
	if (j->comma)
		put(j, ",", 1);
	j->comma = true;
	if (key) {
		put(j, "\"", 1);
		(void)put_text(j, key, strlen(key));
		put(j, "\":", 2);
	}
}

static void put_digits(struct xw_json *j, const unsigned char *s, size_t len)
{
	static const char digits[] = "0123456789abcdef";

	put(j, "\"", 1);
	for (size_t i = 0; i < len; i++) {
		const char two[] = {digits[s[i] >> 4], digits[s[i] & 15]};

		put(j, two, sizeof(two));
	}
	put(j, "\"", 1);
}

void xw_json_object(struct xw_json *j, const char *key)
{
	begin(j, key);
	put(j, "{", 1);
	j->depth++;
	j->comma = false;
}

void xw_json_array(struct xw_json *j, const char *key)
{
	begin(j, key);
	put(j, "[", 1);
	j->depth++;
	j->comma = false;
}

void xw_json_end(struct xw_json *j, char close)
{
	put(j, &close, 1);
	j->depth--;
	j->comma = true;
}

void xw_json_str(struct xw_json *j, const char *key, const char *s, size_t len)
{
	bool whole;

	begin(j, key);
	put(j, "\"", 1);
	whole = put_text(j, s, len);
	put(j, "\"", 1);
	if (whole || !key)
		return;
	put(j, ",\"", 2);
	(void)put_text(j, key, strlen(key));
	put(j, "_hex\":", 6);
	put_digits(j, (const unsigned char *)s, len);
}

void xw_json_hex(struct xw_json *j, const char *key, const void *bytes, size_t len)
{
	begin(j, key);
	put_digits(j, bytes, len);
}

void xw_json_u64(struct xw_json *j, const char *key, uint64_t v)
{
	char num[24];

	begin(j, key);
	put(j, num, (size_t)snprintf(num, sizeof(num), "%" PRIu64, v));
}

void xw_json_i64(struct xw_json *j, const char *key, int64_t v)
{
	char num[24];

	begin(j, key);
	put(j, num, (size_t)snprintf(num, sizeof(num), "%" PRId64, v));
}

void xw_json_f64(struct xw_json *j, const char *key, double v, int decimals)
{
	char num[352], *out = num; /* DBL_MAX has 309 digits before the point */

	begin(j, key);
	if (!isfinite(v)) {
		put(j, "null", 4);
		return;
	}
	decimals = decimals < 0 ? 0 : decimals > 17 ? 17 : decimals;
	snprintf(num, sizeof(num), "%.*f", decimals, v);
	/* The decimal point of the locale may be any character, including a multibyte one. */
	for (const char *in = num; *in; in++) {
		if ((*in >= '0' && *in <= '9') || *in == '-')
			*out++ = *in;
		else if (out[-1] != '.')
			*out++ = '.';
	}
	put(j, num, (size_t)(out - num));
}

void xw_json_bool(struct xw_json *j, const char *key, bool v)
{
	begin(j, key);
	put(j, v ? "true" : "false", v ? 4 : 5);
}

void xw_json_null(struct xw_json *j, const char *key)
{
	begin(j, key);
	put(j, "null", 4);
}

const char *xw_json_text(struct xw_json *j)
{
	put(j, "", 0);
	return j->nomem ? NULL : j->buf;
}

void xw_json_free(struct xw_json *j)
{
	free(j->buf);
	*j = (struct xw_json){0};
}
