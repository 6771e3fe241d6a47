/* SPDX-License-Identifier: MIT */
/* The parts of xw-import. */
#ifndef XW_IMPORT_TOOL_H
#define XW_IMPORT_TOOL_H

#include "api/xw.h"
#include "cli/options.h"

/* The command line, not validated yet. */
struct import_args {
	struct cli_line line;
	const char *image;
	char **sources; /* NULL-terminated part of argv */
	char *dir; /* -C, owned; NULL: none */
	bool dry_run;
};

/* -1: continue; otherwise the exit status. */
int import_args_parse(struct import_args *args, int argc, char **argv);
void import_args_free(struct import_args *args);

/* The closing report, in a few aligned lines. */
void import_print_result(FILE *out, const struct import_args *args,
			 const struct xw_import_result *r);

#endif
