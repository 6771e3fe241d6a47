// SPDX-License-Identifier: MIT
#include "config.h"

#include "import/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"

int xw_line_fail(const struct xw_line *l, const char *fmt, ...)
{
	char why[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	return xw_fail(l->diag, XW_ERR_USAGE, "%s: %s: line %lu: %s", l->option, l->file, l->number,
		       why);
}

size_t xw_line_words(struct xw_line *l, char **words, size_t max)
{
	size_t n = 0;
	char *rest = l->text, *word;

	while ((word = strtok_r(rest, " \t\r\v\f", &rest))) {
		if (n == max)
			return max + 1;
		words[n++] = word;
	}
	return n;
}

static int read_all(FILE *f, struct xw_line *l, int (*each)(void *arg, struct xw_line *line),
		    void *arg)
{
	auto_free char *text = NULL;
	size_t room = 0;
	ssize_t n;

	while (errno = 0, (n = getline(&text, &room, f)) >= 0) {
		int rc;

		while (n && strchr(" \t\r\v\f\n", text[n - 1]))
			n--;
		l->number++;
		if (memchr(text, 0, (size_t)n))
			return xw_line_fail(l, "contains a NUL byte: not a text file");
		text[n] = '\0';
		l->text = text;
		rc = n ? each(arg, l) : 0;
		if (rc)
			return rc;
	}
	return ferror(f) ? xw_fail_errno(l->diag, XW_ERR_IO, errno, "%s: %s: cannot read",
					 l->option, l->file)
			 : 0;
}

int xw_lines_read(const char *option, const char *file, struct xw_diag *diag,
		  int (*each)(void *arg, struct xw_line *line), void *arg)
{
	struct xw_line l = {.option = option, .file = file ? file : "", .diag = diag};
	const bool is_stdin = !strcmp(l.file, "-");
	int fd = is_stdin ? fcntl(0, F_DUPFD_CLOEXEC, 0) : open(l.file, O_RDONLY | O_CLOEXEC), rc;
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");

	if (!f) {
		rc = xw_fail_errno(diag, XW_ERR_IO, errno, "%s: %s: cannot open", option, l.file);
		if (fd >= 0)
			close(fd);
		return rc;
	}
	rc = read_all(f, &l, each, arg);
	fclose(f);
	return rc;
}
