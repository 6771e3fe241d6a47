/* SPDX-License-Identifier: MIT */
/*
 * One loop for all forms: some bytes are printed unchanged, the others are escaped. The form that a
 * tool uses is that of its stock counterpart (tar, debugfs, dumpe2fs).
 */
#include "config.h"

#include "cli/escape.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/utf8.h"

static bool is_ascii(uint8_t c)
{
	return c >= ' ' && c < 0x7f;
}

/* U+FFFE and U+FFFF, which are not allowed in XML. */
static bool is_no_character(const char *s, size_t n)
{
	return n == 3 && !memcmp(s, "\xef\xbf", 2) && (uint8_t)s[2] >= 0xbe;
}

/* Number of bytes at s to print unchanged: 0 if they must be escaped. */
static size_t is_plain(enum cli_escape how, const char *s, size_t left)
{
	size_t n;

	switch (how) {
	case CLI_TEXT:
		return xw_utf8_shown(s, left);
	case CLI_LINES:
		return *s == '\n' || *s == '\t' ? 1 : xw_utf8_shown(s, left);
	case CLI_TEXT_BACK:
		return *s == '\\' ? 0 : xw_utf8_shown(s, left);
	case CLI_XML:
		n = xw_utf8_shown(s, left);
		return (n == 1 && strchr("<>&\"", *s)) || is_no_character(s, n) ? 0 : n;
	case CLI_C:
		return is_ascii((uint8_t)*s) && *s != '\\' && *s != '"';
	case CLI_HEX_BACK:
		return is_ascii((uint8_t)*s) && *s != '\\';
	case CLI_HEX:
	case CLI_CAT:
		break;
	}
	return is_ascii((uint8_t)*s);
}

static size_t put_xml(FILE *out, const char *s, size_t left)
{
	const size_t n = xw_utf8_shown(s, left);

	if (n == 1)
		fprintf(out, "&#%d;", *s);
	else
		fputc('?', out);
	return n ? n : 1;
}

static void put_cat(FILE *out, uint8_t c)
{
	const uint8_t low = c & 0x7f;

	if (c != low)
		fputs("M-", out);
	if (is_ascii(low))
		fputc(low, out);
	else
		fprintf(out, "^%c", low ^ 0x40);
}

static void put_c(FILE *out, uint8_t c)
{
	static const char from[] = "\a\b\f\n\r\t\v\\\"", to[] = "abfnrtv\\\"";
	const char *at = c ? strchr(from, c) : NULL;

	if (at)
		fprintf(out, "\\%c", to[at - from]);
	else
		fprintf(out, "\\%03o", c);
}

/* Print the escape for the byte(s) at s; returns how many bytes it covers. */
static size_t put_other(FILE *out, enum cli_escape how, const char *s, size_t left)
{
	const uint8_t c = (uint8_t)*s;

	switch (how) {
	case CLI_XML:
		return put_xml(out, s, left);
	case CLI_HEX:
	case CLI_HEX_BACK:
		fprintf(out, "\\x%02x", c);
		break;
	case CLI_CAT:
		put_cat(out, c);
		break;
	case CLI_C:
		put_c(out, c);
		break;
	case CLI_TEXT:
	case CLI_TEXT_BACK:
	case CLI_LINES:
		if (c == '\\')
			fputs("\\\\", out);
		else
			fprintf(out, "\\%03o", c);
		break;
	}
	return 1;
}

void cli_escape(FILE *out, enum cli_escape how, const void *bytes, size_t len)
{
	const char *s = bytes;

	for (size_t n; len; s += n, len -= n) {
		n = is_plain(how, s, len);
		if (n)
			fwrite(s, 1, n, out);
		else
			n = put_other(out, how, s, len);
	}
}

char *cli_escaped(enum cli_escape how, const void *bytes, size_t len)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	cli_escape(out, how, bytes, len);
	if (!fclose(out))
		return text;
	free(text);
	return NULL;
}

bool cli_is_terminal(FILE *out)
{
	const int fd = fileno(out);

	return fd >= 0 && isatty(fd);
}

void cli_vprintf(FILE *out, bool terminal, const char *fmt, va_list ap)
{
	char *text;
	int len;

	if (!terminal) {
		vfprintf(out, fmt, ap);
		return;
	}
	len = vasprintf(&text, fmt, ap);
	if (len < 0) {
		fputs("(out of memory for this line)\n", out);
		return;
	}
	cli_escape(out, CLI_LINES, text, (size_t)len);
	free(text);
}

void cli_printf(FILE *out, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	cli_vprintf(out, cli_is_terminal(out), fmt, ap);
	va_end(ap);
}

void cli_json_text(FILE *out, const char *key, const char *text)
{
	struct xw_json j = {0};
	const char *object;

	xw_json_object(&j, NULL);
	xw_json_str(&j, key, text, strlen(text));
	xw_json_end(&j, '}');
	object = xw_json_text(&j);
	if (object) /* between the braces */
		fwrite(object + 1, 1, strlen(object) - 2, out);
	xw_json_free(&j);
}
