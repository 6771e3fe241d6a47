/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "cli/env.h"
#include "cli/run.h"
#include "commit/commit.h"

/* A limit, so that a source with a million invalid entries does not hide the important message. */
enum { WARNINGS_SHOWN = 20 };

bool cli_line_logs(const struct cli_line *l, enum xw_severity severity)
{
	if (severity == XW_NOTE)
		return !l->quiet;
	return l->verbose >= (severity == XW_INFO ? 1u : 2u);
}

void cli_run_log(void *arg, enum xw_severity severity, const char *line)
{
	struct cli_run *run = arg;

	if (severity == XW_WARNING) {
		run->warnings++;
		if (run->warnings > WARNINGS_SHOWN && !run->line->verbose)
			return;
		cli_progress_wipe(&run->bar);
		cli_warning("%s", line);
	} else if (cli_line_logs(run->line, severity)) {
		cli_progress_wipe(&run->bar);
		cli_note("%s", line);
	}
}

static bool ended(void *arg)
{
	(void)arg;
	return cli_interrupted();
}

static void deciding(void *arg, bool on)
{
	(void)arg;
	cli_hold_interrupts(on);
}

const struct xw_commit_watch cli_commit_watch = {.ended = ended, .deciding = deciding};

int cli_run_progress(void *arg, const struct xw_progress *p)
{
	struct cli_run *run = arg;

	cli_progress_draw(&run->bar, p->phase, p->done, p->total, p->files);
	return cli_interrupted();
}

void cli_run_end(const struct cli_run *run)
{
	if (run->warnings > WARNINGS_SHOWN && !run->line->verbose)
		cli_warning("%u more warnings; -v shows all", run->warnings - WARNINGS_SHOWN);
}

int cli_run_json(const struct cli_run *run, const char *json, const char *image, const char *done)
{
	if (json) {
		puts(json);
		return 0;
	}
	cli_line_failf(run->line, "%s: %s, but out of memory for its description", image, done);
	return XW_E_NOMEM;
}

int cli_run_status(int rc)
{
	switch (rc) {
	case 0:
		return EXIT_DONE;
	case XW_E_USAGE:
	case XW_E_UNSUPPORTED:
		return EXIT_USAGE;
	default:
		return EXIT_FAILED;
	}
}
