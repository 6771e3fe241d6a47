/* SPDX-License-Identifier: MIT */
/* How a change is committed, and where its redo file is. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/redo.h"
#include "commit/commit.h"

const struct cli_option cli_commit_options[] = {
	{NULL, "--commit", "auto|journal|inside|file",
	 "how the change is written: through the journal, by a redo record inside IMAGE, or by "
	 "a redo file (default: auto)"},
	{NULL, "--redo-file", "FILE", "commit by this redo file, not by a record in IMAGE"},
	CLI_END,
};

int cli_line_commit(const struct cli_line *l, const char *value)
{
	struct xw_diag diag = {0};
	enum xw_commit_how how;

	if (!xw_commit_how_set(value, &how, &diag))
		return (int)how;
	cli_line_failf(l, "%s", diag.text);
	return -1;
}

/*
 * The value of a variable if it is an absolute path; the XDG specification ignores relative paths.
 */
static const char *path_of(const char *variable)
{
	const char *value = getenv(variable);

	return value && *value == '/' ? value : NULL;
}

char *cli_redo_dir(const char *image, bool window)
{
	const char *own = path_of("EXTWRIGHT_STATE_DIR"), *state = path_of("XDG_STATE_HOME");
	const char *home = path_of("HOME");
	struct stat st;
	char *dir;
	int n;

	if (stat(image, &st) || (!S_ISBLK(st.st_mode) && !window))
		return NULL;
	if (own)
		n = asprintf(&dir, "%s/", own);
	else if (!geteuid())
		n = asprintf(&dir, "/var/lib/extwright/");
	else if (state)
		n = asprintf(&dir, "%s/extwright/", state);
	else if (home)
		n = asprintf(&dir, "%s/.local/state/extwright/", home);
	else
		return NULL;
	return n < 0 ? NULL : dir;
}

const char *cli_line_redo_dir(struct cli_line *l, const char *image)
{
	free(l->redo_dir);
	l->redo_dir = cli_redo_dir(image, l->window);
	return l->redo_dir;
}

void cli_line_redo(struct cli_line *l, const char *image, const char *option)
{
	if (!cli_line_setting(l, "--redo-file") && cli_line_redo_dir(l, image))
		cli_line_push(l, option, l->redo_dir);
}
