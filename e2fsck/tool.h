/* SPDX-License-Identifier: MIT */
/* The tool around the check: command line and rounds. */
#ifndef XW_FSCK_TOOL_H
#define XW_FSCK_TOOL_H

#include "cli/options.h"

#include "report/report.h"

struct fsck_args {
	struct fsck_opts opts;
	struct cli_line line;
	char *image, *undo_file; /* owned, if opts uses a generated name */
};

/* -1: continue, else the exit status after help or an error was printed. args.c */
int fsck_args_parse(struct fsck_args *args, int argc, char **argv);
void fsck_args_free(struct fsck_args *args);
/* One list of -E: 0, or the exit status; a line was printed. extended.c */
int fsck_args_extended(struct fsck_args *args, const char *list);

/*
 * run.c: all rounds. 0, or the failure that prevented the check from completing.
 */
int fsck_run(struct fsck *f);

#endif
