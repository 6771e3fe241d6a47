/* SPDX-License-Identifier: MIT */
/* The parts of xw-export: arguments, the archive, extracting, the listing. */
#ifndef XW_EXPORT_TOOL_H
#define XW_EXPORT_TOOL_H

#include "cli/run.h"

#include <stdbool.h>
#include <stdio.h>

#define EXPORT_NAMES "--files-from" /* a setting that is not the library's */

struct export_args {
	struct cli_line line;
	const char *image;
	char **paths; /* ends with NULL */
	const char *output; /* NULL or "-": standard output */
	const char *extract; /* directory, or NULL */
	bool list;
	bool by_nul; /* names in files of EXPORT_NAMES end with NUL */
	bool by_suffix; /* of output: how to compress */
	const char *of_archive, *of_extract; /* an option given that is about these only */
};

/* -1: go on; otherwise the status to exit with. */
int export_args_parse(struct export_args *args, int argc, char **argv);

/* The PATHs in files that -T names. -1: go on; otherwise the status to exit with, all said. */
int export_add_names(const struct export_args *args, struct xw_export *x);

/* Run, extract or list, errors and results printed. The status to exit with. */
int export_archive(const struct export_args *args, struct xw_export *x);
int export_extract(const struct export_args *args, struct xw_export *x);
int export_listing(const struct export_args *args, struct xw_export *x);

/* The status for a code; whether all was done but what the log named. */
int export_status(const struct xw_export *x, int err, bool *whole);
/* The result: as JSON, or as a line that begins with `where`. */
void export_print(const struct export_args *args, struct xw_export *x, const char *where);

#endif
