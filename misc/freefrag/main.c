/* SPDX-License-Identifier: MIT */
/*
 * xw-freefrag: free-space fragmentation of an ext2, ext3 or ext4 image, as reported by e2freefrag.
 */
#include "config.h"

#include "cli/env.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/redo.h"
#include "cli/term.h"
#include "plan/parse.h"
#include "show/show.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { KEY_REDO = CLI_KEY_OWN, KEY_SVG };

struct args {
	struct cli_line line;
	struct xw_show_source source;
	uint64_t chunk; /* in KiB; 0: none */
	const char *svg; /* "-": standard output, which then has no report */
};

static const struct cli_row rows[] = {
	{'c', required_argument, "-c", CLI_OURS, NULL},
	{'i', no_argument, "-i", CLI_OURS, NULL},
	{'E', required_argument, "-E", CLI_OURS, NULL},
	{KEY_REDO, required_argument, "--redo-file", CLI_OURS, NULL},
	{KEY_SVG, required_argument, "--svg", CLI_OURS, NULL},
	CLI_PARTITION_ROW,
	CLI_TALK_ROWS,
};

static void print_help(FILE *out)
{
	fputs("Usage: xw-freefrag [options] IMAGE\n"
	      "Print the free-space fragmentation of an ext2, ext3 or ext4 image.\n"
	      "\n"
	      "  -c KIB              count the free chunks of this size, a power of two\n"
	      "      --svg FILE      draw a map of the groups and the sizes of free extents;\n"
	      "                      - draws to standard output instead of the report\n"
	      "  -i                  IMAGE is a file made by e2image(8)\n"
	      "  -E offset=BYTES     where in IMAGE the filesystem begins\n"
	      "      --partition N   in partition N of IMAGE\n"
	      "      --redo-file FILE  where an interrupted change is kept\n"
	      "      --json          print it as JSON\n"
	      "  -q, --quiet; -v, --verbose  say less, or more\n"
	      "  -V, --version       print the version\n"
	      "  -h, --help          print this\n"
	      "\n"
	      "Exit status: 0 done, 1 failed or damage found, 2 wrong usage. See xw-freefrag(8).\n",
	      out);
}

static int set_chunk(struct args *args, const char *text)
{
	if (xw_parse_u64(text, &args->chunk) || args->chunk > UINT64_C(1) << 40) {
		cli_line_failf(&args->line, "-c %s: not a number of KiB", text);
		return EXIT_USAGE;
	}
	if (args->chunk & (args->chunk - 1)) {
		cli_line_failf(&args->line, "-c %s: the chunk size must be a power of 2", text);
		return EXIT_USAGE;
	}
	return -1;
}

static int take(struct cli_line *l, int key, const char *value)
{
	struct args *args = l->arg;
	struct xw_diag diag = {0};

	switch (key) {
	case 'c':
		return set_chunk(args, value);
	case 'i':
		args->source.e2image = true;
		return -1;
	case 'E':
		if (!xw_show_source_set(&args->source, "-E", value, &diag))
			return -1;
		cli_line_failf(l, "%s", diag.text);
		return EXIT_USAGE;
	case KEY_SVG:
		args->svg = value;
		return -1;
	default:
		args->source.redo_file = value;
		return -1;
	}
}

static bool to_stdout(const struct args *args)
{
	return args->svg && !strcmp(args->svg, "-");
}

static int parse(struct args *args, int argc, char **argv)
{
	int status;

	*args = (struct args){
		.line = {.tool = "xw-freefrag",
			 .usage = "xw-freefrag [-c KIB] [-h] [--svg FILE] [--json] IMAGE",
			 .rows = rows,
			 .n_rows = sizeof(rows) / sizeof(rows[0]),
			 .help = print_help,
			 .take = take}};
	args->line.arg = args;
	status = cli_line_read(&args->line, argc, argv);
	if (status < 0)
		status = cli_line_image(&args->line, argc, argv, &args->source.path);
	if (status < 0 && !args->source.redo_file)
		args->source.redo_file = cli_line_redo_dir(&args->line, args->source.path);
	if (status >= 0 || !args->line.json || !to_stdout(args))
		return status;
	cli_line_failf(&args->line, "--json needs --svg FILE: standard output has the drawing");
	return EXIT_USAGE;
}

static int draw(const struct args *args, struct xw_image *img, const struct xw_freefrag *ff)
{
	const char *kept;
	const int fd = cli_output_open(args->svg, &args->source.path, 1, NULL, &kept);
	FILE *f;
	int rc;

	if (kept)
		return xw_fail(img->diag, XW_ERR_USAGE, "%s: the drawing would overwrite the image",
			       args->svg);
	f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f) {
		rc = xw_fail_errno(img->diag, XW_ERR_IO, errno, "%s", args->svg);
		if (fd >= 0)
			close(fd);
		return rc;
	}
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
	if (!rc && to_stdout(args)) {
		/* a failing stdout is reported by cli_close_stdout() */
		(void)xw_freefrag_svg(stdout, img, args->source.path, &ff);
	} else if (!rc) {
		rc = xw_show_freefrag(s, img, args->source.path, &ff);
		if (!rc && args->svg)
			rc = draw(args, img, &ff);
	}
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
		.out = args->line.json ? NULL : stdout, .json = &json, .problem = on_problem};
	struct xw_image *img = NULL;
	struct xw_diag diag = {.log = xw_show_log, .log_arg = (void *)&args->line};
	struct xw_dev *dev = NULL;
	bool pending;
	int rc = xw_show_device(&args->source, &diag, &dev, &pending);

	if (!rc)
		rc = xw_show_open(&s, dev, false, &diag, &img);
	xw_json_object(&json, NULL);
	xw_show_pending(&json, pending);
	if (!rc)
		rc = report(args, &s, img);
	xw_json_end(&json, '}');
	if (!rc && args->line.json && xw_json_text(&json))
		puts(xw_json_text(&json));
	xw_fail_repair(&diag);
	if (rc)
		cli_line_failed(&args->line, *diag.text ? diag.text : xw_err_text(rc));
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
	cli_line_free(&args.line);
	return cli_close_stdout(status);
}
