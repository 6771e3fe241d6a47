// SPDX-License-Identifier: MIT
/*
 * Options of xw-fsck by name: the settings that they make, the exit statuses and messages of those
 * that are refused; and the summary of findings for machines.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check/check.h"
#include "tmp.h"
#include "unit.h"

static struct fsck_opts o;
static struct xw_diag diag;

static int set(const char *option, const char *value)
{
	return xw_fsck_set(&o, option, value, &diag);
}

static void start(void)
{
	o = (struct fsck_opts){.image = "img"};
	diag = (struct xw_diag){0};
}

#define NONE SIZE_MAX
#define AT(member) offsetof(struct fsck_opts, member), sizeof(o.member)

/* An option of its own, the member that it sets, and the value of that. */
static const struct {
	const char *option, *value;
	size_t at, size;
	uint64_t want;
} accepted[] = {
	{"-n", NULL, AT(mode), FSCK_NO},
	{"-y", NULL, AT(mode), FSCK_YES},
	{"-p", NULL, AT(mode), FSCK_PREEN},
	{"-a", NULL, AT(mode), FSCK_PREEN},
	{"-f", NULL, AT(force), true},
	{"--force", NULL, AT(force), true},
	{"-F", NULL, AT(flush), true},
	{"-D", NULL, AT(optimize_dirs), true},
	{"-c", NULL, AT(bad_test), 1},
	{"-k", NULL, AT(bad_keep), true},
	{"-r", NULL, NONE, 0, 0},
	{"-b", "32768", AT(backup), 32768},
	{"-B", "4096", AT(block_size), 4096},
	{"-B", "3000", AT(block_size), 0}, /* ignored, with a warning */
	{"-B", "512", AT(block_size), 0},
	{"-I", "77", NONE, 0, 0},
	{"-P", "77", NONE, 0, 0},
	{"-l", "list", AT(bad_keep), true},
	{"-L", "list", AT(bad_keep), false},
	{"--jobs", "1024", AT(jobs), 1024},
	{"--commit", "file", AT(how), XW_COMMIT_FILE},
	{"now", "0", AT(now_set), true},
	{"now", "1700000000", AT(now), 1700000000},
	{"-E", "bmap2extent", AT(bmap2extent), true},
	{"-E", "check_encoding", AT(check_encoding), true},
	{"-E", "discard", AT(discard), true},
	{"-E", "discard,nodiscard", AT(discard), false},
	{"-E", "fixes_only", AT(fixes_only), true},
	{"-E", "fragcheck", AT(fragcheck), true},
	{"-E", "journal_only", AT(journal_only), true},
	{"-E", "optimize_extents", AT(optimize_extents), true},
	{"-E", "optimize_extents,no_optimize_extents", AT(optimize_extents), false},
	{"-E", "share_xattrs", AT(share_xattrs), true},
	{"-E", "unshare_blocks", AT(unshare_blocks), true},
	{"-E", "itree=build", AT(itree), FSCK_ITREE_BUILD},
	{"-E", ",itree=drop,", AT(itree), FSCK_ITREE_DROP},
	{"-E", "offset=1048576,discard", AT(offset), 1048576},
	{"-E", "readahead_kb=64,ea_ver=1,inode_count_fullmap,no_inode_count_fullmap", NONE, 0, 0},
};

START_TEST(settings)
{
	for (size_t i = 0; i < XW_ARRAY_SIZE(accepted); i++) {
		const char *const name = accepted[i].option, *const value = accepted[i].value;
		struct fsck_opts plain;
		uint64_t have = 0;
		int rc;

		start();
		memcpy(&plain, &o, sizeof(o));
		rc = set(name, value);
		ck_assert_msg(!rc, "%s %s: %d, %s", name, value ? value : "", rc, diag.text);
		if (accepted[i].at == NONE) {
			ck_assert_msg(!memcmp(&o, &plain, sizeof(o)), "%s %s sets something", name,
				      value ? value : "");
			continue;
		}
		memcpy(&have, (char *)&o + accepted[i].at, accepted[i].size);
		ck_assert_msg(have == accepted[i].want, "%s %s: %llu instead of %llu", name,
			      value ? value : "", (unsigned long long)have,
			      (unsigned long long)accepted[i].want);
	}
}
END_TEST

/* Options whose value is a name. */
START_TEST(names)
{
	const struct {
		const char *option, **name;
	} rows[] = {
		{"-j", &o.journal},
		{"-l", &o.bad_file},
		{"-L", &o.bad_file},
		{"-N", &o.name},
		{"-z", &o.undo_file},
		{"--redo-dir", &o.redo_dir},
		{"--redo-file", &o.redo_file},
	};

	for (size_t i = 0; i < XW_ARRAY_SIZE(rows); i++) {
		start();
		ck_assert_msg(!set(rows[i].option, "NAME") && !strcmp(*rows[i].name, "NAME"), "%s",
			      rows[i].option);
	}
}
END_TEST

/* The status of an option that is refused, and its message; "": none. */
static const struct {
	const char *option, *value;
	int status;
	const char *message;
} refused[] = {
	{"-Q", NULL, XW_ERR_NOTFOUND, ""},
	{"--nonesuch", "x", XW_ERR_NOTFOUND, ""},
	{"-f", "x", FSCK_EXIT_USAGE, "option -f takes no value"},
	{"-n", "x", FSCK_EXIT_USAGE, "option -n takes no value"},
	{"-b", NULL, FSCK_EXIT_USAGE, "option -b needs a value"},
	{"-z", NULL, FSCK_EXIT_USAGE, "option -z needs a value"},
	{"-b", "x", FSCK_EXIT_USAGE, "option -b: invalid number 'x'"},
	{"-I", "", FSCK_EXIT_USAGE, "option -I: invalid number ''"},
	{"-P", "-1", FSCK_EXIT_USAGE, "option -P: invalid number '-1'"},
	{"now", "9223372036854775808", FSCK_EXIT_USAGE,
	 "option now: invalid number '9223372036854775808'"},
	{"--jobs", "0", FSCK_EXIT_USAGE, "--jobs 0: must be 1 to 1024"},
	{"--jobs", "1025", FSCK_EXIT_USAGE, "--jobs 1025: must be 1 to 1024"},
	{"-E", "nonesuch", FSCK_EXIT_USAGE, "unknown extended option 'nonesuch'"},
	{"-E", "discard,nonesuch=3", FSCK_EXIT_USAGE, "unknown extended option 'nonesuch'"},
	{"-E", "journal_only=1", FSCK_EXIT_USAGE, "-E journal_only takes no value"},
	{"-E", "discard=1", FSCK_EXIT_USAGE, "-E discard takes no value"},
	{"-E", "ea_ver=3", FSCK_EXIT_USAGE, "-E ea_ver=3: must be 1 or 2"},
	{"-E", "ea_ver", FSCK_EXIT_USAGE, "-E ea_ver=: must be 1 or 2"},
	{"-E", "itree=x", FSCK_EXIT_USAGE, "-E itree=x: must be build or drop"},
	{"-E", "offset=x", FSCK_EXIT_USAGE,
	 "-E offset=x: must be a number of bytes, or one with s K M G T"},
	{"-E", "readahead_kb", FSCK_EXIT_USAGE, "-E readahead_kb=: must be a number of KiB"},
};

START_TEST(refusals)
{
	for (size_t i = 0; i < XW_ARRAY_SIZE(refused); i++) {
		const char *const value = refused[i].value ? refused[i].value : "";
		int status;

		start();
		status = set(refused[i].option, refused[i].value);
		ck_assert_msg(status == refused[i].status, "%s %s: status %d", refused[i].option,
			      value, status);
		ck_assert_msg(!strcmp(diag.text, refused[i].message), "%s %s: '%s'",
			      refused[i].option, value, diag.text);
		ck_assert_msg(o.refused_word == !strncmp(diag.text, "unknown", 7), "%s",
			      refused[i].option);
	}
}
END_TEST

/* Options together; "-E x" is written "E:x". "": accepted. */
static const struct {
	const char *options;
	int status;
	const char *message;
	bool force; /* a full check is implied */
} together[] = {
	{"-p -n", FSCK_EXIT_ERROR, "only one of the options -p/-a, -n or -y may be specified"},
	{"-a -y", FSCK_EXIT_ERROR, "only one of the options -p/-a, -n or -y may be specified"},
	{"-n -y", FSCK_EXIT_ERROR, "only one of the options -p/-a, -n or -y may be specified"},
	{"-p -a", 0, "", false},
	{"-n -n", 0, "", false},
	{"-n -D", FSCK_EXIT_ERROR, "options -n and -D are incompatible"},
	{"-n -c", FSCK_EXIT_ERROR, "options -n and -c are incompatible"},
	{"-n L:list", FSCK_EXIT_ERROR, "options -n and -l/-L are incompatible"},
	{"-y -c l:list", FSCK_EXIT_USAGE, "options -c and -l/-L are incompatible"},
	{"-n -c l:list", FSCK_EXIT_USAGE, "options -c and -l/-L are incompatible"},
	{"-y -D E:fixes_only", FSCK_EXIT_ERROR, "options -E fixes_only and -D are incompatible"},
	{"E:bmap2extent,fixes_only -y", FSCK_EXIT_ERROR,
	 "options -E fixes_only and -E bmap2extent are incompatible"},
	{"-y -c -c", 0, "", true},
	{"-y l:list", 0, "", true},
	{"-y -D", 0, "", false},
	{"-y E:discard", 0, "", false},
	{"-y E:share_xattrs", 0, "", true},
	{"-y E:itree=drop", 0, "", true},
	{"-y E:unshare_blocks", 0, "", true},
	{"-y E:bmap2extent", 0, "", true},
	{"-n E:bmap2extent", 0, "", true},
};

static int set_all(const char *options)
{
	static char copy[64];
	char *rest = copy, *word;
	int status = 0;

	snprintf(copy, sizeof(copy), "%s", options);
	while (!status && (word = strsep(&rest, " "))) {
		char option[] = {'-', word[0], '\0'};

		status = word[1] == ':' ? set(option, word + 2) : set(word, NULL);
	}
	return status ? status : xw_fsck_check_options(&o, &diag);
}

START_TEST(combinations)
{
	for (size_t i = 0; i < XW_ARRAY_SIZE(together); i++) {
		const char *const name = together[i].options;
		int status;

		start();
		status = set_all(name);
		ck_assert_msg(status == together[i].status, "%s: status %d", name, status);
		ck_assert_msg(!strcmp(diag.text, together[i].message), "%s: '%s'", name, diag.text);
		ck_assert_msg(status || o.force == together[i].force, "%s: force %d", name,
			      o.force);
	}
}
END_TEST

/* Whether a time is in the future is decided by the later of `now` and the clock. */
START_TEST(times)
{
	start();
	ck_assert_int_eq(xw_fsck_check_options(&o, &diag), 0);
	ck_assert(o.now > 1700000000 && o.latest == o.now);
	start();
	ck_assert(!set("now", "1000") && !xw_fsck_check_options(&o, &diag));
	ck_assert(o.now == 1000 && o.latest > 1700000000);
	start();
	ck_assert(!set("now", "99999999999") && !xw_fsck_check_options(&o, &diag));
	ck_assert(o.now == 99999999999 && o.latest == o.now);
}
END_TEST

START_TEST(undo_file)
{
	char image[128];
	const int fd = mkstemp(tmp_template(image, sizeof(image), "xw-t-fsck-opts"));

	ck_assert(fd >= 0);
	start();
	o.image = image;
	ck_assert_int_eq(xw_fsck_check_undo(&o, &diag), 0);
	o.undo_file = "/nonexistent/file";
	ck_assert_int_eq(xw_fsck_check_undo(&o, &diag), 0);
	o.undo_file = "";
	ck_assert_int_eq(xw_fsck_check_undo(&o, &diag), FSCK_EXIT_ERROR);
	diag = (struct xw_diag){0};
	o.undo_file = image;
	ck_assert_int_eq(xw_fsck_check_undo(&o, &diag), FSCK_EXIT_ERROR);
	ck_assert_ptr_nonnull(strstr(diag.text, "is the image itself"));
	close(fd);
	unlink(image);
}
END_TEST

/* ---- the summary of findings ---- */

START_TEST(tallies)
{
	static const struct {
		const char *name;
		struct fsck_findings all;
		int status, rc;
		struct fsck_tally want;
	} rows[] = {
		{"clean", {0}, 0, 0, {.clean = true, .rounds = 3}},
		{"repaired",
		 {.found = 5, .fixed = 5, .modified = true},
		 FSCK_EXIT_FIXED,
		 0,
		 {.clean = true, .modified = true, .found = 5, .repaired = 5, .rounds = 3}},
		{"some left",
		 {.found = 5, .fixed = 3, .left = 2, .followed = 1, .notes = 4, .modified = true},
		 FSCK_EXIT_LEFT,
		 0,
		 {.modified = true,
		  .found = 5,
		  .repaired = 3,
		  .left = 2,
		  .later = 1,
		  .notes = 4,
		  .rounds = 3}},
		{"failed: repairs were not written",
		 {.found = 5, .fixed = 3, .left = 2, .modified = true},
		 FSCK_EXIT_ERROR,
		 XW_ERR_IO,
		 {.found = 5, .left = 5, .rounds = 3}},
		{"ended by -p",
		 {.found = 2, .fixed = 1, .left = 1, .ended = true, .modified = true},
		 FSCK_EXIT_LEFT,
		 0,
		 {.found = 2, .left = 2, .rounds = 3}},
		{"canceled",
		 {.found = 1, .fixed = 1, .canceled = true},
		 FSCK_EXIT_CANCELED,
		 0,
		 {.found = 1, .left = 1, .rounds = 3}},
	};

	for (size_t i = 0; i < XW_ARRAY_SIZE(rows); i++) {
		struct fsck f = {
			.opts.mode = FSCK_YES, .ses.findings = rows[i].all, .round.number = 2};
		const struct fsck_outcome out = {.status = rows[i].status, .rc = rows[i].rc};
		const struct fsck_tally have = xw_fsck_tally(&f, &out), *want = &rows[i].want;

		ck_assert_msg(have.clean == want->clean && have.modified == want->modified &&
				      have.found == want->found &&
				      have.repaired == want->repaired && have.left == want->left &&
				      have.later == want->later && have.notes == want->notes &&
				      have.rounds == want->rounds,
			      "%s", rows[i].name);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fsck_opts");
	TCase *t = tcase_create("fsck_opts");

	tcase_add_test(t, settings);
	tcase_add_test(t, names);
	tcase_add_test(t, refusals);
	tcase_add_test(t, combinations);
	tcase_add_test(t, times);
	tcase_add_test(t, undo_file);
	tcase_add_test(t, tallies);
	suite_add_tcase(s, t);
	return unit_main(s);
}
