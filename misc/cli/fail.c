/* SPDX-License-Identifier: MIT */
/* Messages about a command line, and about the failure of a run. */
#include "config.h"

#include "base/auto.h"
#include "cli/escape.h"
#include "cli/foreign.h"
#include "cli/options.h"
#include "cli/partition.h"
#include "cli/stock.h"
#include "cli/term.h"

#include <stdarg.h>
#include <string.h>
#include <unistd.h>

static void print_json_error(const char *text)
{
	putchar('{');
	cli_json_text(stdout, "error", text);
	puts("}");
}

char *cli_line_text(const struct cli_line *l, const char *text)
{
	const size_t len = l->image ? strlen(l->image) : 0;
	char *named;

	if (!l->partition || !len || strncmp(text, l->image, len) || text[len] != ':')
		return strdup(text);
	if (asprintf(&named, "%s: partition %s%s", l->image, l->partition, text + len) < 0)
		return NULL;
	return named;
}

bool cli_text_no_filesystem(const char *image, const char *text)
{
	static const char *const texts[] = {
		"an ext2, ext3 or ext4 filesystem",
		"no ext2, ext3 or ext4 superblock",
		"superblock in block",
	};
	const size_t len = strlen(image);

	if (strncmp(text, image, len) != 0 || text[len] != ':')
		return false;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (strstr(text + len, texts[i]))
			return true;
	return false;
}

static void print_error(const struct cli_line *l, const char *text, bool json)
{
	auto_free char *named = cli_line_text(l, text);
	bool is_disk;

	text = named ? named : text;
	cli_error("%s", text);
	is_disk = l->image && !l->partition && cli_text_no_filesystem(l->image, text) &&
		  cli_partition_hint(l->image);
	if (l->image && !is_disk && !l->partition &&
	    strstr(text, "an ext2, ext3 or ext4 filesystem"))
		cli_foreign_hint(l->image);
	if (json)
		print_json_error(text);
}

void cli_line_error(const struct cli_line *l, const char *text)
{
	print_error(l, text, false);
}

void cli_line_failed(const struct cli_line *l, const char *text)
{
	print_error(l, text, l->json);
}

static void __attribute__((format(printf, 2, 0)))
fail(const struct cli_line *l, const char *fmt, va_list ap)
{
	auto_free char *text = NULL;

	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	cli_line_failed(l, text ? text : "out of memory");
}

void cli_line_failf(const struct cli_line *l, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fail(l, fmt, ap);
	va_end(ap);
}

int cli_line_refuse(const struct cli_line *l, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fail(l, fmt, ap);
	va_end(ap);
	return EXIT_USAGE;
}

int cli_line_no_memory(const struct cli_line *l)
{
	cli_line_failf(l, "out of memory reading the command line");
	return EXIT_FAILED;
}

int cli_line_usage(const struct cli_line *l)
{
	if (cli_stock_name())
		cli_note("Usage: %s %s; more with --help", cli_tool_name(), l->tool->usage);
	else
		cli_hint("usage: %s %s; more with --help", l->tool->name, l->tool->usage);
	return EXIT_USAGE;
}

int cli_line_operands(const struct cli_line *l, const char *fmt, ...)
{
	auto_free char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	if (!cli_stock_usage_alone())
		cli_line_failed(l, text ? text : "out of memory");
	else if (l->json)
		print_json_error(text ? text : "out of memory");
	return cli_line_usage(l);
}

bool cli_line_terminal(const struct cli_line *l, const char *source)
{
	if (strcmp(source, "-") != 0 || !isatty(STDIN_FILENO))
		return false;
	cli_line_failf(l, "standard input is a terminal: an archive is read from a pipe or a file");
	return true;
}
