/* SPDX-License-Identifier: MIT */
/* Shared by archive, extraction and listing: exit status, result, names of entries. */
#include "cli/account.h"
#include "cli/env.h"
#include "cli/escape.h"
#include "cli/human.h"
#include "export/tool.h"

#include <string.h>
#include <sys/stat.h>

int export_status(const struct xw_export *x, int rc, bool *whole)
{
	const struct xw_export_result *r = xw_export_result(x);

	*whole = !rc || r->missing || r->damaged || r->failed;
	if (rc == XW_E_CHECKSUM)
		cli_hint("--ignore-checksums reads what only fails its checksum");
	if (rc == XW_E_HOSTFULL || (rc == XW_E_CORRUPT && !r->damaged) || (rc && cli_interrupted()))
		*whole = false;
	return rc && *whole ? EXIT_FAILED : rc == XW_E_USAGE ? EXIT_USAGE : !!rc;
}

static void print_json(struct xw_export *x, const char *why, bool result)
{
	const char *json = result ? xw_export_json(x) : "{}";
	const size_t len = json ? strlen(json) : 0;

	if (!json)
		why = why ? why : "out of memory";
	if (why) { /* insert a member before the closing brace */
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
	const struct cli_files files = {r->files, r->directories, r->symlinks, r->hardlinks,
					r->specials};

	if (args->line.json) {
		print_json(x, why, result);
		return;
	}
	if (!result || args->line.quiet)
		return;
	cli_printf(stdout, "%s: ", where);
	cli_print_files(stdout, &files);
	printf("; %s in %s, %s\n", cli_size(r->bytes_out).s, cli_duration(r->seconds).s,
	       cli_rate(r->bytes_out, r->seconds).s);
}

void export_print_name(const struct xw_export_entry *e)
{
	const char *path = *e->path ? e->path : ".";

	cli_escape(stdout, CLI_TEXT_BACK, path, strlen(path));
	if (S_ISDIR(e->mode))
		putchar('/');
}
