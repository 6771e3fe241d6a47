// SPDX-License-Identifier: MIT
/* The command line of xw-age. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "age/tool.h"
#include "cli/redo.h"
#include "cli/term.h"
#include "plan/params.h"
#include "plan/parse.h"

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

static int bad(const struct age_args *args, const char *option, const char *value, const char *want)
{
	cli_line_failf(&args->line, "%s %s: must be %s", option, value, want);
	return EXIT_USAGE;
}

static int no_memory(const struct age_args *args)
{
	cli_line_failf(&args->line, "out of memory reading the command line");
	return EXIT_FAILED;
}

static int set_number(const struct age_args *args, const char *option, const char *value,
		      uint64_t min, uint64_t max, uint64_t *out)
{
	struct xw_diag diag = {0};

	if (!xw_parse_ranged(option, value, min, max, out, &diag))
		return -1;
	cli_line_failf(&args->line, "%s", diag.text);
	return EXIT_USAGE;
}

/* "80%" in 1/10000. */
static int set_percent(const struct age_args *args, const char *option, const char *value,
		       uint32_t *out)
{
	const size_t len = strlen(value);
	double d;

	if (len < 2 || value[len - 1] != '%' || xw_parse_decimal(value, len - 1, &d) || d <= 0 ||
	    d > 100)
		return bad(args, option, value, "a share above 0% and up to 100%");
	*out = (uint32_t)(d * XW_AGE_ONE / 100 + 0.5);
	return -1;
}

/* "MIN-MAX" or "USED,FREE", separated by sep. A missing second size equals the first. */
static int set_sizes(const struct age_args *args, const char *option, char *value, char sep,
		     uint64_t *a, uint64_t *b)
{
	char *second = strchr(value, sep);

	if (second)
		*second++ = 0;
	if (xw_parse_size(value, 1, a) || (second && xw_parse_size(second, 1, b)))
		return bad(args, option, value, "a size, such as 64k or 1M");
	if (!second)
		*b = *a;
	return -1;
}

static int set_profile(struct age_args *args, const char *value)
{
	struct xw_age_opts *o = &args->opts;
	char *rest;

	free(args->profile);
	args->profile = strdup(value);
	if (!args->profile)
		return no_memory(args);
	args->have_profile = true;
	rest = strchr(args->profile, ':');
	if (rest)
		*rest++ = 0;
	if (!strcmp(args->profile, "pazdera") && !rest) {
		o->profile = XW_AGE_PAZDERA;
	} else if (!strcmp(args->profile, "geriatrix")) {
		o->profile = XW_AGE_GERIATRIX;
		o->model = rest;
	} else if (!strcmp(args->profile, "alternate") && rest && strchr(rest, ',')) {
		o->profile = XW_AGE_ALTERNATE;
		if (set_sizes(args, "--profile alternate:", rest, ',', &o->used, &o->free) >= 0)
			return EXIT_USAGE;
		if (!o->used || !o->free || o->used > UINT64_MAX - o->free)
			return bad(args, "--profile", value,
				   "alternate:USED,FREE with two sizes above 0, together below 16 "
				   "EiB");
	} else if ((!strcmp(args->profile, "trace") || !strcmp(args->profile, "git")) && rest &&
		   *rest) {
		o->profile = *args->profile == 't' ? XW_AGE_TRACE : XW_AGE_GIT;
		o->trace = rest;
	} else {
		return bad(args, "--profile", value,
			   "pazdera, geriatrix[:MODEL], alternate:USED,FREE, trace:FILE or "
			   "git:LIST");
	}
	return -1;
}

static int set_until(struct age_args *args, const char *value)
{
	struct xw_age_until *u = &args->opts.until;
	const char *eq = strchr(value, '=');
	const size_t len = eq ? (size_t)(eq - value) : 0;
	double d;

	if (len == 4 && !strncmp(value, "util", len))
		return set_percent(args, "--until util", eq + 1, &u->util);
	if (len == 6 && !strncmp(value, "no-run", len)) {
		if (xw_parse_size(eq + 1, 1, &u->no_run) || !u->no_run)
			return bad(args, "--until", value, "no-run=SIZE");
		return -1;
	}
	if (len == 6 && !strncmp(value, "layout", len)) {
		if (xw_parse_decimal(eq + 1, strlen(eq + 1), &d) || d <= 0 || d >= 1)
			return bad(args, "--until", value, "layout=SCORE, above 0 and below 1");
		u->layout = (uint32_t)(d * XW_AGE_ONE + 0.5);
		return -1;
	}
	if (len == 3 && !strncmp(value, "ops", len))
		return set_number(args, "--until ops", eq + 1, 1, UINT64_MAX, &u->ops);
	if (len == 10 && !strncmp(value, "overwrites", len))
		return set_number(args, "--until overwrites", eq + 1, 1, 1000000, &u->overwrites);
	return bad(args, "--until", value, "util=, no-run=, layout=, ops= or overwrites=");
}

static int set_size(struct age_args *args, const char *value)
{
	free(args->size);
	args->size = strdup(value);
	return args->size ? set_sizes(args, "--size", args->size, '-', &args->opts.size_min,
				      &args->opts.size_max)
			  : no_memory(args);
}

static int set_offset(struct age_args *args, const char *value)
{
	if (strncmp(value, "offset=", 7))
		return bad(args, "-E", value, "offset=BYTES");
	return set_number(args, "-E offset", value + 7, 0, INT64_MAX, &args->opts.offset);
}

static int set_jobs(struct age_args *args, const char *value)
{
	uint64_t n;
	const int status = set_number(args, "--jobs", value, 1, 1024, &n);

	if (status < 0)
		args->opts.jobs = (unsigned)n;
	return status;
}

static int set_allocator(struct age_args *args, const char *value)
{
	static const enum xw_age_allocator all[] = {XW_AGE_LINUX, XW_AGE_OWN};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (strcmp(value, xw_age_allocator_name(all[i])))
			continue;
		args->opts.allocator = all[i];
		return -1;
	}
	return bad(args, "--allocator", value, "linux or own");
}

static int set_flag(bool *flag)
{
	*flag = true;
	return -1;
}

static int set_text(const char **text, const char *value)
{
	*text = value;
	return -1;
}

static int set_commit(struct age_args *args, const char *value)
{
	const int how = cli_line_commit(&args->line, value);

	if (how < 0)
		return EXIT_USAGE;
	args->opts.how = (enum xw_commit_how)how;
	return -1;
}

static int take(struct cli_line *l, int key, const char *value)
{
	struct age_args *args = l->arg;
	struct xw_age_opts *o = &args->opts;

	switch (key) {
	case 'E':
		return set_offset(args, value);
	case CLI_KEY_JOBS:
		return set_jobs(args, value);
	case KEY_AGES:
		return set_text(&o->ages, value);
	case KEY_ALLOCATOR:
		return set_allocator(args, value);
	case KEY_DEPTHS:
		return set_text(&o->depths, value);
	case KEY_SIZES:
		return set_text(&o->sizes, value);
	case KEY_DIR:
		return set_text(&o->dir, value);
	case KEY_DIRS:
		return set_number(args, "--dirs", value, 1, 9999, &o->dirs);
	case KEY_FAST:
		return set_flag(&o->fast);
	case KEY_FILES:
		return set_number(args, "--files", value, 1, UINT32_MAX, &o->files);
	case KEY_MEASURE:
		return set_flag(&args->measure_only);
	case KEY_OPS:
		return set_number(args, "--ops", value, 1, UINT64_MAX, &o->ops);
	case KEY_PROFILE:
		return set_profile(args, value);
	case KEY_COMMIT:
		return set_commit(args, value);
	case KEY_REDO:
		return set_text(&o->redo_file, value);
	case KEY_RESUME:
		return set_flag(&o->resume);
	case KEY_SEED:
		return set_number(args, "--seed", value, 0, UINT64_MAX, &o->seed);
	case KEY_SIZE:
		return set_size(args, value);
	case KEY_STEP:
		return set_number(args, "--step", value, 1, 1000000, &o->step);
	case KEY_SVG:
		return set_text(&args->svg, value);
	case KEY_UNTIL:
		return set_until(args, value);
	case KEY_UTIL:
		return set_percent(args, "--util", value, &o->util);
	default:
		return EXIT_FAILED;
	}
}

/* Check for options that depend on or exclude each other. */
static int check(const struct age_args *args)
{
	const struct xw_age_opts *o = &args->opts;

	if (!args->have_profile && !args->measure_only) {
		cli_line_failf(&args->line, "--profile is missing");
		return EXIT_USAGE;
	}
	if (o->size_max < o->size_min) {
		cli_line_failf(&args->line, "--size: the second size is below the first");
		return EXIT_USAGE;
	}
	if (o->profile == XW_AGE_PAZDERA && args->have_profile && !o->files && !o->ops &&
	    !o->until.util && !o->until.layout && !o->until.no_run && !o->until.ops &&
	    !o->until.overwrites) {
		cli_line_failf(&args->line, "--profile pazdera needs --files, --ops or --until");
		return EXIT_USAGE;
	}
	return -1;
}

int age_args_parse(struct age_args *args, int argc, char **argv)
{
	int status;

	*args = (struct age_args){
		.opts = {.now = -1, .size_max = 65536, .allocator = XW_AGE_LINUX},
		.line = {.tool = "xw-age",
			 .usage = "xw-age --profile PROFILE [options] IMAGE",
			 .rows = rows,
			 .n_rows = sizeof(rows) / sizeof(rows[0]),
			 .help = print_help,
			 .take = take},
	};
	args->line.arg = args;
	status = cli_line_read(&args->line, argc, argv);
	if (status < 0)
		status = cli_line_image(&args->line, argc, argv, &args->image);
	if (status < 0 && !args->opts.redo_file)
		args->opts.redo_dir = cli_line_redo_dir(&args->line, args->image);
	for (size_t i = 0; i < args->line.count && status < 0; i++) {
		uint64_t now;

		if (!strcmp(args->line.settings[i].name, "now") &&
		    !xw_parse_u64(args->line.settings[i].value, &now))
			args->opts.now = (int64_t)now;
	}
	return status < 0 ? check(args) : status;
}

void age_args_free(struct age_args *args)
{
	cli_line_free(&args->line);
	free(args->profile);
	free(args->size);
}
