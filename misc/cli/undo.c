/* SPDX-License-Identifier: MIT */
/* What "-z ''" means, as in e2fsprogs. */
#include "config.h"

#include "cli/env.h"
#include "cli/options.h"
#include "cli/stock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_DIR "/var/lib/e2fsprogs"

bool cli_undo_file(const struct cli_line *l, const char *tool, const char *image,
		   const char **value, char **made)
{
	const char *dir = getenv("E2FSPROGS_UNDO_DIR");
	const char *slash = strrchr(image, '/');

	if (**value)
		return true;
	if (!dir || !*dir)
		dir = DEFAULT_DIR;
	*value = NULL;
	if (!strcmp(dir, "none"))
		return true;
	if (access(dir, W_OK | X_OK)) {
		cli_line_failf(l, "-z '': %s: %s; E2FSPROGS_UNDO_DIR names another directory", dir,
			       strerror(errno));
		return false;
	}
	if (asprintf(made, "%s/%s-%s.e2undo", dir, tool, slash ? slash + 1 : image) < 0) {
		*made = NULL;
		cli_line_failf(l, "out of memory");
		return false;
	}
	*value = *made;
	return true;
}

const char *cli_undo_tool(void)
{
	return cli_stock_name() ? "e2undo" : "xw-undo";
}
