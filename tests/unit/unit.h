/* SPDX-License-Identifier: MIT */
/* What every unit test program shares: TAP output and a main() around a table of cases. */
#ifndef XW_TESTS_UNIT_H
#define XW_TESTS_UNIT_H

#ifdef XW_UNIT_PLAIN
#include "plain.h"
#else

#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Every ck_assert() that holds is written to a file, so that a crash can be told to have been
 * "after this point": most of the time of tests that look at every byte of something. Here a line
 * is told once.
 */
static inline void unit_mark(const char *file, int line)
{
	static bool told[8192]; /* atomic: some tests assert in threads */
	bool *t = &told[(unsigned)line % sizeof(told)];

	if (!__atomic_load_n(t, __ATOMIC_RELAXED) &&
	    !__atomic_exchange_n(t, true, __ATOMIC_RELAXED))
		_mark_point(file, line);
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
 * ---- loop tests ----
 *
 * A loop test is one claim. A case that fails is printed with its name, if its rows or names are
 * given here, and otherwise with its row in a table or the value of _i.
 */
struct unit_loop {
	const char *test; /* its function */
	int first; /* _i of the first case */
	const char *table; /* without names: that of the table with a row for each case */
	const void *names; /* the first case's `const char *`; the next one is `stride` bytes on */
	size_t stride;
};

enum { UNIT_LOOPS = 128 };

static inline struct unit_loop *unit_loops(void)
{
	static struct unit_loop loops[UNIT_LOOPS + 1]; /* unused ones at the end are zeros */

	return loops;
}

static inline void unit_loop(TCase *tc, const TTest *test, int from, int to, const char *table,
			     const void *names, size_t stride)
{
	struct unit_loop *l = unit_loops(), *const end = l + UNIT_LOOPS;

	while (l->test)
		l++;
	if (l == end) {
		fprintf(stderr, "unit.h: more than %d loop tests\n", UNIT_LOOPS);
		exit(1);
	}
	*l = (struct unit_loop){test->name, from, table, names, stride};
	tcase_add_loop_test(tc, test, from, to);
}

#undef tcase_add_loop_test
#define tcase_add_loop_test(tc, test, from, to)                                                    \
	unit_loop(tc, test, (int)(from), (int)(to), NULL, NULL, 0)

/* A case for each row of a table, whose `member` is its name. */
#define unit_add_rows(tc, test, rows, member)                                                      \
	unit_loop(tc, test, 0, (int)(sizeof(rows) / sizeof((rows)[0])), NULL,                      \
		  1 ? &(rows)[0].member : (const char *const *)NULL, sizeof((rows)[0]))

/* A case for each row of a table without names: "TABLE[ROW]". */
#define unit_add_table(tc, test, rows)                                                             \
	unit_loop(tc, test, 0, (int)(sizeof(rows) / sizeof((rows)[0])), #rows, NULL, 0)

/* A case for each string of an array, its name. */
#define unit_add_strings(tc, test, strings)                                                        \
	unit_loop(tc, test, 0, (int)(sizeof(strings) / sizeof((strings)[0])), NULL,                \
		  (const char *const *){(strings)}, sizeof((strings)[0]))

/* A case for each of the names that follow. */
#define unit_add_cases(tc, test, ...)                                                              \
	do {                                                                                       \
		static const char *const names_[] = {__VA_ARGS__};                                 \
                                                                                                   \
		unit_loop(tc, test, 0, (int)(sizeof(names_) / sizeof(names_[0])), NULL, names_,    \
			  sizeof(names_[0]));                                                      \
	} while (0)

static inline void unit_print_case(const char *test, int k, TestResult *result)
{
	const struct unit_loop *l = unit_loops();

	while (l->test && strcmp(l->test, test) != 0)
		l++;
	printf("# %s:%d: ", tr_lfile(result), tr_lno(result));
	if (l->names)
		printf("case '%s': ",
		       *(const char *const *)((const void *)((const char *)l->names +
							     (size_t)k * l->stride)));
	else if (l->table)
		printf("case %s[%d]: ", l->table, k);
	else if (l->test)
		printf("_i = %d: ", l->first + k);
	for (const char *c = tr_msg(result); *c; c++)
		fputs(*c == '\n' ? "\n# " : (const char[]){*c, 0}, stdout);
	putchar('\n');
}

/*
 * Move tap, Check's own TAP output, to the line of result number i, and read the name of the test.
 * Messages may have further lines.
 */
static inline void unit_read_name(FILE *tap, int i, TestResult *result, char name[128])
{
	char prefix[32], tcase[256], line[4096];

	snprintf(prefix, sizeof(prefix), "ok %d - ", i);
	snprintf(tcase, sizeof(tcase), ":%s:", tr_tcname(result));
	while (fgets(line, sizeof(line), tap)) {
		const char *ok = strncmp(line, "not ", 4) ? line : line + 4;
		const char *at = strncmp(ok, prefix, strlen(prefix)) ? NULL : strstr(ok, tcase);

		if (at && sscanf(at + strlen(tcase), "%127[^:]", name) == 1)
			return;
	}
	printf("Bail out! Check's result %d has no name\n", i);
	exit(EXIT_FAILURE);
}

/*
 * Print one claim for each test function. `tap` has a line "ok 3 - FILE:TCASE:TEST: MESSAGE" for
 * each case of a loop; only these name the tests, and only the results have the lines of failures.
 */
static inline void unit_print_claims(FILE *tap, TestResult **results, int n)
{
	char test[128] = "", next[128] = "";
	unsigned claims = 0;

	for (int i = 0, first = 0; i <= n; i++) {
		unsigned failed = 0;

		if (i < n)
			unit_read_name(tap, i + 1, results[i], next);
		if (i < n &&
		    (!i || (strcmp(test, next) == 0 &&
			    strcmp(tr_tcname(results[i]), tr_tcname(results[first])) == 0))) {
			strcpy(test, next);
			continue;
		}
		for (int k = first; k < i; k++) {
			if (tr_rtype(results[k]) == CK_PASS)
				continue;
			failed++;
			unit_print_case(test, k - first, results[k]);
		}
		if (i > first)
			printf("%sok %u - %s: %s\n", failed ? "not " : "", ++claims,
			       tr_tcname(results[first]), test);
		strcpy(test, next);
		first = i;
	}
	printf("1..%u\n", claims);
}

/* Runs the suite and prints TAP; returns main()'s status: the plan tells the driver of failures. */
static inline int unit_main(Suite *s)
{
	SRunner *sr = srunner_create(s);
	const char *dir = getenv("TMPDIR");
	char path[4096];
	FILE *tap;
	TestResult **results;

	snprintf(path, sizeof(path), "%s/xw-unit-XXXXXX", dir ? dir : "/tmp");
	close(mkstemp(path));
	srunner_set_tap(sr, path);
	srunner_run_all(sr, CK_SILENT);
	tap = fopen(path, "r");
	unlink(path);
	results = srunner_results(sr);
	unit_print_claims(tap, results, srunner_ntests_run(sr));
	fclose(tap);
	free(results);
	srunner_free(sr);
	return EXIT_SUCCESS;
}

#endif
#endif
