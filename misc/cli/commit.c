/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "cli/redo.h"
#include "commit/commit.h"

int cli_line_commit(const struct cli_line *l, const char *value)
{
	enum xw_commit_how how;

	if (xw_commit_how_parse(value, &how))
		return (int)how;
	cli_line_failf(l, "--commit: \"%s\" is not " XW_COMMIT_HOWS, value);
	return -1;
}
