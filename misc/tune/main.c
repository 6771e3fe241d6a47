// SPDX-License-Identifier: MIT
/* xw-tune: parameters and features of an existing image. */
#include "config.h"

#include "base/json.h"
#include "cli/env.h"
#include "cli/term.h"
#include "tune/tool.h"

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

/* Print the object and free it. */
static int print_json(struct xw_json *j)
{
	const char *text = xw_json_text(j);

	if (text)
		puts(text);
	xw_json_free(j);
	return text ? 0 : XW_ERR_NOMEM;
}

static int change(struct tune_args *args)
{
	static const struct xw_commit_watch watch = {.ended = ended, .deciding = deciding};
	struct xw_json json = {0};
	struct xw_tune_outcome r;
	int err;

	args->o.opts.watch = &watch;
	err = xw_tune_image(args->image, &args->o.opts, &args->o.want, &args->diag, &r);
	if (err)
		return err;
	if (args->line.json) {
		xw_tune_outcome_json(&r, &json);
		return print_json(&json);
	}
	if (!args->line.quiet)
		tune_print_result(stdout, args, &r);
	return 0;
}

static int clear_pending(struct tune_args *args)
{
	struct xw_json json = {0};
	enum xw_tune_pending was;
	const int err = xw_tune_clear_pending(args->image, &args->o.opts, &args->diag, &was);

	if (err)
		return err;
	if (args->line.json) {
		xw_tune_pending_json(was, &json);
		return print_json(&json);
	}
	if (!args->line.quiet)
		tune_print_pending(stdout, args, was);
	return 0;
}

static int run(struct tune_args *args)
{
	int err = 0;

	if (args->print_label)
		err = tune_print_label(args);
	else if (args->o.clear_pending)
		err = clear_pending(args);
	else if (xw_tune_options_change(&args->o))
		err = change(args);
	if (!err && args->list)
		err = tune_list(args);
	xw_fail_repair(&args->diag);
	if (err)
		cli_line_failed(&args->line, args->diag.code ? args->diag.text : xw_err_text(err));
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
	tune_args_free(&args);
	/* As in tune2fs: 1 for all failures. */
	return cli_close_stdout(status ? EXIT_FAILED : EXIT_DONE);
}
