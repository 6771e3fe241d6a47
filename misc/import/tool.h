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
};

/* -1: go on; otherwise the status to exit with. */
int import_args_parse(struct import_args *args, int argc, char **argv);

/* The closing account, in a few aligned lines. */
void import_print_result(FILE *out, const struct import_args *args,
			 const struct xw_import_result *r);

#endif
