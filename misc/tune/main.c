// SPDX-License-Identifier: MIT
/* xw-tune: parameters and features of an existing image. */
#include "config.h"

#include "api/xw.h"
#include "cli/env.h"
#include "cli/run.h"
#include "cli/term.h"
#include "tune/tool.h"

#include <stdlib.h>

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

static int change(struct tune_args *args, struct xw_diag *diag)
{
	struct xw_tune_outcome r;
	const struct xw_commit_watch watch = {.ended = ended, .deciding = deciding};
	int err;

	args->opts.watch = &watch;
	err = xw_tune_image(args->image, &args->opts, &args->want, diag, &r);
	args->opts.watch = NULL;

	if (err)
		return err;
	if (args->line.json)
		return tune_print_json(stdout, &r);
	if (!args->line.quiet)
		tune_print_result(stdout, args, &r);
	return 0;
}

static int clear_pending(struct tune_args *args, struct xw_diag *diag)
{
	enum xw_tune_pending was;
	const int err = xw_tune_clear_pending(args->image, &args->opts, diag, &was);

	if (err)
		return err;
	if (args->line.json)
		return tune_print_pending_json(stdout, was);
	if (!args->line.quiet)
		tune_print_pending(stdout, args, was);
	return 0;
}

static int run(struct tune_args *args)
{
	struct cli_run run = {.line = &args->line};
	struct xw_diag diag = {.log = log_line, .log_arg = &run};
	int err = 0;

	if (args->print_label)
		err = tune_print_label(args, &diag);
	else if (args->clear_pending)
		err = clear_pending(args, &diag);
	else if (tune_args_change(args))
		err = change(args, &diag);
	if (!err && args->list)
		err = tune_list(args, &diag);
	xw_fail_repair(&diag);
	if (err)
		cli_line_failed(&args->line, diag.code ? diag.text : xw_err_text(err));
	return err;
}

int main(int argc, char **argv)
{
	struct tune_args args;
	int status;

	cli_guard_streams();
	status = tune_args_parse(&args, argc, argv);
	if (status < 0) {
		cli_catch_interrupts();
		status = run(&args);
	}
	cli_line_free(&args.line);
	free(args.undo_default);
	/* As in tune2fs: 1 for all failures. */
	return cli_close_stdout(status ? EXIT_FAILED : EXIT_DONE);
}
