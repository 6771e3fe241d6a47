/* SPDX-License-Identifier: MIT */
/*
 * PATHs from files (-T): one a line, or up to a NUL. As with tar(1), backslash sequences in lines
 * are what they stand for, so that a listing can be given back; unlike with it, no line is an
 * option.
 */
#include "config.h"

#include "export/tool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/term.h"

/* The byte of an escape sequence at *p, which goes to its last character; -1: it is none. */
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
	int err = 0;

	while (!err && (len = getdelim(&line, &room, by_nul ? '\0' : '\n', in)) >= 0) {
		if (!by_nul && len && line[len - 1] == '\n')
			line[len - 1] = '\0';
		if (!by_nul)
			unquote(line);
		if (*line) {
			err = xw_export_add_path(x, line);
			++*count;
		}
	}
	free(line);
	return err;
}

static int add_file(struct xw_export *x, const char *name, bool by_nul, size_t *count)
{
	const bool is_stdin = !strcmp(name, "-");
	FILE *in = is_stdin ? stdin : fopen(name, "re");
	int err, reading = 0;

	if (!in) {
		cli_error("%s: cannot open: %s", name, strerror(errno));
		return EXIT_FAILED;
	}
	errno = 0;
	err = add_all(x, in, by_nul, count);
	if (ferror(in))
		reading = errno ? errno : EIO;
	if (!is_stdin)
		fclose(in);
	if (err)
		cli_error("%s", xw_export_error(x));
	else if (reading)
		cli_error("%s: cannot read: %s", name, strerror(reading));
	return err || reading ? EXIT_FAILED : -1;
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
		status = add_file(x, last, args->by_nul, &count);
	}
	if (status < 0 && last && !count && !*args->paths) {
		/* without a path it would be everything */
		cli_error("%s: no names in it: nothing to export", last);
		status = EXIT_FAILED;
	}
	return status;
}
