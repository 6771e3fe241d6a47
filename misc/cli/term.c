/* SPDX-License-Identifier: MIT */
/*
 * Messages, color and the question before overwriting.
 *
 * Everything that is not a result goes to stderr, one line per message, preceded by the tool's
 * name: program_invocation_short_name loses libtool's "lt-" so that a tool run from the build tree
 * prints what the installed one prints.
 */
#include "config.h"

#include "cli/env.h"
#include "cli/escape.h"
#include "cli/stock.h"
#include "cli/term.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool cli_color(FILE *out)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	if (no && *no)
		return false;
	return isatty(fileno(out)) && term && strcmp(term, "dumb") != 0;
}

const char *cli_style(FILE *out, enum cli_style style)
{
	static const char *const codes[] = {
		[CLI_PLAIN] = "\033[0m",      [CLI_BOLD] = "\033[1m",  [CLI_ERROR] = "\033[1;31m",
		[CLI_WARNING] = "\033[1;33m", [CLI_GOOD] = "\033[32m", [CLI_DIM] = "\033[2m",
	};

	return cli_color(out) ? codes[style] : "";
}

const char *cli_tool_name(void)
{
	const char *name = program_invocation_short_name;

	return strncmp(name, "lt-", 3) == 0 ? name + 3 : name;
}

/* Escaped, so that names given by the user and messages of other libraries stay one line. */
static void __attribute__((format(printf, 2, 0)))
put_line(const char *before, const char *fmt, va_list ap)
{
	char *raw = NULL, *line = NULL;

	if (vasprintf(&raw, fmt, ap) >= 0) {
		line = cli_escaped(CLI_TEXT, raw, strlen(raw));
		free(raw);
	}
	fprintf(stderr, "%s%s\n", before, line ? line : "(out of memory for this message)");
	free(line);
}

static void __attribute__((format(printf, 3, 0)))
say(enum cli_style style, const char *label, const char *fmt, va_list ap)
{
	char before[128];

	snprintf(before, sizeof(before), "%s%s:%s %s", cli_style(stderr, style), cli_tool_name(),
		 cli_style(stderr, CLI_PLAIN), label);
	put_line(before, fmt, ap);
}

void cli_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(CLI_ERROR, "", fmt, ap);
	va_end(ap);
}

void cli_warning(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(CLI_WARNING, "warning: ", fmt, ap);
	va_end(ap);
}

void cli_note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put_line("", fmt, ap);
	va_end(ap);
}

void cli_hint(const char *fmt, ...)
{
	char before[64];
	va_list ap;

	snprintf(before, sizeof(before), "%*s", (int)strlen(cli_tool_name()) + 2, "");
	va_start(ap, fmt);
	put_line(before, fmt, ap);
	va_end(ap);
}

bool cli_can_ask(void)
{
	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

bool cli_confirm(const char *question)
{
	char line[64];
	bool whole = false, yes = false;

	if (!cli_can_ask())
		return false;
	cli_printf(stdout, "%s (y,N) ", question);
	fflush(stdout);
	for (bool first = true; !whole && fgets(line, sizeof(line), stdin); first = false) {
		if (first)
			yes = line[0] == 'y' || line[0] == 'Y';
		whole = strchr(line, '\n') != NULL;
	}
	if (!whole)
		putchar('\n'); /* end of file instead of an answer */
	return whole && yes;
}

/*
 * Find out why stdio could not write results, since their errno is lost: write one more byte,
 * unless that would block. Returns errno, or 0 if the byte was written.
 */
static int why_dropped(void)
{
	struct pollfd p = {.fd = STDOUT_FILENO, .events = POLLOUT};

	if (poll(&p, 1, 0) != 1)
		return 0;
	return write(STDOUT_FILENO, "\n", 1) < 0 ? errno : 0;
}

int cli_close_account(int status, const char *done)
{
	const bool failed = ferror(stdout);
	int err = fflush(stdout) ? errno : 0;

	status = cli_stock_status(status);
	if (!err && failed)
		err = why_dropped();
	if (fclose(stdout) && !err)
		err = errno;
	if (!err && !failed)
		return status;
	if (cli_interrupted()) { /* a failing tool has reported the interruption */
		if (!status)
			cli_error("%s%s", done ? done : "interrupted",
				  done ? ", but its summary was interrupted" : "");
		return status ? status : 1;
	}
	cli_error("%s%s%s%s", done ? done : "cannot write to standard output",
		  done ? ", but its summary could not be written" : "", err ? ": " : "",
		  err ? strerror(err) : "");
	return status ? status : 1;
}

int cli_close_stdout(int status)
{
	return cli_close_account(status, NULL);
}
