/* SPDX-License-Identifier: MIT */
/*
 * One run of the library for xw-mkfs: options in, progress and log lines out, and the result.
 *
 * A handle runs once, so that answering "Proceed anyway?" makes a second one from the same
 * arguments.
 */
#include "config.h"

#include "cli/env.h"
#include "cli/names.h"
#include "cli/term.h"
#include "mkfs/mkfs.h"

#include <stdio.h>

struct run {
	const struct mkfs_args *args;
	struct cli_progress bar;
	unsigned warnings;
};

/* A source with a million odd entries shall not bury the line that matters. */
enum { WARNINGS_SHOWN = 20 };

static void on_log(void *arg, enum xw_severity severity, const char *line)
{
	struct run *run = arg;

	if (severity == XW_WARNING) {
		run->warnings++;
		if (run->warnings > WARNINGS_SHOWN && !run->args->verbose)
			return;
		cli_progress_wipe(&run->bar);
		cli_warning("%s", line);
	} else if (run->args->verbose >= (severity == XW_INFO ? 1u : 2u)) {
		cli_progress_wipe(&run->bar);
		cli_note("%s", line);
	}
}

static int on_progress(void *arg, const struct xw_progress *p)
{
	struct run *run = arg;

	cli_progress_draw(&run->bar, p->phase, p->done, p->total, p->files);
	return cli_interrupted();
}

static int set_all(struct xw_mkfs *m, const struct mkfs_args *args, bool overwrite)
{
	int err = overwrite ? xw_mkfs_set(m, "-F", NULL) : 0;

	for (size_t i = 0; i < args->count && !err; i++)
		err = xw_mkfs_set(m, args->options[i].name, args->options[i].value);
	for (size_t i = 0; i < args->source_count && !err; i++)
		err = xw_mkfs_add_source(m, args->sources[i]);
	return err;
}

static int report(struct run *run, struct xw_mkfs *m)
{
	if (run->warnings > WARNINGS_SHOWN && !run->args->verbose)
		cli_warning("%u more warnings; -v shows all", run->warnings - WARNINGS_SHOWN);
	if (run->args->json) {
		const char *json = xw_mkfs_json(m);

		if (!json) {
			cli_error("%s: made, but out of memory for its description",
				  run->args->image);
			return XW_E_NOMEM;
		}
		puts(json);
	} else if (!run->args->quiet) {
		mkfs_print_result(stdout, run->args, xw_mkfs_result(m));
	}
	return 0;
}

int mkfs_make(const struct mkfs_args *args, bool overwrite)
{
	struct run run = {.args = args};
	struct xw_mkfs *m;
	int err = xw_mkfs_new(&m);

	if (err) {
		cli_error("out of memory");
		return err;
	}
	xw_mkfs_on_log(m, on_log, &run); /* first: options warn too */
	err = set_all(m, args, overwrite);
	if (!err) {
		cli_progress_init(&run.bar, !args->quiet);
		xw_mkfs_on_names(m, cli_name_to_id, NULL);
		xw_mkfs_on_progress(m, on_progress, &run);
		err = xw_mkfs_run(m, args->image);
		cli_progress_wipe(&run.bar);
	}
	if (err)
		cli_error("%s", xw_mkfs_error(m));
	else
		err = report(&run, m);
	xw_mkfs_free(m);
	return err;
}
