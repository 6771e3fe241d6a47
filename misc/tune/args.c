// SPDX-License-Identifier: MIT
/* The command line of xw-tune: that of tune2fs, and options for the commit. */
#include "config.h"

#include "cli/env.h"
#include "cli/redo.h"
#include "cli/term.h"
#include "plan/parse.h"
#include "tune/tool.h"

#include <string.h>
#include <sys/stat.h>
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

static int set_commit(struct tune_args *args, const char *value)
{
	const int how = cli_line_commit(&args->line, value);

	if (how < 0)
		return EXIT_USAGE;
	args->opts.how = (enum xw_commit_how)how;
	return 0;
}

static int set_undo_file(struct tune_args *args, const char *value)
{
	args->opts.undo_file = value;
	return 0;
}

static int set_redo_file(struct tune_args *args, const char *value)
{
	args->opts.redo_file = value;
	return 0;
}

static int set_jobs(struct tune_args *args, const char *value)
{
	uint64_t n;

	if (xw_parse_u64(value, &n) || !n || n > 1024) {
		cli_line_failf(&args->line, "--jobs %s: must be 1 to 1024", value);
		return EXIT_USAGE;
	}
	args->opts.jobs = (unsigned)n;
	return 0;
}

static int set_force(struct tune_args *args, const char *value)
{
	(void)value;
	args->opts.force = true;
	return 0;
}

static int set_list(struct tune_args *args, const char *value)
{
	(void)value;
	args->list = true;
	return 0;
}

static int add_journal(struct tune_args *args, const char *value)
{
	(void)value;
	args->want.set |= XW_TUNE_JOURNAL;
	return 0;
}

static const struct {
	int key;
	tune_setter *set;
} setters[] = {
	{'c', tune_set_max_mounts},
	{'C', tune_set_mounts},
	{'e', tune_set_errors},
	{'E', tune_set_extended},
	{'f', set_force},
	{'g', tune_set_group},
	{'i', tune_set_interval},
	{'I', tune_set_inode_size},
	{'j', add_journal},
	{'J', tune_set_journal},
	{'l', set_list},
	{'L', tune_set_label},
	{'m', tune_set_percent},
	{'M', tune_set_last_mounted},
	{'o', tune_set_mount_opts},
	{'O', tune_set_features},
	{'Q', tune_set_quota},
	{'r', tune_set_blocks},
	{'T', tune_set_lastcheck},
	{'u', tune_set_user},
	{'U', tune_set_uuid},
	{KEY_COMMIT, set_commit},
	{KEY_REDO_FILE, set_redo_file},
	{'z', set_undo_file},
	{CLI_KEY_JOBS, set_jobs},
};

static int take(struct cli_line *l, int key, const char *value)
{
	for (size_t i = 0; i < XW_ARRAY_SIZE(setters); i++) {
		if (setters[i].key == key) {
			const int status = setters[i].set(l->arg, value);

			return status ? status : -1;
		}
	}
	return EXIT_FAILED;
}

/* The current time: SOURCE_DATE_EPOCH, else the clock. */
static void settle_now(struct tune_args *args)
{
	uint64_t now = (uint64_t)time(NULL);

	for (size_t i = 0; i < args->line.count; i++)
		if (!strcmp(args->line.settings[i].name, "now"))
			(void)xw_parse_u64(args->line.settings[i].value, &now);
	args->opts.now = (int64_t)now;
	if (args->want.lastcheck < 0)
		args->want.lastcheck = args->opts.now;
}

bool tune_args_change(const struct tune_args *args)
{
	static const struct xw_tune_want nothing; /* padding is zero, too */

	return memcmp(&args->want, &nothing, sizeof(nothing)) != 0;
}

/* "e2label IMAGE [LABEL]": prints the label, or sets it. */
static int parse_e2label(struct tune_args *args, int argc, char **argv)
{
	args->line.usage = "e2label IMAGE [LABEL]";
	if (argc < 2 || argc > 3) {
		cli_line_failf(&args->line, argc < 2 ? "the name of the image is missing"
						     : "too many arguments");
		return cli_line_usage(&args->line);
	}
	args->image = argv[1];
	args->opts.redo_dir = cli_line_redo_dir(&args->line, args->image);
	args->line.quiet = true;
	args->print_label = argc == 2;
	return argc == 2 ? -1 : tune_set_label(args, argv[2]) ? EXIT_FAILED : -1;
}

static bool called_e2label(const char *program)
{
	const char *slash = strrchr(program, '/');

	return strcmp(slash ? slash + 1 : program, "e2label") == 0;
}

int tune_args_parse(struct tune_args *args, int argc, char **argv)
{
	struct stat image, undo;
	int status;

	memset(args, 0, sizeof(*args));
	args->line = (struct cli_line){
		.tool = "xw-tune",
		.usage = "xw-tune [options] IMAGE",
		.rows = rows,
		.n_rows = sizeof(rows) / sizeof(rows[0]),
		.help = print_help,
		.take = take,
		.arg = args,
	};
	if (argc && called_e2label(argv[0]))
		return parse_e2label(args, argc, argv);
	status = cli_line_read(&args->line, argc, argv);
	if (status >= 0)
		return status;
	settle_now(args);
	if (optind != argc - 1) {
		cli_line_failf(&args->line, optind == argc ? "the name of the image is missing"
							   : "one image at a time");
		return cli_line_usage(&args->line);
	}
	args->image = argv[optind];
	status = cli_line_offset(&args->line, argv[optind]);
	if (status >= 0)
		return status;
	if (!args->opts.redo_file)
		args->opts.redo_dir = cli_line_redo_dir(&args->line, args->image);
	if (!args->list && !args->clear_pending && !tune_args_change(args)) {
		cli_line_failf(&args->line, "nothing to change is given");
		return cli_line_usage(&args->line);
	}
	if (args->opts.undo_file && !cli_undo_file(&args->line, "tune2fs", args->image,
						   &args->opts.undo_file, &args->undo_default))
		return EXIT_FAILED;
	if (args->opts.undo_file && !stat(args->image, &image) &&
	    !stat(args->opts.undo_file, &undo) && image.st_dev == undo.st_dev &&
	    image.st_ino == undo.st_ino) {
		cli_line_failf(&args->line, "-z %s: is the image itself", args->opts.undo_file);
		return EXIT_FAILED;
	}
	if (args->want.set & XW_TUNE_CLEAR_MMP && !args->opts.force) {
		cli_line_failf(&args->line, "Error in using clear_mmp. It must be used with -f");
		return EXIT_FAILED;
	}
	if (args->clear_pending && (!args->opts.force || tune_args_change(args))) {
		cli_line_failf(&args->line,
			       "clear_pending must be used with -f, and with no other change");
		return EXIT_FAILED;
	}
	if (args->want.encoding_flags && !args->want.encoding) {
		cli_line_failf(&args->line,
			       "error: An encoding must be explicitly specified when passing "
			       "encoding-flags");
		return EXIT_FAILED;
	}
	return -1;
}
