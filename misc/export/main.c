/* SPDX-License-Identifier: MIT */
/* xw-export: the files in an ext2, ext3 or ext4 image as an archive, extracted, or listed. */
#include "cli/env.h"
#include "export/tool.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* As in tar(1): for root, owners and modes are kept unless disabled. */
static int set_defaults(struct xw_export *x)
{
	const mode_t mask = umask(0);
	char text[8];
	int err;

	umask(mask);
	snprintf(text, sizeof(text), "%o", (unsigned)mask & 0777u);
	err = xw_export_set(x, "umask", text);
	if (geteuid() || err)
		return err;
	err = xw_export_set(x, "--same-owner", NULL);
	return err ? err : xw_export_set(x, "--preserve-permissions", NULL);
}

static int set_all(struct xw_export *x, const struct export_args *args)
{
	int err = set_defaults(x);

	for (size_t i = 0; i < args->line.count && !err; i++) {
		const struct cli_setting *s = &args->line.settings[i];

		if (strcmp(s->name, EXPORT_NAMES))
			err = xw_export_set(x, s->name, s->value);
	}
	if (!err && args->by_suffix)
		err = xw_export_set(x, "--auto-compress", args->output);
	for (char **path = args->paths; *path && !err; path++)
		err = xw_export_add_path(x, *path);
	return err;
}

static int run(const struct export_args *args)
{
	struct xw_export *x;
	int status;

	if (xw_export_new(&x)) {
		cli_line_failf(&args->line, "out of memory");
		return EXIT_FAILED;
	}
	if (set_all(x, args)) {
		cli_line_failed(&args->line, xw_export_error(x));
		status = EXIT_USAGE;
	} else {
		status = export_add_names(args, x);
		if (status < 0)
			status = args->list      ? export_listing(args, x)
				 : args->extract ? export_extract(args, x)
						 : export_archive(args, x);
	}
	xw_export_free(x);
	return status;
}

int main(int argc, char **argv)
{
	struct export_args args;
	int status;

	cli_guard_streams();
	status = export_args_parse(&args, argc, argv);
	if (status < 0) {
		cli_catch_interrupts();
		status = run(&args);
	}
	cli_line_free(&args.line);
	return cli_close_stdout(status);
}
