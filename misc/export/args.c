/* SPDX-License-Identifier: MIT */
/* The command line of xw-export: selection and output format. Letters are those of tar(1). */
#include "config.h"

#include "cli/redo.h"
#include "export/tool.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	KEY_ACLS = CLI_KEY_OWN,
	KEY_ARCHIVE, /* first of the options for archives only */
	KEY_BZIP2 = KEY_ARCHIVE,
	KEY_FORMAT,
	KEY_GZIP,
	KEY_LEVEL,
	KEY_LZ4,
	KEY_XZ,
	KEY_ZSTD,
	KEY_ARCHIVE_END,
	KEY_EXTRACT = KEY_ARCHIVE_END, /* first of the options for extracting only */
	KEY_KEEP_OLD = KEY_EXTRACT,
	KEY_NO_SAME_OWNER,
	KEY_NO_SAME_PERMISSIONS,
	KEY_PRESERVE_PERMISSIONS,
	KEY_SAME_OWNER,
	KEY_SAME_PERMISSIONS,
	KEY_SKIP_OLD,
	KEY_EXTRACT_END,
	KEY_AUTO = KEY_EXTRACT_END,
	KEY_FILE,
	KEY_IGNORE,
	KEY_LIST,
	KEY_NO_ACLS,
	KEY_NO_XATTRS,
	KEY_NULL,
	KEY_NUMERIC,
	KEY_ORDER,
	KEY_OUTPUT,
	KEY_REDO,
	KEY_SELINUX,
	KEY_XATTRS,
	KEY_EXTRACT_TO,
};

static const struct cli_row rows[] = {
	{'E', required_argument, "-E", CLI_TO_LIBRARY, NULL},
	{'C', required_argument, "-C", CLI_OURS, NULL},
	{CLI_KEY_DIRECTORY, required_argument, "--directory", CLI_TO_LIBRARY, NULL},
	{CLI_KEY_EXCLUDE, required_argument, "--exclude", CLI_TO_LIBRARY, NULL},
	{'X', required_argument, "--exclude-from", CLI_TO_LIBRARY, NULL},
	{CLI_KEY_GROUP, required_argument, "--group", CLI_TO_LIBRARY, NULL},
	{CLI_KEY_JOBS, required_argument, "--jobs", CLI_TO_LIBRARY, NULL},
	{CLI_KEY_MODE, required_argument, "--mode", CLI_TO_LIBRARY, NULL},
	{CLI_KEY_OWNER, required_argument, "--owner", CLI_TO_LIBRARY, NULL},
	{CLI_KEY_STRIP, required_argument, "--strip-components", CLI_TO_LIBRARY, NULL},
	{CLI_KEY_XATTRS_EXCLUDE, required_argument, "--xattrs-exclude", CLI_TO_LIBRARY, NULL},
	{KEY_ACLS, no_argument, "--acls", CLI_TO_LIBRARY, NULL},
	{KEY_IGNORE, no_argument, "--ignore-checksums", CLI_TO_LIBRARY, NULL},
	{KEY_NO_ACLS, no_argument, "--no-acls", CLI_TO_LIBRARY, NULL},
	{KEY_NO_XATTRS, no_argument, "--no-xattrs", CLI_TO_LIBRARY, NULL},
	{KEY_NUMERIC, no_argument, "--numeric-owner", CLI_TO_LIBRARY, NULL},
	{KEY_ORDER, required_argument, "--order", CLI_TO_LIBRARY, NULL},
	{KEY_REDO, required_argument, "--redo-file", CLI_TO_LIBRARY, NULL},
	{KEY_SELINUX, no_argument, "--selinux", CLI_TO_LIBRARY, NULL},
	{KEY_XATTRS, no_argument, "--xattrs", CLI_TO_LIBRARY, NULL},

	{'T', required_argument, EXPORT_NAMES, CLI_OURS, NULL},
	{KEY_NULL, no_argument, "--null", CLI_OURS, NULL},

	{'f', required_argument, "-f", CLI_OURS, NULL},
	{KEY_FILE, required_argument, "--file", CLI_OURS, NULL},
	{'o', required_argument, "-o", CLI_OURS, NULL},
	{KEY_OUTPUT, required_argument, "--output", CLI_OURS, NULL},
	{'t', no_argument, "-t", CLI_OURS, NULL},
	{KEY_LIST, no_argument, "--list", CLI_OURS, NULL},
	{'x', required_argument, "-x", CLI_OURS, NULL},
	{KEY_EXTRACT_TO, required_argument, "--extract", CLI_OURS, NULL},

	{'a', no_argument, "-a", CLI_OURS, NULL},
	{KEY_AUTO, no_argument, "--auto-compress", CLI_OURS, NULL},
	{'j', no_argument, "-j", CLI_OURS, NULL},
	{KEY_BZIP2, no_argument, "--bzip2", CLI_OURS, NULL},
	{KEY_FORMAT, required_argument, "--format", CLI_OURS, NULL},
	{'z', no_argument, "-z", CLI_OURS, NULL},
	{KEY_GZIP, no_argument, "--gzip", CLI_OURS, NULL},
	{KEY_LEVEL, required_argument, "--level", CLI_OURS, NULL},
	{KEY_LZ4, no_argument, "--lz4", CLI_OURS, NULL},
	{'J', no_argument, "-J", CLI_OURS, NULL},
	{KEY_XZ, no_argument, "--xz", CLI_OURS, NULL},
	{KEY_ZSTD, no_argument, "--zstd", CLI_OURS, NULL},

	{'k', no_argument, "-k", CLI_OURS, NULL},
	{KEY_KEEP_OLD, no_argument, "--keep-old-files", CLI_OURS, NULL},
	{KEY_NO_SAME_OWNER, no_argument, "--no-same-owner", CLI_OURS, NULL},
	{KEY_NO_SAME_PERMISSIONS, no_argument, "--no-same-permissions", CLI_OURS, NULL},
	{'p', no_argument, "-p", CLI_OURS, NULL},
	{KEY_PRESERVE_PERMISSIONS, no_argument, "--preserve-permissions", CLI_OURS, NULL},
	{KEY_SAME_PERMISSIONS, no_argument, "--same-permissions", CLI_OURS, NULL},
	{KEY_SAME_OWNER, no_argument, "--same-owner", CLI_OURS, NULL},
	{KEY_SKIP_OLD, no_argument, "--skip-old-files", CLI_OURS, NULL},

	CLI_PARTITION_ROW,
	CLI_TALK_ROWS,
};

static void print_help(FILE *out)
{
	fputs("Usage: xw-export [options] IMAGE [PATH...]\n"
	      "Write the files in an ext2, ext3 or ext4 image as an archive, without mounting it.\n"
	      "\n"
	      "PATHs, with all below them, are taken from IMAGE; patterns as in a shell. Without "
	      "one:\n"
	      "everything.\n"
	      "\n"
	      "As what:\n"
	      "  -o, --output FILE         an archive in FILE (default: on standard output);\n"
	      "  -f, --file FILE           the same\n"
	      "  -t, --list                a list of the files; with -v like ls -l\n"
	      "  -x, --extract DIR         the files themselves, in directory DIR\n"
	      "\n"
	      "What is taken:\n"
	      "  -C, --directory DIR       only what is in directory DIR of the image\n"
	      "  -T, --files-from FILE     PATHs from FILE, one a line (- is standard input);\n"
	      "      --null                each ends with a NUL, and is taken as it is\n"
	      "      --exclude PATTERN     leave out what matches (more than once)\n"
	      "  -X, --exclude-from FILE   the same for each line of FILE\n"
	      "      --strip-components N  drop N leading components of every name\n"
	      "      --xattrs-exclude PATTERN, --no-xattrs, --no-acls  leave out attributes\n"
	      "      --owner USER[:GROUP]  owner of everything; --group GROUP; --mode MODE "
	      "likewise\n"
	      "      --order ORDER         tree (default: a directory with all that is in it), "
	      "disk\n"
	      "                            (files as their data lie), inode, or name\n"
	      "\n"
	      "Archives:\n"
	      "      --format FORMAT       pax (default), gnu, ustar, newc, odc\n"
	      "  -z, --gzip   -j, --bzip2   -J, --xz   --zstd   --lz4     compress\n"
	      "  -a, --auto-compress       as the end of FILE's name says\n"
	      "      --level N             how hard\n"
	      "\n"
	      "Extracting:\n"
	      "  -p, --preserve-permissions, --same-permissions  all bits of modes, umask or not\n"
	      "                            (default as root); --no-same-permissions: less umask\n"
	      "      --same-owner          owners too (default as root); --no-same-owner\n"
	      "  -k, --keep-old-files      never replace a file; --skip-old-files: nor complain\n"
	      "\n"
	      "Running:\n"
	      "      --acls, --numeric-owner, --selinux, --xattrs  always on; taken for tar's "
	      "sake\n"
	      "      --ignore-checksums    read also what fails its checksum\n"
	      "  -E offset=BYTES           where in IMAGE the filesystem begins\n"
	      "      --partition N         in partition N of IMAGE\n"
	      "      --redo-file FILE      where an interrupted change is kept\n"
	      "      --jobs N              threads that compress (default: processors)\n"
	      "  -q, --quiet  print nothing but problems    -v, --verbose  print more\n"
	      "      --json                print the result as JSON (with -o, -t or -x)\n"
	      "  -V, --version             print the version\n"
	      "  -h, --help                print this\n"
	      "\n"
	      "Exit status: 0 done, 1 failed, damage found or a PATH not there, 2 wrong usage. "
	      "See\n"
	      "xw-export(8).\n",
	      out);
}

static const char *long_name(int key)
{
	switch (key) {
	case 'C':
		return "--directory";
	case 'J':
		return "--xz";
	case 'j':
		return "--bzip2";
	case 'k':
		return "--keep-old-files";
	case 'p':
	case KEY_SAME_PERMISSIONS:
		return "--preserve-permissions";
	case 'z':
		return "--gzip";
	default:
		break;
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].key == key)
			return rows[i].name;
	}
	return NULL;
}

static int take(struct cli_line *l, int key, const char *value)
{
	struct export_args *args = l->arg;

	switch (key) {
	case 'f':
	case 'o':
	case KEY_FILE:
	case KEY_OUTPUT:
		args->output = value;
		return -1;
	case 't':
	case KEY_LIST:
		args->list = true;
		return -1;
	case 'x':
	case KEY_EXTRACT_TO:
		args->extract = value;
		return -1;
	case 'a':
	case KEY_AUTO:
		args->by_suffix = true;
		args->of_archive = "--auto-compress";
		return -1;
	case KEY_NULL:
		args->by_nul = true;
		return -1;
	case 'C':
	case 'T':
		break;
	default:
		if (key == 'k' || key == 'p' || (key >= KEY_EXTRACT && key < KEY_EXTRACT_END))
			args->of_extract = long_name(key);
		else
			args->of_archive = long_name(key);
	}
	cli_line_push(l, long_name(key), value);
	return -1;
}

static int conflict(struct export_args *args, const char *what, const char *why)
{
	cli_line_failf(&args->line, "%s %s", what, why);
	return cli_line_usage(&args->line);
}

static int check(struct export_args *args)
{
	const bool to_stdout = !args->output || !strcmp(args->output, "-");
	const bool archive = !args->list && !args->extract;

	if (args->list + (args->output != NULL) + (args->extract != NULL) > 1)
		return conflict(args, "-o, -t and -x", "exclude each other");
	if (args->of_archive && !archive)
		return conflict(args, args->of_archive, "applies only to archives");
	if (args->of_extract && !args->extract)
		return conflict(args, args->of_extract, "needs -x");
	if (args->by_suffix && to_stdout)
		return conflict(args, "-a", "needs -o FILE, whose suffix selects the compression");
	if (args->line.json && archive && to_stdout) {
		cli_line_failf(&args->line,
			       "--json needs -o FILE, -t or -x: standard output has the archive");
		return EXIT_USAGE;
	}
	if (archive && to_stdout && isatty(STDOUT_FILENO)) {
		cli_line_failf(
			&args->line,
			"an archive is not written to a terminal: use -o FILE, a pipe, or -t to "
			"list");
		return EXIT_USAGE;
	}
	return -1;
}

/*
 * tar's -xvf and -xv would extract into a directory "vf" or "v" here, and -tf write an archive. The
 * first word may also be without a dash, if there is no such file.
 */
static const char *letters_of_tar(char **argv)
{
	static const char letters[] = "JfjptvxzZ";

	if (argv[0] && argv[1] && strlen(argv[1]) > 1 &&
	    strspn(argv[1], letters) == strlen(argv[1]) && strpbrk(argv[1], "tx") &&
	    access(argv[1], F_OK))
		return argv[1];
	for (char **arg = argv + 1; *argv && *arg && strcmp(*arg, "--") != 0; arg++) {
		const char *s = *arg + 1;
		const size_t len = strlen(*arg);

		if (**arg == '-' && len > 2 && strspn(s, letters) == len - 1 &&
		    ((strpbrk(s, "tx") && (*arg)[len - 1] == 'f') ||
		     (strchr(s, 'x') && strchr(s, 'v'))))
			return *arg;
	}
	return NULL;
}

int export_args_parse(struct export_args *args, int argc, char **argv)
{
	int status;

	*args = (struct export_args){
		.line = {.tool = "xw-export",
			 .usage = "xw-export [-o FILE | -t | -x DIR] [options] IMAGE [PATH...]",
			 .rows = rows,
			 .n_rows = sizeof(rows) / sizeof(rows[0]),
			 .help = print_help,
			 .take = take,
			 .arg = args},
	};
	if (letters_of_tar(argv)) {
		for (char **arg = argv; *arg; arg++)
			args->line.json |= !strcmp(*arg, "--json");
		cli_line_failf(
			&args->line,
			"%s is tar's: here -tv IMAGE lists, and -x DIR IMAGE extracts into DIR",
			letters_of_tar(argv));
		return EXIT_USAGE;
	}
	status = cli_line_read(&args->line, argc, argv);
	if (status < 0)
		status = cli_line_first(&args->line, argc, argv, &args->image);
	if (status >= 0)
		return status;
	args->paths = argv + optind;
	status = cli_line_offset(&args->line, argv[optind - 1]);
	if (status < 0)
		cli_line_redo(&args->line, args->image, "--redo-file");
	return status < 0 ? check(args) : status;
}
