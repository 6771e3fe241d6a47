/* SPDX-License-Identifier: MIT */
/* The command line, and the source of requests. */
#ifndef XW_DEBUGFS_TOOL_H
#define XW_DEBUGFS_TOOL_H

#include "cli/options.h"
#include "debugfs.h"

struct debugfs_args {
	struct cli_line line;
	struct dbg_how how;
	const char *image; /* NULL: none */
	const char *file; /* -f; "-": standard input */
	char *redo_file, *undo_file; /* owned; referenced by `how` */
	const char **requests; /* -R; owned */
	size_t n_requests;
	int64_t now;
};

/* -1: continue; otherwise the exit status. */
int debugfs_args_parse(struct debugfs_args *args, int argc, char **argv);
void debugfs_args_free(struct debugfs_args *args);

/* Ask for requests and run them until the input ends or d->quit is set. */
void debugfs_prompt(struct dbg *d);
/*
 * Run the requests in a file until it ends or d->quit is set. Returns 0 or the errno of a failed
 * read; the changes of a script that could not be read to its end are not committed.
 */
int debugfs_script(struct dbg *d, FILE *in, bool echo);

/*
 * Completions for the last word of the first `len` bytes of the line: verbs for the first word,
 * names in the image for others. The completions (malloc'd array and strings, NULL-terminated)
 * replace the line from *from on. NULL: none.
 */
char **debugfs_complete(struct dbg *d, const char *line, size_t len, size_t *from);
void debugfs_complete_free(char **words);

#endif
