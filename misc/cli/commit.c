/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "cli/redo.h"
#include "commit/commit.h"

int cli_line_commit(const struct cli_line *l, const char *value)
{
	struct xw_diag diag = {0};
	enum xw_commit_how how;

	if (!xw_commit_how_set(value, &how, &diag))
		return (int)how;
	cli_line_failf(l, "%s", diag.text);
	return -1;
}
