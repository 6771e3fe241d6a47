/* SPDX-License-Identifier: MIT */
/* A run of the library for a tool: log messages, progress and the exit status. */
#ifndef XW_CLI_RUN_H
#define XW_CLI_RUN_H

#include "api/xw.h"
#include "cli/options.h"
#include "cli/term.h"

struct cli_run {
	const struct cli_line *line;
	struct cli_progress bar;
	unsigned warnings;
};

/* Does the user want lines of this severity, which is not XW_WARNING? */
bool cli_line_logs(const struct cli_line *l, enum xw_severity severity);
/* Callbacks; arg is the struct cli_run. */
void cli_run_log(void *arg, enum xw_severity severity, const char *line);
int cli_run_progress(void *arg, const struct xw_progress *p);
/* A signal cancels the change before its commit point, and is held from there on. */
struct xw_commit_watch;
extern const struct xw_commit_watch cli_commit_watch;
/* Report how many warnings were not shown. */
void cli_run_end(const struct cli_run *run);
/*
 * Print the JSON result of a run that has `done` ("made") the image. NULL: reports lack of memory,
 * and returns XW_E_NOMEM.
 */
int cli_run_json(const struct cli_run *run, const char *json, const char *image, const char *done);
/* The exit status for an error code of the library. */
int cli_run_status(int rc);

#endif
