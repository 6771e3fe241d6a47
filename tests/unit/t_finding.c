// SPDX-License-Identifier: MIT
/* The table of findings and its texts: findings.def and findings_text.c in e2fsck/report/. */
#include "config.h"

#include "unit.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "../../e2fsck/report/finding.h"

static bool is_kebab(const char *name)
{
	const size_t len = strlen(name);

	for (size_t i = 0; i < len; i++) {
		if (!islower((unsigned char)name[i]) && !isdigit((unsigned char)name[i]) &&
		    (name[i] != '-' || !i || i == len - 1 || name[i - 1] == '-'))
			return false;
	}
	return len > 0;
}

START_TEST(names_are_unique_and_kebab_case)
{
	for (int i = 0; i < FSCK_IDS; i++) {
		const char *name = xw_fsck_row((enum fsck_id)i)->name;

		ck_assert_msg(is_kebab(name), "%s", name);
		for (int j = 0; j < i; j++)
			ck_assert_msg(strcmp(xw_fsck_row((enum fsck_id)j)->name, name) != 0, "%s",
				      name);
	}
}
END_TEST

START_TEST(texts_have_known_placeholders)
{
	for (int i = 0; i < FSCK_IDS; i++) {
		const struct fsck_row *row = xw_fsck_row((enum fsck_id)i);
		const size_t len = strlen(row->text);

		ck_assert_msg(len > 0, "%s has no text", row->name);
		ck_assert_msg(row->text[len - 1] != '.' && row->text[len - 1] != '\n',
			      "%s: the text ends in a full stop or newline", row->name);
		for (const char *s = row->text; (s = strchr(s, '%')); s += 2)
			ck_assert_msg(s[1] && strchr("idgblnms%", s[1]), "%s: %%%c", row->name,
				      s[1]);
	}
}
END_TEST

/* What the user must decide needs a question; what nobody repairs has none that would be kept. */
START_TEST(offers_fit_the_policy)
{
	for (int i = 0; i < FSCK_IDS; i++) {
		const struct fsck_row *row = xw_fsck_row((enum fsck_id)i);

		ck_assert_msg(!row->offer || *row->offer, "%s: empty offer", row->name);
		ck_assert_msg(!row->offer || strlen(row->offer) < 48, "%s: long offer", row->name);
		if (row->severity == FSCK_NOTE)
			ck_assert_msg(row->preen != FSCK_P_ABORT, "%s: a note ends -p", row->name);
	}
}
END_TEST

static const char *expand(char *buf, size_t size, const char *text, const struct fsck_about *a)
{
	FILE *out = fmemopen(buf, size, "w");

	ck_assert_ptr_nonnull(out);
	xw_fsck_text(out, text, a);
	fclose(out);
	return buf;
}

START_TEST(placeholders_become_members)
{
	const struct fsck_about a = {
		.ino = 1, .dir = 2, .group = 3, .blk = 4, .lblk = 5, .num = 6, .num2 = UINT64_MAX};
	char buf[128];

	ck_assert_str_eq(expand(buf, sizeof(buf), "%i %d %g %b %l %n %m 100%% %q %", &a),
			 "1 2 3 4 5 6 18446744073709551615 100% %q %");
}
END_TEST

START_TEST(names_are_escaped)
{
	const char name[] = {'a', '\n', '\033', 'b', '%', 'i'};
	const struct fsck_about a = {.name = name, .name_len = sizeof(name)}, none = {0};
	char buf[128];

	ck_assert_str_eq(expand(buf, sizeof(buf), "'%s'", &a), "'a\\012\\033b%i'");
	ck_assert_str_eq(expand(buf, sizeof(buf), "'%s'", &none), "''");
}
END_TEST

START_TEST(paths_stand_beside_numbers)
{
	static const char *const texts[][2] = {
		{"Inode %i has %n", "Inode 12 (/a/b) has 3"},
		{"Entry '%s' in directory inode %d", "Entry 'x' in /a (11)"},
		{"Directory inode %d, block", "Directory inode 11 (/a), block"},
		{"inode %i (was in inode %d)", "inode 12 (/a/b) (was in /a, inode 11)"},
		{"no number", "no number"},
	};
	const struct fsck_about a = {
		.ino = 12, .dir = 11, .num = 3, .name = "x", .path = "/a/b", .dir_path = "/a"};
	const struct fsck_about odd = {.ino = 12, .path = "/a\033\n\xff"}, none = {.ino = 12};
	char buf[128];

	for (size_t i = 0; i < XW_ARRAY_SIZE(texts); i++)
		ck_assert_str_eq(expand(buf, sizeof(buf), texts[i][0], &a), texts[i][1]);
	ck_assert_str_eq(expand(buf, sizeof(buf), "Inode %i", &odd),
			 "Inode 12 (/a\\033\\012\\377)");
	ck_assert_str_eq(expand(buf, sizeof(buf), "Inode %i", &none), "Inode 12");
}
END_TEST

START_TEST(long_paths_are_cut)
{
	char path[301], want[512], buf[512];
	const struct fsck_about a = {.ino = 12, .path = path};

	for (size_t i = 0; i < sizeof(path) - 1; i++)
		path[i] = (char)(i % 10 ? 'a' + (char)(i / 10 % 26) : '/');
	path[sizeof(path) - 1] = '\0';
	snprintf(want, sizeof(want), "%.60s...%s", path, path + 160);
	ck_assert_str_eq(expand(buf, sizeof(buf), "%i", &a) + strlen("12 ("), strcat(want, ")"));
	path[200] = '\0';
	snprintf(want, sizeof(want), "12 (%s)", path);
	ck_assert_str_eq(expand(buf, sizeof(buf), "%i", &a), want);
}
END_TEST

START_TEST(texts_end_in_what_else_is_known)
{
	const struct fsck_about a = {
		.id = FSCK_INODE_UNATTACHED, .ino = 12, .last = 14, .from = "/a"};
	char *text = xw_fsck_text_made(&a);

	ck_assert_str_eq(text, "Unattached inode 12 (from /a); likewise inodes 13-14 (3 in all)");
	free(text);
}
END_TEST

START_TEST(offers_have_a_word_for_preening)
{
	ck_assert_str_eq(xw_fsck_done_word("Fix"), "FIXED");
	ck_assert_str_eq(xw_fsck_done_word("Clear"), "CLEARED");
	ck_assert_str_eq(xw_fsck_done_word("Anything else"), "FIXED");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("finding");
	TCase *tc = tcase_create("table");

	tcase_add_test(tc, names_are_unique_and_kebab_case);
	tcase_add_test(tc, texts_have_known_placeholders);
	tcase_add_test(tc, offers_fit_the_policy);
	tcase_add_test(tc, placeholders_become_members);
	tcase_add_test(tc, names_are_escaped);
	tcase_add_test(tc, paths_stand_beside_numbers);
	tcase_add_test(tc, long_paths_are_cut);
	tcase_add_test(tc, texts_end_in_what_else_is_known);
	tcase_add_test(tc, offers_have_a_word_for_preening);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
