/* SPDX-License-Identifier: MIT */
/* What a test saw, as text to compare: written in pieces. Set said[0] to 0 to begin anew. */
#ifndef XW_TESTS_SAID_H
#define XW_TESTS_SAID_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static char said[4096];

__attribute__((format(printf, 1, 2))) static void add(const char *fmt, ...)
{
	const size_t n = strlen(said);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(said + n, sizeof(said) - n, fmt, ap);
	va_end(ap);
}

#endif
