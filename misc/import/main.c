/* SPDX-License-Identifier: MIT */
/* xw-import: unpack archives and directories into an existing image. */
#include "config.h"

#include "cli/env.h"
#include "cli/names.h"
#include "cli/run.h"
#include "cli/source.h"
#include "cli/term.h"
#include "import/tool.h"

#include <stdlib.h>

static int set_all(struct xw_import *x, const struct import_args *args)
{
	const char *tmpdir = cli_tmpdir();
	int rc = tmpdir ? xw_import_set(x, "--tmpdir", tmpdir) : 0;

	if (args->line.now && !rc)
		rc = xw_import_set(x, "now", args->line.now);
	for (size_t i = 0; i < args->line.count && !rc; i++)
		rc = xw_import_set(x, args->line.settings[i].name, args->line.settings[i].value);
	for (char **source = args->sources; *source && !rc; source++) {
		char *path = cli_source_in_dir(&args->line, args->dir, *source);

		rc = path ? xw_import_add_source(x, path) : XW_E_NOMEM;
		free(path);
	}
	return rc;
}

/* Failing to print the report is a failure, although the image was changed. */
static int report(const struct cli_run *run, const struct import_args *args, struct xw_import *x)
{
	if (args->line.json)
		return cli_run_json(run, xw_import_json(x), args->image, "imported");
	if (!args->line.quiet)
		import_print_result(stdout, args, xw_import_result(x));
	return 0;
}

/* Returns the exit status. */
static int import(const struct import_args *args)
{
	struct cli_run run = {.line = &args->line};
	struct xw_import *x;
	int status, rc = xw_import_new(&x);

	if (rc) {
		cli_line_failf(&args->line, "out of memory");
		return EXIT_FAILED;
	}
	xw_import_on_log(x, cli_run_log, &run); /* set first: options may warn, too */
	xw_import_on_names(x, cli_name_to_id, NULL);
	rc = set_all(x, args);
	status = cli_run_status(rc);
	if (!rc) {
		cli_progress_init(&run.bar, !args->line.quiet);
		xw_import_on_progress(x, cli_run_progress, &run);
		rc = xw_import_run(x, args->image);
		cli_progress_wipe(&run.bar);
		/* A property of the image is not a usage error. */
		status = rc == XW_E_UNSUPPORTED ? EXIT_FAILED : cli_run_status(rc);
	}
	if (rc) {
		const char *why = xw_import_error(x);

		cli_line_failed(&args->line, *why ? why : "out of memory");
	} else {
		cli_run_end(&run);
		status = cli_run_status(report(&run, args, x));
	}
	xw_import_free(x);
	return status;
}

int main(int argc, char **argv)
{
	struct import_args args;
	const char *done = NULL;
	int status;

	cli_guard_streams();
	status = import_args_parse(&args, argc, argv);
	if (status < 0) {
		cli_catch_interrupts();
		status = import(&args);
		done = status != EXIT_DONE ? NULL
		       : args.dry_run      ? "the dry run is done"
					   : "the import is done";
	}
	import_args_free(&args);
	return cli_close_account(status, done);
}
