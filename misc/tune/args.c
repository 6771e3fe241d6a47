// SPDX-License-Identifier: MIT
/* The command line of xw-tune: that of tune2fs, and options for the commit. */
#include "config.h"

#include "cli/env.h"
#include "cli/names.h"
#include "cli/redo.h"
#include "tune/tool.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { KEY_COMMIT = CLI_KEY_OWN, KEY_REDO_FILE };

static const struct cli_row rows[] = {
	{'c', required_argument, "-c", CLI_OURS, NULL},
	{'C', required_argument, "-C", CLI_OURS, NULL},
	{'e', required_argument, "-e", CLI_OURS, NULL},
	{'E', required_argument, "-E", CLI_OURS, NULL},
	{'f', no_argument, "-f", CLI_OURS, NULL},
	{CLI_KEY_FORCE, no_argument, "--force", CLI_ALIAS, "f"},
	{'g', required_argument, "-g", CLI_OURS, NULL},
	{'i', required_argument, "-i", CLI_OURS, NULL},
	{'I', required_argument, "-I", CLI_OURS, NULL},
	{'j', no_argument, "-j", CLI_OURS, NULL},
	{'J', required_argument, "-J", CLI_OURS, NULL},
	{'l', no_argument, "-l", CLI_OURS, NULL},
	{'L', required_argument, "-L", CLI_OURS, NULL},
	{'m', required_argument, "-m", CLI_OURS, NULL},
	{'M', required_argument, "-M", CLI_OURS, NULL},
	{'o', required_argument, "-o", CLI_OURS, NULL},
	{'O', required_argument, "-O", CLI_OURS, NULL},
	{'Q', required_argument, "-Q", CLI_OURS, NULL},
	{'r', required_argument, "-r", CLI_OURS, NULL},
	{'T', required_argument, "-T", CLI_OURS, NULL},
	{'u', required_argument, "-u", CLI_OURS, NULL},
	{'U', required_argument, "-U", CLI_OURS, NULL},
	{'z', required_argument, "-z", CLI_OURS, NULL},
	{KEY_COMMIT, required_argument, "--commit", CLI_OURS, NULL},
	{KEY_REDO_FILE, required_argument, "--redo-file", CLI_OURS, NULL},
	{CLI_KEY_JOBS, required_argument, "--jobs", CLI_OURS, NULL},
	CLI_PARTITION_ROW,
	CLI_LABEL_ROWS,
	CLI_TALK_ROWS,
};

static void print_help(FILE *out)
{
	fputs("Usage: xw-tune [options] IMAGE\n"
	      "Change parameters and features of an ext2, ext3 or ext4 image. All of it happens as "
	      "one\n"
	      "unit: whatever goes wrong, IMAGE is what it was or what it should become.\n"
	      "\n"
	      "  -l                   list the superblock (after the change, if there is one)\n"
	      "  -L, --label LABEL    -M DIR: label, directory of the last mount\n"
	      "  -U, --uuid UUID      or clear, random, time: checksums made with it follow\n"
	      "  -m PERCENT           -r BLOCKS: reserved; -u USER, -g GROUP: for whom\n"
	      "  -e BEHAVIOR          on errors: continue, remount-ro, panic\n"
	      "  -c COUNT             -C COUNT: mounts between checks, mounts so far\n"
	      "  -i N[d|m|w]          -T TIME: between checks, of the last one\n"
	      "  -o [^]OPTION,...     default mount options\n"
	      "  -O [^]FEATURE,...    features; [^]itree: trees of all large directories\n"
	      "  -Q [^]TYPE,...       quota: usrquota, grpquota, prjquota\n"
	      "  -I SIZE              larger inodes, SIZE bytes each\n"
	      "  -j, -J size=MIB      make a journal; -J fast_commit_size=KIB with fast_commit\n"
	      "  -E LIST              clear_mmp, clear_pending, mmp_update_interval=, stride=,\n"
	      "                       stripe_width=, hash_alg=,\n"
	      "                       mount_opts=, force_fsck, [^]test_fs, encoding=, "
	      "encoding_flags=,\n"
	      "                       orphan_file_size=, offset=BYTES\n"
	      "  -f, --force          also what is not advisable\n"
	      "  -z FILE              write what the change overwrites to FILE, for e2undo(8)\n"
	      "      --partition N    the filesystem in partition N of IMAGE\n"
	      "\n" CLI_REDO_HELP(" ") "      --jobs N         threads (default: processors)\n"
				      "  -q, --quiet          print nothing but problems\n"
				      "  -v, --verbose        print more\n"
				      "      --json           print the result as JSON\n"
				      "  -V, --version        print the version\n"
				      "  -h, --help           print this\n"
				      "\n"
				      "Exit status: 0 done, 1 failed and IMAGE is what it was. See "
				      "xw-tune(8).\n",
	      out);
}

static void log_line(void *arg, enum xw_log_level level, const char *line)
{
	cli_run_log(arg, (enum xw_severity)level, line);
}

/* Set it by the name that its row has, and print what is wrong with it as tune2fs does. */
static int set(struct tune_args *args, int key, const char *value)
{
	const struct cli_row *row = rows;

	while (row->key != key)
		row++;
	xw_diag_clear(&args->diag);
	if (!xw_tune_option(&args->o, row->name, value))
		return -1;
	cli_line_failf(&args->line, "%s", args->diag.text);
	return args->o.malformed ? cli_line_usage(&args->line) : EXIT_FAILED;
}

/* YYYYMMDD[HH[MM[SS]]] in local time. */
static bool parse_date(const char *text, int64_t *out)
{
	struct tm tm = {.tm_mday = 1, .tm_isdst = -1};
	const size_t len = strlen(text);
	time_t at;

	if (len < 8 || len > 14 || len % 2 || strspn(text, "0123456789") != len ||
	    sscanf(text, "%4d%2d%2d%2d%2d%2d", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour,
		   &tm.tm_min, &tm.tm_sec) < 3)
		return false;
	if (tm.tm_year < 1900 || tm.tm_mon < 1 || tm.tm_mon > 12 || tm.tm_mday < 1 ||
	    tm.tm_mday > 31 || tm.tm_hour > 23 || tm.tm_min > 59 || tm.tm_sec > 60)
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	at = mktime(&tm);
	*out = at;
	return at >= 0;
}

/* The library has times in seconds. */
static int set_lastcheck(struct tune_args *args, const char *value)
{
	char seconds[24];
	int64_t at;

	if (!strcmp(value, "now"))
		return set(args, 'T', value);
	if (!parse_date(value, &at)) {
		cli_line_failf(&args->line, "Couldn't parse date/time specifier: %s", value);
		return cli_line_usage(&args->line);
	}
	snprintf(seconds, sizeof(seconds), "%" PRId64, at);
	return set(args, 'T', seconds);
}

static int take(struct cli_line *l, int key, const char *value)
{
	struct tune_args *args = l->arg;

	switch (key) {
	case 'l':
		args->list = true;
		return -1;
	case 'T':
		return set_lastcheck(args, value);
	case 'z': /* what an empty name means depends on that of the image */
		args->undo_file = value;
		return -1;
	default:
		return set(args, key, value);
	}
}

/* The current time: SOURCE_DATE_EPOCH, else the clock, also where that is before 1970. */
static void settle_now(struct tune_args *args)
{
	for (size_t i = 0; i < args->line.count; i++) {
		if (!strcmp(args->line.settings[i].name, "now"))
			(void)xw_tune_option(&args->o, "now", args->line.settings[i].value);
	}
	xw_diag_clear(&args->diag);
}

/* "e2label IMAGE [LABEL]": prints the label, or sets it. */
static int parse_e2label(struct tune_args *args, int argc, char **argv)
{
	int status;

	args->line.tool = "e2label";
	args->line.usage = "e2label IMAGE [LABEL]";
	status = cli_line_read(&args->line, 1, argv); /* no options, but the environment */
	if (status >= 0)
		return status;
	settle_now(args);
	if (argc < 2 || argc > 3)
		return cli_line_operands(&args->line, "%s",
					 argc < 2 ? "the name of the image is missing"
						  : "too many arguments");
	args->image = argv[1];
	args->o.opts.redo_dir = cli_line_redo_dir(&args->line, args->image);
	args->line.quiet = true;
	args->print_label = argc == 2;
	return argc == 2 ? -1 : set(args, 'L', argv[2]);
}

static bool called_e2label(const char *program)
{
	const char *slash = strrchr(program, '/');

	return strcmp(slash ? slash + 1 : program, "e2label") == 0;
}

/* What depends on more than one option, and on the image. */
static int check(struct tune_args *args)
{
	struct xw_tune_options *o = &args->o;

	if (!args->list && !o->clear_pending && !xw_tune_options_change(o))
		return cli_line_operands(&args->line, "nothing to change is given");
	if (args->undo_file && !cli_undo_file(&args->line, "tune2fs", args->image, &args->undo_file,
					      &args->undo_default))
		return EXIT_FAILED;
	if (args->undo_file)
		o->opts.undo_file = args->undo_file;
	if (!xw_tune_options_check(o, args->image))
		return -1;
	cli_line_failf(&args->line, "%s", args->diag.text);
	return EXIT_FAILED;
}

int tune_args_parse(struct tune_args *args, int argc, char **argv)
{
	int status;

	*args = (struct tune_args){
		.line = {.tool = "xw-tune",
			 .usage = "xw-tune [options] IMAGE",
			 .rows = rows,
			 .n_rows = sizeof(rows) / sizeof(rows[0]),
			 .help = print_help,
			 .take = take,
			 .arg = args},
		.run = {.line = &args->line},
		.diag = {.log = log_line, .log_arg = &args->run},
	};
	xw_tune_options_init(&args->o, &args->diag);
	args->o.names = cli_name_to_id;
	if (argc && called_e2label(argv[0]))
		return parse_e2label(args, argc, argv);
	status = cli_line_read(&args->line, argc, argv);
	if (status >= 0)
		return status;
	settle_now(args);
	if (optind != argc - 1)
		return cli_line_operands(&args->line, "%s",
					 optind == argc ? "the name of the image is missing"
							: "one image at a time");
	args->image = argv[optind];
	status = cli_line_offset(&args->line, argv[optind]);
	if (status >= 0)
		return status;
	if (!args->o.opts.redo_file)
		args->o.opts.redo_dir = cli_line_redo_dir(&args->line, args->image);
	return check(args);
}

void tune_args_free(struct tune_args *args)
{
	xw_tune_options_free(&args->o);
	cli_line_free(&args->line);
	free(args->undo_default);
}
