/* SPDX-License-Identifier: MIT */
/* The command line, and where requests come from. */
#ifndef XW_DEBUGFS_TOOL_H
#define XW_DEBUGFS_TOOL_H

#include "cli/options.h"
#include "debugfs.h"

struct debugfs_args {
	struct cli_line line;
	struct dbg_how how;
	const char *image; /* NULL: none yet */
	const char *file; /* -f; "-": standard input */
	char *redo_file, *undo_file; /* owned; those of `how` */
	const char **requests; /* -R; owned */
	size_t n_requests;
	int64_t now;
};

/* -1: go on; otherwise the status to exit with. */
int debugfs_args_parse(struct debugfs_args *args, int argc, char **argv);
void debugfs_args_free(struct debugfs_args *args);

/* Run requests until the input ends or d->quit is set. */
void debugfs_prompt(struct dbg *d);
void debugfs_script(struct dbg *d, FILE *in, bool echo);

/*
 * What could be meant by the last word of the line's first `len` bytes: verbs for the first word,
 * names in the image for others. The words (malloc'd array and strings, NULL at its end) replace
 * the line from *from on. NULL: nothing.
 */
char **debugfs_complete(struct dbg *d, const char *line, size_t len, size_t *from);
void debugfs_complete_free(char **words);

#endif
