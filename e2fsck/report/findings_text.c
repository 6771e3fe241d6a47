// SPDX-License-Identifier: MIT
/* Findings as text. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

#include "report/finding.h"

const struct fsck_row *xw_fsck_row(enum fsck_id id)
{
	static const struct fsck_row rows[] = {
#define FINDING(id, name, severity, preen, offer, text) {name, offer, text, severity, preen},
#include "report/findings.def"
#undef FINDING
	};

	return &rows[id];
}

/* Control characters, and bytes that are not UTF-8, as \\ooo: names must not drive a terminal. */
static void put_name(FILE *out, const struct fsck_about *a)
{
	const char *s = a->name;
	size_t left = !s ? 0 : a->name_len ? a->name_len : strlen(s);

	while (left) {
		const size_t shown = xw_utf8_shown(s, left), n = shown ? shown : 1;

		if (shown)
			fwrite(s, 1, n, out);
		else
			fprintf(out, "\\%03o", (unsigned char)*s);
		s += n;
		left -= n;
	}
}

/* The value of a letter of the text; false: it does not stand for a number. */
static bool number(const struct fsck_about *a, char letter, uint64_t *n)
{
	const uint64_t values[] = {a->ino, a->dir, a->group, a->blk, a->lblk, a->num, a->num2};
	static const char letters[] = "idgblnm";
	const char *at = letter ? strchr(letters, letter) : NULL;

	if (at)
		*n = values[at - letters];
	return at;
}

/* Numbers that the text does not use are reported unless they are zero. */
bool xw_fsck_number(const struct fsck_about *a, char letter, uint64_t *n)
{
	const char place[] = {'%', letter, '\0'};

	return number(a, letter, n) && (*n || strstr(xw_fsck_row(a->id)->text, place));
}

void xw_fsck_text(FILE *out, const char *text, const struct fsck_about *a)
{
	for (const char *s = text; *s; s++) {
		uint64_t n;

		if (*s != '%' || !s[1]) {
			fputc(*s, out);
			continue;
		}
		s++;
		if (number(a, *s, &n))
			fprintf(out, "%" PRIu64, n);
		else if (*s == 's')
			put_name(out, a);
		else if (*s == '%')
			fputc('%', out);
		else
			fprintf(out, "%%%c", *s);
	}
}

char *xw_fsck_text_made(const struct fsck_about *a)
{
	char *made = NULL;
	size_t len;
	FILE *out = open_memstream(&made, &len);

	if (!out)
		return NULL;
	xw_fsck_text(out, xw_fsck_row(a->id)->text, a);
	if (!fclose(out))
		return made;
	free(made);
	return NULL;
}

const char *xw_fsck_done_word(const char *offer)
{
	static const struct {
		const char *offer, *done;
	} words[] = {
		{"Abort", "ABORTED"},      {"Allocate", "ALLOCATED"},
		{"Clear", "CLEARED"},      {"Clear inode", "CLEARED"},
		{"Clone", "CLONED"},       {"Connect to /lost+found", "RECONNECTED"},
		{"Create", "CREATED"},     {"Delete", "DELETED"},
		{"Expand", "EXPANDED"},    {"Optimize", "OPTIMIZED"},
		{"Cut off", "CUT OFF"},    {"Rebuild", "REBUILT"},
		{"Recreate", "RECREATED"}, {"Relocate", "RELOCATED"},
		{"Rename", "RENAMED"},     {"Salvage", "SALVAGED"},
		{"Split", "SPLIT"},        {"Truncate", "TRUNCATED"},
	};

	for (size_t i = 0; i < XW_ARRAY_SIZE(words); i++)
		if (!strcmp(words[i].offer, offer))
			return words[i].done;
	return "FIXED";
}
