// SPDX-License-Identifier: MIT
/*
 * What becomes of a finding: the answer, the counts on which the exit status depends, what is
 * printed, and what is not asked again.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "dev/overlay.h"
#include "memdev.h"
#include "say/say.h"
#include "unit.h"

/* ---- what is not under test ---- */

static enum fsck_answer answer;
static unsigned asked, written, of_repair; /* questions; JSON objects; those that follow */
static enum fsck_done done;

enum fsck_answer say_ask(const char *question)
{
	(void)question;
	asked++;
	return answer;
}

void say_json_finding(const struct fsck *f, const struct fsck_told *t)
{
	(void)f;
	written++;
	of_repair += t->follows;
	done = t->done;
}

void say_wipe(struct say *s)
{
	(void)s;
}

/* ---- findings of every kind of row ---- */

#define FIX FSCK_DTIME_SET /* an error that -p repairs */
#define ABORT FSCK_SUPER_CSUM /* one that it leaves to an administrator */
#define BEYOND FSCK_SUPER_SIZE /* one that nobody can repair */
#define NOTE FSCK_SUPER_TIME
#define QUIET FSCK_FREE_BLOCKS /* a note that -p does not mention */
#define REPORT FSCK_LPF_FULL /* is never repaired */
#define DONE FSCK_JOURNAL_LOST_DATA /* an error without a question */

static const struct fsck_reporter reporter = {.finding = say_finding, .ask = say_question};
static struct fsck f;
static struct say say;
static char text[4096];
static FILE *out;
static int was_out;

static void start(enum fsck_mode mode)
{
	fsck_findings_free(&f);
	memset(&f, 0, sizeof(f));
	f.opts.mode = mode;
	f.opts.image = "img";
	f.ses.to = &reporter;
	f.ses.to_arg = &say;
	memset(&say, 0, sizeof(say));
	asked = written = of_repair = 0;
	answer = FSCK_ANSWER_YES;
}

/* Output of what is between capture() and captured(). */
static void capture(void)
{
	fflush(stdout);
	was_out = dup(1);
	out = tmpfile();
	ck_assert(was_out >= 0 && out && dup2(fileno(out), 1) >= 0);
}

static const char *captured(void)
{
	size_t n;

	fflush(stdout);
	ck_assert_int_ge(dup2(was_out, 1), 0);
	close(was_out);
	rewind(out);
	n = fread(text, 1, sizeof(text) - 1, out);
	text[n] = '\0';
	fclose(out);
	return text;
}

static bool find(enum fsck_id id, xw_ino ino)
{
	bool yes;

	capture();
	yes = fsck_found(&f, &(struct fsck_about){.id = id, .ino = ino});
	captured();
	return yes;
}

static const struct {
	enum fsck_mode mode;
	enum fsck_id id;
	bool must;
	enum fsck_answer answer;
	bool repaired, asked, ended, canceled;
	unsigned found, fixed, left, notes;
	enum fsck_done done;
} rows[] = {
	{FSCK_NO, FIX, false, 0, false, false, false, false, 1, 0, 1, 0, FSCK_DONE_DECLINED},
	{FSCK_NO, FIX, true, 0, false, false, false, false, 1, 0, 1, 0, FSCK_DONE_DECLINED},
	{FSCK_NO, NOTE, false, 0, false, false, false, false, 0, 0, 0, 1, FSCK_DONE_DECLINED},
	{FSCK_NO, DONE, false, 0, false, false, false, false, 1, 0, 1, 0, FSCK_DONE_REPORTED},
	{FSCK_YES, FIX, false, 0, true, false, false, false, 1, 1, 0, 0, FSCK_DONE_REPAIRED},
	{FSCK_YES, ABORT, false, 0, true, false, false, false, 1, 1, 0, 0, FSCK_DONE_REPAIRED},
	/* true: the check ends */
	{FSCK_YES, BEYOND, false, 0, true, false, false, false, 1, 0, 1, 0, FSCK_DONE_REPORTED},
	{FSCK_NO, BEYOND, false, 0, false, false, false, false, 1, 0, 1, 0, FSCK_DONE_REPORTED},
	{FSCK_YES, NOTE, false, 0, true, false, false, false, 0, 0, 0, 1, FSCK_DONE_REPAIRED},
	{FSCK_YES, REPORT, false, 0, false, false, false, false, 1, 0, 1, 0, FSCK_DONE_REPORTED},
	{FSCK_YES, REPORT, true, 0, false, false, false, false, 1, 0, 1, 0, FSCK_DONE_REPORTED},
	{FSCK_YES, DONE, false, 0, true, false, false, false, 1, 1, 0, 0, FSCK_DONE_REPAIRED},
	{FSCK_PREEN, FIX, false, 0, true, false, false, false, 1, 1, 0, 0, FSCK_DONE_ACCEPTED},
	{FSCK_PREEN, QUIET, false, 0, true, false, false, false, 0, 0, 0, 1, FSCK_DONE_ACCEPTED},
	{FSCK_PREEN, ABORT, false, 0, false, false, true, false, 1, 0, 1, 0, FSCK_DONE_ENDED},
	{FSCK_PREEN, ABORT, true, 0, true, false, false, false, 1, 1, 0, 0, FSCK_DONE_ACCEPTED},
	{FSCK_PREEN, BEYOND, false, 0, false, false, true, false, 1, 0, 1, 0, FSCK_DONE_ENDED},
	{FSCK_PREEN, REPORT, false, 0, false, false, false, false, 1, 0, 1, 0, FSCK_DONE_REPORTED},
	{FSCK_ASK, FIX, false, FSCK_ANSWER_YES, true, true, false, false, 1, 1, 0, 0,
	 FSCK_DONE_REPAIRED},
	{FSCK_ASK, FIX, false, FSCK_ANSWER_ALL, true, true, false, false, 1, 1, 0, 0,
	 FSCK_DONE_REPAIRED},
	{FSCK_ASK, FIX, false, FSCK_ANSWER_NO, false, true, false, false, 1, 0, 1, 0,
	 FSCK_DONE_DECLINED},
	{FSCK_ASK, FIX, false, FSCK_ANSWER_END, false, true, false, true, 1, 0, 1, 0,
	 FSCK_DONE_DECLINED},
	{FSCK_ASK, FIX, true, FSCK_ANSWER_NO, true, false, false, false, 1, 1, 0, 0,
	 FSCK_DONE_REPAIRED},
	{FSCK_ASK, ABORT, false, FSCK_ANSWER_NO, false, true, false, false, 1, 0, 1, 0,
	 FSCK_DONE_DECLINED},
	{FSCK_ASK, BEYOND, false, FSCK_ANSWER_YES, true, true, false, false, 1, 0, 1, 0,
	 FSCK_DONE_REPORTED},
	{FSCK_ASK, BEYOND, false, FSCK_ANSWER_NO, false, true, false, false, 1, 0, 1, 0,
	 FSCK_DONE_REPORTED},
	{FSCK_ASK, DONE, false, FSCK_ANSWER_NO, true, false, false, false, 1, 1, 0, 0,
	 FSCK_DONE_REPAIRED},
	{FSCK_ASK, NOTE, false, FSCK_ANSWER_NO, false, true, false, false, 0, 0, 0, 1,
	 FSCK_DONE_DECLINED},
};

START_TEST(decisions)
{
	const struct fsck_findings *const n = &f.ses.findings;

	start(rows[_i].mode);
	f.round.must = rows[_i].must;
	answer = rows[_i].answer;
	say.json = true;
	ck_assert_int_eq(find(rows[_i].id, 12), rows[_i].repaired);
	ck_assert_int_eq(asked, rows[_i].asked);
	ck_assert_int_eq(n->ended, rows[_i].ended);
	ck_assert_int_eq(n->canceled, rows[_i].canceled);
	ck_assert_int_eq(f.ses.stop, rows[_i].ended || rows[_i].canceled);
	ck_assert_uint_eq(n->found, rows[_i].found);
	ck_assert_uint_eq(n->fixed, rows[_i].fixed);
	ck_assert_uint_eq(n->left, rows[_i].left);
	ck_assert_uint_eq(n->notes, rows[_i].notes);
	ck_assert_uint_eq(n->followed, 0);
	ck_assert_uint_eq(fsck_repaired(n), rows[_i].fixed);
	ck_assert_uint_eq(written, 1);
	ck_assert_int_eq(done, rows[_i].done);
	/* after an end nothing is looked at */
	if (f.ses.stop)
		ck_assert(!find(FIX, 13) && n->found == rows[_i].found && written == 1);
	fsck_findings_free(&f);
}
END_TEST

/* ---- later rounds ---- */

START_TEST(yes_to_all)
{
	start(FSCK_ASK);
	answer = FSCK_ANSWER_ALL;
	ck_assert(find(FIX, 12));
	answer = FSCK_ANSWER_NO;
	ck_assert(find(FIX, 13) && find(ABORT, 0));
	ck_assert_uint_eq(asked, 1);
	ck_assert_uint_eq(f.ses.findings.fixed, 3);
	fsck_findings_free(&f);
}
END_TEST

/* The same question is not asked again, and is counted once; others are. */
START_TEST(declined)
{
	const struct fsck_about about = {
		.id = FIX, .ino = 12, .dir = 3, .group = 4, .blk = 5, .lblk = 6};

	start(FSCK_ASK);
	answer = FSCK_ANSWER_NO;
	capture();
	for (f.round.number = 0; f.round.number < 3; f.round.number++)
		ck_assert(!fsck_found(&f, &about));
	ck_assert_uint_eq(asked, 1);
	ck_assert(f.ses.findings.found == 1 && f.ses.findings.left == 1 &&
		  !f.ses.findings.followed);
	f.round.must = true; /* an update depends on it */
	ck_assert(fsck_found(&f, &about));
	ck_assert(f.ses.findings.found == 1 && !f.ses.findings.followed && asked == 1);
	f.opts.mode = FSCK_NO;
	ck_assert(!fsck_found(&f, &about));
	f.opts.mode = FSCK_ASK;
	f.round.must = false;
	f.ses.findings.yes_to_all = true; /* that was an answer to another question */
	ck_assert(!fsck_found(&f, &about));
	f.ses.findings.yes_to_all = false;
	for (int k = 0; k < 7; k++) {
		struct fsck_about other = about;

		other.id = k == 0 ? FSCK_INODE_CSUM : FIX;
		other.ino += k == 1;
		other.dir += k == 2;
		other.group += k == 3;
		other.blk += k == 4;
		other.lblk += k == 5;
		other.name = k == 6 ? "a" : NULL;
		ck_assert(!fsck_found(&f, &other));
		ck_assert_uint_eq(asked, 2 + k);
		other.num = 77; /* the value may have changed */
		ck_assert(!fsck_found(&f, &other));
		ck_assert_uint_eq(asked, 2 + k);
	}
	ck_assert_uint_eq(f.ses.findings.found, 8);
	captured();
	fsck_findings_free(&f);
}
END_TEST

START_TEST(names_tell_findings_apart)
{
	start(FSCK_ASK);
	answer = FSCK_ANSWER_NO;
	capture();
	fsck_found(&f, &(struct fsck_about){.id = FIX, .name = "ab"});
	fsck_found(&f, &(struct fsck_about){.id = FIX, .name = "abc", .name_len = 2});
	ck_assert_uint_eq(asked, 1);
	fsck_found(&f, &(struct fsck_about){.id = FIX, .name = "abc", .name_len = 3});
	ck_assert_uint_eq(asked, 2);
	captured();
	fsck_findings_free(&f);
}
END_TEST

/* What follows from repairs does not count as found or fixed, but what is left is left. */
START_TEST(origins)
{
	const struct fsck_findings *const n = &f.ses.findings;

	start(FSCK_YES);
	say.json = true;
	f.round.part = 3;
	fsck_looked(&f, 3);
	ck_assert(find(FIX, 12) && n->found == 1); /* in the same round */
	f.round.number = 1;
	ck_assert(find(FIX, 13) && n->followed == 1 && n->found == 1 && n->fixed == 1 && !n->left);
	ck_assert(!find(REPORT, 12) && n->followed == 2 && n->left == 1);
	ck_assert_uint_eq(fsck_repaired(n), 2);
	f.round.part = 4; /* which nothing has looked at before, whatever the round */
	ck_assert(find(FIX, 13) && n->followed == 2 && n->found == 2 && n->fixed == 2);
	fsck_looked(&f, 4);
	fsck_looked(&f, 3); /* it was looked at before that */
	ck_assert_uint_eq(f.ses.looked[3], 1);
	ck_assert(find(FIX, 14) && n->found == 3);
	f.round.number = 2;
	ck_assert(find(FIX, 14) && n->found == 3 && n->followed == 3);
	ck_assert_uint_eq(of_repair, 3);
	fsck_findings_free(&f);
}
END_TEST

/* Bitmaps, counts and quota are parts of their own, in whichever phase they are looked at. */
START_TEST(parts)
{
	static const struct {
		enum fsck_id id;
		unsigned part;
	} cases[] = {
		{FSCK_BLOCK_BITMAP, FSCK_PART_SPACE},
		{FSCK_ITABLE_UNUSED, FSCK_PART_SPACE},
		{FSCK_GROUP_DIRS, FSCK_PART_SPACE},
		{FSCK_INODE_BITMAP_IO, FSCK_PART_SPACE},
		{FSCK_QUOTA_DAMAGED, FSCK_PART_QUOTA},
		{FSCK_QUOTA_USAGE, FSCK_PART_QUOTA},
		{FSCK_QUOTA_MODE, 5},
		{FSCK_LINK_COUNT, 5},
	};

	for (size_t i = 0; i < XW_ARRAY_SIZE(cases); i++)
		for (unsigned part = 0; part < FSCK_PARTS; part++) {
			start(FSCK_YES);
			f.round.part = 5;
			fsck_looked(&f, part);
			f.round.number = 1;
			find(cases[i].id, 3);
			ck_assert_uint_eq(f.ses.findings.followed, part == cases[i].part);
			ck_assert_uint_eq(f.ses.findings.found, part != cases[i].part);
			fsck_findings_free(&f);
		}
}
END_TEST

/* A finding that cannot be repaired is reported and counted once, not in every round. */
START_TEST(reported_once)
{
	start(FSCK_YES);
	ck_assert(!find(REPORT, 12));
	ck_assert_str_ne(text, "");
	f.round.number = 1;
	fsck_findings_round(&f.ses.findings); /* counted anew, without a word */
	ck_assert_uint_eq(f.ses.findings.left, 0);
	ck_assert(!find(REPORT, 12));
	ck_assert_str_eq(text, "");
	ck_assert(f.ses.findings.found == 1 && f.ses.findings.left == 1 &&
		  !f.ses.findings.followed);
	ck_assert(!find(REPORT, 13) && f.ses.findings.left == 2);
	fsck_findings_free(&f);
}
END_TEST

/* Free counts of the superblock are notes, but were wrong before anything was done. */
START_TEST(recounts)
{
	static const struct {
		enum fsck_id id;
		unsigned round;
		bool dirs, bmap, extents, recounted;
	} cases[] = {
		{FSCK_FREE_BLOCKS, 0, false, false, false, true},
		{FSCK_FREE_INODES, 0, false, false, false, true},
		{FSCK_SUPER_TIME, 0, false, false, false, false},
		{FSCK_FREE_BLOCKS, 1, false, false, false, false},
		{FSCK_FREE_BLOCKS, 0, true, false, false, false},
		{FSCK_FREE_BLOCKS, 0, false, true, false, false},
		{FSCK_FREE_BLOCKS, 0, false, false, true, false},
	};

	for (size_t i = 0; i < XW_ARRAY_SIZE(cases); i++) {
		start(FSCK_YES);
		f.round.number = cases[i].round;
		f.opts.optimize_dirs = cases[i].dirs;
		f.opts.bmap2extent = cases[i].bmap;
		f.opts.optimize_extents = cases[i].extents;
		ck_assert(find(cases[i].id, 0));
		ck_assert_int_eq(f.ses.findings.recounted, cases[i].recounted);
		ck_assert_uint_eq(f.ses.findings.notes, 1);
	}
	start(FSCK_NO);
	find(FSCK_FREE_BLOCKS, 0);
	ck_assert(!f.ses.findings.recounted);
	fsck_findings_free(&f);
}
END_TEST

/* Blocks freed because of an option. */
START_TEST(freed)
{
	static const enum fsck_id ids[] = {FSCK_BLOCK_BITMAP, FSCK_GROUP_FREE_BLOCKS,
					   FSCK_FREE_BLOCKS, FSCK_QUOTA_USAGE, FSCK_INODE_BITMAP};

	for (size_t i = 0; i < XW_ARRAY_SIZE(ids); i++)
		for (int k = 0; k < 4; k++) {
			start(k == 3 ? FSCK_NO : FSCK_ASK);
			answer = FSCK_ANSWER_NO;
			if (k != 1) { /* else it was not looked at before */
				fsck_looked(&f, FSCK_PART_SPACE);
				fsck_looked(&f, FSCK_PART_QUOTA);
			}
			f.round.number = 1;
			f.ses.freed_in = k == 2 ? 2 : 1; /* 2: in this round */
			ck_assert_int_eq(find(ids[i], 0), !k && i < 4);
			ck_assert_uint_eq(asked, k != 3 && (k || i == 4));
			fsck_findings_free(&f);
		}
	start(FSCK_ASK);
	answer = FSCK_ANSWER_NO;
	ck_assert(!find(FSCK_QUOTA_USAGE, 0));
	fsck_looked(&f, FSCK_PART_QUOTA);
	f.round.number = f.ses.freed_in = 1; /* it was damaged before */
	ck_assert(!find(FSCK_QUOTA_USAGE, 0));
	fsck_findings_free(&f);
}
END_TEST

/* What cannot be read may be intact: nothing is repaired by such facts. */
START_TEST(unreadable)
{
	struct xw_dev *base;

	start(FSCK_YES);
	ck_assert(!xw_dev_open_mem(1 << 20, &f.ses.diag, &base));
	ck_assert(!xw_overlay_open(base, 1024, &f.ses.diag, &f.ses.dev));
	ck_assert_int_eq(fsck_check_readable(&f), 0);
	f.ses.unreadable = 5 * 1024;
	ck_assert_int_eq(fsck_check_readable(&f), XW_ERR_IO);
	ck_assert_ptr_nonnull(strstr(f.ses.diag.text, "cannot read block 5"));
	ck_assert(!find(FIX, 12) && f.ses.stop && !f.ses.findings.found);
	f.ses.stop = false;
	f.opts.mode = FSCK_NO;
	ck_assert(!find(FIX, 12) && !f.ses.stop && f.ses.findings.found == 1);
	xw_dev_close(f.ses.dev);
}
END_TEST

/* ---- what is printed ---- */

START_TEST(printed)
{
	static const struct {
		enum fsck_mode mode;
		enum fsck_id id;
		unsigned round, verbose;
		bool seen; /* in the first round */
		const char *text;
	} cases[] = {
		{FSCK_YES, FIX, 0, 0, false,
		 "Inode 12 is in use, but has dtime set.  Fix? yes\n\n"},
		{FSCK_NO, FIX, 0, 0, false, "Inode 12 is in use, but has dtime set.  Fix? no\n\n"},
		{FSCK_PREEN, FIX, 0, 0, false,
		 "img: Inode 12 is in use, but has dtime set.  FIXED.\n"},
		{FSCK_YES, REPORT, 0, 0, false, "Inode 12 cannot be connected to /lost+found.\n"},
		{FSCK_YES, DONE, 0, 0, false,
		 "Journal is damaged; what could be recovered was replayed.\n"},
		{FSCK_YES, FIX, 1, 0, true, ""},
		{FSCK_YES, FIX, 1, 1, true, "Inode 12 is in use, but has dtime set.  Fix? yes\n\n"},
		{FSCK_YES, FIX, 1, 0, false,
		 "Inode 12 is in use, but has dtime set.  Fix? yes\n\n"},
		{FSCK_NO, FIX, 1, 0, true, "Inode 12 is in use, but has dtime set.  Fix? no\n\n"},
		{FSCK_YES, QUIET, 0, 0, false, ""},
		{FSCK_PREEN, QUIET, 0, 0, false, ""},
		{FSCK_PREEN, QUIET, 0, 1, false,
		 "img: Free blocks count wrong (0, counted 0).  FIXED.\n"},
	};

	for (size_t i = 0; i < XW_ARRAY_SIZE(cases); i++) {
		start(cases[i].mode);
		if (cases[i].seen)
			fsck_looked(&f, f.round.part);
		f.round.number = cases[i].round;
		say.verbose = cases[i].verbose;
		find(cases[i].id, 12);
		ck_assert_str_eq(text, cases[i].text);
		ck_assert_uint_eq(written, 0);
	}
	start(FSCK_YES);
	say.json = true;
	find(FIX, 12);
	ck_assert_str_eq(text, "");
	fsck_findings_free(&f);
}
END_TEST

/* From the 100th of a kind on a line for each power of ten. */
START_TEST(very_many)
{
	for (unsigned verbose = 0; verbose < 2; verbose++) {
		unsigned lines = 0;

		start(FSCK_YES);
		say.verbose = verbose;
		for (unsigned i = 1; i <= 2000; i++) {
			find(FIX, 12);
			lines += *text != '\0';
			if (verbose)
				continue;
			if (i == 100)
				ck_assert_ptr_nonnull(
					strstr(text, "inode-dtime-set: 100 times so far; more"));
			else if (i == 1000)
				ck_assert_str_eq(text, "inode-dtime-set: 1000 times so far\n\n");
		}
		ck_assert_uint_eq(lines, verbose ? 2000 : 101);
		ck_assert_uint_eq(f.ses.findings.fixed, 2000);
		find(ABORT, 0); /* another kind */
		ck_assert_str_ne(text, "");
		capture();
		say_counted(&say);
		ck_assert_str_eq(captured(), verbose ? "" : "inode-dtime-set: 2000 times\n");
	}
	fsck_findings_free(&f);
}
END_TEST

/* Consecutive inodes of one table block, here of 16, are told as one; all of them count. */
START_TEST(ranges)
{
	static const struct {
		enum fsck_id id;
		xw_ino from, to;
		unsigned num;
		bool each;
		const char *text;
	} cases[] = {
		{FSCK_GARBAGE, 33, 33, 0, false,
		 "Inode 33 seems to contain garbage.  Clear? yes\n\n"},
		{FSCK_GARBAGE, 33, 34, 0, false,
		 "Inode 33 seems to contain garbage; likewise inode 34 (2 in all).  Clear? "
		 "yes\n\n"},
		{FSCK_GARBAGE, 33, 48, 0, false,
		 "Inode 33 seems to contain garbage; likewise inodes 34-48 (16 in all).  "
		 "Clear? yes\n\n"},
		{FSCK_GARBAGE, 47, 50, 0, false,
		 "Inode 47 seems to contain garbage; likewise inode 48 (2 in all).  Clear? yes\n\n"
		 "Inode 49 seems to contain garbage; likewise inode 50 (2 in all).  Clear? "
		 "yes\n\n"},
		{FSCK_GARBAGE, 33, 34, 0, true,
		 "Inode 33 seems to contain garbage.  Clear? yes\n\n"
		 "Inode 34 seems to contain garbage.  Clear? yes\n\n"},
		{FSCK_INODE_MISPLACED, 1, 2, 1, false, /* each of another number */
		 "Inode 1 has the record of inode 1: its block of the table was written to a wrong "
		 "place.  Clear? yes\n\n"
		 "Inode 2 has the record of inode 2: its block of the table was written to a wrong "
		 "place.  Clear? yes\n\n"},
		{FSCK_DTIME_SET, 33, 34, 0, false, /* each has its own cause */
		 "Inode 33 is in use, but has dtime set.  Fix? yes\n\n"
		 "Inode 34 is in use, but has dtime set.  Fix? yes\n\n"},
	};
	struct xw_image img = {.block_size = 4096, .inode_size = 256, .sb.inodes_per_group = 512};

	for (size_t i = 0; i < XW_ARRAY_SIZE(cases); i++) {
		start(FSCK_YES);
		f.ses.img = &img;
		f.opts.each_told = cases[i].each;
		capture();
		for (xw_ino ino = cases[i].from; ino <= cases[i].to; ino++)
			ck_assert(fsck_found(&f,
					     &(struct fsck_about){.id = cases[i].id,
								  .ino = ino,
								  .num = cases[i].num ? ino : 0}));
		fsck_findings_flush(&f);
		ck_assert_str_eq(captured(), cases[i].text);
		ck_assert_uint_eq(f.ses.findings.fixed, cases[i].to - cases[i].from + 1);
	}
	/* a question for a range, and what is told in between */
	start(FSCK_ASK);
	f.ses.img = &img;
	capture();
	ck_assert(fsck_found(&f, &(struct fsck_about){.id = FSCK_GARBAGE, .ino = 33, .last = 40}));
	ck_assert_str_eq(captured(),
			 "Inode 33 seems to contain garbage; likewise inodes 34-40 (8 in all)");
	ck_assert(asked == 1 && f.ses.findings.found == 8 && f.ses.findings.fixed == 8);
	start(FSCK_NO);
	f.ses.img = &img;
	capture();
	for (xw_ino ino = 33; ino < 35; ino++) {
		fsck_found(&f, &(struct fsck_about){.id = FSCK_GARBAGE, .ino = ino});
		fsck_pass(&f, ino);
	}
	ck_assert_str_eq(captured(), "Inode 33 seems to contain garbage.  Clear? no\n\n"
				     "Inode 34 seems to contain garbage.  Clear? no\n\n");
	ck_assert_uint_eq(f.ses.findings.left, 2);
	fsck_findings_free(&f);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fsck_policy");
	TCase *t = tcase_create("fsck_policy");

	tcase_set_timeout(t, 60);
	unit_add_table(t, decisions, rows);
	tcase_add_test(t, yes_to_all);
	tcase_add_test(t, declined);
	tcase_add_test(t, names_tell_findings_apart);
	tcase_add_test(t, origins);
	tcase_add_test(t, parts);
	tcase_add_test(t, reported_once);
	tcase_add_test(t, recounts);
	tcase_add_test(t, freed);
	tcase_add_test(t, unreadable);
	tcase_add_test(t, printed);
	tcase_add_test(t, very_many);
	tcase_add_test(t, ranges);
	suite_add_tcase(s, t);
	return unit_main(s);
}
