// SPDX-License-Identifier: MIT
/* The command line: that of e2fsck(8), and how the change is committed. */
#include "config.h"

#include <blkid/blkid.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/redo.h"
#include "cli/term.h"
#include "plan/parse.h"

#include "tool.h"

static cli_option_fn set, set_progress;

#define AT(member) offsetof(struct fsck_args, member)

static const struct cli_option options[] = {
	{"-p", NULL, NULL, "repair what is safe without questions, else stop"},
	{"-a", NULL, NULL, "the same"},
	{"-n", NULL, NULL, "change nothing, answer no to all questions"},
	{"-y", NULL, NULL, "answer yes to all questions"},
	{"-f", "--force", NULL, "check also a filesystem that is marked clean"},
	{"-b", NULL, "BLOCK", "superblock to use"},
	{"-B", NULL, "SIZE", "block size with which to look for that superblock"},
	{"-c", NULL, NULL, "read all blocks to find bad ones; twice: also write them"},
	{"-k", NULL, NULL, "with -c: keep the known bad blocks"},
	{"-l", NULL, "FILE", "add the blocks that FILE lists to the bad blocks"},
	{"-L", NULL, "FILE", "the bad blocks are those that FILE lists, and no others"},
	{"-D", NULL, NULL, "optimize directories"},
	{"-E", NULL, "LIST",
	 "journal_only, fixes_only, share_xattrs, itree=build|drop, bmap2extent, "
	 "optimize_extents, no_optimize_extents, unshare_blocks, fragcheck, check_encoding, "
	 "offset=BYTES, [no]discard, ea_ver=2, [no_]inode_count_fullmap, readahead_kb=KIB"},
	{"-F", NULL, NULL, "drop the caches of IMAGE first"},
	{"-j", NULL, "DEVICE", "external journal (default: the device with its UUID)"},
	{"-N", NULL, "NAME", "name of the filesystem in messages"},
	{"-z", NULL, "FILE", "save overwritten blocks in FILE, for xw-undo(8)"},
	CLI_PARTITION,
	CLI_END,
};

static const struct cli_option running[] = {
	{NULL, "--jobs", "N", "threads (default: processors)"},
	{"-C", NULL, "FD", "write progress to FD; 0: draw a bar", set_progress},
	{"-t", NULL, NULL, "print times; twice: of each pass", cli_increment, AT(say.times)},
	{"-d", NULL, NULL, "print debugging messages", cli_flag, AT(say.debug)},
	{"-I", NULL, "N", "ignored, as are -P and -r"},
	{"-P", NULL, "N", "ignored"},
	{"-r", NULL, NULL, "ignored"},
	CLI_OUTPUT("print statistics, and findings that follow from repairs",
		   "print findings as JSON, one per line"),
	CLI_HELP,
	CLI_END,
};

static const struct cli_tool tool = {
	.name = "xw-fsck",
	.usage = "[options] IMAGE",
	.about = "Check an ext2, ext3 or ext4 image, and repair it. All repairs are committed "
		 "as one unit: even after a failure, IMAGE has its old or its new state.\nIMAGE "
		 "is a file, a device, LABEL=... or UUID=...; IMAGE?offset=BYTES is a "
		 "filesystem inside it.",
	.notes = "Exit status, added up: 0 no errors, 1 repaired, 2 reboot, 4 errors left, 8 "
		 "failed, 16 usage, 32 canceled.",
	.tables = {options, cli_commit_options, running},
	.handle = set,
};

static void log_line(void *arg, enum xw_log_level level, const char *line)
{
	(void)arg;
	if (level == XW_LOG_WARN)
		cli_warning("%s", line);
}

/* Print why the library refused an option with an exit status; -1 if the status is 0. */
static int refused(struct fsck_args *args, int status)
{
	if (!status)
		return -1;
	cli_line_failf(&args->line, "%s", args->diag.text);
	if (args->opts.refused_word)
		cli_hint("known are %s", xw_fsck_extended_words());
	return status;
}

static int set(struct cli_line *l, const struct cli_option *o, const char *value)
{
	struct fsck_args *args = (void *)l;

	return refused(args, xw_fsck_set(&args->opts, cli_option_name(o), value, &args->diag));
}

/* A negative descriptor: nothing is reported until SIGUSR1 arrives. */
static int set_progress(struct cli_line *l, const struct cli_option *o, const char *value)
{
	struct say *const s = &((struct fsck_args *)(void *)l)->say;
	uint64_t n;

	(void)o;
	s->progress_late = *value == '-';
	if (xw_parse_u64(value + s->progress_late, &n) || n > INT32_MAX) {
		cli_line_failf(l, "option -C: invalid number '%s'", value);
		return FSCK_EXIT_USAGE;
	}
	if (n && fcntl((int)n, F_GETFD) < 0) {
		cli_line_failf(l, "-C %s: invalid file descriptor: %s", value, strerror(errno));
		return FSCK_EXIT_ERROR;
	}
	s->progress_fd = (int)n;
	return -1;
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

/* Is there a user who answers questions? */
static int choose_mode(struct fsck_args *args)
{
	struct fsck_opts *o = &args->opts;

	if (args->say.json && o->mode == FSCK_ASK) {
		cli_line_failf(&args->line, "--json requires -p, -n or -y");
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
	struct cli_line *l = &args->line;
	const char *spec;
	int status;

	memset(args, 0, sizeof(*args));
	args->say.progress_fd = -1;
	args->diag.log = log_line;
	status = cli_line_read(l, &tool, argc, argv);
	if (status < 0)
		status = cli_line_image(l, &spec);
	if (status >= 0)
		return as_fsck(status);
	if (l->now)
		(void)xw_fsck_set(o, "now", l->now, &args->diag);
	xw_diag_clear(&args->diag); /* a time before 1970 counts as none */
	args->say.json = l->json;
	args->say.quiet = l->quiet;
	args->say.verbose = l->verbose;
	o->all_told = l->verbose;
	o->each_told = l->verbose && !l->json;
	status = refused(args, xw_fsck_check_options(o, &args->diag));
	if (status < 0)
		status = choose_mode(args);
	if (status < 0)
		status = find_by_tag(args, spec);
	if (o->mode == FSCK_NO && o->undo_file && !*o->undo_file)
		o->undo_file = NULL; /* nothing is overwritten */
	if (status < 0)
		status = as_fsck(cli_line_undo(l, "e2fsck", o->image, &o->undo_file));
	if (status < 0)
		status = refused(args, xw_fsck_check_undo(o, &args->diag));
	if (status < 0 && !o->redo_file)
		o->redo_dir = cli_line_redo_dir(l, o->image);
	return status;
}

void fsck_args_free(struct fsck_args *args)
{
	cli_line_free(&args->line);
	free(args->image);
}
