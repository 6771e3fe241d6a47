// SPDX-License-Identifier: MIT
/* The command line of xw-age. */
#include "config.h"

#include "age/tool.h"
#include "cli/redo.h"

static cli_option_fn set;

#define AT(member) offsetof(struct age_args, member)

static const struct cli_option options[] = {
	{NULL, "--profile", "pazdera|geriatrix[:MODEL]|alternate:USED,FREE|trace:FILE|git:LIST",
	 "pazdera: create and delete files of one directory, in the ratio 8:2\n"
	 "geriatrix: age, size and depth distributions of agrawal, douceur or dayal\n"
	 "alternate: used and free runs of these sizes\n"
	 "trace: operations from a file\n"
	 "git: checkouts: directories, tars, git ls-tree"},
	{NULL, "--until", "WHAT",
	 "util=80%, no-run=2M, layout=0.5, ops=N or overwrites=N; the first limit that is "
	 "reached ends the run"},
	{NULL, "--allocator", "linux|own",
	 "place blocks of files as ext4 in Linux does (default), or as the other xw tools do"},
	{NULL, "--seed", "N", "of the random numbers (default: 0)"},
	{NULL, "--dir", "NAME", "directory for the files (default: age)"},
	{NULL, "--ops", "N", "operations of the profile"},
	{NULL, "--dirs", "N", "pazdera: number of directories, used in turn"},
	{NULL, "--files", "N", "pazdera: number of files at the end"},
	{NULL, "--size", "MIN[-MAX]", "pazdera: size of a file (default: 0-64k)"},
	{NULL, "--util", "N%", "geriatrix: utilization to keep (default: 80%)"},
	{NULL, "--age-dist", "FILE", "geriatrix: distribution of ages, in Geriatrix's format"},
	{NULL, "--size-dist", "FILE", "geriatrix: distribution of sizes"},
	{NULL, "--depth-dist", "FILE", "geriatrix: distribution of depths"},
	{NULL, "--fast", NULL, "alternate: write bitmaps and inodes in bulk"},
	{NULL, "--step", "N", "operations per commit (default: 512; with --allocator own: 8192)"},
	{NULL, "--resume", NULL, "continue a run that was killed"},
	{NULL, "--measure", NULL, "measure the image and change nothing", cli_flag,
	 AT(measure_only)},
	{NULL, "--svg", "FILE", "draw free space before and after", cli_text, AT(svg)},
	{"-E", NULL, "offset=BYTES", "where in IMAGE the filesystem begins"},
	CLI_PARTITION,
	CLI_END,
};

static const struct cli_option running[] = {
	{NULL, "--jobs", "N", "threads (default: processors)"},
	CLI_OUTPUT("print more", "print the report as JSON, not as YAML"),
	CLI_HELP,
	CLI_END,
};

static const struct cli_tool tool = {
	.name = "xw-age",
	.usage = "--profile PROFILE [options] IMAGE",
	.about = "Fragment an ext2, ext3 or ext4 image as years of use do. The result depends "
		 "only on the image and the options.",
	.notes = "Exit status: 0 done, 1 failed, 2 wrong usage, 3 a limit of --until was not "
		 "reached.",
	.tables = {options, cli_commit_options, running},
	.handle = set,
};

/* The status after a call of the library. */
static int status_of(const struct age_args *args, int rc)
{
	if (!rc)
		return -1;
	cli_line_failf(&args->line, "%s", args->diag.text);
	return rc == XW_ERR_USAGE ? EXIT_USAGE : EXIT_FAILED;
}

static int set(struct cli_line *l, const struct cli_option *o, const char *value)
{
	struct age_args *args = (void *)l;

	return status_of(args, xw_age_option(&args->o, cli_option_name(o), value));
}

int age_args_parse(struct age_args *args, int argc, char **argv)
{
	struct cli_line *l = &args->line;
	int status;

	xw_age_options_init(&args->o, &args->diag);
	status = cli_line_read(l, &tool, argc, argv);
	if (status < 0)
		status = cli_line_image(l, &args->image);
	if (status >= 0)
		return status;
	if (!args->o.opts.redo_file)
		args->o.opts.redo_dir = cli_line_redo_dir(l, args->image);
	if (l->now) /* ignored if it is before 1970 */
		(void)xw_age_option(&args->o, "now", l->now);
	xw_diag_clear(&args->diag);
	return status_of(args, xw_age_options_check(&args->o, args->measure_only));
}

void age_args_free(struct age_args *args)
{
	xw_age_options_free(&args->o);
	cli_line_free(&args->line);
}
