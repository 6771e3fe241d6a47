/* SPDX-License-Identifier: MIT */
/* xw-freefrag: how free space is cut up in an ext2, ext3 or ext4 image, as e2freefrag says it. */
#include "config.h"

#include "api/xw.h"
#include "cli/env.h"
#include "cli/term.h"
#include "plan/parse.h"
#include "show/show.h"

#include <errno.h>
#include <getopt.h>
#include <string.h>
#include <sys/stat.h>

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };
enum { KEY_HELP = 256, KEY_JSON, KEY_REDO, KEY_SVG };

struct args {
	struct xw_show_source source;
	uint64_t chunk; /* KiB; 0: none */
	const char *svg;
	bool json;
};

static const struct option longs[] = {
	{"help", no_argument, NULL, KEY_HELP},
	{"json", no_argument, NULL, KEY_JSON},
	{"redo-file", required_argument, NULL, KEY_REDO},
	{"svg", required_argument, NULL, KEY_SVG},
	{"version", no_argument, NULL, 'V'},
	{NULL, 0, NULL, 0},
};

static const char synopsis[] = "usage: xw-freefrag [-c KIB] [-h] [--svg FILE] [--json] IMAGE";

static void print_help(void)
{
	fputs("Usage: xw-freefrag [options] IMAGE\n"
	      "Print how the free space of an ext2, ext3 or ext4 image is cut up.\n"
	      "\n"
	      "  -c KIB              count the free chunks of this size, a power of two\n"
	      "      --svg FILE      draw a map of the groups and the sizes of free extents\n"
	      "  -i                  IMAGE is a file made by e2image(8)\n"
	      "  -E offset=BYTES     where in IMAGE the filesystem begins\n"
	      "      --redo-file FILE  where an interrupted change is kept (block devices)\n"
	      "      --json          print it as JSON\n"
	      "  -V, --version       print the version\n"
	      "  -h, --help          print this\n"
	      "\n"
	      "Exit status: 0 done, 1 failed or damage found, 2 wrong usage. See xw-freefrag(8).\n",
	      stdout);
}

static int usage(void)
{
	cli_hint("%s; more with --help", synopsis);
	return EXIT_USAGE;
}

static int set_chunk(struct args *args, const char *text)
{
	if (xw_parse_u64(text, &args->chunk) || args->chunk > UINT64_C(1) << 40) {
		cli_error("-c %s: not a number of KiB", text);
		return EXIT_USAGE;
	}
	if (args->chunk & (args->chunk - 1)) {
		cli_error("-c %s: the chunk size must be a power of 2", text);
		return EXIT_USAGE;
	}
	return -1;
}

static int take_option(struct args *args, int key, const char *word)
{
	struct xw_diag diag = {0};

	switch (key) {
	case 'c':
		return set_chunk(args, optarg);
	case 'i':
		args->source.e2image = true;
		return -1;
	case 'E':
		if (!xw_show_source_set(&args->source, "-E", optarg, &diag))
			return -1;
		cli_error("%s", diag.text);
		return EXIT_USAGE;
	case KEY_SVG:
		args->svg = optarg;
		return -1;
	case KEY_JSON:
		args->json = true;
		return -1;
	case KEY_REDO:
		args->source.redo_file = optarg;
		return -1;
	case 'V':
		printf("xw-freefrag (extwright) %s\n", xw_version());
		return EXIT_DONE;
	case 'h':
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

static int parse(struct args *args, int argc, char **argv)
{
	int key, status = -1;

	*args = (struct args){0};
	opterr = 0;
	while (status < 0 && (key = getopt_long(argc, argv, ":c:hiE:V", longs, NULL)) != -1)
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
	return -1;
}

static bool is_image(const char *image, const char *path)
{
	struct stat a, b;

	return !stat(image, &a) && !stat(path, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static int draw(const struct args *args, struct xw_image *img, const struct xw_freefrag *ff)
{
	FILE *f;
	int rc;

	if (is_image(args->source.path, args->svg))
		return xw_fail(img->diag, XW_ERR_USAGE, "%s: the drawing would overwrite the image",
			       args->svg);
	f = fopen(args->svg, "we");
	if (!f)
		return xw_fail_errno(img->diag, XW_ERR_IO, errno, "%s", args->svg);
	rc = xw_freefrag_svg(f, img, args->source.path, ff);
	if (fclose(f) || rc)
		rc = xw_fail_errno(img->diag, XW_ERR_IO, errno, "%s: cannot be written", args->svg);
	return rc;
}

static int report(const struct args *args, struct xw_show *s, struct xw_image *img)
{
	struct xw_freefrag ff = {.group_map = args->svg};
	int rc;

	if (args->chunk && args->chunk << 10 < img->block_size)
		return xw_fail(img->diag, XW_ERR_USAGE,
			       "-c %llu: a chunk must be as large as a block at least",
			       (unsigned long long)args->chunk);
	ff.chunk = (args->chunk << 10) / img->block_size;
	rc = xw_freefrag_measure(s, img, &ff);
	if (!rc)
		rc = xw_show_freefrag(s, img, args->source.path, &ff);
	if (!rc && args->svg)
		rc = draw(args, img, &ff);
	xw_freefrag_free(&ff);
	return rc;
}

static void on_problem(void *arg, const char *line)
{
	(void)arg;
	cli_warning("%s", line);
}

static int run(const struct args *args)
{
	struct xw_json json = {0};
	struct xw_show s = {
		.out = args->json ? NULL : stdout, .json = &json, .problem = on_problem};
	struct xw_image *img = NULL;
	struct xw_diag diag = {0};
	struct xw_dev *dev = NULL;
	int rc = xw_show_device(&args->source, &diag, &dev);

	if (!rc)
		rc = xw_show_open(&s, dev, false, &diag, &img);
	xw_json_object(&json, NULL);
	if (!rc)
		rc = report(args, &s, img);
	xw_json_end(&json, '}');
	if (!rc && args->json && xw_json_text(&json))
		puts(xw_json_text(&json));
	if (rc)
		cli_error("%s", *diag.text ? diag.text : xw_err_text(rc));
	xw_show_end(&s);
	xw_json_free(&json);
	xw_image_close(img);
	xw_dev_close(dev);
	return rc == XW_ERR_USAGE ? EXIT_USAGE : rc || s.problems ? EXIT_FAILED : EXIT_DONE;
}

int main(int argc, char **argv)
{
	struct args args;
	int status;

	cli_guard_streams();
	status = parse(&args, argc, argv);
	if (status < 0)
		status = run(&args);
	return cli_close_stdout(status);
}
