/* SPDX-License-Identifier: MIT */
/* The command line of xw-export. What is the library's is handed on under its own name. */
#include "export/tool.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEY_EXCLUDE = 256, KEY_IGNORE, KEY_JSON, KEY_REDO };

static const struct option longs[] = {
	{"output", required_argument, NULL, 'o'},
	{"list", no_argument, NULL, 't'},
	{"directory", required_argument, NULL, 'C'},
	{"exclude", required_argument, NULL, KEY_EXCLUDE},
	{"ignore-checksums", no_argument, NULL, KEY_IGNORE},
	{"json", no_argument, NULL, KEY_JSON},
	{"redo-file", required_argument, NULL, KEY_REDO},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},
	{NULL, 0, NULL, 0},
};

static void print_help(void)
{
	fputs("Usage: xw-export [options] IMAGE\n"
	      "Write the files in an ext2, ext3 or ext4 image as a tar stream (pax), without "
	      "mounting "
	      "it.\n"
	      "\n"
	      "  -o, --output FILE     write to FILE (default: standard output)\n"
	      "  -t, --list            list the files instead; with -v like ls -l\n"
	      "  -C, --directory DIR   only what is in directory DIR of the image\n"
	      "      --exclude PATTERN leave out what matches (more than once)\n"
	      "      --ignore-checksums  read also what fails its checksum\n"
	      "  -E offset=BYTES       where in IMAGE the filesystem begins\n"
	      "      --redo-file FILE  where an interrupted change is kept (block devices)\n"
	      "  -q                    print nothing but problems\n"
	      "  -v                    print more\n"
	      "      --json            print the result as JSON (with -o)\n"
	      "  -V, --version         print the version\n"
	      "  -h, --help            print this\n"
	      "\n"
	      "Names, types, modes, owners, times to the nanosecond, hard links, devices, holes, "
	      "extended\n"
	      "attributes and ACLs are kept; sockets are left out, as tar has none. Damage in the "
	      "image is\n"
	      "reported, and what can be read is written all the same.\n"
	      "Exit status: 0 done, 1 failed or damage found, 2 wrong usage. See xw-export(8).\n",
	      stdout);
}

static int usage(void)
{
	cli_hint("usage: xw-export [-o FILE | -t] [options] IMAGE; more with --help");
	return EXIT_USAGE;
}

static int to_library(struct xw_export *x, const char *option, const char *value)
{
	if (!xw_export_set(x, option, value))
		return -1;
	cli_error("%s", xw_export_error(x));
	return EXIT_USAGE;
}

/* -1: taken; otherwise a status. */
static int take_option(struct export_args *args, struct xw_export *x, int key, const char *word)
{
	switch (key) {
	case 'o':
		args->output = optarg;
		return -1;
	case 't':
		args->list = true;
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
	case 'C':
		return to_library(x, "--directory", optarg);
	case KEY_REDO:
		return to_library(x, "--redo-file", optarg);
	case KEY_EXCLUDE:
		return to_library(x, "--exclude", optarg);
	case KEY_IGNORE:
		return to_library(x, "--ignore-checksums", NULL);
	case 'E':
		return to_library(x, "-E", optarg);
	case 'h':
		print_help();
		return EXIT_DONE;
	case 'V':
		printf("xw-export (extwright) %s\n", xw_version());
		return EXIT_DONE;
	case ':':
		cli_error("option %s needs a value", word);
		return usage();
	default:
		cli_error("unknown option %s", word);
		return usage();
	}
}

static int check(const struct export_args *args)
{
	const bool to_stdout = !args->output || !strcmp(args->output, "-");

	if (args->list && args->output) {
		cli_error("-o and -t exclude each other");
		return usage();
	}
	if (args->json && (args->list || to_stdout)) {
		cli_error("--json needs -o FILE: standard output has the %s",
			  args->list ? "listing" : "archive");
		return EXIT_USAGE;
	}
	if (!args->list && to_stdout && isatty(STDOUT_FILENO)) {
		cli_error("an archive is not written to a terminal: use -o FILE, a pipe, or -t to "
			  "list");
		return EXIT_USAGE;
	}
	return -1;
}

int export_args_parse(struct export_args *args, struct xw_export *x, int argc, char **argv)
{
	int key, status = -1;

	*args = (struct export_args){0};
	opterr = 0;
	while (status < 0 && (key = getopt_long(argc, argv, ":o:tC:E:qvhV", longs, NULL)) != -1)
		status = take_option(args, x, key, optind > 1 ? argv[optind - 1] : "");
	if (status >= 0)
		return status;
	if (optind == argc) {
		cli_error("the name of the image is missing");
		return usage();
	}
	args->image = argv[optind++];
	if (optind < argc) {
		cli_error("unexpected argument '%s' after IMAGE", argv[optind]);
		return usage();
	}
	return check(args);
}
