/* SPDX-License-Identifier: MIT */
/* The command line of xw-fsck. */
#ifndef XW_FSCK_TOOL_H
#define XW_FSCK_TOOL_H

#include "cli/options.h"

#include "say/say.h"

struct fsck_args {
	struct cli_line line;
	struct fsck_opts opts;
	struct say say;
	struct xw_diag diag; /* of a refused option */
	char *image; /* owned, if it was found by a tag */
};

/* -1: continue; otherwise the exit status, after help or an error was printed. */
int fsck_args_parse(struct fsck_args *args, int argc, char **argv);
void fsck_args_free(struct fsck_args *args);

#endif
