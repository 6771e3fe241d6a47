/* SPDX-License-Identifier: MIT */
/*
 * Passes, as e2fsck(8) numbers them: their headings, how far each has come, how long it took.
 */
#ifndef XW_FSCK_PROGRESS_H
#define XW_FSCK_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

enum { FSCK_PASSES = 5 };

struct fsck;

struct fsck_progress {
	bool bar; /* standard error is a terminal, and a bar is wanted there */
	bool on; /* reports are wanted now: SIGUSR1 and SIGUSR2 change it */
	bool drawn;
	int fd; /* for lines "PASS DONE OF IMAGE"; -1: none */
	unsigned pass; /* 0: before the first */
	double began, pass_began, drawn_at; /* seconds, monotonic clock */
	uint64_t reported; /* per mille of the pass that the last report said */
};

/* Before anything is opened, and before threads: SIGUSR1 and SIGUSR2 are blocked from here on. */
void fsck_progress_init(struct fsck *f);
/*
 * A pass begins: its heading is printed in the first round. 0 to FSCK_PASSES; the same as before:
 * nothing.
 */
void fsck_pass(struct fsck *f, unsigned pass);
/* The last pass of the last round has ended. */
void fsck_pass_end(struct fsck *f);
/*
 * `done` of `of` units of the pass are checked. Cheap; for loops over groups, not over inodes. Sets
 * f->stop when the user has ended the check.
 */
void fsck_progress(struct fsck *f, uint64_t done, uint64_t of);
/* Wipe the bar, so that something else can be printed. */
void fsck_progress_wipe(struct fsck *f);
/* A heading of its own, such as "Pass 1B: ..."; printed as those of passes are. */
void fsck_heading(struct fsck *f, const char *text);

#endif
