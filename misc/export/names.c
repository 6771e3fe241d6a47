/* SPDX-License-Identifier: MIT */
/*
 * PATHs from files (-T): one per line, or NUL-terminated. As in tar(1), backslash sequences in
 * lines are decoded, so that a listing can be used as input; unlike there, no line is an option.
 */
#include "config.h"

#include "export/tool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/term.h"

/* Decode the escape sequence at *p, which is moved to its last character; -1: not one. */
static int escaped(const char **p)
{
	static const char letters[] = "abfnrtv\\?", bytes[] = "\a\b\f\n\r\t\v\\\x7f";
	const char *s = *p + 1, *at = *s ? strchr(letters, *s) : NULL;
	int value = 0, n = 0;

	if (at) {
		*p = s;
		return bytes[at - letters];
	}
	for (; n < 3 && s[n] >= '0' && s[n] <= '7'; n++)
		value = value * 8 + s[n] - '0';
	if (!n || !value || value > 255)
		return -1;
	*p = s + n - 1;
	return value;
}

static void unquote(char *line)
{
	char *to = line;

	for (const char *p = line; *p; p++) {
		const int byte = *p == '\\' ? escaped(&p) : -1;

		*to++ = byte < 0 ? *p : (char)byte;
	}
	*to = '\0';
}

static int add_all(struct xw_export *x, FILE *in, bool by_nul, size_t *count)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t len;
	int rc = 0;

	while (!rc && (len = getdelim(&line, &room, by_nul ? '\0' : '\n', in)) >= 0) {
		if (!by_nul && len && line[len - 1] == '\n')
			line[len - 1] = '\0';
		if (!by_nul)
			unquote(line);
		if (*line) {
			rc = xw_export_add_path(x, line);
			++*count;
		}
	}
	free(line);
	return rc;
}

static int add_file(const struct export_args *args, struct xw_export *x, const char *name,
		    size_t *count)
{
	const bool is_stdin = !strcmp(name, "-");
	FILE *in = is_stdin ? stdin : fopen(name, "re");
	int rc, reading = 0;

	if (!in) {
		cli_line_failf(&args->line, "%s: cannot open: %s", name, strerror(errno));
		return EXIT_FAILED;
	}
	errno = 0;
	rc = add_all(x, in, args->by_nul, count);
	if (ferror(in))
		reading = errno ? errno : EIO;
	if (!is_stdin)
		fclose(in);
	if (rc)
		cli_line_failf(&args->line, "%s", xw_export_error(x));
	else if (reading)
		cli_line_failf(&args->line, "%s: cannot read: %s", name, strerror(reading));
	return rc || reading ? EXIT_FAILED : -1;
}

int export_add_names(const struct export_args *args, struct xw_export *x)
{
	const char *last = NULL;
	size_t count = 0;
	int status = -1;

	for (size_t i = 0; i < args->line.count && status < 0; i++) {
		const struct cli_setting *s = &args->line.settings[i];

		if (strcmp(s->name, EXPORT_NAMES))
			continue;
		last = s->value;
		status = add_file(args, x, last, &count);
	}
	if (status < 0 && last && !count && !*args->paths) {
		/* without a path everything would be exported */
		cli_line_failf(&args->line, "%s: contains no names: nothing to export", last);
		status = EXIT_FAILED;
	}
	return status;
}
