/* SPDX-License-Identifier: MIT */
/*
 * One run of the library for xw-mkfs: sets options, shows progress, log messages and the result.
 *
 * A handle runs once, so answering "Proceed anyway?" creates a second one from the same arguments.
 */
#include "config.h"

#include "cli/env.h"
#include "cli/names.h"
#include "cli/run.h"
#include "mkfs/mkfs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct attempt {
	struct cli_run run;
	struct mkfs_logged *logged;
	bool again;
};

static bool was_logged(const struct mkfs_logged *logged, const char *line)
{
	for (size_t i = 0; i < logged->count; i++)
		if (!strcmp(logged->lines[i], line))
			return true;
	return false;
}

static void log_line(void *arg, enum xw_severity severity, const char *line)
{
	struct attempt *a = arg;
	struct mkfs_logged *logged = a->logged;

	if (a->again && was_logged(logged, line))
		return;
	if (!a->again && logged->count < MKFS_LOGGED_MAX) {
		logged->lines[logged->count] = strdup(line);
		logged->count += logged->lines[logged->count] != NULL;
	}
	cli_run_log(&a->run, severity, line);
}

void mkfs_logged_free(struct mkfs_logged *logged)
{
	for (size_t i = 0; i < logged->count; i++)
		free(logged->lines[i]);
}

static int set_all(struct xw_mkfs *m, const struct mkfs_args *args, bool overwrite)
{
	const char *tmpdir = cli_tmpdir();
	int rc = overwrite ? xw_mkfs_set(m, "-F", NULL) : 0;

	if (tmpdir && !rc)
		rc = xw_mkfs_set(m, "--tmpdir", tmpdir);
	if (args->config && !rc)
		rc = xw_mkfs_set_config(m, args->config_name, args->config, args->config_len);
	if (args->stock_type && !rc) /* a -t on the command line takes precedence */
		rc = xw_mkfs_set(m, "-t", args->stock_type);
	if (args->line.now && !rc)
		rc = xw_mkfs_set(m, "now", args->line.now);
	for (size_t i = 0; i < args->line.count && !rc; i++)
		rc = xw_mkfs_set(m, args->line.settings[i].name, args->line.settings[i].value);
	for (size_t i = 0; i < args->source_count && !rc; i++)
		rc = xw_mkfs_add_source(m, args->sources[i]);
	return rc;
}

static int report(const struct cli_run *run, const struct mkfs_args *args, struct xw_mkfs *m)
{
	if (args->line.json)
		return cli_run_json(run, xw_mkfs_json(m), args->image, "made");
	if (!args->line.quiet)
		mkfs_print_result(stdout, args, xw_mkfs_result(m));
	return 0;
}

int mkfs_make(const struct mkfs_args *args, bool overwrite, struct mkfs_logged *logged)
{
	struct attempt a = {.run = {.line = &args->line}, .logged = logged, .again = overwrite};
	struct cli_run *const run = &a.run;
	struct xw_mkfs *m;
	int rc = xw_mkfs_new(&m);

	if (rc) {
		cli_line_failf(&args->line, "out of memory");
		return rc;
	}
	xw_mkfs_on_log(m, log_line, &a); /* set first: options may warn, too */
	xw_mkfs_on_names(m, cli_name_to_id, NULL);
	rc = set_all(m, args, overwrite);
	if (!rc) {
		cli_progress_init(&run->bar, !args->line.quiet);
		xw_mkfs_on_progress(m, cli_run_progress, run);
		rc = xw_mkfs_run(m, args->image);
		cli_progress_wipe(&run->bar);
	}
	if (rc) {
		cli_line_failed(&args->line, xw_mkfs_error(m));
	} else {
		cli_run_end(run);
		rc = report(run, args, m);
	}
	xw_mkfs_free(m);
	return rc;
}
