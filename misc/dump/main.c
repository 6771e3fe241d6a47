/* SPDX-License-Identifier: MIT */
/* xw-dump: superblock and block groups of an ext2, ext3 or ext4 image, as dumpe2fs prints them. */
#include "config.h"

#include "base/vec.h"
#include "cli/env.h"
#include "cli/term.h"
#include "dump/tool.h"

#include <stdlib.h>
#include <string.h>

/* Messages about damage: on stderr, and in JSON an array at the end. */
struct problems {
	XW_VEC(char *) lines;
};

static void on_problem(void *arg, const char *line)
{
	struct problems *p = arg;
	char *copy;

	fflush(stdout);
	cli_warning("%s", line);
	copy = strdup(line);
	if (!copy || xw_vec_push(&p->lines, copy))
		free(copy);
}

static void end_json(struct xw_json *json, struct problems *p)
{
	xw_json_array(json, "problems");
	for (size_t i = 0; i < p->lines.n; i++)
		xw_json_str(json, NULL, p->lines.v[i], strlen(p->lines.v[i]));
	xw_json_end(json, ']');
	xw_json_end(json, '}');
	if (xw_json_text(json))
		puts(xw_json_text(json));
}

static int examine(const struct dump_args *args, struct xw_show *s, struct xw_dev *dev,
		   struct xw_diag *diag)
{
	struct xw_image *img;
	int rc;

	if (xw_show_is_journal(dev))
		return args->bad_blocks || args->places || args->mmp
			       ? xw_fail(diag, XW_ERR_UNSUPPORTED,
					 "%s: an external journal has no blocks of files",
					 dev->name)
			       : xw_show_external(s, dev, diag);
	rc = xw_show_open(s, dev, args->force, diag, &img);
	if (rc == XW_ERR_CORRUPT && !args->bad_blocks && !args->places && !args->mmp) {
		struct xw_super sb;

		xw_show_raw_super(s, dev, &sb); /* at least the superblock */
	}
	if (rc)
		return rc;
	rc = args->mmp ? dump_check_mmp(args, s, img) : dump_image(args, s, img);
	xw_show_end(s);
	xw_image_close(img);
	return rc;
}

static int run(const struct dump_args *args)
{
	struct xw_json json = {0};
	struct problems problems = {{NULL, 0, 0}};
	struct xw_show s = {.out = args->line.json ? NULL : stdout,
			    .json = &json,
			    .hex = args->hex,
			    .problem = on_problem,
			    .arg = &problems};
	struct xw_diag diag = {.log = xw_show_log, .log_arg = (void *)&args->line};
	struct xw_dev *dev;
	bool pending, small = true; /* small: nor can it hold a backup */
	int rc = xw_show_device(&args->source, &diag, &dev, &pending);

	if (!rc) {
		if (args->line.json) {
			xw_json_object(&json, NULL);
			xw_show_pending(&json, pending);
		}
		small = dev->size < XW_SUPER_OFFSET + XW_SUPER_SIZE;
		rc = examine(args, &s, dev, &diag);
		xw_dev_close(dev);
	}
	if (rc < 0) {
		fflush(stdout);
		xw_fail_repair(&diag);
		if (*diag.text || !ferror(stdout)) /* cli_close_stdout() reports that */
			cli_line_failed(&args->line, *diag.text ? diag.text : xw_err_text(rc));
		if ((rc == XW_ERR_INPUT || rc == XW_ERR_CORRUPT) && !args->source.super && !small)
			cli_hint("try a backup superblock with -o superblock=BLOCK -o "
				 "blocksize=BYTES");
	} else if (args->line.json) {
		end_json(&json, &problems);
	}
	for (size_t i = 0; i < problems.lines.n; i++)
		free(problems.lines.v[i]);
	xw_vec_free(&problems.lines);
	xw_json_free(&json);
	if (rc == XW_ERR_UNSUPPORTED && args->mmp)
		return EXIT_USAGE; /* as in dumpe2fs: 1 means an image in use */
	return rc || s.problems ? EXIT_FAILED : EXIT_DONE;
}

int main(int argc, char **argv)
{
	struct dump_args args;
	int status;

	cli_guard_streams();
	status = dump_args_parse(&args, argc, argv);
	if (status < 0)
		status = run(&args);
	cli_line_free(&args.line);
	return cli_close_stdout(status);
}
