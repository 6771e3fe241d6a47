/* SPDX-License-Identifier: MIT */
/* --help, printed from the table of options. */
#include "config.h"

#include "cli/options.h"
#include "cli/stock.h"
#include "cli/term.h"

#include <string.h>

enum { WIDTH = 80, COLUMN_MAX = 28 };

/* Print words from column `at` on; lines that follow begin at column `indent`. */
static void print_wrapped(const char *text, int at, int indent)
{
	bool first = true; /* on its line */

	while (*text) {
		const int len = (int)strcspn(text, " \n");

		if (!first && at + 1 + len > WIDTH) {
			printf("\n%*s", indent, "");
			at = indent;
			first = true;
		}
		at += printf("%s%.*s", first ? "" : " ", len, text);
		text += len;
		first = *text == '\n';
		if (first) {
			printf("\n%*s", text[1] && text[1] != '\n' ? indent : 0, "");
			at = indent;
		}
		text += *text != '\0';
	}
	putchar('\n');
}

/* "  -x, --extract DIR" in text; returns its length. */
static int option_text(const struct cli_option *o, char *text, size_t room)
{
	return snprintf(text, room, "  %s%s%s%s%s", o->letter ? o->letter : "    ",
			o->letter && o->name ? ", " : "", o->name ? o->name : "",
			o->value ? " " : "", o->value ? o->value : "");
}

static bool is_heading(const struct cli_option *o)
{
	return !o->letter && !o->name;
}

/* The column of the texts: behind the options, except for long ones, whose texts are below. */
static int column_of(const struct cli_tool *tool)
{
	char text[160];
	int column = 0;

	for (const struct cli_option *const *table = tool->tables; *table; table++) {
		for (const struct cli_option *o = *table; o->help; o++) {
			const int len = option_text(o, text, sizeof(text)) + 2;

			if (len > column && len <= COLUMN_MAX)
				column = len;
		}
	}
	return column;
}

static void print_option(const struct cli_option *o, int column)
{
	char text[160];
	const int len = option_text(o, text, sizeof(text));

	if (len + 2 > column)
		printf("%s\n%*s", text, column, "");
	else
		printf("%-*s", column, text);
	print_wrapped(o->help, column, column);
}

int cli_help(struct cli_line *l, const struct cli_option *o, const char *value)
{
	const struct cli_tool *tool = l->tool;
	const int column = column_of(tool);

	(void)o, (void)value;
	printf("Usage: %s %s\n", cli_stock_name() ? cli_tool_name() : tool->name, tool->usage);
	print_wrapped(tool->about, 0, 0);
	if (!is_heading(tool->tables[0]))
		putchar('\n');
	for (const struct cli_option *const *table = tool->tables; *table; table++) {
		for (const struct cli_option *row = *table; row->help; row++) {
			if (is_heading(row))
				printf("\n%s:\n", row->help);
			else if (row->handle != cli_refused)
				print_option(row, column);
		}
	}
	putchar('\n');
	print_wrapped(tool->notes, 0, 0);
	printf("See %s(8).\n", tool->name);
	return EXIT_DONE;
}
