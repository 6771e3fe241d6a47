/* SPDX-License-Identifier: MIT */
/* What tools print for people, and what they take from the environment. */
#include "base/same.h"
#include "cli/env.h"
#include "cli/escape.h"
#include "cli/human.h"
#include "cli/names.h"
#include "unit.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CASES(table) ((int)(sizeof(table) / sizeof((table)[0])))

static const struct {
	uint64_t bytes;
	const char *text;
} sizes[] = {
	{0, "0 B"},
	{1, "1 B"},
	{1023, "1023 B"},
	{1024, "1 KiB"},
	{1536, "1.50 KiB"},
	{10 * 1024 + 1, "10.0 KiB"},
	{1024 * 1024 - 1, "1.00 MiB"}, /* only exact values carry no digits */
	{1361950720, "1.27 GiB"},
	{123456789, "118 MiB"},
	{(uint64_t)60 << 40, "60 TiB"},
	{UINT64_MAX, "16 EiB"},
};

START_TEST(size_text)
{
	ck_assert_str_eq(cli_size(sizes[_i].bytes).s, sizes[_i].text);
}
END_TEST

static const struct {
	double seconds;
	const char *duration, *countdown;
} times[] = {
	{0, "0.00 s", "0:00"},     {0.4242, "0.42 s", "0:00"},         {9.994, "9.99 s", "0:10"},
	{12.34, "12.3 s", "0:12"}, {59.9, "59.9 s", "1:00"},           {59.96, "1:00", "1:00"},
	{187, "3:07", "3:07"},     {3600 + 129, "1:02:09", "1:02:09"}, {-1, "-", "0:00"},
};

START_TEST(time_text)
{
	ck_assert_str_eq(cli_duration(times[_i].seconds).s, times[_i].duration);
	ck_assert_str_eq(cli_countdown(times[_i].seconds).s, times[_i].countdown);
}
END_TEST

static const struct {
	uint64_t n;
	const char *count, *plural;
} counts[] = {
	{0, "0", "0 files"},
	{1, "1", "1 file"},
	{999, "999", "999 files"},
	{1000, "1,000", "1,000 files"},
	{83731, "83,731", "83,731 files"},
	{UINT64_MAX, "18,446,744,073,709,551,615", "18,446,744,073,709,551,615 files"},
};

START_TEST(count_text)
{
	ck_assert_str_eq(cli_count(counts[_i].n).s, counts[_i].count);
	ck_assert_str_eq(cli_plural(counts[_i].n, "file", "files").s, counts[_i].plural);
}
END_TEST

START_TEST(other_text)
{
	static const uint8_t uuid[16] = {0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0,
					 0xff, 0xee, 0xdd, 0xcc, 0xbb, 0xaa, 0x99, 0x00};

	ck_assert_str_eq(cli_uuid(uuid).s, "12345678-9abc-def0-ffee-ddccbbaa9900");
	ck_assert_str_eq(cli_share(11593, 362734).s, "3.20 %");
	ck_assert_str_eq(cli_share(1, 1).s, "100 %");
	ck_assert_str_eq(cli_share(1, 0).s, "-");
	ck_assert_str_eq(cli_rate(1 << 20, 2).s, "512 KiB/s");
	ck_assert_str_eq(cli_rate(1 << 20, 0).s, "-");
}
END_TEST

static const struct {
	const char *text;
	int rc;
} epochs[] = {
	{NULL, 0},
	{"", 0},
	{"0", 0},
	{"1700000000", 0},
	{"-5", 0},
	{" 5", -1},
	{"+5", -1},
	{"12x", -1},
	{"1e9", -1},
	{"-", -1},
	{"5 ", -1},
	{"0x10", -1},
	{"99999999999999999999", -1},
};

START_TEST(epoch)
{
	const char *value;

	if (epochs[_i].text)
		setenv("SOURCE_DATE_EPOCH", epochs[_i].text, 1);
	else
		unsetenv("SOURCE_DATE_EPOCH");
	ck_assert_int_eq(cli_source_date_epoch(&value), epochs[_i].rc);
	if (epochs[_i].rc || !epochs[_i].text || !*epochs[_i].text)
		ck_assert_ptr_null(value);
	else
		ck_assert_str_eq(value, epochs[_i].text);
}
END_TEST

START_TEST(interrupt)
{
	static const int sigs[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction now;

	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	cli_catch_interrupts();
	ck_assert(!cli_interrupted());
	raise(sigs[_i]);
	ck_assert(cli_interrupted());
	ck_assert_int_eq(cli_terminated(), sigs[_i] != SIGINT);
	/* the next one kills: after an interrupt, the next interrupt */
	for (int i = 0; i < CASES(sigs); i++) {
		ck_assert_int_eq(sigaction(sigs[i], NULL, &now), 0);
		ck_assert_int_eq(now.sa_handler == SIG_DFL, sigs[_i] != SIGINT || i == 0);
	}
}
END_TEST

START_TEST(ignored_signal_stays_ignored)
{
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_DFL);
	signal(SIGHUP, SIG_IGN);
	cli_catch_interrupts();
	raise(SIGINT);
	raise(SIGHUP);
	ck_assert(!cli_interrupted());
	raise(SIGTERM);
	ck_assert(cli_interrupted());
}
END_TEST

/* a word, an escape sequence, a newline, quotes and backslash, umlaut, C1 in both forms, markup */
#define ODD "a b\033[1m\n\"\\\xC3\xA4\xC2\x9B\x9B\x7F<&>\xEF\xBF\xBF"

static const struct {
	enum cli_escape how;
	const char *text;
} escapes[] = {
	{CLI_TEXT, "a b\\033[1m\\012\"\\\xC3\xA4\\302\\233\\233\\177<&>\xEF\xBF\xBF"},
	{CLI_TEXT_BACK, "a b\\033[1m\\012\"\\\\\xC3\xA4\\302\\233\\233\\177<&>\xEF\xBF\xBF"},
	{CLI_LINES, "a b\\033[1m\n\"\\\xC3\xA4\\302\\233\\233\\177<&>\xEF\xBF\xBF"},
	{CLI_XML, "a b?[1m?&#34;\\\xC3\xA4????&#60;&#38;&#62;?"},
	{CLI_HEX_BACK, "a b\\x1b[1m\\x0a\"\\x5c\\xc3\\xa4\\xc2\\x9b\\x9b\\x7f<&>\\xef\\xbf\\xbf"},
	{CLI_HEX, "a b\\x1b[1m\\x0a\"\\\\xc3\\xa4\\xc2\\x9b\\x9b\\x7f<&>\\xef\\xbf\\xbf"},
	{CLI_C, "a b\\033[1m\\n\\\"\\\\\\303\\244\\302\\233\\233\\177<&>\\357\\277\\277"},
	{CLI_CAT, "a b^[[1m^J\"\\M-CM-$M-BM-^[M-^[^?<&>M-oM-?M-?"},
};

START_TEST(escape)
{
	char *text = cli_escaped(escapes[_i].how, ODD, sizeof(ODD) - 1);

	ck_assert_str_eq(text, escapes[_i].text);
	free(text);
	text = cli_escaped(escapes[_i].how, "\0", 1);
	ck_assert_str_eq(text, ((const char *const[]){"\\000", "\\000", "\\000", "?", "\\x00",
						      "\\x00", "\\000", "^@"})[escapes[_i].how]);
	free(text);
	text = cli_escaped(escapes[_i].how, "", 0);
	ck_assert_str_eq(text, "");
	free(text);
}
END_TEST

/* Two nodes of one block device are one file, two of a character device are not. */
START_TEST(same_file)
{
	const struct stat file = {.st_dev = 1, .st_ino = 7, .st_mode = S_IFREG},
			  there = {.st_dev = 2, .st_ino = 7, .st_mode = S_IFREG},
			  node = {.st_dev = 1, .st_ino = 8, .st_mode = S_IFBLK, .st_rdev = 9},
			  twin = {.st_dev = 1, .st_ino = 9, .st_mode = S_IFBLK, .st_rdev = 9},
			  other = {.st_dev = 1, .st_ino = 10, .st_mode = S_IFBLK, .st_rdev = 10},
			  tty = {.st_dev = 1, .st_ino = 11, .st_mode = S_IFCHR, .st_rdev = 9};

	ck_assert(xw_same_file(&file, &file));
	ck_assert(!xw_same_file(&file, &there));
	ck_assert(!xw_same_file(&file, &node));
	ck_assert(xw_same_file(&node, &twin));
	ck_assert(!xw_same_file(&node, &other));
	ck_assert(!xw_same_file(&node, &tty));
}
END_TEST

START_TEST(names)
{
	uint32_t id = 99;

	ck_assert_int_eq(cli_name_to_id(NULL, 0, "root", &id), 0);
	ck_assert_uint_eq(id, 0);
	id = 99;
	ck_assert_int_eq(cli_name_to_id(NULL, 1, "root", &id), 0);
	ck_assert_uint_eq(id, 0);
	id = 99;
	ck_assert_int_ne(cli_name_to_id(NULL, 0, "no-such-user-anywhere", &id), 0);
	ck_assert_int_ne(cli_name_to_id(NULL, 1, "no-such-group-anywhere", &id), 0);
	ck_assert_uint_eq(id, 99);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("cli");
	TCase *tc = tcase_create("cli");

	unit_add_table(tc, size_text, sizes);
	unit_add_table(tc, time_text, times);
	unit_add_table(tc, count_text, counts);
	tcase_add_test(tc, other_text);
	unit_add_table(tc, epoch, epochs);
	tcase_add_loop_test(tc, interrupt, 0, 3);
	tcase_add_test(tc, ignored_signal_stays_ignored);
	unit_add_table(tc, escape, escapes);
	tcase_add_test(tc, same_file);
	tcase_add_test(tc, names);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
