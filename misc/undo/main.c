// SPDX-License-Identifier: MIT
/* xw-undo: write back what an undo file (-z of the other tools, or of e2fsprogs) holds. */
#include "config.h"

#include "cli/env.h"
#include "cli/human.h"
#include "cli/options.h"
#include "cli/term.h"
#include "commit/undo_apply.h"
#include "commit/undo_dev.h"
#include "plan/parse.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

struct args {
	struct cli_line line;
	const char *file, *image, *undo_file;
	char *undo_default; /* owned */
	uint64_t offset;
	bool offset_set, force, dry_run;
};

static const struct cli_row rows[] = {
	{'f', no_argument, "-f", CLI_OURS, NULL},
	{'n', no_argument, "-n", CLI_OURS, NULL},
	{'o', required_argument, "-o", CLI_OURS, NULL},
	{'z', required_argument, "-z", CLI_OURS, NULL},
	CLI_PARTITION_ROW,
	CLI_TALK_ROWS,
};

static void print_help(FILE *out)
{
	fputs("Usage: xw-undo [options] UNDO_FILE IMAGE\n"
	      "Take a change of IMAGE back: write what UNDO_FILE holds over it.\n"
	      "\n"
	      "  -f             also if IMAGE is not in the state that UNDO_FILE is for\n"
	      "  -n             only verify UNDO_FILE and that state; write nothing\n"
	      "  -o BYTES       where in IMAGE the filesystem begins (default: UNDO_FILE says it)\n"
	      "      --partition N  in partition N of IMAGE, which is a whole disk\n"
	      "  -z FILE        write what is overwritten to another undo file\n"
	      "  -v, --verbose  name each piece that is written back\n"
	      "  -q, --quiet    print nothing but problems\n"
	      "      --json     print the result as JSON\n"
	      "  -V, --version  print the version\n"
	      "  -h, --help     print this\n"
	      "\n"
	      "Exit status: 0 done, 1 failed, 2 wrong usage. See xw-undo(8).\n",
	      out);
}

static int take(struct cli_line *l, int key, const char *value)
{
	struct args *args = l->arg;

	switch (key) {
	case 'f':
		args->force = true;
		return -1;
	case 'n':
		args->dry_run = true;
		return -1;
	case 'z':
		args->undo_file = value;
		return -1;
	case 'E': /* --partition, as "offset=BYTES" */
		value += strlen("offset=");
		break;
	default:
		l->placed = true;
		break;
	}
	if (xw_parse_size(value, 1, &args->offset) || args->offset > INT64_MAX / 2) {
		cli_line_failf(l, "-o %.80s: not a number of bytes", value);
		return EXIT_USAGE;
	}
	args->offset_set = true;
	return -1;
}

static int parse(struct args *args, int argc, char **argv)
{
	int status;

	*args = (struct args){
		.line = {.tool = "xw-undo",
			 .usage = "xw-undo [-fnqv] [-o BYTES | --partition N] [-z FILE] "
				  "UNDO_FILE "
				  "IMAGE",
			 .rows = rows,
			 .n_rows = sizeof(rows) / sizeof(rows[0]),
			 .help = print_help,
			 .take = take}};
	args->line.arg = args;
	status = cli_line_read(&args->line, argc, argv);
	if (status >= 0)
		return status;
	if (argc - optind != 2) {
		return cli_line_operands(&args->line, "an undo file and an image are needed");
	}
	args->file = argv[optind];
	args->image = argv[optind + 1];
	status = cli_line_offset(&args->line, argv[optind + 1]);
	if (status >= 0)
		return status;
	if (args->undo_file && !cli_undo_file(&args->line, "e2undo", args->image, &args->undo_file,
					      &args->undo_default))
		return EXIT_FAILED;
	return -1;
}

/* The image, from its filesystem on; with -z through what writes the other undo file. */
static int open_image(const struct args *args, uint64_t offset, struct xw_diag *diag,
		      struct xw_dev **dev)
{
	int rc = xw_dev_open_file(args->image, args->dry_run ? XW_DEV_RDONLY | XW_DEV_SHARED : 0,
				  diag, dev);

	if (!rc && offset)
		rc = xw_dev_open_offset(*dev, offset, dev);
	if (!rc && args->undo_file && !args->dry_run)
		rc = xw_undo_dev_open(*dev, args->undo_file, offset, dev);
	return rc;
}

static void on_piece(void *arg, uint32_t size, uint64_t from, uint64_t to)
{
	(void)arg;
	cli_note("Replayed block of size %" PRIu32 " from %" PRIu64 " to %" PRIu64, size, from, to);
}

static void report(const struct args *args, const struct xw_undo_info *info)
{
	if (args->line.json) {
		struct xw_json j = {0};

		xw_json_object(&j, NULL);
		xw_json_bool(&j, "written", !args->dry_run);
		xw_json_u64(&j, "bytes", info->bytes);
		xw_json_u64(&j, "pieces", info->pieces);
		xw_json_u64(&j, "offset_bytes", info->offset);
		xw_json_bool(&j, "finished", info->finished);
		xw_json_end(&j, '}');
		puts(xw_json_text(&j) ? xw_json_text(&j) : "{\"error\":\"out of memory\"}");
		xw_json_free(&j);
	} else if (!args->line.quiet) {
		printf("%s: %s in %s %s\n", args->image, cli_size(info->bytes).s,
		       cli_plural(info->pieces, "piece", "pieces").s,
		       args->dry_run ? "would be written back" : "written back");
	}
}

static int undo(const struct args *args, struct xw_undo *u, struct xw_diag *diag)
{
	const struct xw_undo_info *info = xw_undo_info(u);
	struct xw_dev *dev = NULL;
	int rc = open_image(args, args->offset_set ? args->offset : info->offset, diag, &dev);

	if (!rc && !args->force)
		rc = xw_undo_match(u, dev);
	if (!rc && !args->dry_run)
		rc = xw_undo_apply(u, dev, args->line.verbose ? on_piece : NULL, NULL);
	if (!rc && args->undo_file && !args->dry_run)
		rc = xw_undo_dev_finish(dev);
	xw_dev_close(dev);
	return rc;
}

static int run(const struct args *args)
{
	struct xw_diag diag = {0};
	struct xw_undo *u = NULL;
	int rc = xw_undo_open(args->file, &diag, &u);

	if (!rc)
		rc = undo(args, u, &diag);
	if (rc)
		cli_line_failed(&args->line, *diag.text ? diag.text : xw_err_text(rc));
	if (rc == XW_ERR_STATE && !args->force)
		cli_hint("-f writes it back all the same");
	if (!rc)
		report(args, xw_undo_info(u));
	xw_undo_close(u);
	return rc ? EXIT_FAILED : EXIT_DONE;
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
	free(args.undo_default);
	return cli_close_stdout(status);
}
