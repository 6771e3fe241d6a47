/* SPDX-License-Identifier: MIT */
/* The command line of xw-import: xw-mkfs's options for filling, and options for the commit. */
#include "config.h"

#include "cli/redo.h"
#include "cli/source.h"
#include "import/tool.h"

#include <stdlib.h>
#include <string.h>

static cli_option_fn set_dir, set_dry_run;

static const struct cli_option sources[] = {
	CLI_HEADING("Sources"),
	{"-C", NULL, "DIR", "look for SOURCEs in DIR", set_dir},
	CLI_END,
};

static const struct cli_option change[] = {
	{"-k", "--keep-old-files", NULL, "fail if a file would replace an existing one"},
	{NULL, "--skip-old-files", NULL, "leave out files that would replace an existing one"},
	CLI_HEADING("The change"),
	{"-E", NULL, "LIST",
	 "offset=BYTES: where in IMAGE the filesystem begins; root_from_source: the root gets "
	 "owner, mode and attributes of a SOURCE directory; mb_*: tuning of the allocator"},
	CLI_PARTITION,
	CLI_END,
};

static const struct cli_option running[] = {
	{"-z", "--undo-file", "FILE", "save overwritten blocks in FILE, for xw-undo(8)"},
	{"-n", "--dry-run", NULL, "write nothing; report what an import would do", set_dry_run},
	CLI_HEADING("Running"),
	{NULL, "--jobs", "N", "threads (default: processors); does not change the image"},
	CLI_OUTPUT("print more; twice: statistics", "print the result as JSON"),
	CLI_HELP,
	CLI_END,
};

static const struct cli_tool tool = {
	.name = "xw-import",
	.usage = "[options] IMAGE SOURCE...",
	.about = "Unpack archives and directories into an ext2, ext3 or ext4 image, without "
		 "mounting it.\n\nA SOURCE is a directory, an archive of any format or "
		 "compression, - for a stream on standard input, or a container image: "
		 "oci:PATH[:REF], docker-archive:FILE[:TAG]. Several SOURCEs are layers: later "
		 "ones take precedence, and the existing content of IMAGE is the lowest. IMAGE "
		 "changes as one unit: even after a failure, it has its old or its new state.",
	.notes = "Exit status: 0 done, 1 failed and IMAGE is unchanged, 2 wrong usage.",
	.tables = {sources, cli_fill_options, change, cli_commit_options, running},
	.handle = cli_pass,
};

static char *in_dir(const char *dir, const char *name)
{
	char *path = NULL;

	if (!dir || name[0] == '/')
		return strdup(name);
	return asprintf(&path, "%s/%s", dir, name) < 0 ? NULL : path;
}

/* As in tar(1), a further -C is relative to the previous one. */
static int set_dir(struct cli_line *l, const struct cli_option *o, const char *value)
{
	struct import_args *args = (void *)l;
	char *dir;

	(void)o;
	if (!*value)
		return cli_line_refuse(l, "-C: needs the name of a directory");
	dir = in_dir(args->dir, value);
	if (!dir)
		return cli_line_no_memory(l);
	free(args->dir);
	args->dir = dir;
	return -1;
}

static int set_dry_run(struct cli_line *l, const struct cli_option *o, const char *value)
{
	((struct import_args *)(void *)l)->dry_run = true;
	return cli_pass(l, o, value);
}

void import_args_free(struct import_args *args)
{
	cli_line_free(&args->line);
	free(args->dir);
}

int import_args_parse(struct import_args *args, int argc, char **argv)
{
	struct cli_line *l = &args->line;
	char *image;
	int status;

	*args = (struct import_args){0};
	status = cli_line_read(l, &tool, argc, argv);
	if (status < 0)
		status = cli_source_config(l);
	if (status >= 0)
		return status;
	image = *l->operands;
	status = cli_line_first(l, &args->image);
	if (status >= 0)
		return status;
	if (!*l->operands)
		return cli_line_operands(
			l, "%s: nothing to import: a directory, an archive, or - is missing",
			args->image);
	if (strcmp(args->image, "-") == 0)
		return cli_line_refuse(
			l, "IMAGE '-': an image cannot be changed sequentially; name a file");
	args->sources = l->operands;
	for (char **s = args->sources; *s; s++)
		if (cli_source_is_terminal(l, *s))
			return EXIT_USAGE;
	status = cli_line_offset(l, image);
	if (status < 0)
		cli_line_redo(l, args->image, "--redo-dir");
	return status;
}
