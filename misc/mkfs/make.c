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
	struct mkfs_said *said;
	bool again;
};

static bool said_before(const struct mkfs_said *said, const char *line)
{
	for (size_t i = 0; i < said->count; i++)
		if (!strcmp(said->lines[i], line))
			return true;
	return false;
}

static void log_line(void *arg, enum xw_severity severity, const char *line)
{
	struct attempt *a = arg;
	struct mkfs_said *said = a->said;

	if (a->again && said_before(said, line))
		return;
	if (!a->again && said->count < MKFS_SAID_MAX) {
		said->lines[said->count] = strdup(line);
		said->count += said->lines[said->count] != NULL;
	}
	cli_run_log(&a->run, severity, line);
}

void mkfs_said_free(struct mkfs_said *said)
{
	for (size_t i = 0; i < said->count; i++)
		free(said->lines[i]);
}

static int set_all(struct xw_mkfs *m, const struct mkfs_args *args, bool overwrite)
{
	const char *tmpdir = cli_tmpdir();
	int err = overwrite ? xw_mkfs_set(m, "-F", NULL) : 0;

	if (tmpdir && !err)
		err = xw_mkfs_set(m, "--tmpdir", tmpdir);
	if (args->config && !err)
		err = xw_mkfs_set_config(m, args->config_name, args->config, args->config_len);
	if (args->stock_type && !err) /* a -t on the command line takes precedence */
		err = xw_mkfs_set(m, "-t", args->stock_type);
	if (args->line.now && !err)
		err = xw_mkfs_set(m, "now", args->line.now);
	for (size_t i = 0; i < args->line.count && !err; i++)
		err = xw_mkfs_set(m, args->line.settings[i].name, args->line.settings[i].value);
	for (size_t i = 0; i < args->source_count && !err; i++)
		err = xw_mkfs_add_source(m, args->sources[i]);
	return err;
}

static int report(const struct mkfs_args *args, struct xw_mkfs *m)
{
	if (args->line.json) {
		const char *json = xw_mkfs_json(m);

		if (!json) {
			cli_line_failf(&args->line,
				       "%s: made, but out of memory for its description",
				       args->image);
			return XW_E_NOMEM;
		}
		puts(json);
	} else if (!args->line.quiet) {
		mkfs_print_result(stdout, args, xw_mkfs_result(m));
	}
	return 0;
}

int mkfs_make(const struct mkfs_args *args, bool overwrite, struct mkfs_said *said)
{
	struct attempt a = {.run = {.line = &args->line}, .said = said, .again = overwrite};
	struct cli_run *const run = &a.run;
	struct xw_mkfs *m;
	int err = xw_mkfs_new(&m);

	if (err) {
		cli_line_failf(&args->line, "out of memory");
		return err;
	}
	xw_mkfs_on_log(m, log_line, &a); /* set first: options may warn, too */
	xw_mkfs_on_names(m, cli_name_to_id, NULL);
	err = set_all(m, args, overwrite);
	if (!err) {
		cli_progress_init(&run->bar, !args->line.quiet);
		xw_mkfs_on_progress(m, cli_run_progress, run);
		err = xw_mkfs_run(m, args->image);
		cli_progress_wipe(&run->bar);
	}
	if (!err)
		cli_run_end(run);
	if (err)
		cli_line_failed(&args->line, xw_mkfs_error(m));
	else
		err = report(args, m);
	xw_mkfs_free(m);
	return err;
}
