// SPDX-License-Identifier: MIT
/* xw-age: fragment an image as years of use would. */
#include "config.h"

#include <errno.h>
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

static int progress(void *arg, const struct xw_age_outcome *r)
{
	struct job *j = arg;

	char phase[48] = "aging";

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
	const char *kept;
	const int fd = cli_output_open(j->args.svg, &j->args.image, 1, NULL, &kept);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");

	if (kept)
		return xw_fail(&j->args.diag, XW_ERR_USAGE,
			       "%s: the drawing would overwrite the image", j->args.svg);
	if (!f)
		return xw_fail_errno(&j->args.diag, XW_ERR_IO, errno, "%s", j->args.svg);
	age_svg(f, j->args.image, j->args.measure_only ? NULL : &j->before, &j->after);
	if (fclose(f))
		return xw_fail_errno(&j->args.diag, XW_ERR_IO, errno, "%s", j->args.svg);
	return 0;
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
	int err = 0, missed = 0;

	if (!a->measure_only) {
		if (show)
			err = xw_age_measure_image(a->image, &a->o.opts, &j->args.diag, &j->before);
		if (!err)
			err = xw_age_image(a->image, &a->o.opts, &j->args.diag, &j->result);
		cli_progress_wipe(&j->run.bar);
		if (j->result.missed) { /* reported below: what was reached */
			missed = err;
			err = 0;
		}
	}
	if (!err && show)
		err = xw_age_measure_image(a->image, &a->o.opts, &j->args.diag, &j->after);
	if (!err && a->svg)
		err = draw(j);
	if (!err && (!a->line.quiet || a->line.json))
		err = age_report(stdout, a, &told);
	return err ? err : missed;
}

int main(int argc, char **argv)
{
	static const struct xw_commit_watch watch = {.ended = ended, .deciding = deciding};
	struct job j = {0};
	int status, err;

	cli_guard_streams();
	status = age_args_parse(&j.args, argc, argv);
	if (status < 0) {
		cli_catch_interrupts();
		j.run.line = &j.args.line;
		j.args.diag.log = log_line;
		j.args.diag.log_arg = &j.run;
		j.args.o.opts.watch = &watch;
		j.args.o.opts.progress = progress;
		j.args.o.opts.arg = &j;
		cli_progress_init(&j.run.bar, !j.args.line.quiet && !j.args.line.json);
		err = work(&j);
		xw_fail_repair(&j.args.diag);
		if (err)
			cli_line_failed(&j.args.line,
					j.args.diag.code ? j.args.diag.text : xw_err_text(err));
		status = !err                                      ? EXIT_DONE
			 : err == XW_ERR_USAGE                     ? EXIT_USAGE
			 : j.result.missed && err == XW_ERR_MISSED ? AGE_EXIT_MISSED
								   : EXIT_FAILED;
	}
	xw_age_measure_free(&j.before);
	xw_age_measure_free(&j.after);
	age_args_free(&j.args);
	return cli_close_stdout(status);
}
