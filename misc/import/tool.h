/* SPDX-License-Identifier: MIT */
/* The parts of xw-import. */
#ifndef XW_IMPORT_TOOL_H
#define XW_IMPORT_TOOL_H

#include "api/xw.h"
#include "cli/options.h"

/* The command line, read but not judged. */
struct import_args {
	struct cli_line line;
	const char *image;
	char **sources; /* of argv, up to its NULL */
	char *dir; /* -C, owned; NULL: none */
	bool dry_run;
};

/* -1: go on; otherwise the status to exit with. */
int import_args_parse(struct import_args *args, int argc, char **argv);
void import_args_free(struct import_args *args);
/* The source `name` as -C `dir` (or NULL) means it; the caller's to free. NULL: out of memory. */
char *import_in_dir(const char *dir, const char *name);

/* The closing account, in a few aligned lines. */
void import_print_result(FILE *out, const struct import_args *args,
			 const struct xw_import_result *r);

#endif
