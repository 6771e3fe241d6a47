/* SPDX-License-Identifier: MIT */
/*
 * What lib/base makes of numbers, sizes, dates and modes: reads a text per line, and prints the
 * result per line, "-" for what is refused. Compared with coreutils by coreutils.sh.
 *
 *   o_parse size | seconds | calendar | c
 *   o_parse mode MODE...      for each line, the mode that each octal MODE becomes: a file, a
 *                             directory, ...
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/date.h"
#include "base/mode.h"
#include "base/parse.h"

static void print_time(bool ok, struct xw_time t)
{
	char text[XW_DATE_TEXT];

	xw_date_text(ok ? t : (struct xw_time){0}, text);
	puts(ok ? text : "-");
}

static void print_modes(const char *text, char **modes)
{
	struct xw_mode m = {0};
	const bool ok = !xw_mode_parse(text, &m);
	uint32_t mode;

	if (!ok)
		putchar('-');
	for (; ok && *modes; modes++)
		if (xw_mode_octal(*modes, &mode))
			printf("%04o %04o ", xw_mode_apply(&m, mode, false),
			       xw_mode_apply(&m, mode, true));
	putchar('\n');
	xw_mode_free(&m);
}

static void print_number(int rc, uint64_t n)
{
	if (rc)
		puts("-");
	else
		printf("%" PRIu64 "\n", n);
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";
	char line[256];

	while (fgets(line, sizeof(line), stdin)) {
		struct xw_time t = {0};
		uint64_t n = 0;
		int rc;

		line[strcspn(line, "\n")] = '\0';
		if (!strcmp(kind, "mode")) {
			print_modes(line, argv + 2);
		} else if (!strcmp(kind, "seconds")) {
			const bool ok = xw_date_seconds(line, &t);

			print_time(ok, t);
		} else if (!strcmp(kind, "calendar")) {
			const bool ok = xw_date_calendar(line, mktime, &t);

			print_time(ok, t);
		} else {
			rc = !strcmp(kind, "c") ? xw_parse_c(line, &n) : xw_parse_size(line, 1, &n);
			print_number(rc, n);
		}
	}
	return 0;
}
