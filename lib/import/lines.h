/* SPDX-License-Identifier: MIT */
/* Reads text files that options specify, line by line. */
#ifndef XW_IMPORT_LINES_H
#define XW_IMPORT_LINES_H

#include "base/err.h"
#include "base/types.h"

struct xw_line {
	const char *option, *file;
	unsigned long number; /* from 1 */
	char *text; /* without trailing white space; may be changed */
	struct xw_diag *diag;
};

/* Call each(arg, line) for every non-empty line, up to the first failure. "-": standard input. */
int xw_lines_read(const char *option, const char *file, struct xw_diag *diag,
		  int (*each)(void *arg, struct xw_line *line), void *arg);
/* Fails with XW_ERR_USAGE; the message contains option, file and line number. */
int xw_line_fail(const struct xw_line *l, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/*
 * Split at white space into at most max words. Returns their number, or max + 1 if there are more.
 */
size_t xw_line_words(struct xw_line *l, char **words, size_t max);

#endif
