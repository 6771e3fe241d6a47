// SPDX-License-Identifier: MIT
/* xw-tune: parameters and features of an existing image. */
#include "config.h"

#include "base/json.h"
#include "cli/env.h"
#include "cli/term.h"
#include "tune/tool.h"

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
	struct xw_json json = {0};
	struct xw_tune_outcome r;
	int rc;

	args->o.opts.watch = &cli_commit_watch;
	rc = xw_tune_image(args->image, &args->o.opts, &args->o.want, &args->diag, &r);
	if (rc)
		return rc;
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
	const int rc = xw_tune_clear_pending(args->image, &args->o.opts, &args->diag, &was);

	if (rc)
		return rc;
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
	int rc = 0;

	if (args->print_label)
		rc = tune_print_label(args);
	else if (args->o.clear_pending)
		rc = clear_pending(args);
	else if (xw_tune_options_change(&args->o))
		rc = change(args);
	if (!rc && args->list)
		rc = tune_list(args);
	xw_fail_repair(&args->diag);
	if (rc)
		cli_line_failed(&args->line, args->diag.code ? args->diag.text : xw_err_text(rc));
	return rc;
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
