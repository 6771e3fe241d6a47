/* SPDX-License-Identifier: MIT */
/* The command line of xw-dump: the letters of dumpe2fs. */
#include "config.h"

#include "dump/tool.h"

#define AT(member) offsetof(struct dump_args, member)

static const struct cli_option options[] = {
	{"-h", NULL, NULL, "the superblock only", cli_flag, AT(header)},
	{"-g", NULL, NULL, "one line per group, to be read by programs", cli_flag, AT(places)},
	{"-b", NULL, NULL, "the bad blocks only", cli_flag, AT(bad_blocks)},
	{"-x", NULL, NULL, "block numbers in hexadecimal", cli_flag, AT(hex)},
	{"-m", NULL, NULL, "is the image in use? (multiple mount protection)", cli_flag, AT(mmp)},
	{"-f", "--force", NULL, "also an image with unknown features", cli_flag, AT(force)},
	{"-o", NULL, "superblock=BLOCK,blocksize=BYTES",
	 "use that backup superblock, and its block size", xw_show_set_source, AT(source)},
	SHOW_SOURCE_ROWS(struct dump_args),
	CLI_OUTPUT("print more", "print the result as JSON"),
	{NULL, "--help", NULL, "print this help", cli_help},
	CLI_END,
};

static const struct cli_tool tool = {
	.name = "xw-dump",
	.usage = "[-bfghimx] [-o superblock=BLOCK] [-o blocksize=BYTES] IMAGE",
	.about = "Print the superblock and the block groups of an ext2, ext3 or ext4 image.",
	.notes = "Damage in the image is reported, and the rest printed.\nExit status: 0 done, "
		 "1 failed or damage found, 2 wrong usage.",
	.tables = {options},
};

int dump_args_parse(struct dump_args *args, int argc, char **argv)
{
	struct cli_line *l = &args->line;
	int status;

	*args = (struct dump_args){0};
	status = cli_line_read(l, &tool, argc, argv);
	args->source.or_image = args->mmp; /* scripts print the MMP block with -m -i */
	if (status < 0)
		status = xw_show_source_path(l, &args->source);
	if (status < 0 && l->json && (args->places || args->mmp))
		return cli_line_refuse(l, "--json is not supported with %s",
				       args->places ? "-g" : "-m");
	return status;
}
