/* SPDX-License-Identifier: MIT */
/*
 * The output of a check on standard output and standard error, worded as in e2fsck: findings,
 * questions, headings and progress of passes, the final report; or lines of JSON.
 */
#ifndef XW_FSCK_SAY_H
#define XW_FSCK_SAY_H

#include <stdio.h>

#include "check/check.h"

/* From this number on, findings of a kind are counted but not shown, without -v. */
#define SAY_MAX 100

struct say_progress {
	FILE *bar; /* where a bar is drawn; NULL: nowhere */
	const char *open, *close; /* printed around the bar, see begin_bar() */
	bool on; /* reports are switched on: SIGUSR1 and SIGUSR2 change it */
	bool drawn;
	int fd; /* for lines "PASS DONE OF IMAGE"; -1: none */
	unsigned pass; /* 0: before the first one */
	double began, pass_began, drawn_at, looked_at; /* seconds, monotonic clock */
	uint64_t reported; /* per mille of the pass in the last report */
};

struct say {
	/* from the command line */
	bool json, quiet;
	bool debug; /* -d */
	unsigned verbose; /* -v */
	unsigned times; /* -t; 2: for each pass */
	int progress_fd; /* -C; -1: none. 0: a bar on standard output */
	bool progress_late; /* -C -FD: nothing is reported before SIGUSR1 */
	/* state */
	struct say_progress progress;
	uint64_t told[FSCK_IDS]; /* number of findings of each kind so far */
};

/* ---- progress.c ---- */

/*
 * Called before anything is opened, and before threads: SIGUSR1 and SIGUSR2 are blocked from here
 * on.
 */
void say_progress_init(struct say *s);
/* Callbacks of struct fsck_reporter. Headings are printed in the first round. */
bool say_progress(void *arg, const struct fsck *f, uint64_t done, uint64_t of);
bool say_pass(void *arg, const struct fsck *f, unsigned pass);
bool say_pass_end(void *arg, const struct fsck *f);
void say_heading(void *arg, const struct fsck *f, const char *text);
/* Wipe the bar, so that something else can be printed. */
void say_wipe(struct say *s);

/* ---- finding.c ---- */

void say_finding(void *arg, const struct fsck *f, const struct fsck_told *t);
enum fsck_answer say_question(void *arg, const struct fsck *f, const struct fsck_about *a);
/* Print the totals of findings that were not all shown. */
void say_counted(const struct say *s);

/* ---- prompt.c ---- */

/*
 * Read one key from the terminal on standard input: y, n, a; Enter, Space: yes. Ctrl-C and Ctrl-D
 * cancel the check. `question` is printed when keys can be read without waiting for a line, and the
 * answer after it.
 */
enum fsck_answer say_ask(const char *question);

/* ---- changes.c ---- */

/* Print what the repairs have changed, or with -n would change, and what was lost. */
void say_changes(const struct say *s, const struct fsck *f);

/* ---- json.c: one object per line on standard output ---- */

void say_json_finding(const struct fsck *f, const struct fsck_told *t);
void say_json_end(const struct fsck *f, const struct fsck_outcome *o);

/* ---- text.c ---- */

/* Print "IMAGE: recovering journal", or with -n that it is recovered in memory. */
void say_replayed(void *arg, const struct fsck *f);
/* "IMAGE was not cleanly unmounted, check forced." and the like. */
void say_forced(void *arg, const struct fsck *f);
void say_line(void *arg, const struct fsck *f, enum fsck_line kind, const char *line);
/* Print the result of the check. */
void say_outcome(const struct say *s, const struct fsck *f, const struct fsck_outcome *o);
/* "IMAGE: clean, ..." */
void say_clean(const struct fsck *f, const struct fsck_summary *sum);
/* The last lines: modified, still has errors, counts; statistics with -v. */
void say_end(const struct say *s, const struct fsck *f, const struct fsck_outcome *o,
	     const struct fsck_summary *sum);

#endif
