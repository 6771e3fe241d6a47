// SPDX-License-Identifier: MIT
/* xw-age: fragment an image as years of use would. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "age/tool.h"
#include "api/xw.h"
#include "cli/env.h"
#include "cli/output.h"
#include "cli/run.h"
#include "cli/term.h"

struct job {
	struct age_args args;
	struct cli_run run;
	struct xw_age_measure before, after;
	struct xw_age_outcome result;
};

static void log_line(void *arg, enum xw_log_level level, const char *line)
{
	cli_run_log(arg, (enum xw_severity)level, line);
}

/* An interrupted run is resumed: its operations are generated again. */
static int repeated(struct job *j, const struct xw_age_outcome *r)
{
	const uint64_t done =
		(uint64_t)((double)r->total.written / (double)r->resumed * (double)r->repeated);

	cli_progress_draw(&j->run.bar, "resuming", XW_MIN(done, r->total.written), r->total.written,
			  r->repeated);
	return 0; /* the watch sees interrupts */
}

static int progress(void *arg, const struct xw_age_outcome *r)
{
	struct job *j = arg;
	char phase[48] = "aging";

	if (r->repeated < r->resumed)
		return repeated(j, r);
	if (r->layout)
		snprintf(phase, sizeof(phase), "aging, layout %.4f",
			 r->layout / (double)XW_AGE_ONE);
	else if (r->longest_free != UINT64_MAX)
		snprintf(phase, sizeof(phase), "aging, longest free %" PRIu64 "k",
			 r->longest_free >> 10);
	cli_progress_draw(&j->run.bar, phase, r->total.written, 0, r->total.ops);
	if (!cli_interrupted())
		return 0;
	return xw_fail(&j->args.diag, XW_ERR_CANCELED, "interrupted; --resume continues");
}

static int draw(struct job *j)
{
	FILE *f;
	int rc = cli_drawing_open(j->args.svg, j->args.image, &j->args.diag, &f);

	if (rc)
		return rc;
	age_svg(f, j->args.image, j->args.measure_only ? NULL : &j->before, &j->after);
	return cli_drawing_close(f, 0, j->args.svg, &j->args.diag);
}

static int work(struct job *j)
{
	struct age_args *a = &j->args;
	const struct xw_age_told told = {
		.image = a->image,
		.opts = &a->o.opts,
		.run = a->measure_only ? NULL : &j->result,
		.before = a->measure_only ? NULL : &j->before,
		.after = &j->after,
	};
	const bool show = !a->line.quiet || a->line.json || a->svg;
	int rc = 0, missed = 0;

	if (!a->measure_only && show)
		rc = xw_age_measure_image(a->image, &a->o.opts, &a->diag, &j->before);
	if (!a->measure_only && !rc)
		rc = xw_age_image(a->image, &a->o.opts, &a->diag, &j->result);
	cli_progress_wipe(&j->run.bar);
	if (j->result.missed) /* reported below: what was reached */
		missed = rc;
	else if (rc)
		return rc;
	if (show)
		rc = xw_age_measure_image(a->image, &a->o.opts, &a->diag, &j->after);
	else
		rc = 0;
	if (!rc && a->svg)
		rc = draw(j);
	if (!rc && (!a->line.quiet || a->line.json))
		rc = age_report(stdout, a, &told);
	return rc ? rc : missed;
}

int main(int argc, char **argv)
{
	struct job j = {0};
	int status, rc;

	cli_guard_streams();
	status = age_args_parse(&j.args, argc, argv);
	if (status < 0) {
		cli_catch_interrupts();
		j.run.line = &j.args.line;
		j.args.diag.log = log_line;
		j.args.diag.log_arg = &j.run;
		j.args.o.opts.watch = &cli_commit_watch;
		j.args.o.opts.progress = progress;
		j.args.o.opts.arg = &j;
		cli_progress_init(&j.run.bar, !j.args.line.quiet && !j.args.line.json);
		rc = work(&j);
		xw_fail_repair(&j.args.diag);
		if (rc)
			cli_line_failed(&j.args.line,
					j.args.diag.code ? j.args.diag.text : xw_err_text(rc));
		status = !rc                                      ? EXIT_DONE
			 : rc == XW_ERR_USAGE                     ? EXIT_USAGE
			 : j.result.missed && rc == XW_ERR_MISSED ? AGE_EXIT_MISSED
								  : EXIT_FAILED;
	}
	xw_age_measure_free(&j.before);
	xw_age_measure_free(&j.after);
	age_args_free(&j.args);
	return cli_close_stdout(status);
}
