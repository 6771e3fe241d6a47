/* SPDX-License-Identifier: MIT */
/* Output formats shared by several verbs, as in the stock debugger. */
#include "config.h"

#include "cli/escape.h"
#include "print.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { COLUMNS = 80, HEX_LINE = 16 };

static void hex_line(struct dbg *d, size_t off, const uint8_t *buf, size_t len)
{
	fprintf(d->out, "%04zo ", off);
	for (size_t i = 0; i < HEX_LINE; i++) {
		if (i % 2 == 0)
			fputc(' ', d->out);
		if (i < len)
			fprintf(d->out, "%02x", buf[i]);
		else
			fputs("  ", d->out);
	}
	fputs("  ", d->out);
	for (size_t i = 0; i < len; i++)
		fputc(buf[i] >= ' ' && buf[i] < 0x7F ? buf[i] : '.', d->out);
	fputc('\n', d->out);
}

void dbg_hexdump(struct dbg *d, const uint8_t *buf, size_t len)
{
	bool starred = false;

	for (size_t off = 0; off < len; off += HEX_LINE) {
		const size_t n = XW_MIN(len - off, (size_t)HEX_LINE);

		if (off && !memcmp(buf + off, buf + off - HEX_LINE, n)) {
			if (!starred)
				fputs("*\n", d->out);
			starred = true;
			continue;
		}
		starred = false;
		hex_line(d, off, buf + off, n);
	}
	fputc('\n', d->out);
}

void dbg_print_bytes(struct dbg *d, const uint8_t *buf, size_t len)
{
	if (!d->json) {
		dbg_hexdump(d, buf, len);
		return;
	}
	xw_json_object(&d->js, NULL);
	xw_json_hex(&d->js, "bytes_hex", buf, len);
	xw_json_end(&d->js, '}');
}

bool dbg_list_begin(struct dbg *d)
{
	if (d->json)
		xw_json_array(&d->js, NULL);
	return d->json;
}

bool dbg_list_end(struct dbg *d)
{
	if (d->json)
		xw_json_end(&d->js, ']');
	return d->json;
}

static bool has_terminal(const struct dbg *d)
{
	return d->pager || cli_is_terminal(d->out);
}

void dbg_printf(struct dbg *d, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	cli_vprintf(d->out, has_terminal(d), fmt, ap);
	va_end(ap);
}

void dbg_put(struct dbg *d, const void *bytes, size_t len)
{
	if (has_terminal(d))
		cli_escape(d->out, CLI_LINES, bytes, len);
	else
		fwrite(bytes, 1, len, d->out);
}

void dbg_print_name(struct dbg *d, const char *name, size_t len)
{
	cli_escape(d->out, CLI_HEX, name, len);
}

char *dbg_shown_name(const char *name, size_t len)
{
	return cli_escaped(CLI_HEX_BACK, name, len);
}

int dbg_width(uint64_t n, int least)
{
	int w = 1;

	while (n >= 10) {
		n /= 10;
		w++;
	}
	return XW_MAX(w, least);
}

struct dbg_text dbg_short_time(int64_t sec)
{
	const time_t when = (time_t)sec;
	struct dbg_text t;
	struct tm tm;

	if (!localtime_r(&when, &tm) || !strftime(t.s, sizeof(t.s), "%e-%b-%Y %H:%M", &tm))
		snprintf(t.s, sizeof(t.s), "%17" PRId64, sec);
	return t;
}

void dbg_wrap(struct dbg *d, unsigned *col, const char *fmt, ...)
{
	char *text;
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (len < 0)
		return;
	if (*col + (unsigned)len > COLUMNS) {
		fputc('\n', d->out);
		*col = 0;
	}
	fputs(text, d->out);
	*col += (unsigned)len;
	free(text);
}
