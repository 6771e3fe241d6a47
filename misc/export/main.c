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
	int rc;

	umask(mask);
	snprintf(text, sizeof(text), "%o", (unsigned)mask & 0777u);
	rc = xw_export_set(x, "umask", text);
	if (geteuid() || rc)
		return rc;
	rc = xw_export_set(x, "--same-owner", NULL);
	return rc ? rc : xw_export_set(x, "--preserve-permissions", NULL);
}

static int set_all(struct xw_export *x, const struct export_args *args)
{
	int rc = set_defaults(x);

	for (size_t i = 0; i < args->line.count && !rc; i++) {
		const struct cli_setting *s = &args->line.settings[i];

		if (strcmp(s->name, EXPORT_NAMES))
			rc = xw_export_set(x, s->name, s->value);
	}
	if (!rc && args->by_suffix)
		rc = xw_export_set(x, "--auto-compress", args->output);
	for (char **path = args->paths; *path && !rc; path++)
		rc = xw_export_add_path(x, *path);
	return rc;
}

static int run(const struct export_args *args)
{
	struct xw_export *x;
	int status, rc;

	if (xw_export_new(&x)) {
		cli_line_failf(&args->line, "out of memory");
		return EXIT_FAILED;
	}
	rc = set_all(x, args);
	if (rc) {
		cli_line_failed(&args->line, xw_export_error(x));
		status = cli_run_status(rc);
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
