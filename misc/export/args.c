/* SPDX-License-Identifier: MIT */
/* The command line of xw-export: selection and output format. Letters are those of tar(1). */
#include "config.h"

#include "cli/redo.h"
#include "export/tool.h"

#include <string.h>
#include <unistd.h>

static cli_option_fn of_archive, of_extract, set_auto;

#define AT(member) offsetof(struct export_args, member)

static const struct cli_option options[] = {
	CLI_HEADING("Output"),
	{"-o", "--output", "FILE", "an archive in FILE (default: on standard output)", cli_text,
	 AT(output)},
	{"-f", "--file", "FILE", "the same", cli_text, AT(output)},
	{"-t", "--list", NULL, "a list of the files; with -v like ls -l", cli_flag, AT(list)},
	{"-x", "--extract", "DIR", "the files themselves, in directory DIR", cli_text, AT(extract)},
	CLI_HEADING("Selection"),
	{"-C", "--directory", "DIR", "only what is in directory DIR of the image"},
	{"-T", EXPORT_NAMES, "FILE", "PATHs from FILE, one per line (- is standard input)"},
	{NULL, "--null", NULL, "PATHs in FILE end with a NUL, and have no escape sequences",
	 cli_flag, AT(by_nul)},
	{NULL, "--exclude", "PATTERN", "leave out names that match (more than once)"},
	{"-X", "--exclude-from", "FILE", "the same for each line of FILE"},
	{NULL, "--strip-components", "N", "drop N leading components of every name"},
	{NULL, "--xattrs-exclude", "PATTERN", "leave out extended attributes whose name matches"},
	{NULL, "--no-xattrs", NULL, "leave out extended attributes"},
	{NULL, "--no-acls", NULL, "leave out ACLs"},
	{NULL, "--owner", "USER[:GROUP]", "owner of all entries", cli_pass_owner},
	{NULL, "--group", "GROUP", "group of all entries", cli_pass_group},
	{NULL, "--mode", "MODE", "mode of all entries"},
	{NULL, "--order", "tree|disk|inode|name",
	 "tree (default: a directory with its content), disk (by the location of data), inode, "
	 "or name"},
	CLI_HEADING("Archives"),
	{NULL, "--format", "pax|gnu|ustar|newc|odc", "format (default: pax)", of_archive},
	{"-z", "--gzip", NULL, "compress", of_archive},
	{"-j", "--bzip2", NULL, "compress", of_archive},
	{"-J", "--xz", NULL, "compress", of_archive},
	{NULL, "--zstd", NULL, "compress", of_archive},
	{NULL, "--lz4", NULL, "compress", of_archive},
	{"-a", "--auto-compress", NULL, "compress according to the suffix of FILE", set_auto},
	{NULL, "--level", "N", "compression level", of_archive},
	CLI_HEADING("Extracting"),
	{"-p", "--preserve-permissions", NULL, "modes as they are, without umask (default as root)",
	 of_extract},
	{NULL, "--same-permissions", NULL, "the same", of_extract, .as = "--preserve-permissions"},
	{NULL, "--no-same-permissions", NULL, "modes less umask", of_extract},
	{NULL, "--same-owner", NULL, "owners, too (default as root)", of_extract},
	{NULL, "--no-same-owner", NULL, "owned by the user who extracts", of_extract},
	{"-k", "--keep-old-files", NULL, "never replace a file: report an error", of_extract},
	{NULL, "--skip-old-files", NULL, "never replace a file, without an error", of_extract},
	CLI_HEADING("Running"),
	{NULL, "--acls", NULL, "always on, as are the next three: options of tar"},
	{NULL, "--numeric-owner", NULL, "always on"},
	{NULL, "--selinux", NULL, "always on"},
	{NULL, "--xattrs", NULL, "always on"},
	{NULL, "--ignore-checksums", NULL, "read also data with wrong checksums"},
	{"-E", NULL, "offset=BYTES", "where in IMAGE the filesystem begins"},
	CLI_PARTITION,
	{NULL, "--redo-file", "FILE", "redo file of an interrupted change"},
	{NULL, "--jobs", "N", "threads that compress (default: processors)"},
	CLI_OUTPUT("print more", "print the result as JSON (with -o, -t or -x)"),
	CLI_HELP,
	CLI_END,
};

static const struct cli_tool tool = {
	.name = "xw-export",
	.usage = "[-o FILE | -t | -x DIR] [options] IMAGE [PATH...]",
	.about = "Write the files in an ext2, ext3 or ext4 image as an archive, without "
		 "mounting it.\n\nPATHs, with everything below them, are read from IMAGE; "
		 "patterns as in a shell. Without a PATH: everything.",
	.notes = "Exit status: 0 done, 1 failed, damage found or a PATH is missing, 2 wrong usage.",
	.tables = {options},
	.handle = cli_pass,
};

static int of_archive(struct cli_line *l, const struct cli_option *o, const char *value)
{
	((struct export_args *)(void *)l)->of_archive = cli_option_name(o);
	return cli_pass(l, o, value);
}

static int of_extract(struct cli_line *l, const struct cli_option *o, const char *value)
{
	((struct export_args *)(void *)l)->of_extract = cli_option_name(o);
	return cli_pass(l, o, value);
}

/* Passed on with the name of the output file. */
static int set_auto(struct cli_line *l, const struct cli_option *o, const char *value)
{
	struct export_args *args = (void *)l;

	(void)value;
	args->by_suffix = true;
	args->of_archive = o->name;
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
	if (args->line.json && archive && to_stdout)
		return cli_line_refuse(
			&args->line,
			"--json needs -o FILE, -t or -x: standard output has the archive");
	if (archive && to_stdout && isatty(STDOUT_FILENO))
		return cli_line_refuse(
			&args->line,
			"an archive is not written to a terminal: use -o FILE, a pipe, or -t "
			"to list");
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
	struct cli_line *l = &args->line;
	const char *letters = letters_of_tar(argv);
	char *image;
	int status;

	*args = (struct export_args){.line = {.tool = &tool}};
	if (letters) {
		for (char **arg = argv; *arg; arg++)
			l->json |= !strcmp(*arg, "--json");
		return cli_line_refuse(
			l, "%s is tar's: here -tv IMAGE lists, and -x DIR IMAGE extracts into DIR",
			letters);
	}
	status = cli_line_read(l, &tool, argc, argv);
	if (status >= 0)
		return status;
	image = *l->operands;
	status = cli_line_first(l, &args->image);
	if (status >= 0)
		return status;
	args->paths = l->operands;
	status = cli_line_offset(l, image);
	if (status >= 0)
		return status;
	cli_line_redo(l, args->image, "--redo-file");
	return check(args);
}
