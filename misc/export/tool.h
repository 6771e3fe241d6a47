/* SPDX-License-Identifier: MIT */
/* The parts of xw-export: arguments, the archive, the listing. */
#ifndef XW_EXPORT_TOOL_H
#define XW_EXPORT_TOOL_H

#include "api/xw.h"
#include "cli/term.h"

#include <stdbool.h>
#include <stdio.h>

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

struct export_args {
	const char *image;
	const char *output; /* NULL or "-": standard output */
	bool list, quiet, json;
	unsigned verbose;
};

/* -1: go on; otherwise the status to exit with. Options of the library are set on x. */
int export_args_parse(struct export_args *args, struct xw_export *x, int argc, char **argv);

/* Run or list, errors and results printed. The status to exit with. */
int export_archive(const struct export_args *args, struct xw_export *x);
int export_listing(const struct export_args *args, struct xw_export *x);

#endif
