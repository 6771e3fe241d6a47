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

#include <string.h>
#include <unistd.h>

struct args {
	struct cli_line line;
	struct xw_show_source source;
	uint64_t chunk; /* in KiB; 0: none */
	const char *svg; /* "-": standard output, which then has no report */
};

static cli_option_fn set_chunk;

static const struct cli_option options[] = {
	{"-c", NULL, "KIB", "count the free chunks of this size, a power of two", set_chunk},
	{NULL, "--svg", "FILE",
	 "draw a map of the groups and the sizes of free extents; - draws to standard output "
	 "instead of the report",
	 cli_text, offsetof(struct args, svg)},
	SHOW_SOURCE_ROWS(struct args),
	CLI_OUTPUT("print more", "print the result as JSON"),
	CLI_HELP,
	CLI_END,
};

static const struct cli_tool tool = {
	.name = "xw-freefrag",
	.usage = "[-c KIB] [-h] [--svg FILE] [--json] IMAGE",
	.about = "Print the free-space fragmentation of an ext2, ext3 or ext4 image.",
	.notes = "Exit status: 0 done, 1 failed or damage found, 2 wrong usage.",
	.tables = {options},
};

static int set_chunk(struct cli_line *l, const struct cli_option *o, const char *value)
{
	struct args *args = (void *)l;

	(void)o;
	if (xw_parse_u64(value, &args->chunk) || args->chunk > UINT64_C(1) << 40)
		return cli_line_refuse(l, "-c %s: not a number of KiB", value);
	if (args->chunk & (args->chunk - 1))
		return cli_line_refuse(l, "-c %s: the chunk size must be a power of 2", value);
	return -1;
}

static bool to_stdout(const struct args *args)
{
	return args->svg && !strcmp(args->svg, "-");
}

static int parse(struct args *args, int argc, char **argv)
{
	struct cli_line *l = &args->line;
	int status;

	*args = (struct args){0};
	status = cli_line_read(l, &tool, argc, argv);
	if (status < 0)
		status = xw_show_source_path(l, &args->source);
	if (status < 0 && l->json && to_stdout(args))
		return cli_line_refuse(
			l, "--json and --svg - exclude each other: both write to standard output");
	return status;
}

static int draw(const struct args *args, struct xw_image *img, const struct xw_freefrag *ff)
{
	FILE *f;
	int rc = cli_drawing_open(args->svg, args->source.path, img->diag, &f);

	if (rc)
		return rc;
	rc = xw_freefrag_svg(f, img, args->source.path, ff);
	return cli_drawing_close(f, rc, args->svg, img->diag);
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
