/* SPDX-License-Identifier: MIT */
/* What every unit test program shares: TAP output and a main() around a table of cases. */
#ifndef XW_TESTS_UNIT_H
#define XW_TESTS_UNIT_H

#ifdef XW_UNIT_PLAIN
#include "plain.h"
#else

#include <check.h>
#include <stdbool.h>
#include <stdlib.h>

/*
 * Every ck_assert() that holds is written to a file, so that a crash can be told to have been
 * "after this point": most of the time of tests that look at every byte of something. Here a line
 * is told once.
 */
static inline void unit_mark(const char *file, int line)
{
	static bool told[8192];
	bool *t = &told[(unsigned)line % sizeof(told)];

	if (!*t)
		_mark_point(file, line);
	*t = true;
}
#define _mark_point(file, line) unit_mark(file, line)

/*
 * XW_STRIDE=N: loops over every step of something take each N-th. For builds in which the tests run
 * a second time, or slowly.
 */
static inline unsigned long unit_stride(void)
{
	const char *s = getenv("XW_STRIDE");
	unsigned long n = s ? strtoul(s, NULL, 10) : 1;

	return n ? n : 1;
}

/*
 * Runs the suite, prints TAP, and returns main()'s status: the plan tells the driver of failures.
 */
static inline int unit_main(Suite *s)
{
	SRunner *sr = srunner_create(s);

	srunner_set_tap(sr, "-");
	srunner_run_all(sr, CK_SILENT);
	srunner_free(sr);
	return EXIT_SUCCESS;
}

#endif
#endif
