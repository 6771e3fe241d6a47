/* SPDX-License-Identifier: MIT */
/*
 * The command line of xw-mkfs: mke2fs(8)'s letters, and long options for filling.
 *
 * One table says for every option what it does here; almost all are handed to the library by name,
 * in the order given, because mke2fs lets a later -O undo an earlier one.
 */
#include "config.h"

#include "cli/env.h"
#include "cli/term.h"
#include "mkfs/mkfs.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum action {
	TO_LIBRARY, /* handed on under its own name */
	REFUSED, /* mke2fs has it, this version does not */
	OURS, /* handled in take_ours() */
};

struct option_row {
	int key; /* letter, or a number above the letters for long-only options */
	int has_arg;
	const char *name; /* what the library and messages call it */
	enum action action;
	const char *why; /* REFUSED: one phrase */
};

enum {
	KEY_DIRECTORY = 256,
	KEY_FREE,
	KEY_FREE_INODES,
	KEY_STRIP,
	KEY_EXCLUDE,
	KEY_JOBS,
	KEY_OWNER,
	KEY_GROUP,
	KEY_MODE,
	KEY_CLAMP,
	KEY_XATTRS_EXCLUDE,
	KEY_WHITEOUTS,
	KEY_ONE_FS,
	KEY_JSON
};

static const struct option_row rows[] = {
	{'b', required_argument, "-b", TO_LIBRARY, NULL},
	{'C', required_argument, "-C", TO_LIBRARY, NULL},
	{'e', required_argument, "-e", TO_LIBRARY, NULL},
	{'E', required_argument, "-E", TO_LIBRARY, NULL},
	{'g', required_argument, "-g", TO_LIBRARY, NULL},
	{'G', required_argument, "-G", TO_LIBRARY, NULL},
	{'i', required_argument, "-i", TO_LIBRARY, NULL},
	{'I', required_argument, "-I", TO_LIBRARY, NULL},
	{'j', no_argument, "-j", TO_LIBRARY, NULL},
	{'J', required_argument, "-J", TO_LIBRARY, NULL},
	{'L', required_argument, "-L", TO_LIBRARY, NULL},
	{'m', required_argument, "-m", TO_LIBRARY, NULL},
	{'M', required_argument, "-M", TO_LIBRARY, NULL},
	{'N', required_argument, "-N", TO_LIBRARY, NULL},
	{'o', required_argument, "-o", TO_LIBRARY, NULL},
	{'O', required_argument, "-O", TO_LIBRARY, NULL},
	{'r', required_argument, "-r", TO_LIBRARY, NULL},
	{'t', required_argument, "-t", TO_LIBRARY, NULL},
	{'T', required_argument, "-T", TO_LIBRARY, NULL},
	{'U', required_argument, "-U", TO_LIBRARY, NULL},
	{KEY_FREE, required_argument, "--free", TO_LIBRARY, NULL},
	{KEY_FREE_INODES, required_argument, "--free-inodes", TO_LIBRARY, NULL},
	{KEY_STRIP, required_argument, "--strip-components", TO_LIBRARY, NULL},
	{KEY_EXCLUDE, required_argument, "--exclude", TO_LIBRARY, NULL},
	{KEY_DIRECTORY, required_argument, "--directory", TO_LIBRARY, NULL},
	{KEY_JOBS, required_argument, "--jobs", TO_LIBRARY, NULL},
	{KEY_OWNER, required_argument, "--owner", TO_LIBRARY, NULL},
	{KEY_GROUP, required_argument, "--group", TO_LIBRARY, NULL},
	{KEY_MODE, required_argument, "--mode", TO_LIBRARY, NULL},
	{KEY_CLAMP, no_argument, "--clamp-mtime", TO_LIBRARY, NULL},
	{KEY_XATTRS_EXCLUDE, required_argument, "--xattrs-exclude", TO_LIBRARY, NULL},
	{KEY_WHITEOUTS, required_argument, "--whiteouts", TO_LIBRARY, NULL},
	{KEY_ONE_FS, no_argument, "--one-file-system", TO_LIBRARY, NULL},

	{'c', no_argument, "-c", REFUSED, "searching for bad blocks"},
	{'D', no_argument, "-D", REFUSED, "direct I/O"},
	{'k', no_argument, "-k", REFUSED, "keeping the bad block list"},
	{'l', required_argument, "-l", REFUSED, "a list of bad blocks"},
	{'Q', required_argument, "-Q", REFUSED, "choosing quota types"},
	{'S', no_argument, "-S", REFUSED, "writing superblocks only"},
	{'z', required_argument, "-z", REFUSED, "an undo file"},

	{'d', required_argument, "-d", OURS, NULL},
	{'F', no_argument, "-F", OURS, NULL},
	{'h', no_argument, "--help", OURS, NULL},
	{'n', no_argument, "-n", OURS, NULL},
	{'q', no_argument, "-q", OURS, NULL},
	{'v', no_argument, "-v", OURS, NULL},
	{'V', no_argument, "--version", OURS, NULL},
	{KEY_JSON, no_argument, "--json", OURS, NULL},
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

/* getopt wants its own two tables: both are made from `rows`. */
struct getopt_tables {
	char letters[2 + 2 * ROWS + 1];
	struct option longs[ROWS + 1];
};

static void make_tables(struct getopt_tables *t)
{
	size_t l = 0, n = 0;

	memset(t, 0, sizeof(*t));
	t->letters[l++] = ':'; /* tell a missing value from an unknown option; print neither */
	for (size_t i = 0; i < ROWS; i++) {
		const struct option_row *row = &rows[i];

		if (row->key < 256) {
			t->letters[l++] = (char)row->key;
			if (row->has_arg)
				t->letters[l++] = ':';
		}
		if (row->name[1] == '-')
			t->longs[n++] =
				(struct option){row->name + 2, row->has_arg, NULL, row->key};
	}
}

static const struct option_row *find_row(int key)
{
	for (size_t i = 0; i < ROWS; i++) {
		if (rows[i].key == key)
			return &rows[i];
	}
	return NULL;
}

static int usage(void)
{
	cli_hint("usage: xw-mkfs [options] [-d SOURCE] IMAGE [SIZE]; more with --help");
	return EXIT_USAGE;
}

static void push_option(struct mkfs_args *args, const char *name, const char *value)
{
	args->options[args->count++] = (struct mkfs_option){name, value};
}

static int take_ours(struct mkfs_args *args, int key)
{
	switch (key) {
	case 'd':
		args->sources[args->source_count++] = optarg;
		return -1;
	case 'F':
		args->force++;
		push_option(args, "-F", NULL);
		return -1;
	case 'n':
		args->dry_run = true;
		push_option(args, "-n", NULL);
		return -1;
	case 'q':
		args->quiet = true;
		return -1;
	case 'v':
		args->verbose++;
		return -1;
	case KEY_JSON:
		args->json = true;
		return -1;
	case 'V':
		printf("xw-mkfs (extwright) %s\n", xw_version());
		return EXIT_DONE;
	default:
		mkfs_print_help(stdout);
		return EXIT_DONE;
	}
}

/* What getopt did not take: `arg` is the word it stopped at. */
static int refuse_unknown(int key, const char *arg)
{
	const struct option_row *row = optopt ? find_row(optopt) : NULL;

	if (key == ':')
		cli_error("option %s needs a value", row ? row->name : arg);
	else if (row)
		cli_error("option %s takes no value", row->name);
	else if (optopt)
		cli_error("unknown option -%c", optopt);
	else
		cli_error("unknown or ambiguous option %s", arg);
	return usage();
}

static int take_option(struct mkfs_args *args, int key, const char *arg)
{
	const struct option_row *row = key == '?' || key == ':' ? NULL : find_row(key);

	if (!row)
		return refuse_unknown(key, arg);
	switch (row->action) {
	case TO_LIBRARY:
		push_option(args, row->name, row->has_arg ? optarg : NULL);
		return -1;
	case REFUSED:
		cli_error("option %s (%s) is not supported by this version", row->name, row->why);
		return EXIT_USAGE;
	default:
		return take_ours(args, key);
	}
}

static int take_operands(struct mkfs_args *args, int argc, char **argv)
{
	if (optind == argc) {
		cli_error("the name of the image is missing");
		return usage();
	}
	args->image = argv[optind++];
	if (strcmp(args->image, "-") == 0) {
		cli_error("IMAGE '-': an image is not written from front to back; name a file");
		return EXIT_USAGE;
	}
	if (optind < argc)
		push_option(args, "SIZE", argv[optind++]);
	if (optind < argc) {
		cli_error("unexpected argument '%s' after IMAGE and SIZE", argv[optind]);
		return usage();
	}
	return -1;
}

static int take_environment(struct mkfs_args *args)
{
	const char *now;

	if (cli_source_date_epoch(&now)) {
		cli_error("SOURCE_DATE_EPOCH='%s' is not a number of seconds since 1970",
			  getenv("SOURCE_DATE_EPOCH"));
		return EXIT_USAGE;
	}
	if (now)
		push_option(args, "now", now);
	return -1;
}

int mkfs_args_parse(struct mkfs_args *args, int argc, char **argv)
{
	struct getopt_tables tables;
	int key, status = -1;

	memset(args, 0, sizeof(*args));
	/* At most one option a word or letter, and two that operands and environment add. */
	size_t room = 4;
	for (int i = 1; i < argc; i++)
		room += 1 + (argv[i][0] == '-' ? strlen(argv[i]) : 0);
	args->options = calloc(room, sizeof(*args->options));
	args->sources = calloc(room, sizeof(*args->sources));
	if (!args->options || !args->sources) {
		cli_error("out of memory reading the command line");
		return EXIT_FAILED;
	}
	make_tables(&tables);
	opterr = 0;
	while (status < 0) {
		const char *arg = optind < argc ? argv[optind] : "";

		key = getopt_long(argc, argv, tables.letters, tables.longs, NULL);
		if (key == -1)
			break;
		if (key == '?' || key == ':')
			arg = optind > 1 && argv[optind - 1][0] == '-' ? argv[optind - 1] : arg;
		status = take_option(args, key, arg);
	}
	if (status < 0)
		status = take_operands(args, argc, argv);
	if (status < 0)
		status = take_environment(args);
	return status;
}

void mkfs_args_free(struct mkfs_args *args)
{
	free(args->options);
	free(args->sources);
}
