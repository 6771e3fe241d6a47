/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "base/bytes.h"
#include "cli/escape.h"
#include "cli/human.h"
#include "show/rows.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

enum { VALUE_AT = 26 };

struct key {
	char s[64];
};

/* "Filesystem revision #" -> "filesystem_revision" */
static struct key key_of(const char *name)
{
	struct key k;
	size_t n = 0;

	for (; *name && n < sizeof(k.s) - 1; name++) {
		const char c = *name;

		if (c >= 'A' && c <= 'Z')
			k.s[n++] = (char)(c - 'A' + 'a');
		else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
			k.s[n++] = c;
		else if (n && k.s[n - 1] != '_')
			k.s[n++] = '_';
	}
	while (n && k.s[n - 1] == '_')
		n--;
	k.s[n] = '\0';
	return k;
}

static void print_name(struct xw_show *s, const char *name)
{
	const int len = (int)strcspn(name, "\t");
	const bool tab = name[len] == '\t';

	fprintf(s->out, "%.*s:%s%*s", len, name, tab ? "\t" : "", tab ? 10 : VALUE_AT - len - 1,
		"");
}

void show_text(struct xw_show *s, const char *name, const char *fmt, ...)
{
	char text[1024];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	if (!s->out) {
		xw_json_str(s->json, key_of(name).s, text, strlen(text));
		return;
	}
	print_name(s, name);
	cli_printf(s->out, "%s\n", text);
}

void show_number(struct xw_show *s, const char *name, uint64_t v)
{
	if (s->out)
		show_text(s, name, "%" PRIu64, v);
	else
		xw_json_u64(s->json, key_of(name).s, v);
}

void show_amount(struct xw_show *s, const char *name, const char *unit, uint64_t v)
{
	char member[96];

	if (s->out) {
		show_number(s, name, v);
		return;
	}
	snprintf(member, sizeof(member), "%s_%s", key_of(name).s, unit);
	xw_json_u64(s->json, member, v);
}

void show_checksum(struct xw_show *s, const char *name, uint32_t v)
{
	if (s->out)
		show_text(s, name, "0x%08" PRIx32, v);
	else
		show_number(s, name, v);
}

void show_signed(struct xw_show *s, const char *name, int64_t v)
{
	if (s->out)
		show_text(s, name, "%" PRId64, v);
	else
		xw_json_i64(s->json, key_of(name).s, v);
}

static void print_bytes(FILE *out, const char *text, size_t len)
{
	cli_escape(out, CLI_TEXT, text, len);
	fputc('\n', out);
}

void show_bytes(struct xw_show *s, const char *name, const void *bytes, size_t size,
		const char *none)
{
	const size_t len = strnlen(bytes, size);

	if (!s->out) {
		xw_json_str(s->json, key_of(name).s, bytes, len);
	} else if (!len && none) {
		show_text(s, name, "%s", none);
	} else {
		print_name(s, name);
		print_bytes(s->out, bytes, len);
	}
}

void show_words(struct xw_show *s, const char *name, const char *words)
{
	if (s->out) {
		print_name(s, name);
		fprintf(s->out, "%s\n", *words ? words : "(none)");
		return;
	}
	xw_json_array(s->json, key_of(name).s);
	for (words += strspn(words, " "); *words; words += strspn(words, " ")) {
		const size_t len = strcspn(words, " ");

		xw_json_str(s->json, NULL, words, len);
		words += len;
	}
	xw_json_end(s->json, ']');
}

void show_inner(struct xw_show *s, const char *name, const char *text)
{
	if (s->out) {
		fprintf(s->out, "    %s: ", name);
		print_bytes(s->out, text, strlen(text));
	} else {
		xw_json_str(s->json, name, text, strlen(text));
	}
}

struct xw_show_text xw_show_when(int64_t sec)
{
	struct xw_show_text w;
	const time_t t = (time_t)sec;
	struct tm tm;

	if (!localtime_r(&t, &tm) || !strftime(w.s, sizeof(w.s), "%a %b %e %H:%M:%S %Y", &tm))
		snprintf(w.s, sizeof(w.s), "%" PRId64, sec);
	return w;
}

void show_time(struct xw_show *s, const char *name, int64_t sec)
{
	if (s->out)
		show_text(s, name, "%s", xw_show_when(sec).s);
	else
		xw_json_i64(s->json, key_of(name).s, sec);
}

void show_uuid(struct xw_show *s, const char *name, const uint8_t u[16])
{
	show_text(s, name, "%s", xw_all_zero(u, 16) ? "<none>" : cli_uuid(u).s);
}

void show_problem(struct xw_show *s, struct xw_diag *diag)
{
	s->problems++;
	if (s->problem && diag->code)
		s->problem(s->arg, diag->text);
	xw_diag_clear(diag);
}

void show_damage(struct xw_show *s, const char *fmt, ...)
{
	char line[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	s->problems++;
	if (s->problem)
		s->problem(s->arg, line);
}

unsigned show_lenient(const struct xw_show *s, struct xw_image *img)
{
	const unsigned before = img->flags;

	img->flags |= XW_IMAGE_LENIENT;
	if (s->no_csum)
		img->flags |= XW_IMAGE_NOCSUM;
	else
		img->flags &= ~(unsigned)XW_IMAGE_NOCSUM;
	return before;
}

int show_done(struct xw_show *s, struct xw_image *img, unsigned look, int rc)
{
	img->flags = look;
	if (!rc && s->out && ferror(s->out))
		rc = XW_ERR_IO;
	if (!rc && !s->out && s->json->nomem)
		rc = xw_fail_nomem(img->diag, "the output");
	return rc;
}

int show_sysmap(struct xw_show *s, struct xw_image *img)
{
	int rc;

	if (s->sysmap)
		return 0;
	rc = xw_sysmap_new(img, &s->sysmap);
	if (!rc)
		xw_diag_clear(img->diag); /* damage is reported with each group */
	return rc;
}

void xw_show_end(struct xw_show *s)
{
	xw_sysmap_free(s->sysmap);
	s->sysmap = NULL;
}
