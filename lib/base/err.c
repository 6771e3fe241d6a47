/* SPDX-License-Identifier: MIT */
/*
 * Error texts, the diagnostic slot and log lines.
 *
 * Invariants:
 * 1. A slot is written once: code goes 0 -> CLAIMED -> the code, text is complete before the last
 *    step. The claim is atomic because a writer thread and its owner may fail at the same moment.
 * 2. Slots and log callbacks receive single lines free of control characters: names come from
 *    archives and images, and must not be able to control a terminal or forge a second line.
 */
#include "config.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/utf8.h"

#define CLAIMED INT_MIN
#define LINE_MAX_BYTES sizeof(((struct xw_diag *)0)->text)

const char *xw_err_text(int code)
{
	switch (code) {
#define X(name, value, text)                                                                       \
	case value:                                                                                \
		return text;
		XW_ERRORS(X)
#undef X
	default:
		return "unknown error";
	}
}

/*
 * Copy src to dst (room bytes with the terminator). Control characters and bytes that are not UTF-8
 * are written as \ooo; terminals obey C1 controls in both encodings. A text that does not fit ends
 * in "...".
 */
static size_t copy_clean(char *dst, size_t room, const char *src)
{
	size_t n = 0, safe = 0; /* safe: the last position where an ellipsis still fits */

	for (size_t left = strlen(src); left;) {
		const size_t whole = xw_utf8_shown(src, left);
		const size_t take = whole ? whole : 1, want = whole ? whole : 4;
		const unsigned char c = (unsigned char)*src;

		if (n + 4 <= room)
			safe = n;
		if (n + want + 1 > room) {
			memcpy(dst + safe, "...", 4);
			return safe + 3;
		}
		if (whole) {
			memcpy(dst + n, src, whole);
		} else {
			dst[n] = '\\';
			dst[n + 1] = (char)('0' + (c >> 6));
			dst[n + 2] = (char)('0' + (c >> 3 & 7));
			dst[n + 3] = (char)('0' + (c & 7));
		}
		n += want;
		src += take;
		left -= take;
	}
	dst[n] = '\0';
	return n;
}

static void format_line(char *dst, size_t room, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));

static void format_line(char *dst, size_t room, const char *fmt, va_list ap)
{
	/* one byte more than fits, so that copy_clean() detects an overflow */
	char raw[LINE_MAX_BYTES + 1];

	if (vsnprintf(raw, sizeof(raw), fmt, ap) < 0)
		snprintf(raw, sizeof(raw), "(message cannot be formatted)");
	copy_clean(dst, room, raw);
}

static bool claim(struct xw_diag *d)
{
	int none = 0;

	return d && __atomic_compare_exchange_n(&d->code, &none, CLAIMED, false, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED);
}

static int publish(struct xw_diag *d, int code)
{
	__atomic_store_n(&d->code, code ? code : XW_ERR_INTERNAL, __ATOMIC_RELEASE);
	return code;
}

int xw_fail(struct xw_diag *d, int code, const char *fmt, ...)
{
	va_list ap;

	if (!claim(d))
		return code;
	va_start(ap, fmt);
	format_line(d->text, sizeof(d->text), fmt, ap);
	va_end(ap);
	return publish(d, code);
}

int xw_fail_errno(struct xw_diag *d, int code, int err, const char *fmt, ...)
{
	char buf[128];
	const char *why;
	size_t tail;
	va_list ap;

	if (!claim(d))
		return code;
	/* The GNU variant may return a constant string instead of filling buf. */
	why = strerror_r(err, buf, sizeof(buf));
	tail = strnlen(why, sizeof(buf)) + 2;
	va_start(ap, fmt);
	format_line(d->text, sizeof(d->text) - tail, fmt, ap);
	va_end(ap);
	strcat(d->text, ": ");
	strncat(d->text, why, tail - 2);
	return publish(d, code);
}

void xw_fail_add(struct xw_diag *d, const char *text)
{
	const size_t len = d ? strlen(d->text) : 0;

	if (d && d->code && len + 4 < sizeof(d->text))
		copy_clean(d->text + len, sizeof(d->text) - len, text);
}

void xw_fail_repair(struct xw_diag *d)
{
	if (d && (d->code == XW_ERR_CORRUPT || d->code == XW_ERR_CHECKSUM) &&
	    !strstr(d->text, "xw-fsck"))
		xw_fail_add(d, "; run xw-fsck -f");
}

int xw_fail_nomem(struct xw_diag *d, const char *what)
{
	return xw_fail(d, XW_ERR_NOMEM, "out of memory for %s", what);
}

void xw_diag_clear(struct xw_diag *d)
{
	if (!d)
		return;
	d->text[0] = '\0';
	__atomic_store_n(&d->code, 0, __ATOMIC_RELEASE);
}

void xw_log(struct xw_diag *d, enum xw_log_level level, const char *fmt, ...)
{
	char line[LINE_MAX_BYTES];
	va_list ap;

	if (!d)
		return;
	if (level == XW_LOG_WARN)
		d->warnings++;
	if (!d->log)
		return;
	va_start(ap, fmt);
	format_line(line, sizeof(line), fmt, ap);
	va_end(ap);
	d->log(d->log_arg, level, line);
}
