/* SPDX-License-Identifier: MIT */
/* What the user is told and asked, apart from findings (finding.h) and progress (progress.h). */
#ifndef XW_FSCK_REPORT_H
#define XW_FSCK_REPORT_H

#include "fsck.h"

/* The exit status is the sum of these, as in e2fsck(8). */
enum {
	FSCK_EXIT_FIXED = 1,
	FSCK_EXIT_REBOOT = 2,
	FSCK_EXIT_LEFT = 4,
	FSCK_EXIT_ERROR = 8,
	FSCK_EXIT_USAGE = 16,
	FSCK_EXIT_CANCELED = 32,
};

/* ---- name.c ---- */

/* What the filesystem is called on standard output, as by e2fsck: its label, else its image. */
const char *fsck_name(const struct fsck *f);
/* The label counts from here on. */
void fsck_name_read(struct fsck *f);

/*
 * finding.c: XW_ERR_IO, with a message that names the block, if a block could not be read. Apparent
 * damage may be intact on the medium, so nothing is repaired in that case: -n reports findings,
 * otherwise the check ends with the next finding (fsck_found()). Exceptions: the superblock, which
 * has copies, and -c, -l and -L, which repair the filesystem around bad blocks.
 */
int fsck_check_readable(struct fsck *f);

/* prompt.c */
enum fsck_answer { FSCK_ANSWER_NO, FSCK_ANSWER_YES, FSCK_ANSWER_ALL, FSCK_ANSWER_END };
/*
 * One key from the terminal on standard input: y, n, a; Enter, Space: yes. Ctrl-C and Ctrl-D cancel
 * the check. `question` is printed when keys can be read without waiting for a line, and the answer
 * after it.
 */
enum fsck_answer fsck_ask(const char *question);

/* json.c: one object per line on standard output. follows: it follows from a repair. */
void fsck_json_finding(const struct fsck *f, const struct fsck_about *a, bool follows,
		       const char *done);
/* error: NULL, or the reason why the check ended early. */
void fsck_json_end(const struct fsck *f, const char *error, int status);

/* report.c */
/* Data about an image for the final report, when the image is closed already. */
struct fsck_summary {
	uint64_t inodes, inodes_count, blocks, blocks_count;
	uint32_t mounts_left; /* until a check is due; 0: no maximum, or due */
	struct fsck_counts counts;
	bool valid;
};
void fsck_summary_take(struct fsck *f, struct fsck_summary *s);
/* "IMAGE: recovering journal", or that -n does so in memory. */
void fsck_say_replayed(const struct fsck *f);
/* "IMAGE: clean, ..." */
void fsck_say_clean(const struct fsck *f, const struct fsck_summary *s);
/* "IMAGE was not cleanly unmounted, check forced." and the like. */
void fsck_say_forced(const struct fsck *f);
/* The last lines: modified, still has errors, counts; statistics with -v. */
void fsck_say_reboot(const struct fsck *f);
void fsck_say_end(const struct fsck *f, const struct fsck_summary *s, bool modified);

#endif
