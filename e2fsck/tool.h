/* SPDX-License-Identifier: MIT */
/* What the tool around the phases consists of: command line, questions, reports. */
#ifndef XW_FSCK_TOOL_H
#define XW_FSCK_TOOL_H

#include "cli/options.h"

#include "fsck.h"

/* The exit status is the sum of these, as e2fsck(8) has it. */
enum {
	FSCK_EXIT_FIXED = 1,
	FSCK_EXIT_REBOOT = 2,
	FSCK_EXIT_LEFT = 4,
	FSCK_EXIT_ERROR = 8,
	FSCK_EXIT_USAGE = 16,
	FSCK_EXIT_CANCELED = 32,
};

struct fsck_args {
	struct fsck_opts opts;
	struct cli_line line;
	char *image, *undo_file; /* owned, where opts has a made-up name */
};

/* -1: go on, else the status to exit with: help was printed, or what is wrong. args.c */
int fsck_args_parse(struct fsck_args *args, int argc, char **argv);
void fsck_args_free(struct fsck_args *args);
/* One list of -E: 0, or the exit status; a line was printed. extended.c */
int fsck_args_extended(struct fsck_opts *o, const char *list);

/* prompt.c */
enum fsck_answer { FSCK_ANSWER_NO, FSCK_ANSWER_YES, FSCK_ANSWER_ALL, FSCK_ANSWER_END };
/*
 * One key from the terminal on standard input: y, n, a; Enter, Space: yes. Ctrl-C and Ctrl-D end
 * the check. `question` is printed once keys are read without waiting for a line, and the answer
 * behind it.
 */
enum fsck_answer fsck_ask(const char *question);

/* json.c: one line an object on standard output. */
void fsck_json_finding(const struct fsck *f, const struct fsck_about *a, const char *done);
/* error: NULL, or why the check ended early. */
void fsck_json_end(const struct fsck *f, const char *error, int status);

/* report.c */
/* What the account at the end needs of an image that is closed by then. */
struct fsck_summary {
	uint64_t inodes, inodes_count, blocks, blocks_count;
	struct fsck_counts counts;
	bool valid;
};
void fsck_summary_take(struct fsck *f, struct fsck_summary *s);
/* "IMAGE: recovering journal", or that -n does it in memory. */
void fsck_say_replayed(const struct fsck *f);
/* "IMAGE: clean, ..." */
void fsck_say_clean(const struct fsck *f, const struct fsck_summary *s);
/* "IMAGE was not cleanly unmounted, check forced." and the like. */
void fsck_say_forced(const struct fsck *f);
/* The last lines: modified, still has errors, counts; statistics under -v. */
void fsck_say_end(const struct fsck *f, const struct fsck_summary *s, bool modified);

#endif
