// SPDX-License-Identifier: MIT
/* The command line of xw-age. */
#include "config.h"

#include <string.h>

#include "age/tool.h"
#include "cli/redo.h"

enum {
	KEY_AGES = CLI_KEY_OWN,
	KEY_ALLOCATOR,
	KEY_DEPTHS,
	KEY_DIR,
	KEY_DIRS,
	KEY_FAST,
	KEY_FILES,
	KEY_MEASURE,
	KEY_OPS,
	KEY_PROFILE,
	KEY_COMMIT,
	KEY_REDO,
	KEY_RESUME,
	KEY_SEED,
	KEY_SIZE,
	KEY_SIZES,
	KEY_STEP,
	KEY_SVG,
	KEY_UNTIL,
	KEY_UTIL,
};

static const struct cli_row rows[] = {
	{'E', required_argument, "-E", CLI_OURS, NULL},
	{CLI_KEY_JOBS, required_argument, "--jobs", CLI_OURS, NULL},
	{KEY_AGES, required_argument, "--age-dist", CLI_OURS, NULL},
	{KEY_ALLOCATOR, required_argument, "--allocator", CLI_OURS, NULL},
	{KEY_DEPTHS, required_argument, "--depth-dist", CLI_OURS, NULL},
	{KEY_DIR, required_argument, "--dir", CLI_OURS, NULL},
	{KEY_DIRS, required_argument, "--dirs", CLI_OURS, NULL},
	{KEY_FAST, no_argument, "--fast", CLI_OURS, NULL},
	{KEY_FILES, required_argument, "--files", CLI_OURS, NULL},
	{KEY_MEASURE, no_argument, "--measure", CLI_OURS, NULL},
	{KEY_OPS, required_argument, "--ops", CLI_OURS, NULL},
	{KEY_PROFILE, required_argument, "--profile", CLI_OURS, NULL},
	{KEY_COMMIT, required_argument, "--commit", CLI_OURS, NULL},
	{KEY_REDO, required_argument, "--redo-file", CLI_OURS, NULL},
	{KEY_RESUME, no_argument, "--resume", CLI_OURS, NULL},
	{KEY_SEED, required_argument, "--seed", CLI_OURS, NULL},
	{KEY_SIZE, required_argument, "--size", CLI_OURS, NULL},
	{KEY_SIZES, required_argument, "--size-dist", CLI_OURS, NULL},
	{KEY_STEP, required_argument, "--step", CLI_OURS, NULL},
	{KEY_SVG, required_argument, "--svg", CLI_OURS, NULL},
	{KEY_UNTIL, required_argument, "--until", CLI_OURS, NULL},
	{KEY_UTIL, required_argument, "--util", CLI_OURS, NULL},
	CLI_PARTITION_ROW,
	CLI_TALK_ROWS,
};

static void print_help(FILE *out)
{
	fputs("Usage: xw-age --profile PROFILE [options] IMAGE\n"
	      "Fragment an ext2, ext3 or ext4 image as years of use do. The result depends on "
	      "the\n"
	      "image and the options alone.\n"
	      "\n"
	      "      --profile pazdera          create and delete files of one directory, 8 to 2\n"
	      "      --profile geriatrix[:MODEL]  age, size and depth distributions of agrawal,\n"
	      "                                 douceur or dayal\n"
	      "      --profile alternate:USED,FREE  used and free runs of these sizes\n"
	      "      --profile trace:FILE       operations from a file\n"
	      "      --profile git:LIST         checkouts: directories, tars, git ls-tree\n"
	      "      --until WHAT               util=80%, no-run=2M, layout=0.5, ops=N,\n"
	      "                                 overwrites=N; the first that is reached ends it\n"
	      "      --allocator linux|own      blocks of files as Linux's ext4 chooses them\n"
	      "                                 (default), or as the tools of this suite do\n"
	      "      --seed N                   of the random numbers (default 0)\n"
	      "      --dir NAME                 directory for the files (default age)\n"
	      "      --ops N                    operations of the profile\n"
	      "      --dirs N                   pazdera: directories that take files in turn\n"
	      "      --files N                  pazdera: files that are there in the end\n"
	      "      --size MIN[-MAX]           pazdera: size of a file (default 0-64k)\n"
	      "      --util N%                  geriatrix: how full to keep it (default 80%)\n"
	      "      --age-dist FILE, --size-dist FILE, --depth-dist FILE\n"
	      "                                 geriatrix: distributions in Geriatrix's format\n"
	      "      --fast                     alternate: write bitmaps and inodes in bulk\n"
	      "      --step N                   operations of a commit (default 8192)\n"
	      "      --resume                   continue a run that was killed\n"
	      "      --measure                  measure the image and change nothing\n"
	      "      --svg FILE                 draw free space before and after\n"
	      "  -E offset=BYTES                where in IMAGE the filesystem begins\n"
	      "      --partition N              in partition N of IMAGE\n"
	      /* clang-format off */
	      CLI_REDO_HELP("           ")
	      /* clang-format on */
	      "      --jobs N                   threads (default: processors)\n"
	      "      --json                     print the report as JSON, not as YAML\n"
	      "  -q, --quiet; -v, --verbose     print less, or more\n"
	      "  -V, --version                  print the version\n"
	      "  -h, --help                     print this\n"
	      "\n"
	      "Exit status: 0 done, 1 failed, 2 wrong usage, 3 a limit of --until was not "
	      "reached.\nSee xw-age(8).\n",
	      out);
}

/* The status after a call of the library. */
static int told(const struct age_args *args, int rc)
{
	if (!rc)
		return -1;
	cli_line_failf(&args->line, "%s", args->diag.text);
	return rc == XW_ERR_USAGE ? EXIT_USAGE : EXIT_FAILED;
}

static int take(struct cli_line *l, int key, const char *value)
{
	struct age_args *args = l->arg;
	const struct cli_row *row = rows;

	if (key == KEY_MEASURE)
		args->measure_only = true;
	if (key == KEY_SVG)
		args->svg = value;
	if (key == KEY_MEASURE || key == KEY_SVG)
		return -1;
	while (row->key != key)
		row++;
	return told(args, xw_age_option(&args->o, row->name, value));
}

int age_args_parse(struct age_args *args, int argc, char **argv)
{
	int status;

	args->line = (struct cli_line){
		.tool = "xw-age",
		.usage = "xw-age --profile PROFILE [options] IMAGE",
		.rows = rows,
		.n_rows = sizeof(rows) / sizeof(rows[0]),
		.help = print_help,
		.take = take,
		.arg = args,
	};
	xw_age_options_init(&args->o, &args->diag);
	status = cli_line_read(&args->line, argc, argv);
	if (status < 0)
		status = cli_line_image(&args->line, argc, argv, &args->image);
	if (status < 0 && !args->o.opts.redo_file)
		args->o.opts.redo_dir = cli_line_redo_dir(&args->line, args->image);
	for (size_t i = 0; i < args->line.count && status < 0; i++)
		if (!strcmp(args->line.settings[i].name, "now")) /* not before 1970 */
			(void)xw_age_option(&args->o, "now", args->line.settings[i].value);
	xw_diag_clear(&args->diag);
	return status < 0 ? told(args, xw_age_options_check(&args->o, args->measure_only)) : status;
}

void age_args_free(struct age_args *args)
{
	xw_age_options_free(&args->o);
	cli_line_free(&args->line);
}
