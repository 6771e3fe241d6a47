/* SPDX-License-Identifier: MIT */
/* The command line of xw-debugfs. */
#include "config.h"

#include "cli/options.h"
#include "cli/redo.h"
#include "cli/term.h"
#include "plan/parse.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { KEY_NO_REPLAY = CLI_KEY_OWN, KEY_COMMIT, KEY_REDO_FILE };

static const struct cli_row rows[] = {
	{'b', required_argument, "-b", CLI_OURS, NULL},
	{'c', no_argument, "-c", CLI_OURS, NULL},
	{'E', required_argument, "-E", CLI_OURS, NULL},
	{'f', required_argument, "-f", CLI_OURS, NULL},
	{'i', no_argument, "-i", CLI_OURS, NULL},
	{'n', no_argument, "-n", CLI_OURS, NULL},
	{'R', required_argument, "-R", CLI_OURS, NULL},
	{'s', required_argument, "-s", CLI_OURS, NULL},
	{'w', no_argument, "-w", CLI_OURS, NULL},
	{'z', required_argument, "-z", CLI_OURS, NULL},
	{'d', required_argument, "-d", CLI_OURS, NULL},
	{'D', no_argument, "-D", CLI_ALWAYS, NULL},
	{KEY_NO_REPLAY, no_argument, "--no-replay", CLI_OURS, NULL},
	{KEY_COMMIT, required_argument, "--commit", CLI_OURS, NULL},
	{KEY_REDO_FILE, required_argument, "--redo-file", CLI_OURS, NULL},
	CLI_PARTITION_ROW,
	CLI_TALK_ROWS,
};

static void print_help(FILE *out)
{
	fputs("Usage: xw-debugfs [options] [IMAGE]\n"
	      "Examine an ext2, ext3 or ext4 image, and change single structures in it.\n"
	      "\n"
	      "  -R REQUEST            run this request (more than once: one after the other)\n"
	      "  -f FILE               run the requests in FILE, one a line\n"
	      "                        (neither: ask for them, or read them from standard input)\n"
	      "  -w                    open for writing; all changes become one when the tool "
	      "ends;\n"
	      "                        a request that fails changes nothing\n"
	      "  -c                    catastrophic mode: IMAGE is badly damaged; excludes -w\n"
	      "  -i                    IMAGE was made by e2image\n"
	      "  -d FILE               with -i: read the blocks that IMAGE does not hold from "
	      "FILE\n"
	      "  -b SIZE               block size, where the superblock does not say it\n"
	      "  -s BLOCK              read the superblock, and the descriptors behind it, there\n"
	      "  -n                    do not complain of checksums\n"
	      "      --no-replay       leave the journal as it is\n"
	      "  -z FILE               with -w: write what the changes overwrite to FILE, for "
	      "e2undo(8)\n"
	      "  -E offset=BYTES       where in IMAGE the filesystem begins\n"
	      "      --partition N     in partition N of IMAGE\n" CLI_REDO_HELP(
		      "  ") "      --json            a line of JSON for each request\n"
			    "  -q, --quiet           no warnings\n"
			    "  -v, --verbose         say more; twice: everything\n"
			    "  -D                    nothing: the page cache is used all the same\n"
			    "  -V, --version         print the version\n"
			    "  -h, --help            print this\n"
			    "\n"
			    "The request 'help' lists the verbs, 'help VERB' says how one is used. "
			    "See "
			    "xw-debugfs(8).\n"
			    "Exit status: 0 done, 1 a request failed, 2 wrong usage.\n",
	      out);
}

/* Numeric option values. -1 or EXIT_USAGE. */
static int take_number(const struct debugfs_args *args, const char *option, const char *value,
		       uint64_t *out)
{
	if (!xw_parse_size(value, 1, out) && *out <= INT64_MAX)
		return -1;
	cli_line_failf(&args->line, "%s: \"%s\" is not a number", option, value);
	return EXIT_USAGE;
}

static int take_block_size(struct debugfs_args *args, const char *value)
{
	uint64_t size;
	int status = take_number(args, "-b", value, &size);

	if (status >= 0)
		return status;
	if (size < 1024 || size > 65536 || (size & (size - 1))) {
		cli_line_failf(&args->line,
			       "-b: invalid block size %s: a power of two, 1024 to 65536", value);
		return EXIT_USAGE;
	}
	args->how.block_size = (uint32_t)size;
	return -1;
}

static int take_extended(struct debugfs_args *args, const char *value)
{
	static const char key[] = "offset=";

	if (strncmp(value, key, sizeof(key) - 1)) {
		cli_line_failf(&args->line, "-E: \"%s\" is not offset=BYTES", value);
		return EXIT_USAGE;
	}
	return take_number(args, "-E offset=", value + sizeof(key) - 1, &args->how.offset);
}

/* A file on the host, made absolute, since lcd may change the current directory. */
static int take_path(const struct debugfs_args *args, const char *value, char **owned,
		     const char **out)
{
	free(*owned);
	*out = *owned = dbg_absolute(value);
	if (*owned)
		return -1;
	cli_line_failf(&args->line, "%s: cannot be found from here", value);
	return EXIT_FAILED;
}

static int set_commit(struct debugfs_args *args, const char *value)
{
	const int how = cli_line_commit(&args->line, value);

	if (how < 0)
		return EXIT_USAGE;
	args->how.commit = (enum xw_commit_how)how;
	return -1;
}

static int take(struct cli_line *l, int key, const char *value)
{
	struct debugfs_args *args = l->arg;

	switch (key) {
	case 'b':
		return take_block_size(args, value);
	case 'E':
		return take_extended(args, value);
	case 's':
		return take_number(args, "-s", value, &args->how.super_block);
	case 'c':
		args->how.catastrophic = true;
		return -1;
	case 'i':
		args->how.e2image = true;
		return -1;
	case 'd':
		args->how.data_source = value;
		return -1;
	case 'n':
		args->how.no_csum = true;
		return -1;
	case 'w':
		args->how.write = true;
		return -1;
	case 'f':
		args->file = value;
		return -1;
	case 'R':
		args->requests[args->n_requests++] = value;
		return -1;
	case KEY_NO_REPLAY:
		args->how.no_replay = true;
		return -1;
	case KEY_COMMIT:
		return set_commit(args, value);
	case 'z':
		return take_path(args, value, &args->undo_file, &args->how.undo_file);
	default:
		return take_path(args, value, &args->redo_file, &args->how.redo_file);
	}
}

static int refuse(const struct debugfs_args *args, const char *what)
{
	cli_line_failf(&args->line, "%s", what);
	return EXIT_USAGE;
}

static int check(const struct debugfs_args *args)
{
	if (args->file && args->n_requests)
		return refuse(args, "-R and -f exclude each other");
	if (args->how.write && args->how.catastrophic)
		return refuse(args, "-w cannot go with -c");
	if (args->how.write && (args->how.e2image || args->how.super_block || args->how.block_size))
		return refuse(args, "-w cannot go with -b, -i and -s");
	if (args->how.data_source && !args->how.e2image)
		return refuse(args,
			      "-d needs -i: it is where blocks are that an e2image file has not");
	if (args->how.super_block && !args->how.block_size)
		return refuse(args, "-s needs -b: blocks of which size are counted");
	return -1;
}

int debugfs_args_parse(struct debugfs_args *args, int argc, char **argv)
{
	int status;

	*args = (struct debugfs_args){
		.line = {.tool = "xw-debugfs",
			 .usage = "xw-debugfs [-w] [-R REQUEST]... [-f FILE] [options] [IMAGE]",
			 .rows = rows,
			 .n_rows = sizeof(rows) / sizeof(rows[0]),
			 .help = print_help,
			 .take = take},
		.now = time(NULL),
	};
	args->line.arg = args;
	args->requests = calloc((size_t)argc, sizeof(*args->requests));
	if (!args->requests) {
		cli_line_failf(&args->line, "out of memory");
		return EXIT_FAILED;
	}
	status = cli_line_read(&args->line, argc, argv);
	if (status >= 0)
		return status;
	for (size_t i = 0; i < args->line.count; i++)
		if (!strcmp(args->line.settings[i].name, "now"))
			args->now = strtoll(args->line.settings[i].value, NULL, 10);
	if (optind < argc) {
		args->image = argv[optind++];
		status = cli_line_offset(&args->line, argv[optind - 1]);
		if (status >= 0)
			return status;
	}
	if (optind < argc)
		return cli_line_operands(&args->line, "unexpected argument '%s' after IMAGE",
					 argv[optind]);
	return check(args);
}

void debugfs_args_free(struct debugfs_args *args)
{
	cli_line_free(&args->line);
	free(args->redo_file);
	free(args->undo_file);
	free(args->requests);
}
