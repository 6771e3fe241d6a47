/* SPDX-License-Identifier: MIT */
/* The command line of xw-dump: dumpe2fs's letters. */
#include "config.h"

#include "api/xw.h"
#include "cli/term.h"
#include "dump/tool.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_HELP = 256, KEY_JSON, KEY_REDO };

static const struct option longs[] = {
	{"help", no_argument, NULL, KEY_HELP},
	{"json", no_argument, NULL, KEY_JSON},
	{"redo-file", required_argument, NULL, KEY_REDO},
	{"version", no_argument, NULL, 'V'},
	{NULL, 0, NULL, 0},
};

static void print_help(void)
{
	fputs("Usage: xw-dump [options] IMAGE\n"
	      "Print the superblock and the block groups of an ext2, ext3 or ext4 image.\n"
	      "\n"
	      "  -h        the superblock only          -g   a line a group, to be read by "
	      "programs\n"
	      "  -b        the bad blocks only          -x   numbers of blocks in hexadecimal\n"
	      "  -m        is the image in use? (multiple mount protection)\n"
	      "  -f        show an image with unknown features too\n"
	      "  -i        IMAGE is a file made by e2image(8)\n"
	      "  -o superblock=BLOCK    use that copy of the superblock\n"
	      "  -o blocksize=BYTES     its block size\n"
	      "  -E offset=BYTES        where in IMAGE the filesystem begins\n"
	      "      --redo-file FILE   where an interrupted change is kept (block devices)\n"
	      "      --json             print it as JSON\n"
	      "  -V, --version          print the version\n"
	      "      --help             print this\n"
	      "\n"
	      "What is wrong in the image is reported, and the rest printed.\n"
	      "Exit status: 0 done, 1 failed or damage found, 2 wrong usage. See xw-dump(8).\n",
	      stdout);
}

static int usage(void)
{
	cli_hint("usage: xw-dump [-bfghimx] [-o superblock=BLOCK] [-o blocksize=BYTES] IMAGE; "
		 "more with --help");
	return EXIT_USAGE;
}

static int take_option(struct dump_args *args, int key, const char *word)
{
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
		if (!xw_show_source_set(&args->source, key == 'o' ? "-o" : "-E", optarg, &diag))
			return -1;
		cli_error("%s", diag.text);
		return EXIT_USAGE;
	case KEY_REDO:
		args->source.redo_file = optarg;
		return -1;
	case KEY_JSON:
		args->json = true;
		return -1;
	case 'V':
		printf("xw-dump (extwright) %s\n", xw_version());
		return EXIT_DONE;
	case KEY_HELP:
		print_help();
		return EXIT_DONE;
	case ':':
		cli_error("option %s needs a value", word);
		return usage();
	default:
		cli_error("unknown option %s", word);
		return usage();
	}
}

int dump_args_parse(struct dump_args *args, int argc, char **argv)
{
	int key, status = -1;

	*args = (struct dump_args){0};
	opterr = 0;
	while (status < 0 && (key = getopt_long(argc, argv, ":bfghimxo:E:V", longs, NULL)) != -1)
		status = take_option(args, key, optind > 1 ? argv[optind - 1] : "");
	if (status >= 0)
		return status;
	if (optind == argc) {
		cli_error("the name of the image is missing");
		return usage();
	}
	args->source.path = argv[optind++];
	if (optind < argc) {
		cli_error("unexpected argument '%s' after IMAGE", argv[optind]);
		return usage();
	}
	if (args->json && (args->places || args->mmp)) {
		cli_error("--json cannot go with %s", args->places ? "-g" : "-m");
		return EXIT_USAGE;
	}
	return -1;
}
