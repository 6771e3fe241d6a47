/* SPDX-License-Identifier: MIT */
/* A suite with failures, whose output tests/cli/unit_claims.sh compares. It is no test itself. */
#include "config.h"

#include "unit.h"

static const struct {
	const char *name;
	int value;
} rows[] = {{"one", 1}, {"two", 2}, {"three", 3}};

static const char *const words[] = {"first", "second"};

static const int sizes[] = {10, 20, 30};

START_TEST(named)
{
	ck_assert_msg(rows[_i].value != 2, "two lines:\nok 1 - not a claim");
	if (rows[_i].value == 3)
		abort();
}
END_TEST

START_TEST(strings)
{
	ck_assert_str_ne(words[_i], "second");
}
END_TEST

START_TEST(table)
{
	ck_assert_int_lt(sizes[_i], 30);
}
END_TEST

START_TEST(seeds)
{
	ck_assert_int_ne(_i, 7);
}
END_TEST

START_TEST(cases)
{
	ck_assert(_i);
}
END_TEST

START_TEST(single)
{
	ck_assert(!words[0]);
}
END_TEST

START_TEST(passes)
{
	ck_assert(words[_i]);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("failures");
	TCase *first = tcase_create("first"), *second = tcase_create("second");

	unit_add_rows(first, named, rows, name);
	unit_add_strings(first, strings, words);
	unit_add_table(first, table, sizes);
	tcase_add_loop_test(first, seeds, 5, 9);
	unit_add_cases(second, cases, "never", "always");
	tcase_add_test(second, single);
	unit_add_strings(second, passes, words);
	suite_add_tcase(s, first);
	suite_add_tcase(s, second);
	return unit_main(s);
}
