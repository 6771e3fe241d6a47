/* SPDX-License-Identifier: MIT */
/* The tool around the phases: command line, questions, reports. */
#ifndef XW_FSCK_TOOL_H
#define XW_FSCK_TOOL_H

#include "cli/options.h"

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

struct fsck_args {
	struct fsck_opts opts;
	struct cli_line line;
	char *image, *undo_file; /* owned, if opts uses a generated name */
};

/* -1: continue, else the exit status after help or an error was printed. args.c */
int fsck_args_parse(struct fsck_args *args, int argc, char **argv);
void fsck_args_free(struct fsck_args *args);
/* One list of -E: 0, or the exit status; a line was printed. extended.c */
int fsck_args_extended(struct fsck_opts *o, const char *list);

/* mounted.c: by what /proc says of a block device; others are not known. */
enum fsck_mounted { FSCK_NOT_MOUNTED, FSCK_MOUNTED, FSCK_RDONLY, FSCK_RDONLY_ROOT };
enum fsck_mounted fsck_mounted(const char *image);

/* discard.c: with -E discard. Before the facts of the last round are freed; after the commit. */
void fsck_unused_take(struct fsck *f);
/* Best effort: the repair has succeeded, so that a failure is a warning. */
void fsck_unused_discard(struct fsck *f);

/* prompt.c */
enum fsck_answer { FSCK_ANSWER_NO, FSCK_ANSWER_YES, FSCK_ANSWER_ALL, FSCK_ANSWER_END };
/*
 * One key from the terminal on standard input: y, n, a; Enter, Space: yes. Ctrl-C and Ctrl-D cancel
 * the check. `question` is printed when keys can be read without waiting for a line, and the answer
 * after it.
 */
enum fsck_answer fsck_ask(const char *question);

/* json.c: one object per line on standard output. */
void fsck_json_finding(const struct fsck *f, const struct fsck_about *a, const char *done);
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
void fsck_say_end(const struct fsck *f, const struct fsck_summary *s, bool modified);

#endif
