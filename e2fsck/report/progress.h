/* SPDX-License-Identifier: MIT */
/* Passes, numbered as in e2fsck(8): their headings, progress and duration. */
#ifndef XW_FSCK_PROGRESS_H
#define XW_FSCK_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { FSCK_PASSES = 5 };

struct fsck;

struct fsck_progress {
	FILE *bar; /* where a bar is drawn; NULL: nowhere */
	const char *open, *close; /* printed around the bar, see begin_bar() */
	bool on; /* reports are switched on: SIGUSR1 and SIGUSR2 change it */
	bool drawn;
	int fd; /* for lines "PASS DONE OF IMAGE"; -1: none */
	unsigned pass; /* 0: before the first one */
	double began, pass_began, drawn_at, looked_at; /* seconds, monotonic clock */
	uint64_t reported; /* per mille of the pass in the last report */
};

/*
 * Called before anything is opened, and before threads: SIGUSR1 and SIGUSR2 are blocked from here
 * on.
 */
void fsck_progress_init(struct fsck *f);
/*
 * Start a pass: its heading is printed in the first round. 0 to FSCK_PASSES; nothing happens if it
 * is the current one.
 */
void fsck_pass(struct fsck *f, unsigned pass);
/* The last pass of the last round has ended. */
void fsck_pass_end(struct fsck *f);
/*
 * `done` of `of` units of the pass are checked. Cheap; for loops over groups, not over inodes. Sets
 * f->stop when the user has canceled the check.
 */
void fsck_progress(struct fsck *f, uint64_t done, uint64_t of);
/* Wipe the bar, so that something else can be printed. */
void fsck_progress_wipe(struct fsck *f);
/* A separate heading, such as "Pass 1B: ..."; printed like those of passes. */
void fsck_heading(struct fsck *f, const char *text);

#endif
