/* SPDX-License-Identifier: MIT */
/* Extracts files of the image to a directory. */
#include "cli/env.h"
#include "export/tool.h"

/* -v: the names, on standard output as tar(1) prints them. */
static int print_made(void *arg, const struct xw_export_entry *e)
{
	struct cli_run *run = arg;

	cli_progress_wipe(&run->bar);
	export_print_name(e);
	putchar('\n');
	return ferror(stdout) || cli_interrupted() ? XW_E_IO : 0;
}

int export_extract(const struct export_args *args, struct xw_export *x)
{
	struct cli_run run = {.line = &args->line};
	const char *why = NULL;
	bool whole;
	int rc, status;

	cli_progress_init(&run.bar, !args->line.quiet && !args->line.json);
	xw_export_on_log(x, cli_run_log, &run);
	xw_export_on_progress(x, cli_run_progress, &run);
	if (args->line.verbose && !args->line.json)
		xw_export_on_entry(x, print_made, &run);
	rc = xw_export_extract(x, args->image, args->extract);
	cli_progress_wipe(&run.bar);
	cli_run_end(&run);
	if (rc && *xw_export_error(x)) { /* a failing stdout is reported by cli_close_stdout() */
		why = xw_export_error(x);
		cli_line_error(&args->line, why);
	}
	status = export_status(x, rc, &whole);
	if (why || whole)
		export_print(args, x, args->extract, why, whole);
	return status;
}
