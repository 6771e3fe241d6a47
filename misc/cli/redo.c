/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/redo.h"

/* A variable that says a whole path; what else it may hold, XDG's specification has ignored. */
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
	for (size_t i = 0; i < l->count; i++)
		if (!strcmp(l->settings[i].name, "--redo-file"))
			return;
	if (cli_line_redo_dir(l, image))
		cli_line_push(l, option, l->redo_dir);
}
