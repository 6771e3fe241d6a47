/* SPDX-License-Identifier: MIT */
/* The command line of xw-mkfs: mke2fs(8)'s letters, and long options for filling. */
#include "config.h"

#include "cli/env.h"
#include "cli/source.h"
#include "mkfs/mkfs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static cli_option_fn add_source, set_flag, set_force, set_nodiscard, set_quota_types, set_extended;

#define AT(member) offsetof(struct mkfs_args, member)

static const struct cli_option filling[] = {
	CLI_HEADING("Filling"),
	{"-d", NULL, "SOURCE",
	 "a directory, an archive of any format or compression, - for a stream on standard "
	 "input, oci:PATH[:REF] or docker-archive:FILE[:TAG]",
	 add_source},
	CLI_END,
};

static const struct cli_option options[] = {
	{NULL, "--free", "SIZE|N%", "without SIZE: this much free space in the image"},
	{NULL, "--free-inodes", "N", "without SIZE: at least this many free inodes"},
	{NULL, "--grow-to", "SIZE",
	 "inodes, descriptors and a journal that allow resize2fs to grow it to SIZE"},
	{NULL, "--grow-ratio", "BYTES",
	 "without SIZE: bytes per inode after resize2fs has grown it"},
	CLI_HEADING("The filesystem, as in mke2fs(8)"),
	{"-t", NULL, "ext2|ext3|ext4", "type (default: ext4)"},
	{"-T", NULL, "TYPES", "usage types"},
	{"-O", NULL, "LIST", "features; ^ clears one"},
	{"-E", NULL, "LIST", "extended options"},
	{"-b", NULL, "SIZE", "block size (default: 4096)"},
	{"-C", NULL, "SIZE", "cluster size"},
	{"-I", NULL, "SIZE", "inode size"},
	{"-i", NULL, "BYTES", "bytes per inode"},
	{"-N", NULL, "COUNT", "number of inodes"},
	{"-g", NULL, "BLOCKS", "blocks per group"},
	{"-G", NULL, "GROUPS", "groups per flex group"},
	{"-m", NULL, "PERCENT", "reserved blocks"},
	{"-j", NULL, NULL, "make a journal"},
	{"-J", NULL, "LIST", "options of the journal"},
	{"-r", NULL, "N", "revision"},
	{"-c", NULL, NULL, "search for bad blocks"},
	{"-l", NULL, "FILE", "list of bad blocks"},
	{"-L", "--label", "LABEL", "volume label", .as = "-L"},
	{"-U", "--uuid", "UUID|clear|random|time", "UUID of the filesystem", .as = "-U"},
	{"-M", NULL, "PATH", "last mounted on"},
	{"-e", NULL, "continue|remount-ro|panic", "behavior on errors"},
	{"-o", NULL, "OS", "creator"},
	{"-Q", NULL, "TYPES", "old name of -E quotatype=TYPES", set_quota_types},
	{"-R", NULL, "LIST", "old name of -E LIST", set_extended},
	{"-k", NULL, NULL, "keeping the bad block list", cli_refused},
	CLI_HEADING("Running"),
	{"-n", NULL, NULL, "plan only, write nothing", set_flag, AT(dry_run)},
	{"-F", "--force", NULL, "overwrite an existing filesystem or file", set_force, .as = "-F"},
	{"-K", NULL, NULL, "do not discard the blocks of a device first", set_nodiscard},
	{"-D", NULL, NULL, "direct I/O"},
	{"-S", NULL, NULL, "write superblocks and descriptors only, over a damaged filesystem"},
	{"-z", NULL, "FILE", "save overwritten blocks in FILE, for xw-undo(8)", cli_text,
	 AT(undo_file)},
	CLI_PARTITION,
	{NULL, "--replace", NULL, "replace an old image by a new file, once that is complete",
	 set_flag, AT(replace)},
	{NULL, "--jobs", "N", "threads (default: processors); does not change the image"},
	CLI_OUTPUT("print more; twice: statistics", "print the result as JSON"),
	CLI_HELP,
	CLI_END,
};

static const struct cli_tool tool = {
	.name = "xw-mkfs",
	.usage = "[options] [-d SOURCE] IMAGE [SIZE]",
	.about = "Make an ext4 filesystem in IMAGE and, with -d, fill it in the same "
		 "pass.\n\nSIZE counts KiB, with -b blocks, with a suffix (s K M G T) bytes. "
		 "If it is omitted with -d and a new IMAGE, the image is as small as its "
		 "content allows.",
	.notes = "With SOURCE_DATE_EPOCH, -U and -E hash_seed= the same input gives the same "
		 "bytes.\nExit status: 0 done, 1 failed, 2 wrong usage.",
	.tables = {filling, cli_fill_options, options},
	.handle = cli_pass,
};

static int add_source(struct cli_line *l, const struct cli_option *o, const char *value)
{
	struct mkfs_args *args = (void *)l;

	(void)o;
	args->sources[args->source_count++] = value;
	return -1;
}

/* Pass an option on that this tool has a member for, too. */
static int set_flag(struct cli_line *l, const struct cli_option *o, const char *value)
{
	cli_flag(l, o, value);
	return cli_pass(l, o, value);
}

static int set_force(struct cli_line *l, const struct cli_option *o, const char *value)
{
	((struct mkfs_args *)(void *)l)->force++;
	return cli_pass(l, o, value);
}

/* The name of -E nodiscard before -E existed. */
static int set_nodiscard(struct cli_line *l, const struct cli_option *o, const char *value)
{
	(void)o, (void)value;
	cli_line_push(l, "-E", "nodiscard");
	return -1;
}

/* The name of -E quotatype= before 1.43. */
static int set_quota_types(struct cli_line *l, const struct cli_option *o, const char *value)
{
	char *text;

	(void)o;
	if (asprintf(&text, "quotatype=%s", value) < 0)
		text = NULL;
	return cli_line_push_made(l, "-E", text);
}

/* The name of -E before 1.39. */
static int set_extended(struct cli_line *l, const struct cli_option *o, const char *value)
{
	(void)o;
	cli_line_extended(l, value);
	return -1;
}

static void push_sectors(struct cli_line *l)
{
	const char *sector = cli_mke2fs_sector(false), *physical = cli_mke2fs_sector(true);

	if (sector)
		cli_line_push(l, "sector-size", sector);
	if (physical)
		cli_line_push(l, "physical-sector-size", physical);
}

static int read_operands(struct mkfs_args *args)
{
	struct cli_line *l = &args->line;
	int status = cli_line_first(l, &args->image);

	if (status >= 0)
		return status;
	if (strstr(args->image, "?offset=") && access(args->image, F_OK))
		return cli_line_refuse(l, "%s: an offset is given with -E offset=BYTES",
				       args->image);
	if (l->partition && args->replace)
		return cli_line_refuse(l, "--replace: not with --partition");
	status = cli_line_partition(l, args->image);
	if (status >= 0)
		return status;
	l->image = NULL; /* the message that refuses to overwrite the image names its partitions */
	if (strcmp(args->image, "-") == 0)
		return cli_line_refuse(
			l, "IMAGE '-': an image cannot be written sequentially; name a file");
	status = cli_line_undo(l, "mke2fs", args->image, &args->undo_file);
	if (status >= 0)
		return status;
	if (args->undo_file)
		cli_line_push(l, "-z", args->undo_file);
	if (*l->operands)
		cli_line_push(l, "SIZE", *l->operands++);
	if (*l->operands)
		return cli_line_operands(l, "unexpected argument '%s' after IMAGE and SIZE",
					 *l->operands);
	return -1;
}

/*
 * Under its stock names the tool makes what mke2fs(8) makes: the type of mkfs.ext2, mkfs.ext3 and
 * mkfs.ext4, and ext2 as mke2fs.
 */
static const char *type_by_name(void)
{
	static const struct {
		const char *name, *type;
	} names[] = {
		{"mke2fs", "ext2"},
		{"mkfs.ext2", "ext2"},
		{"mkfs.ext3", "ext3"},
		{"mkfs.ext4", "ext4"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(program_invocation_short_name, names[i].name))
			return names[i].type;
	return NULL;
}

int mkfs_args_parse(struct mkfs_args *args, int argc, char **argv)
{
	struct cli_line *l = &args->line;
	int status;

	*args = (struct mkfs_args){
		.line = {.tool = &tool},
		.sources = calloc((size_t)argc + 1, sizeof(*args->sources)),
		.stock_type = type_by_name(),
	};
	if (!args->sources)
		return cli_line_no_memory(l);
	status = cli_line_read(l, &tool, argc, argv);
	if (status >= 0)
		return status;
	push_sectors(l);
	status = cli_source_config(l);
	if (status < 0)
		status = read_operands(args);
	if (status >= 0)
		return status;
	for (size_t i = 0; i < args->source_count; i++)
		if (cli_source_is_terminal(l, args->sources[i]))
			return EXIT_USAGE;
	return mkfs_config_read(args);
}

void mkfs_args_free(struct mkfs_args *args)
{
	cli_line_free(&args->line);
	free(args->sources);
	free(args->config);
}
