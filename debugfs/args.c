/* SPDX-License-Identifier: MIT */
/* The command line of xw-debugfs. */
#include "config.h"

#include "base/parse.h"
#include "cli/options.h"
#include "cli/redo.h"
#include "cli/term.h"
#include "plan/parse.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static cli_option_fn set_block_size, set_super, set_extended, add_request, set_undo, set_commit,
	set_redo;

#define AT(member) offsetof(struct debugfs_args, member)

static const struct cli_option options[] = {
	{"-R", NULL, "REQUEST", "run this request (more than once: one after the other)",
	 add_request},
	{"-f", NULL, "FILE",
	 "run the requests in FILE, one per line\n(neither: ask for them, or read them from "
	 "standard input)",
	 cli_text, AT(file)},
	{"-w", NULL, NULL,
	 "open for writing; all changes are committed as one when the tool ends; a request "
	 "that fails changes nothing",
	 cli_flag, AT(how.write)},
	{"-c", NULL, NULL, "catastrophic mode: IMAGE is badly damaged; excludes -w", cli_flag,
	 AT(how.catastrophic)},
	{"-i", NULL, NULL, "IMAGE is a file made by e2image(8)", cli_flag, AT(how.e2image)},
	{"-d", NULL, "FILE", "with -i: read the blocks that IMAGE does not hold from FILE",
	 cli_text, AT(how.data_source)},
	{"-b", NULL, "SIZE", "block size; needed with -s", set_block_size},
	{"-s", NULL, "BLOCK", "read the superblock, and the descriptors behind it, there",
	 set_super},
	{"-n", NULL, NULL, "do not report wrong checksums", cli_flag, AT(how.no_csum)},
	{NULL, "--no-replay", NULL, "do not replay the journal", cli_flag, AT(how.no_replay)},
	{"-z", NULL, "FILE", "with -w: save overwritten blocks in FILE, for xw-undo(8)", set_undo},
	{"-E", NULL, "offset=BYTES", "where in IMAGE the filesystem begins", set_extended},
	CLI_PARTITION,
	{NULL, "--commit", "auto|journal|inside|file",
	 "how the changes are written: through the journal, by a redo record inside IMAGE, or "
	 "by a redo file (default: auto)",
	 set_commit},
	{NULL, "--redo-file", "FILE", "commit by this redo file, not by a record in IMAGE",
	 set_redo},
	CLI_QUIET("print no warnings"),
	CLI_VERBOSE("print more; twice: everything"),
	CLI_JSON("print a line of JSON for each request"),
	{"-D", NULL, NULL, "ignored: the page cache is used", cli_always},
	CLI_VERSION,
	CLI_HELP,
	CLI_END,
};

static const struct cli_tool tool = {
	.name = "xw-debugfs",
	.usage = "[-w] [-R REQUEST]... [-f FILE] [options] [IMAGE]",
	.about = "Examine an ext2, ext3 or ext4 image, and change single structures in it.",
	.notes = "The request 'help' lists the verbs, 'help VERB' prints how one is "
		 "used.\nExit status: 0 done, 1 a request failed, 2 wrong usage.",
	.tables = {options},
};

static int set_number(struct cli_line *l, const char *option, const char *value, uint64_t *out)
{
	if (!xw_parse_size(value, 1, out) && *out <= INT64_MAX)
		return -1;
	return cli_line_refuse(l, "%s: \"%s\" is not a number", option, value);
}

static int set_block_size(struct cli_line *l, const struct cli_option *o, const char *value)
{
	uint64_t size;
	const int status = set_number(l, o->letter, value, &size);

	if (status >= 0)
		return status;
	if (size < 1024 || size > 65536 || (size & (size - 1)))
		return cli_line_refuse(
			l, "-b: invalid block size %s: a power of two, 1024 to 65536", value);
	((struct debugfs_args *)(void *)l)->how.block_size = (uint32_t)size;
	return -1;
}

static int set_super(struct cli_line *l, const struct cli_option *o, const char *value)
{
	return set_number(l, o->letter, value,
			  &((struct debugfs_args *)(void *)l)->how.super_block);
}

static int set_extended(struct cli_line *l, const struct cli_option *o, const char *value)
{
	static const char key[] = "offset=";
	struct xw_diag diag = {0};

	(void)o;
	if (strncmp(value, key, sizeof(key) - 1))
		return cli_line_refuse(l, "-E: \"%s\" is not offset=BYTES", value);
	if (xw_parse_offset(value + sizeof(key) - 1,
			    &((struct debugfs_args *)(void *)l)->how.offset, &diag))
		return cli_line_refuse(l, "%s", diag.text);
	return -1;
}

static int add_request(struct cli_line *l, const struct cli_option *o, const char *value)
{
	struct debugfs_args *args = (void *)l;

	(void)o;
	args->requests[args->n_requests++] = value;
	return -1;
}

/* A file on the host, made absolute, since lcd may change the current directory. */
static int set_path(struct cli_line *l, const char *value, char **owned, const char **out)
{
	free(*owned);
	*out = *owned = dbg_absolute(value);
	if (*owned)
		return -1;
	cli_line_failf(l, "%s: cannot be found from here", value);
	return EXIT_FAILED;
}

static int set_undo(struct cli_line *l, const struct cli_option *o, const char *value)
{
	struct debugfs_args *args = (void *)l;

	(void)o;
	return set_path(l, value, &args->undo_file, &args->how.undo_file);
}

static int set_redo(struct cli_line *l, const struct cli_option *o, const char *value)
{
	struct debugfs_args *args = (void *)l;

	(void)o;
	return set_path(l, value, &args->redo_file, &args->how.redo_file);
}

static int set_commit(struct cli_line *l, const struct cli_option *o, const char *value)
{
	const int how = cli_line_commit(l, value);

	(void)o;
	if (how < 0)
		return EXIT_USAGE;
	((struct debugfs_args *)(void *)l)->how.commit = (enum xw_commit_how)how;
	return -1;
}

static int check(const struct debugfs_args *args)
{
	if (args->file && args->n_requests)
		return cli_line_refuse(&args->line, "-R and -f exclude each other");
	if (args->how.write && args->how.catastrophic)
		return cli_line_refuse(&args->line, "-w is not supported with -c");
	if (args->how.write && (args->how.e2image || args->how.super_block || args->how.block_size))
		return cli_line_refuse(&args->line, "-w is not supported with -b, -i and -s");
	if (args->how.data_source && !args->how.e2image)
		return cli_line_refuse(
			&args->line,
			"-d needs -i: FILE has the blocks that an e2image file does not hold");
	if (args->how.super_block && !args->how.block_size)
		return cli_line_refuse(&args->line,
				       "-s needs -b: BLOCK counts blocks of that size");
	return -1;
}

int debugfs_args_parse(struct debugfs_args *args, int argc, char **argv)
{
	struct cli_line *l = &args->line;
	int status;

	*args = (struct debugfs_args){
		.line = {.tool = &tool},
		.requests = calloc((size_t)argc, sizeof(*args->requests)),
		.now = time(NULL),
	};
	if (!args->requests)
		return cli_line_no_memory(l);
	status = cli_line_read(l, &tool, argc, argv);
	if (status >= 0)
		return status;
	if (l->now)
		(void)xw_parse_i64(l->now, &args->now);
	if (*l->operands) {
		char *const image = *l->operands++;

		args->image = image;
		status = cli_line_offset(l, image);
		if (status >= 0)
			return status;
	}
	if (*l->operands)
		return cli_line_operands(l, "unexpected argument '%s' after IMAGE", *l->operands);
	return check(args);
}

void debugfs_args_free(struct debugfs_args *args)
{
	cli_line_free(&args->line);
	free(args->redo_file);
	free(args->undo_file);
	free(args->requests);
}
