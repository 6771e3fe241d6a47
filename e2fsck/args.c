// SPDX-License-Identifier: MIT
/* The command line: that of e2fsck(8), and how the change is committed. */
#include "config.h"

#include <blkid/blkid.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/redo.h"
#include "cli/term.h"
#include "plan/parse.h"

#include "tool.h"

enum { KEY_COMMIT = CLI_KEY_OWN, KEY_REDO_FILE };

static const struct cli_row rows[] = {
	{'a', no_argument, "-a", CLI_OURS, NULL},
	{'b', required_argument, "-b", CLI_OURS, NULL},
	{'B', required_argument, "-B", CLI_OURS, NULL},
	{'c', no_argument, "-c", CLI_OURS, NULL},
	{'C', required_argument, "-C", CLI_OURS, NULL},
	{'d', no_argument, "-d", CLI_OURS, NULL},
	{'D', no_argument, "-D", CLI_OURS, NULL},
	{'E', required_argument, "-E", CLI_OURS, NULL},
	{'f', no_argument, "-f", CLI_OURS, NULL},
	{CLI_KEY_FORCE, no_argument, "--force", CLI_ALIAS, "f"},
	{'F', no_argument, "-F", CLI_OURS, NULL},
	{'I', required_argument, "-I", CLI_OURS, NULL},
	{'j', required_argument, "-j", CLI_OURS, NULL},
	{'k', no_argument, "-k", CLI_OURS, NULL},
	{'l', required_argument, "-l", CLI_OURS, NULL},
	{'L', required_argument, "-L", CLI_OURS, NULL},
	{'n', no_argument, "-n", CLI_OURS, NULL},
	{'N', required_argument, "-N", CLI_OURS, NULL},
	{'p', no_argument, "-p", CLI_OURS, NULL},
	{'P', required_argument, "-P", CLI_OURS, NULL},
	{'r', no_argument, "-r", CLI_OURS, NULL},
	{'t', no_argument, "-t", CLI_OURS, NULL},
	{'y', no_argument, "-y", CLI_OURS, NULL},
	{'z', required_argument, "-z", CLI_OURS, NULL},
	{KEY_COMMIT, required_argument, "--commit", CLI_OURS, NULL},
	{KEY_REDO_FILE, required_argument, "--redo-file", CLI_OURS, NULL},
	{CLI_KEY_JOBS, required_argument, "--jobs", CLI_OURS, NULL},
	CLI_PARTITION_ROW,
	CLI_TALK_ROWS,
};

static void print_help(FILE *out)
{
	fputs("Usage: xw-fsck [options] IMAGE\n"
	      "Check an ext2, ext3 or ext4 image, and repair it. All repairs are committed as one "
	      "unit:\n"
	      "whatever goes wrong, IMAGE is what it was or what it should become.\n"
	      "IMAGE is a file, a device, LABEL=... or UUID=...; IMAGE?offset=BYTES is inside of "
	      "it.\n"
	      "\n"
	      "  -p, -a               repair what is safe without questions, else stop\n"
	      "  -n                   change nothing, answer no to all questions\n"
	      "  -y                   answer yes to all questions\n"
	      "  -f, --force          check also a filesystem that is marked clean\n"
	      "  -v, --verbose        print statistics, and findings that follow from repairs\n"
	      "  -t                   print times; -tt: of each pass\n"
	      "  -b BLOCK             superblock to use; -B SIZE: block size to look for it\n"
	      "  -c                   read all blocks for bad ones; -cc: also write them; -k: keep "
	      "known ones\n"
	      "  -l FILE, -L FILE     add the blocks that FILE lists to the bad ones; they are "
	      "all\n"
	      "  -C FD                write progress to FD; 0: draw a bar\n"
	      "  -D                   optimize directories\n"
	      "  -E LIST              journal_only, fixes_only, share_xattrs, itree=build|drop,\n"
	      "                       bmap2extent, optimize_extents, unshare_blocks, fragcheck,\n"
	      "                       check_encoding, offset=BYTES, [no]discard, ea_ver=2,\n"
	      "                       no_optimize_extents, [no_]inode_count_fullmap,\n"
	      "                       readahead_kb=KIB\n"
	      "  -F                   drop caches of IMAGE first\n"
	      "  -j DEVICE            the external journal (default: the device with its UUID)\n"
	      "  -N NAME              call the filesystem so\n"
	      "  -z FILE              write what the repair overwrites to FILE, for e2undo(8)\n"
	      "  -d                   print debugging messages; -r, -I N, -P N: do nothing\n"
	      "\n"
	      "      --partition N    the filesystem in partition N of IMAGE\n" CLI_REDO_HELP(
		      " ") "      --jobs N         threads (default: processors)\n"
			   "  -q, --quiet          print nothing but problems\n"
			   "      --json           print findings as JSON, one a line\n"
			   "  -V, --version        print the version\n"
			   "  -h, --help           print this\n"
			   "\n"
			   "Exit status, added up: 0 no errors, 1 repaired, 2 reboot, 4 errors "
			   "left, 8 failed,\n"
			   "16 usage, 32 canceled. See xw-fsck(8).\n",
	      out);
}

static int bad_number(const struct fsck_args *args, const char *option, const char *value)
{
	cli_line_failf(&args->line, "option %s: invalid number '%s'", option, value);
	return FSCK_EXIT_USAGE;
}

static int set_mode(struct fsck_args *args, enum fsck_mode mode)
{
	struct fsck_opts *const o = &args->opts;

	if (o->mode != FSCK_ASK && o->mode != mode) {
		cli_line_failf(&args->line,
			       "only one of the options -p/-a, -n or -y may be specified");
		return FSCK_EXIT_ERROR; /* as e2fsck has it, here and below */
	}
	o->mode = mode;
	return 0;
}

/* A negative descriptor: nothing is reported until SIGUSR1 arrives. */
static int set_progress(struct fsck_args *args, const char *value)
{
	struct fsck_opts *const o = &args->opts;
	uint64_t n;

	o->progress_late = *value == '-';
	if (xw_parse_u64(value + o->progress_late, &n) || n > INT32_MAX)
		return bad_number(args, "-C", value);
	if (n && fcntl((int)n, F_GETFD) < 0) {
		cli_line_failf(&args->line, "-C %s: invalid file descriptor: %s", value,
			       strerror(errno));
		return FSCK_EXIT_ERROR;
	}
	o->progress_fd = (int)n;
	return 0;
}

static int set_block_size(struct fsck_opts *o, const char *value)
{
	uint64_t n;

	/* as e2fsck has it: only a superblock that -b names is looked for with that size */
	if (xw_parse_u64(value, &n) || n < 1024 || n > 65536 || (n & (n - 1)))
		cli_warning("-B %s: is not a block size (1024 to 65536, a power of two); ignored",
			    value);
	else
		o->block_size = (uint32_t)n;
	return 0;
}

/* -I and -P: sizes of buffers in e2fsck, which this tool does not have. */
static int skip_number(const struct fsck_args *args, int key, const char *value)
{
	const char option[] = {'-', (char)key, '\0'};
	uint64_t n;

	return xw_parse_u64(value, &n) ? bad_number(args, option, value) : 0;
}

static int set_jobs(struct fsck_args *args, const char *value)
{
	uint64_t n;

	if (xw_parse_u64(value, &n) || !n || n > 1024) {
		cli_line_failf(&args->line, "--jobs %s: must be 1 to 1024", value);
		return FSCK_EXIT_USAGE;
	}
	args->opts.jobs = (unsigned)n;
	return 0;
}

/* Boolean options. */
static bool set_flag(struct fsck_opts *o, int key)
{
	switch (key) {
	case 'c':
		return ++o->bad_test;
	case 'd':
		return o->debug = true;
	case 'D':
		return o->optimize_dirs = true;
	case 'f':
		return o->force = true;
	case 'F':
		return o->flush = true;
	case 'k':
		return o->bad_keep = true;
	case 'r':
		return true;
	case 't':
		return ++o->times;
	default:
		return false;
	}
}

static int set_value(struct fsck_args *args, int key, const char *value)
{
	struct fsck_opts *const o = &args->opts;
	switch (key) {
	case 'a':
	case 'p':
		return set_mode(args, FSCK_PREEN);
	case 'n':
		return set_mode(args, FSCK_NO);
	case 'y':
		return set_mode(args, FSCK_YES);
	case 'b':
		return xw_parse_u64(value, &o->backup) ? bad_number(args, "-b", value) : 0;
	case 'B':
		return set_block_size(o, value);
	case 'C':
		return set_progress(args, value);
	case 'E':
		return fsck_args_extended(args, value);
	case 'I':
	case 'P':
		return skip_number(args, key, value);
	case 'j':
		o->journal = value;
		return 0;
	case 'N':
		o->name = value;
		return 0;
	case 'z':
		o->undo_file = value;
		return 0;
	case 'l':
	case 'L':
		o->bad_file = value;
		o->bad_keep |= key == 'l';
		return 0;
	case KEY_REDO_FILE:
		o->redo_file = value;
		return 0;
	default:
		return set_jobs(args, value);
	}
}

static int take(struct cli_line *l, int key, const char *value)
{
	struct fsck_args *args = l->arg;
	int status;

	if (set_flag(&args->opts, key))
		return -1;
	if (key == KEY_COMMIT) {
		const int how = cli_line_commit(l, value);

		args->opts.how = (enum xw_commit_how)XW_MAX(how, 0);
		return how < 0 ? FSCK_EXIT_USAGE : -1;
	}
	status = set_value(args, key, value);
	return status ? status : -1;
}

/*
 * The current time: SOURCE_DATE_EPOCH, else the clock. Whether a time is in the future is decided
 * by the clock.
 */
static void settle_now(struct fsck_args *args)
{
	const int64_t clock = (int64_t)time(NULL);
	uint64_t now = (uint64_t)clock;

	for (size_t i = 0; i < args->line.count; i++)
		if (!strcmp(args->line.settings[i].name, "now"))
			(void)xw_parse_u64(args->line.settings[i].value, &now);
	args->opts.now = (int64_t)now;
	args->opts.latest = XW_MAX(args->opts.now, clock);
}

/* Resolve LABEL=, UUID= and the like to the device that has it. */
static int find_by_tag(struct fsck_args *args, const char *spec)
{
	static const char *const tags[] = {"LABEL=", "UUID=", "PARTLABEL=", "PARTUUID="};
	bool tag = false;

	for (size_t i = 0; i < XW_ARRAY_SIZE(tags); i++)
		tag |= !strncmp(spec, tags[i], strlen(tags[i]));
	args->opts.image = spec;
	if (!tag || !access(spec, F_OK))
		return -1;
	args->image = blkid_evaluate_spec(spec, NULL);
	if (!args->image) {
		cli_line_failf(&args->line, "unable to resolve '%s'", spec);
		return FSCK_EXIT_ERROR;
	}
	args->opts.image = args->image;
	return -1;
}

/* -z "": a generated name, as in e2fsck. */
static int settle_undo(struct fsck_args *args)
{
	const char *dir = getenv("E2FSPROGS_UNDO_DIR"), *base = strrchr(args->opts.image, '/');
	struct stat image, undo;

	if (!args->opts.undo_file)
		return -1;
	if (!*args->opts.undo_file) {
		if (asprintf(&args->undo_file, "%s/e2fsck-%s.e2undo",
			     dir && *dir ? dir : "/var/lib/e2fsprogs",
			     base ? base + 1 : args->opts.image) < 0) {
			cli_line_failf(&args->line, "out of memory reading the command line");
			return FSCK_EXIT_ERROR;
		}
		args->opts.undo_file = args->undo_file;
	}
	if (!stat(args->opts.image, &image) && !stat(args->opts.undo_file, &undo) &&
	    image.st_dev == undo.st_dev && image.st_ino == undo.st_ino) {
		cli_line_failf(&args->line, "-z %s: is the image itself", args->opts.undo_file);
		return FSCK_EXIT_ERROR;
	}
	return -1;
}

/* Options that contradict each other. */
static int judge(struct fsck_args *args)
{
	struct fsck_opts *o = &args->opts;
	const struct cli_line *l = &args->line;
	const char *with = NULL;
	const bool tests = o->bad_test || o->bad_file;

	if (o->bad_test && o->bad_file) {
		cli_line_failf(l, "options -c and -l/-L are incompatible");
		return FSCK_EXIT_USAGE;
	}
	if (o->mode == FSCK_NO && tests) {
		cli_line_failf(l, "options -n and %s are incompatible",
			       o->bad_file ? "-l/-L" : "-c");
		return FSCK_EXIT_ERROR;
	}

	if (o->mode == FSCK_NO && o->optimize_dirs)
		with = "-n";
	else if (o->fixes_only && o->optimize_dirs)
		with = "-E fixes_only";
	if (o->fixes_only && o->bmap2extent) {
		cli_line_failf(l, "options -E fixes_only and -E bmap2extent are incompatible");
		return FSCK_EXIT_ERROR;
	}
	if (with) {
		cli_line_failf(l, "options %s and -D are incompatible", with);
		return FSCK_EXIT_ERROR;
	}
	if (o->json && o->mode == FSCK_ASK) {
		cli_line_failf(l, "--json asks no questions: -p, -n or -y is needed with it");
		return FSCK_EXIT_USAGE;
	}
	o->no_terminal = o->mode == FSCK_ASK && (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO));
	return -1;
}

/* Convert the exit status of the shared option code to that of this tool. */
static int as_fsck(int status)
{
	return status == EXIT_USAGE ? FSCK_EXIT_USAGE
				    : (status == EXIT_FAILED ? FSCK_EXIT_ERROR : status);
}

int fsck_args_parse(struct fsck_args *args, int argc, char **argv)
{
	struct fsck_opts *o = &args->opts;
	const char *spec;
	int status;

	memset(args, 0, sizeof(*args));
	o->progress_fd = -1;
	args->line = (struct cli_line){
		.tool = "xw-fsck",
		.usage = "xw-fsck [options] IMAGE",
		.rows = rows,
		.n_rows = sizeof(rows) / sizeof(rows[0]),
		.help = print_help,
		.take = take,
		.arg = args,
	};
	status = cli_line_read(&args->line, argc, argv);
	if (status < 0)
		status = cli_line_image(&args->line, argc, argv, &spec);
	if (status >= 0)
		return as_fsck(status);
	settle_now(args);
	o->json = args->line.json;
	o->quiet = args->line.quiet;
	o->verbose = args->line.verbose;
	if (o->share_xattrs || o->itree != FSCK_ITREE_KEEP || o->bad_test || o->bad_file ||
	    o->unshare_blocks || o->bmap2extent)
		o->force = true;
	status = judge(args);
	if (status < 0)
		status = find_by_tag(args, spec);
	if (status < 0)
		status = settle_undo(args);
	if (status < 0 && !o->redo_file) {
		o->redo_dir = cli_line_redo_dir(&args->line, o->image);
	}
	return status;
}

void fsck_args_free(struct fsck_args *args)
{
	cli_line_free(&args->line);
	free(args->image);
	free(args->undo_file);
}
