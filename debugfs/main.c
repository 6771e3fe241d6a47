/* SPDX-License-Identifier: MIT */
/* xw-debugfs: examine an ext2, ext3 or ext4 image, and change single structures in it. */
#include "config.h"

#include "cli/env.h"
#include "cli/stock.h"
#include "cli/term.h"
#include "show/show.h"
#include "tool.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Run the requests of a stream. Those of one that cannot be read are not committed. */
static void run_stream(struct dbg *d, const struct debugfs_args *args, const char *name, FILE *in,
		       bool echo)
{
	const int err = debugfs_script(d, in, echo);

	if (!err)
		return;
	cli_line_failf(&args->line, "%s: cannot read: %s", name, strerror(err));
	d->failed = d->fatal = true;
}

static void run_file(struct dbg *d, const struct debugfs_args *args)
{
	const char *const path = args->file;
	FILE *f = strcmp(path, "-") ? fopen(path, "re") : stdin;

	if (!f) {
		cli_line_failf(&args->line, "%s: %s", path, strerror(errno));
		d->failed = d->fatal = true;
		return;
	}
	run_stream(d, args, path, f, true);
	if (f != stdin)
		fclose(f);
}

static void run_requests(struct dbg *d, const struct debugfs_args *args)
{
	if (args->n_requests) {
		for (size_t i = 0; i < args->n_requests && !d->quit && !cli_interrupted(); i++)
			dbg_run(d, args->requests[i]);
	} else if (args->file) {
		run_file(d, args);
	} else if (isatty(STDIN_FILENO)) {
		debugfs_prompt(d);
	} else {
		run_stream(d, args, "standard input", stdin, false);
	}
}

/*
 * Under the name of the stock debugger a failed request does not fail the run, since scripts rely
 * on that. An unknown verb and changes that could not be committed always do.
 */
static bool has_failed(const struct dbg *d, const struct debugfs_args *args)
{
	const bool named = args->n_requests || args->file;

	if (!cli_stock_name())
		return d->failed;
	return d->fatal || (named && d->unknown) || cli_interrupted();
}

static int run(const struct debugfs_args *args)
{
	struct dbg d = {
		.families = dbg_families,
		.out = stdout,
		.json = args->line.json,
		.stock = cli_stock_name() != NULL,
		.now = args->now,
		.how = args->how,
		.diag = {.log = xw_show_log, .log_arg = (void *)&args->line},
	};
	int rc;

	cli_catch_interrupts();
	if (args->image && dbg_open(&d, args->image, &args->how)) {
		/* At a prompt another image may be opened; a batch of requests ends. */
		xw_fail_repair(&d.diag);
		cli_line_failed(&args->line, *d.diag.text ? d.diag.text : xw_err_text(XW_ERR_IO));
		xw_diag_clear(&d.diag);
		d.failed = true;
		if (args->n_requests || args->file || !isatty(STDIN_FILENO))
			return EXIT_FAILED;
	}
	run_requests(&d, args);
	if ((d.interactive ? cli_terminated() : cli_interrupted()) && d.dirty) {
		d.spoiled = true;
		cli_line_failed(&args->line, cli_terminated() ? "terminated" : "interrupted");
	}
	rc = dbg_close(&d, true);
	if (rc) {
		cli_line_failed(&args->line, *d.diag.text ? d.diag.text : xw_err_text(rc));
		d.failed = true;
	}
	return has_failed(&d, args) ? EXIT_FAILED : EXIT_DONE;
}

int main(int argc, char **argv)
{
	struct debugfs_args args;
	int status;

	cli_guard_streams();
	status = debugfs_args_parse(&args, argc, argv);
	if (status < 0)
		status = run(&args);
	debugfs_args_free(&args);
	return cli_close_stdout(status);
}
