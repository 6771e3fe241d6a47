/* SPDX-License-Identifier: MIT */
/*
 * One archive: reads the image, writes to a file or pipe. A new file is removed if nothing useful
 * was written; an archive that is complete except for damage of the image is kept.
 */
#include "config.h"

#include "cli/env.h"
#include "cli/output.h"
#include "export/tool.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct run {
	struct cli_run cli;
	const struct export_args *args;
	int fd;
	int write_errno; /* why the output failed, 0 = no failure */
	bool created, failed;
	char *why; /* owned */
};

static int on_write(void *arg, const void *buf, size_t len)
{
	struct run *run = arg;
	const char *p = buf;

	while (len) {
		ssize_t n;

		/*
		 * checked before each write: an interrupted write to a pipe may look like a short
		 * one
		 */
		if (cli_interrupted())
			return XW_E_IO;
		n = write(run->fd, p, len);
		if (n < 0 && errno != EINTR) {
			run->write_errno = errno;
			return errno == ENOSPC || errno == EDQUOT || errno == EFBIG ? XW_E_HOSTFULL
										    : XW_E_IO;
		}
		if (n > 0) {
			p += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

/* Open the output; -1 or an exit status. */
static int open_output(struct run *run)
{
	const char *path = run->args->output, *kept;

	run->fd = STDOUT_FILENO;
	if (!path || !strcmp(path, "-"))
		return -1;
	run->fd = cli_output_open(path, &run->args->image, 1, &run->created, &kept);
	if (run->fd >= 0)
		return -1;
	if (kept)
		cli_line_failf(&run->args->line, "%s: the archive would overwrite the image", path);
	else
		cli_line_failf(&run->args->line, "%s: %s", path, strerror(errno));
	return kept ? EXIT_USAGE : EXIT_FAILED;
}

/* Print why the run has failed, and keep the first reason for the JSON result. */
__attribute__((format(printf, 2, 3))) static void fail(struct run *run, const char *fmt, ...)
{
	va_list ap;
	char *why;

	va_start(ap, fmt);
	if (vasprintf(&why, fmt, ap) < 0)
		why = NULL;
	va_end(ap);
	cli_line_error(&run->args->line, why ? why : "out of memory");
	if (run->why)
		free(why);
	else
		run->why = why;
	run->failed = true;
}

/* 0, or the exit status for an output that could not be completed. */
static int close_output(struct run *run, bool keep)
{
	int bad = 0;

	if (run->fd == STDOUT_FILENO)
		return 0;
	if (close(run->fd) && keep) {
		fail(run, "%s: %s", run->args->output, strerror(errno));
		keep = false;
		bad = EXIT_FAILED;
	}
	if (!keep && run->created)
		unlink(run->args->output);
	return bad;
}

int export_archive(const struct export_args *args, struct xw_export *x)
{
	struct run run = {.cli = {.line = &args->line}, .args = args, .fd = -1};
	int rc, bad, status = open_output(&run);
	bool whole;

	if (status >= 0)
		return status;
	cli_progress_init(&run.cli.bar, !args->line.quiet && !args->line.json);
	xw_export_on_log(x, cli_run_log, &run.cli);
	xw_export_on_progress(x, cli_run_progress, &run.cli);
	rc = xw_export_run(x, args->image, on_write, &run);
	cli_progress_wipe(&run.cli.bar);
	cli_run_end(&run.cli);
	if (run.write_errno)
		fail(&run, "%s: %s", args->output ? args->output : "standard output",
		     strerror(run.write_errno));
	else if (rc && cli_interrupted())
		fail(&run, "%s: interrupted", args->image);
	else if (rc)
		fail(&run, "%s", xw_export_error(x));
	status = export_status(x, rc, &whole);
	whole = whole && !run.write_errno;
	bad = close_output(&run, whole);
	if (run.fd != STDOUT_FILENO)
		export_print(args, x, args->output,
			     run.failed && !run.why ? "out of memory" : run.why, !bad && whole);
	free(run.why);
	return bad ? bad : status;
}
