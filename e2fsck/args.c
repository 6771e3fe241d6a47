// SPDX-License-Identifier: MIT
/* The command line: that of e2fsck(8), and how the change is committed. */
#include "config.h"

#include <blkid/blkid.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static void log_line(void *arg, enum xw_log_level level, const char *line)
{
	(void)arg;
	if (level == XW_LOG_WARN)
		cli_warning("%s", line);
}

/* The check has refused something with the exit status, and the reason is in args->diag. */
static int refused(struct fsck_args *args, int status)
{
	if (!status)
		return -1;
	cli_line_failf(&args->line, "%s", args->diag.text);
	if (args->opts.refused_word)
		cli_hint("known are %s", xw_fsck_extended_words());
	return status;
}

/* A negative descriptor: nothing is reported until SIGUSR1 arrives. */
static int set_progress(struct fsck_args *args, const char *value)
{
	struct say *const s = &args->say;
	uint64_t n;

	s->progress_late = *value == '-';
	if (xw_parse_u64(value + s->progress_late, &n) || n > INT32_MAX) {
		cli_line_failf(&args->line, "option -C: invalid number '%s'", value);
		return FSCK_EXIT_USAGE;
	}
	if (n && fcntl((int)n, F_GETFD) < 0) {
		cli_line_failf(&args->line, "-C %s: invalid file descriptor: %s", value,
			       strerror(errno));
		return FSCK_EXIT_ERROR;
	}
	s->progress_fd = (int)n;
	return -1;
}

static const char *name_of(int key)
{
	for (size_t i = 0; i < XW_ARRAY_SIZE(rows); i++)
		if (rows[i].key == key)
			return rows[i].name;
	return "";
}

static int take(struct cli_line *l, int key, const char *value)
{
	struct fsck_args *args = l->arg;

	switch (key) {
	case 'C':
		return set_progress(args, value);
	case 'd':
		args->say.debug = true;
		return -1;
	case 't':
		args->say.times++;
		return -1;
	}
	return refused(args, xw_fsck_set(&args->opts, name_of(key), value, &args->diag));
}

/* SOURCE_DATE_EPOCH. */
static void set_now(struct fsck_args *args)
{
	for (size_t i = 0; i < args->line.count; i++)
		if (!strcmp(args->line.settings[i].name, "now"))
			(void)xw_fsck_set(&args->opts, "now", args->line.settings[i].value,
					  &args->diag);
	xw_diag_clear(&args->diag); /* a time before 1970 counts as none */
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

	if (args->opts.undo_file && !*args->opts.undo_file) {
		if (asprintf(&args->undo_file, "%s/e2fsck-%s.e2undo",
			     dir && *dir ? dir : "/var/lib/e2fsprogs",
			     base ? base + 1 : args->opts.image) < 0) {
			cli_line_failf(&args->line, "out of memory reading the command line");
			return FSCK_EXIT_ERROR;
		}
		args->opts.undo_file = args->undo_file;
	}
	return refused(args, xw_fsck_check_undo(&args->opts, &args->diag));
}

/* Who answers the questions? */
static int settle_questions(struct fsck_args *args)
{
	struct fsck_opts *o = &args->opts;

	if (args->say.json && o->mode == FSCK_ASK) {
		cli_line_failf(&args->line,
			       "--json asks no questions: -p, -n or -y is needed with it");
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
	args->say.progress_fd = -1;
	args->diag.log = log_line;
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
	set_now(args);
	args->say.json = args->line.json;
	args->say.quiet = args->line.quiet;
	args->say.verbose = args->line.verbose;
	o->all_told = args->say.verbose;
	status = refused(args, xw_fsck_settle(o, &args->diag));
	if (status < 0)
		status = settle_questions(args);
	if (status < 0)
		status = find_by_tag(args, spec);
	if (status < 0)
		status = settle_undo(args);
	if (status < 0 && !o->redo_file)
		o->redo_dir = cli_line_redo_dir(&args->line, o->image);
	return status;
}

void fsck_args_free(struct fsck_args *args)
{
	cli_line_free(&args->line);
	free(args->image);
	free(args->undo_file);
}
