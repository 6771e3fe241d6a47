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
static void put_escaped(FILE *out, const char *s, size_t left)
{
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

static void put_name(FILE *out, const struct fsck_about *a)
{
	if (a->name)
		put_escaped(out, a->name, a->name_len ? a->name_len : strlen(a->name));
}

void xw_fsck_put_path(FILE *out, const char *path)
{
	enum { LONG = 200, BEGIN = 60, END = LONG - BEGIN };
	const size_t len = strlen(path);

	if (len <= LONG) {
		put_escaped(out, path, len);
		return;
	}
	put_escaped(out, path, BEGIN);
	fputs("...", out);
	put_escaped(out, path + len - END, END);
}

/*
 * Print an inode and its path: "12 (/a/b)". If the text calls it a directory in which something is,
 * the path comes first: "in /a/b (12)". Returns what follows in the text; NULL: there is no path to
 * print at s.
 */
static const char *put_inode(FILE *out, const char *s, const struct fsck_about *a)
{
	static const char dir[] = "in directory inode %d", was[] = "was in inode %d";
	const char *const path = s[0] != '%'   ? a->dir_path
				 : s[1] == 'i' ? a->path
				 : s[1] == 'd' ? a->dir_path
					       : NULL;

	if (!path)
		return NULL;
	if (s[0] == '%') {
		fprintf(out, "%" PRIu32 " (", s[1] == 'i' ? a->ino : a->dir);
		xw_fsck_put_path(out, path);
		fputc(')', out);
		return s + 2;
	}
	if (!strncmp(s, dir, sizeof(dir) - 1)) {
		fputs("in ", out);
		xw_fsck_put_path(out, path);
		fprintf(out, " (%" PRIu32 ")", a->dir);
		return s + sizeof(dir) - 1;
	}
	if (strncmp(s, was, sizeof(was) - 1) != 0)
		return NULL;
	fputs("was in ", out);
	xw_fsck_put_path(out, path);
	fprintf(out, ", inode %" PRIu32, a->dir);
	return s + sizeof(was) - 1;
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
		const char *const behind = put_inode(out, s, a);
		uint64_t n;

		if (behind) {
			s = behind - 1;
			continue;
		}
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

void xw_fsck_put_more(FILE *out, const struct fsck_about *a)
{
	const uint64_t n = xw_fsck_count(a);

	if (a->from) {
		fputs(" (from ", out);
		xw_fsck_put_path(out, a->from);
		fputc(')', out);
	}
	if (n > 1)
		fprintf(out, "; likewise inode%s %" PRIu32, n > 2 ? "s" : "", a->ino + 1);
	if (n > 2)
		fprintf(out, "-%" PRIu32, a->last);
	if (n > 1)
		fprintf(out, " (%" PRIu64 " in all)", n);
}

char *xw_fsck_text_made(const struct fsck_about *a)
{
	char *made = NULL;
	size_t len;
	FILE *out = open_memstream(&made, &len);

	if (!out)
		return NULL;
	xw_fsck_text(out, xw_fsck_row(a->id)->text, a);
	xw_fsck_put_more(out, a);
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
