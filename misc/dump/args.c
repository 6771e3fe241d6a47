/* SPDX-License-Identifier: MIT */
/* The command line of xw-dump: the letters of dumpe2fs. */
#include "config.h"

#include "cli/redo.h"
#include "cli/term.h"
#include "dump/tool.h"

#include <stdlib.h>

enum { KEY_REDO = CLI_KEY_OWN };

static const struct cli_row rows[] = {
	{'b', no_argument, "-b", CLI_OURS, NULL},
	{'f', no_argument, "-f", CLI_OURS, NULL},
	{CLI_KEY_FORCE, no_argument, "--force", CLI_ALIAS, "f"},
	{'g', no_argument, "-g", CLI_OURS, NULL},
	{'h', no_argument, "-h", CLI_OURS, NULL},
	{'i', no_argument, "-i", CLI_OURS, NULL},
	{'m', no_argument, "-m", CLI_OURS, NULL},
	{'x', no_argument, "-x", CLI_OURS, NULL},
	{'o', required_argument, "-o", CLI_OURS, NULL},
	{'E', required_argument, "-E", CLI_OURS, NULL},
	{KEY_REDO, required_argument, "--redo-file", CLI_OURS, NULL},
	{CLI_KEY_HELP, no_argument, "--help", CLI_HELP, NULL},
	CLI_PARTITION_ROW,
	CLI_SAY_ROWS,
};

static void print_help(FILE *out)
{
	fputs("Usage: xw-dump [options] IMAGE\n"
	      "Print the superblock and the block groups of an ext2, ext3 or ext4 image.\n"
	      "\n"
	      "  -h        the superblock only          -g   a line a group, to be read by "
	      "programs\n"
	      "  -b        the bad blocks only          -x   numbers of blocks in hexadecimal\n"
	      "  -m        is the image in use? (multiple mount protection)\n"
	      "  -f, --force            show an image with unknown features too\n"
	      "  -i        IMAGE is a file made by e2image(8)\n"
	      "  -o superblock=BLOCK    use that copy of the superblock\n"
	      "  -o blocksize=BYTES     its block size\n"
	      "  -E offset=BYTES        where in IMAGE the filesystem begins\n"
	      "      --partition N      in partition N of IMAGE\n"
	      "      --redo-file FILE   where an interrupted change is kept\n"
	      "      --json             print it as JSON\n"
	      "  -q, --quiet; -v, --verbose  say less, or more\n"
	      "  -V, --version          print the version\n"
	      "      --help             print this\n"
	      "\n"
	      "What is wrong in the image is reported, and the rest printed.\n"
	      "Exit status: 0 done, 1 failed or damage found, 2 wrong usage. See xw-dump(8).\n",
	      out);
}

static int take(struct cli_line *l, int key, const char *value)
{
	struct dump_args *args = l->arg;
	struct xw_diag diag = {0};

	switch (key) {
	case 'b':
		args->bad_blocks = true;
		return -1;
	case 'f':
		args->force = true;
		return -1;
	case 'g':
		args->places = true;
		return -1;
	case 'h':
		args->header = true;
		return -1;
	case 'i':
		args->source.e2image = true;
		return -1;
	case 'm':
		args->mmp = true;
		return -1;
	case 'x':
		args->hex = true;
		return -1;
	case 'o':
	case 'E':
		if (!xw_show_source_set(&args->source, key == 'o' ? "-o" : "-E", value, &diag))
			return -1;
		cli_line_failf(l, "%s", diag.text);
		return EXIT_USAGE;
	default:
		args->source.redo_file = value;
		return -1;
	}
}

int dump_args_parse(struct dump_args *args, int argc, char **argv)
{
	int status;

	*args = (struct dump_args){
		.line = {.tool = "xw-dump",
			 .usage = "xw-dump [-bfghimx] [-o superblock=BLOCK] [-o blocksize=BYTES] "
				  "IMAGE",
			 .rows = rows,
			 .n_rows = sizeof(rows) / sizeof(rows[0]),
			 .help = print_help,
			 .take = take}};
	args->line.arg = args;
	status = cli_line_read(&args->line, argc, argv);
	if (status < 0)
		status = cli_line_image(&args->line, argc, argv, &args->source.path);
	if (status < 0 && !args->source.redo_file)
		args->source.redo_file = cli_line_redo_dir(&args->line, args->source.path);
	if (status < 0 && args->line.json && (args->places || args->mmp)) {
		cli_line_failf(&args->line, "--json cannot go with %s", args->places ? "-g" : "-m");
		return EXIT_USAGE;
	}
	return status;
}
