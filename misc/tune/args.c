// SPDX-License-Identifier: MIT
/* The command line of xw-tune: that of tune2fs, and options for the commit. */
#include "config.h"

#include "base/date.h"
#include "cli/env.h"
#include "cli/names.h"
#include "cli/redo.h"
#include "tune/tool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static cli_option_fn set, set_lastcheck;

#define AT(member) offsetof(struct tune_args, member)

static const struct cli_option options[] = {
	{"-l", NULL, NULL, "list the superblock (after the change, if there is one)", cli_flag,
	 AT(list)},
	{"-L", "--label", "LABEL", "volume label", .as = "-L"},
	{"-M", NULL, "DIR", "directory of the last mount"},
	{"-U", "--uuid", "UUID|clear|random|time", "UUID; checksums made with it are updated",
	 .as = "-U"},
	{"-m", NULL, "PERCENT", "reserved blocks"},
	{"-r", NULL, "BLOCKS", "reserved blocks, as a number"},
	{"-u", NULL, "USER", "user who may use the reserved blocks"},
	{"-g", NULL, "GROUP", "group that may use the reserved blocks"},
	{"-e", NULL, "continue|remount-ro|panic", "behavior on errors"},
	{"-c", NULL, "COUNT", "mounts between checks"},
	{"-C", NULL, "COUNT", "mounts since the last check"},
	{"-i", NULL, "N[d|m|w]", "time between checks"},
	{"-T", NULL, "TIME", "time of the last check: YYYYMMDD[HH[MM[SS]]] or now", set_lastcheck},
	{"-o", NULL, "[^]OPTION,...", "default mount options"},
	{"-O", NULL, "[^]FEATURE,...", "features; [^]itree: trees of all large directories"},
	{"-Q", NULL, "[^]TYPE,...", "quota: usrquota, grpquota, prjquota"},
	{"-I", NULL, "SIZE", "larger inodes, SIZE bytes each"},
	{"-j", NULL, NULL, "make a journal"},
	{"-J", NULL, "LIST", "size=MIB: make a journal; fast_commit_size=KIB with fast_commit"},
	{"-E", NULL, "LIST",
	 "clear_mmp, clear_pending, mmp_update_interval=, stride=, stripe_width=, hash_alg=, "
	 "mount_opts=, force_fsck, [^]test_fs, encoding=, encoding_flags=, orphan_file_size=, "
	 "offset=BYTES"},
	{"-f", "--force", NULL, "allow changes that are not advisable", .as = "-f"},
	{"-z", NULL, "FILE", "save overwritten blocks in FILE, for xw-undo(8)", cli_text,
	 AT(undo_file)},
	CLI_PARTITION,
	CLI_END,
};

static const struct cli_option running[] = {
	{NULL, "--jobs", "N", "threads (default: processors)"},
	CLI_OUTPUT("print more", "print the result as JSON"),
	CLI_HELP,
	CLI_END,
};

static const struct cli_tool tool = {
	.name = "xw-tune",
	.usage = "[options] IMAGE",
	.about = "Change parameters and features of an ext2, ext3 or ext4 image. All changes "
		 "are committed as one unit: even after a failure, IMAGE has its old or its new "
		 "state.",
	.notes = "Exit status: 0 done, 1 failed and IMAGE is unchanged.",
	.tables = {options, cli_commit_options, running},
	.handle = set,
};

static const struct cli_tool e2label = {.name = "e2label", .usage = "IMAGE [LABEL]"};

static void log_line(void *arg, enum xw_log_level level, const char *line)
{
	cli_run_log(arg, (enum xw_severity)level, line);
}

static int set_as(struct tune_args *args, const char *option, const char *value)
{
	xw_diag_clear(&args->diag);
	if (!xw_tune_option(&args->o, option, value))
		return -1;
	cli_line_failf(&args->line, "%s", args->diag.text);
	return args->o.malformed ? cli_line_usage(&args->line) : EXIT_FAILED;
}

static int set(struct cli_line *l, const struct cli_option *o, const char *value)
{
	return set_as((void *)l, cli_option_name(o), value);
}

/* YYYYMMDD[HH[MM[SS]]] in local time. */
static bool parse_date(const char *text, int64_t *out)
{
	return xw_date_digits(text, mktime, out) && *out >= 0;
}

/* The library takes times in seconds. */
static int set_lastcheck(struct cli_line *l, const struct cli_option *o, const char *value)
{
	char seconds[24];
	int64_t at;

	if (!strcmp(value, "now"))
		return set(l, o, value);
	if (!parse_date(value, &at)) {
		cli_line_failf(l, "Couldn't parse date/time specifier: %s", value);
		return cli_line_usage(l);
	}
	snprintf(seconds, sizeof(seconds), "%" PRId64, at);
	return set(l, o, seconds);
}

/* The current time, unless it is before 1970: SOURCE_DATE_EPOCH, else the clock. */
static void resolve_now(struct tune_args *args)
{
	if (args->line.now)
		(void)xw_tune_option(&args->o, "now", args->line.now);
	xw_diag_clear(&args->diag);
}

/* "e2label IMAGE [LABEL]": prints the label, or sets it. */
static int parse_e2label(struct tune_args *args, int argc, char **argv)
{
	struct cli_line *l = &args->line;
	char *none[] = {NULL};
	int status = cli_line_read(l, &e2label, 0, none); /* no options, but the environment */

	if (status >= 0)
		return status;
	resolve_now(args);
	if (argc < 2)
		return cli_line_operands(l, "the name of the image is missing");
	if (argc > 3)
		return cli_line_operands(l, "too many arguments");
	args->image = argv[1];
	args->o.opts.redo_dir = cli_line_redo_dir(l, args->image);
	l->quiet = true;
	args->print_label = argc == 2;
	return argc == 2 ? -1 : set_as(args, "-L", argv[2]);
}

/* What depends on more than one option, and on the image. */
static int check(struct tune_args *args)
{
	struct xw_tune_options *o = &args->o;
	int status;

	if (!args->list && !o->clear_pending && !xw_tune_options_change(o))
		return cli_line_operands(&args->line, "nothing to change is given");
	status = cli_line_undo(&args->line, "tune2fs", args->image, &args->undo_file);
	if (status >= 0)
		return status;
	if (args->undo_file)
		o->opts.undo_file = args->undo_file;
	if (!xw_tune_options_check(o, args->image))
		return -1;
	cli_line_failf(&args->line, "%s", args->diag.text);
	return EXIT_FAILED;
}

int tune_args_parse(struct tune_args *args, int argc, char **argv)
{
	struct cli_line *l = &args->line;
	char *image;
	int status;

	*args = (struct tune_args){
		.run = {.line = l},
		.diag = {.log = log_line, .log_arg = &args->run},
	};
	xw_tune_options_init(&args->o, &args->diag);
	args->o.names = cli_name_to_id;
	if (!strcmp(program_invocation_short_name, "e2label"))
		return parse_e2label(args, argc, argv);
	status = cli_line_read(l, &tool, argc, argv);
	if (status >= 0)
		return status;
	resolve_now(args);
	image = *l->operands;
	status = cli_line_first(l, &args->image);
	if (status >= 0)
		return status;
	if (*l->operands)
		return cli_line_operands(l, "one image at a time");
	status = cli_line_offset(l, image);
	if (status >= 0)
		return status;
	if (!args->o.opts.redo_file)
		args->o.opts.redo_dir = cli_line_redo_dir(l, args->image);
	return check(args);
}

void tune_args_free(struct tune_args *args)
{
	xw_tune_options_free(&args->o);
	cli_line_free(&args->line);
}
