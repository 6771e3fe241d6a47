/* SPDX-License-Identifier: MIT */
/* The command line of xw-import: xw-mkfs's options for filling, and options for the commit. */
#include "config.h"

#include "cli/redo.h"
#include "cli/source.h"
#include "import/tool.h"

#include <stdlib.h>
#include <string.h>

enum { KEY_COMMIT = CLI_KEY_OWN, KEY_REDO_FILE, KEY_SKIP_OLD };

static const struct cli_row rows[] = {
	{'C', required_argument, "-C", CLI_OURS, NULL},
	{'E', required_argument, "-E", CLI_TO_LIBRARY, NULL},
	{'k', no_argument, "--keep-old-files", CLI_TO_LIBRARY, NULL},
	{KEY_SKIP_OLD, no_argument, "--skip-old-files", CLI_TO_LIBRARY, NULL},
	{'n', no_argument, "--dry-run", CLI_OURS, NULL},
	{'z', required_argument, "--undo-file", CLI_TO_LIBRARY, NULL},
	{KEY_COMMIT, required_argument, "--commit", CLI_TO_LIBRARY, NULL},
	{KEY_REDO_FILE, required_argument, "--redo-file", CLI_TO_LIBRARY, NULL},
	CLI_PARTITION_ROW,
	CLI_FILL_ROWS,
	CLI_TALK_ROWS,
};

static void print_help(FILE *out)
{
	fputs("Usage: xw-import [options] IMAGE SOURCE...\n"
	      "Unpack archives and directories into an ext2, ext3 or ext4 image, without mounting "
	      "it.\n"
	      "\n"
	      "A SOURCE is a directory, an archive of any format or compression, - for a stream "
	      "on\n"
	      "standard input, or a container image: oci:PATH[:REF], docker-archive:FILE[:TAG].\n"
	      "Several are layers: later ones take precedence, and what IMAGE holds already is "
	      "the\n"
	      "lowest. IMAGE changes as one unit: whatever happens, it has its old or its new "
	      "state.\n"
	      "\n"
	      "What is taken, and as what:\n"
	      "  -C DIR                    look for SOURCEs in DIR\n" CLI_FILL_HELP
	      "  -k, --keep-old-files      fail where a file would replace what IMAGE has\n"
	      "      --skip-old-files      leave such files out\n"
	      "\n"
	      "The change:\n"
	      "  -E LIST                   offset=BYTES: where in IMAGE the filesystem begins;\n"
	      "                            mb_*: tuning of the allocator\n"
	      "      --partition N         the filesystem in partition N of IMAGE\n" CLI_REDO_HELP(
		      "      ") "  -z, --undo-file FILE      write what is overwritten to FILE, "
				"for e2undo(8)\n"
				"  -n, --dry-run             write nothing; say what an import "
				"would come to\n"
				"\n"
				"Running:\n"
				"  -q, --quiet  print nothing but problems    -v, --verbose  print "
				"more; twice: "
				"statistics\n"
				"      --jobs N              threads (default: processors); does "
				"not change the "
				"image\n"
				"      --json                print the result as JSON\n"
				"  -V, --version             print the version\n"
				"  -h, --help                print this\n"
				"\n"
				"Exit status: 0 done, 1 failed and IMAGE is what it was, 2 wrong "
				"usage. See "
				"xw-import(8).\n",
	      out);
}

static char *in_dir(const char *dir, const char *name)
{
	char *path = NULL;

	if (!dir || name[0] == '/')
		return strdup(name);
	return asprintf(&path, "%s/%s", dir, name) < 0 ? NULL : path;
}

/* As in tar(1), a further -C is relative to the previous one. */
static int take(struct cli_line *l, int key, const char *value)
{
	struct import_args *args = l->arg;
	char *dir = NULL;

	if (key == 'n') {
		args->dry_run = true;
		cli_line_push(l, "--dry-run", NULL);
		return -1;
	}
	if (!*value) {
		cli_line_failf(l, "-C: needs the name of a directory");
		return EXIT_USAGE;
	}
	dir = in_dir(args->dir, value);
	if (!dir) {
		cli_line_failf(l, "out of memory reading the command line");
		return EXIT_FAILED;
	}
	free(args->dir);
	args->dir = dir;
	return -1;
}

void import_args_free(struct import_args *args)
{
	cli_line_free(&args->line);
	free(args->dir);
}

int import_args_parse(struct import_args *args, int argc, char **argv)
{
	int status;

	*args = (struct import_args){
		.line = {.tool = "xw-import",
			 .usage = "xw-import [options] IMAGE SOURCE...",
			 .rows = rows,
			 .n_rows = sizeof(rows) / sizeof(rows[0]),
			 .help = print_help,
			 .take = take,
			 .arg = args},
	};
	status = cli_line_read(&args->line, argc, argv);
	if (status < 0)
		status = cli_source_config(&args->line);
	if (status < 0)
		status = cli_line_first(&args->line, argc, argv, &args->image);
	if (status >= 0)
		return status;
	if (optind == argc)
		return cli_line_operands(
			&args->line,
			"%s: nothing to import: a directory, an archive, or - is missing",
			args->image);
	if (strcmp(args->image, "-") == 0) {
		cli_line_failf(&args->line,
			       "IMAGE '-': an image cannot be changed sequentially; name a file");
		return EXIT_USAGE;
	}
	args->sources = argv + optind;
	for (char **s = args->sources; *s; s++)
		if (cli_source_is_terminal(&args->line, *s))
			return EXIT_USAGE;
	status = cli_line_offset(&args->line, argv[optind - 1]);
	if (status < 0)
		cli_line_redo(&args->line, args->image, "--redo-dir");
	return status;
}
