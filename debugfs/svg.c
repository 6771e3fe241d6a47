/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "svg.h"

#include <errno.h>
#include <string.h>

int dbg_svg_option(struct dbg *d, int *argc, char **argv, const char **path)
{
	int n = 1;

	*path = NULL;
	for (int i = 1; i < *argc; i++) {
		if (strcmp(argv[i], "--svg")) {
			argv[n++] = argv[i];
			continue;
		}
		if (*path || i + 1 == *argc)
			return DBG_USAGE;
		*path = argv[++i];
	}
	*argc = n;
	if (*path && d->json && !strcmp(*path, "-"))
		return xw_fail(
			&d->diag, XW_ERR_USAGE,
			"--json and --svg - exclude each other: both write to standard output");
	return 0;
}

int dbg_draw(struct dbg *d, const char *path, int (*draw)(void *arg, FILE *out), void *arg)
{
	FILE *f;
	int rc;

	if (!strcmp(path, "-"))
		return draw(arg, d->out);
	f = dbg_output_stream(d, path, NULL);
	if (!f)
		return XW_ERR_IO;
	rc = draw(arg, f);
	if (fclose(f) && !rc)
		rc = xw_fail_errno(&d->diag, XW_ERR_IO, errno, "%s", path);
	return rc;
}
