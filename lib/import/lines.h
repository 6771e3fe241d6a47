/* SPDX-License-Identifier: MIT */
/* Text files that options name, line by line. */
#ifndef XW_IMPORT_LINES_H
#define XW_IMPORT_LINES_H

#include "base/err.h"
#include "base/types.h"

struct xw_line {
	const char *option, *file;
	unsigned long number; /* from 1 */
	char *text; /* without the newline and white space before it; may be changed */
	struct xw_diag *diag;
};

/* Call each(arg, line) for every line that is not empty, up to the first failure. "-": fd 0. */
int xw_lines_read(const char *option, const char *file, struct xw_diag *diag,
		  int (*each)(void *arg, struct xw_line *line), void *arg);
/* XW_ERR_USAGE with option, file and number. */
int xw_line_fail(const struct xw_line *l, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Split at white space, into at most max words; returns their number, max + 1 if there are more. */
size_t xw_line_words(struct xw_line *l, char **words, size_t max);
/* A decimal number without sign. */
bool xw_line_u32(const char *word, uint32_t *out);

#endif
