// SPDX-License-Identifier: MIT
/* xw-fsck: check and repair an image. */
#include "config.h"

#include "base/auto.h"
#include "cli/device.h"
#include "cli/env.h"
#include "cli/foreign.h"
#include "cli/partition.h"
#include "cli/run.h"
#include "cli/term.h"

#include "tool.h"

static void log_line(void *arg, enum xw_log_level level, const char *line)
{
	struct say *s = arg;

	if (level == XW_LOG_WARN) {
		say_wipe(s);
		fflush(stdout);
		cli_warning("%s", line);
	} else if (level == XW_LOG_NOTE ? !s->quiet : s->debug) {
		say_wipe(s);
		fflush(stdout);
		cli_note("%s", line);
	}
}

static void wipe(void *arg, const struct fsck *f)
{
	(void)f;
	say_wipe(arg);
}

static char *find_device(void *arg, const char *uuid)
{
	(void)arg;
	return cli_find_device(uuid);
}

static const struct fsck_reporter reporter = {
	.finding = say_finding,
	.ask = say_question,
	.pass = say_pass,
	.pass_end = say_pass_end,
	.progress = say_progress,
	.progress_end = wipe,
	.heading = say_heading,
	.replayed = say_replayed,
	.forced = say_forced,
	.line = say_line,
	.find_device = find_device,
};

static int run(struct fsck_args *args)
{
	struct say *const s = &args->say;
	struct fsck f = {.opts = args->opts,
			 .ses.watch = &cli_commit_watch,
			 .ses.to = &reporter,
			 .ses.to_arg = s};
	struct fsck_outcome o = {0};
	auto_free char *why = NULL; /* with --partition, which is named */

	f.ses.diag = (struct xw_diag){.log = log_line, .log_arg = s};
	say_progress_init(s);
	cli_catch_interrupts();
	xw_fsck_check(&f, &o);
	say_wipe(s);
	fflush(stdout);
	why = o.rc && f.ses.diag.code ? cli_line_text(&args->line, f.ses.diag.text) : NULL;
	if (why)
		snprintf(f.ses.diag.text, sizeof(f.ses.diag.text), "%s", why);
	if (o.rc && !f.ses.findings.canceled && !f.ses.findings.ended)
		cli_error("%s", xw_fsck_why(&f, &o));
	if (o.rc && !args->line.partition &&
	    cli_text_no_filesystem(f.opts.image, xw_fsck_why(&f, &o)) &&
	    !cli_partition_hint(f.opts.image) &&
	    strstr(f.ses.diag.text, "no ext2, ext3 or ext4 superblock"))
		cli_foreign_hint(f.opts.image);
	if (s->json)
		say_json_end(&f, &o);
	else
		say_outcome(s, &f, &o);
	xw_fsck_end(&f);
	return o.status;
}

int main(int argc, char **argv)
{
	struct fsck_args args;
	int status, closed;

	cli_guard_streams();
	status = fsck_args_parse(&args, argc, argv);
	if (status < 0)
		status = run(&args);
	fsck_args_free(&args);
	closed = cli_close_stdout(status);
	return closed == status ? status : status | FSCK_EXIT_ERROR;
}
