/* SPDX-License-Identifier: MIT */
/* xw-export: the files in an ext2, ext3 or ext4 image as an archive, extracted, or listed. */
#include "cli/env.h"
#include "cli/escape.h"
#include "cli/human.h"
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

		if (strcmp(s->name, "now") && strcmp(s->name, EXPORT_NAMES))
			err = xw_export_set(x, s->name, s->value);
	}
	if (!err && args->by_suffix)
		err = xw_export_set(x, "--auto-compress", args->output);
	for (char **path = args->paths; *path && !err; path++)
		err = xw_export_add_path(x, *path);
	return err;
}

int export_status(const struct xw_export *x, int err, bool *whole)
{
	const struct xw_export_result *r = xw_export_result(x);

	*whole = !err || r->missing || r->damaged || r->failed;
	if (err == XW_E_CHECKSUM)
		cli_hint("--ignore-checksums reads what only fails its checksum");
	if (err == XW_E_HOSTFULL || (err == XW_E_CORRUPT && !r->damaged) ||
	    (err && cli_interrupted()))
		*whole = false;
	return err && *whole ? EXIT_FAILED : err == XW_E_USAGE ? EXIT_USAGE : !!err;
}

static void print_json(struct xw_export *x, const char *why, bool result)
{
	const char *json = result ? xw_export_json(x) : "{}";
	const size_t len = json ? strlen(json) : 0;

	if (!json)
		why = why ? why : "out of memory";
	if (why) { /* a member more, before the brace that closes the object */
		printf("%.*s%s", len ? (int)len - 1 : 1, len ? json : "{", len > 2 ? "," : "");
		cli_json_text(stdout, "error", why);
		json = "}";
	}
	puts(json);
}

void export_print(const struct export_args *args, struct xw_export *x, const char *where,
		  const char *why, bool result)
{
	const struct xw_export_result *r = xw_export_result(x);

	if (args->line.json) {
		print_json(x, why, result);
		return;
	}
	if (!result || args->line.quiet)
		return;
	printf("%s: %s, %s", where, cli_plural(r->files, "file", "files").s,
	       cli_plural(r->directories, "directory", "directories").s);
	if (r->symlinks)
		printf(", %s", cli_plural(r->symlinks, "symlink", "symlinks").s);
	if (r->hardlinks)
		printf(", %s", cli_plural(r->hardlinks, "hard link", "hard links").s);
	if (r->specials)
		printf(", %s", cli_plural(r->specials, "special", "specials").s);
	printf("; %s in %s, %s\n", cli_size(r->bytes_out).s, cli_duration(r->seconds).s,
	       cli_rate(r->bytes_out, r->seconds).s);
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
