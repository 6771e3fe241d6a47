/* SPDX-License-Identifier: MIT */
/* The command line of xw-mkfs: mke2fs(8)'s letters, and long options for filling. */
#include "config.h"

#include "cli/env.h"
#include "cli/source.h"
#include "mkfs/mkfs.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEY_FREE = CLI_KEY_OWN, KEY_FREE_INODES, KEY_GROW_RATIO, KEY_GROW_TO, KEY_REPLACE };

static const struct cli_row rows[] = {
	{'b', required_argument, "-b", CLI_TO_LIBRARY, NULL},
	{'c', no_argument, "-c", CLI_TO_LIBRARY, NULL},
	{'C', required_argument, "-C", CLI_TO_LIBRARY, NULL},
	{'D', no_argument, "-D", CLI_TO_LIBRARY, NULL},
	{'e', required_argument, "-e", CLI_TO_LIBRARY, NULL},
	{'E', required_argument, "-E", CLI_TO_LIBRARY, NULL},
	{'g', required_argument, "-g", CLI_TO_LIBRARY, NULL},
	{'G', required_argument, "-G", CLI_TO_LIBRARY, NULL},
	{'i', required_argument, "-i", CLI_TO_LIBRARY, NULL},
	{'I', required_argument, "-I", CLI_TO_LIBRARY, NULL},
	{'j', no_argument, "-j", CLI_TO_LIBRARY, NULL},
	{'J', required_argument, "-J", CLI_TO_LIBRARY, NULL},
	{'l', required_argument, "-l", CLI_TO_LIBRARY, NULL},
	{'L', required_argument, "-L", CLI_TO_LIBRARY, NULL},
	{'m', required_argument, "-m", CLI_TO_LIBRARY, NULL},
	{'M', required_argument, "-M", CLI_TO_LIBRARY, NULL},
	{'N', required_argument, "-N", CLI_TO_LIBRARY, NULL},
	{'o', required_argument, "-o", CLI_TO_LIBRARY, NULL},
	{'O', required_argument, "-O", CLI_TO_LIBRARY, NULL},
	{'r', required_argument, "-r", CLI_TO_LIBRARY, NULL},
	{'S', no_argument, "-S", CLI_TO_LIBRARY, NULL},
	{'t', required_argument, "-t", CLI_TO_LIBRARY, NULL},
	{'T', required_argument, "-T", CLI_TO_LIBRARY, NULL},
	{'U', required_argument, "-U", CLI_TO_LIBRARY, NULL},
	{KEY_FREE, required_argument, "--free", CLI_TO_LIBRARY, NULL},
	{KEY_FREE_INODES, required_argument, "--free-inodes", CLI_TO_LIBRARY, NULL},
	{KEY_GROW_RATIO, required_argument, "--grow-ratio", CLI_TO_LIBRARY, NULL},
	{KEY_GROW_TO, required_argument, "--grow-to", CLI_TO_LIBRARY, NULL},

	CLI_PARTITION_ROW,
	CLI_FILL_ROWS,
	CLI_LABEL_ROWS,
	CLI_TALK_ROWS,

	{'k', no_argument, "-k", CLI_REFUSED, "keeping the bad block list"},

	{'d', required_argument, "-d", CLI_OURS, NULL},
	{'F', no_argument, "-F", CLI_OURS, NULL},
	{CLI_KEY_FORCE, no_argument, "--force", CLI_ALIAS, "F"},
	{'K', no_argument, "-K", CLI_OURS, NULL},
	{'n', no_argument, "-n", CLI_OURS, NULL},
	{'Q', required_argument, "-Q", CLI_OURS, NULL},
	{'R', required_argument, "-R", CLI_OURS, NULL},
	{'z', required_argument, "-z", CLI_OURS, NULL},
	{KEY_REPLACE, no_argument, "--replace", CLI_OURS, NULL},
};

/* The name of -E quotatype= before 1.43. */
static int push_quota_types(struct cli_line *l, const char *value)
{
	char *text = NULL;

	if (asprintf(&text, "quotatype=%s", value) < 0) {
		cli_line_failf(l, "out of memory reading the command line");
		return EXIT_FAILED;
	}
	cli_line_extended(l, text);
	l->settings[l->count - 1].made = text;
	return -1;
}

static int take(struct cli_line *l, int key, const char *value)
{
	struct mkfs_args *args = l->arg;

	switch (key) {
	case 'd':
		args->sources[args->source_count++] = value;
		break;
	case 'F':
		args->force++;
		cli_line_push(l, "-F", NULL);
		break;
	case 'K': /* its name before -E existed */
		cli_line_push(l, "-E", "nodiscard");
		break;
	case 'n':
		args->dry_run = true;
		cli_line_push(l, "-n", NULL);
		break;
	case 'Q':
		return push_quota_types(l, value);
	case 'R': /* its name before 1.39 */
		cli_line_extended(l, value);
		break;
	case 'z':
		args->undo_file = value;
		break;
	case KEY_REPLACE:
		args->replace = true;
		cli_line_push(l, "--replace", NULL);
		break;
	}
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

static int take_operands(struct mkfs_args *args, int argc, char **argv)
{
	int status = cli_line_first(&args->line, argc, argv, &args->image);

	if (status >= 0)
		return status;
	if (strstr(args->image, "?offset=") && access(args->image, F_OK)) {
		cli_line_failf(&args->line, "%s: an offset is given with -E offset=BYTES",
			       args->image);
		return EXIT_USAGE;
	}
	if (args->line.partition && args->replace) {
		cli_line_failf(&args->line, "--replace: not with --partition");
		return EXIT_USAGE;
	}
	status = cli_line_partition(&args->line, args->image);
	if (status >= 0)
		return status;
	args->line.image = NULL; /* its partitions are named where it is refused */
	if (strcmp(args->image, "-") == 0) {
		cli_line_failf(&args->line,
			       "IMAGE '-': an image cannot be written sequentially; name a file");
		return EXIT_USAGE;
	}
	if (args->undo_file && !cli_undo_file(&args->line, "mke2fs", args->image, &args->undo_file,
					      &args->undo_default))
		return EXIT_FAILED;
	if (args->undo_file)
		cli_line_push(&args->line, "-z", args->undo_file);
	if (optind < argc)
		cli_line_push(&args->line, "SIZE", argv[optind++]);
	if (optind < argc)
		return cli_line_operands(
			&args->line, "unexpected argument '%s' after IMAGE and SIZE", argv[optind]);
	return -1;
}

/*
 * Under its stock names the tool makes what mke2fs(8) makes: the type of mkfs.ext2, mkfs.ext3 and
 * mkfs.ext4, and ext2 as mke2fs. A -t on the command line comes later and takes precedence.
 */
static int insert_type(struct mkfs_args *args, int argc, char **argv)
{
	const char *slash = argc ? strrchr(argv[0], '/') : NULL;
	const char *name = slash ? slash + 1 : argc ? argv[0] : "";

	args->argv = calloc((size_t)argc + 3, sizeof(*args->argv));
	if (!args->argv)
		return -1;
	memcpy(args->argv, argv, (size_t)argc * sizeof(*argv));
	if (strcmp(name, "mke2fs") == 0)
		name = "mkfs.ext2";
	if (strncmp(name, "mkfs.ext", 8) != 0 || !strchr("234", name[8]) || strlen(name) != 9)
		return argc;
	args->stock_name = true;
	memcpy(args->type_option, "-t", 3);
	memcpy(args->type, name + 5, 5);
	memmove(args->argv + 3, args->argv + 1, (size_t)(argc - 1) * sizeof(*argv));
	args->argv[1] = args->type_option;
	args->argv[2] = args->type;
	return argc + 2;
}

int mkfs_args_parse(struct mkfs_args *args, int argc, char **argv)
{
	int status;

	*args = (struct mkfs_args){
		.line = {.tool = "xw-mkfs",
			 .usage = "xw-mkfs [options] [-d SOURCE] IMAGE [SIZE]",
			 .rows = rows,
			 .n_rows = sizeof(rows) / sizeof(rows[0]),
			 .help = mkfs_print_help,
			 .take = take,
			 .arg = args},
		.sources = calloc((size_t)argc + 1, sizeof(*args->sources)),
	};
	argc = insert_type(args, argc, argv);
	if (argc < 0 || !args->sources) {
		cli_line_failf(&args->line, "out of memory reading the command line");
		return EXIT_FAILED;
	}
	status = cli_line_read(&args->line, argc, args->argv);
	if (status < 0)
		push_sectors(&args->line);
	if (status < 0)
		status = cli_source_config(&args->line);
	if (status < 0)
		status = take_operands(args, argc, args->argv);
	for (size_t i = 0; i < args->source_count && status < 0; i++)
		if (cli_source_is_terminal(&args->line, args->sources[i]))
			status = EXIT_USAGE;
	return status < 0 ? mkfs_config_read(args) : status;
}

void mkfs_args_free(struct mkfs_args *args)
{
	cli_line_free(&args->line);
	free(args->sources);
	free(args->argv);
	free(args->config);
	free(args->undo_default);
}
