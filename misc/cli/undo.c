/* SPDX-License-Identifier: MIT */
/* The undo file that "-z ''" stands for, as in e2fsprogs. */
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

int cli_line_undo(struct cli_line *l, const char *tool, const char *image, const char **file)
{
	const char *dir = getenv("E2FSPROGS_UNDO_DIR");
	const char *slash = strrchr(image, '/');

	if (!*file || **file)
		return -1;
	if (!dir || !*dir)
		dir = DEFAULT_DIR;
	*file = NULL;
	if (!strcmp(dir, "none"))
		return -1;
	if (access(dir, W_OK | X_OK)) {
		cli_line_failf(l, "-z '': %s: %s; E2FSPROGS_UNDO_DIR names another directory", dir,
			       strerror(errno));
		return EXIT_FAILED;
	}
	if (asprintf(&l->undo_file, "%s/%s-%s.e2undo", dir, tool, slash ? slash + 1 : image) < 0) {
		l->undo_file = NULL;
		return cli_line_no_memory(l);
	}
	*file = l->undo_file;
	return -1;
}

const char *cli_undo_tool(void)
{
	return cli_stock_name() ? "e2undo" : "xw-undo";
}
