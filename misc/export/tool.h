/* SPDX-License-Identifier: MIT */
/* The parts of xw-export: arguments, the archive, extracting, the listing. */
#ifndef XW_EXPORT_TOOL_H
#define XW_EXPORT_TOOL_H

#include "cli/run.h"

#include <stdbool.h>
#include <stdio.h>

#define EXPORT_NAMES "--files-from" /* a setting that is not passed to the library */

struct export_args {
	struct cli_line line;
	const char *image;
	char **paths; /* NULL-terminated */
	const char *output; /* NULL or "-": standard output */
	const char *extract; /* directory, or NULL */
	bool list;
	bool by_nul; /* names in files of EXPORT_NAMES are NUL-terminated */
	bool by_suffix; /* compress according to the suffix of output */
	/* the last option that applies only to archives, or only to extraction; NULL: none */
	const char *of_archive, *of_extract;
};

/* -1: continue; otherwise the exit status. */
int export_args_parse(struct export_args *args, int argc, char **argv);

/*
 * Read the PATHs from files given with -T. -1: continue; otherwise the exit status, after a
 * message.
 */
int export_add_names(const struct export_args *args, struct xw_export *x);

/* Run, extract or list, and print errors and results. Returns the exit status. */
int export_archive(const struct export_args *args, struct xw_export *x);
int export_extract(const struct export_args *args, struct xw_export *x);
int export_listing(const struct export_args *args, struct xw_export *x);

/* ---- report.c ---- */

/* The path of an entry, with a slash behind a directory. */
void export_print_name(const struct xw_export_entry *e);

/*
 * The exit status for an error code. *whole: all files were processed, except those that were
 * logged.
 */
int export_status(const struct xw_export *x, int rc, bool *whole);
/*
 * Print the end of a run; a failure `why` (NULL: none) was printed on standard error before. With
 * `result`: what was exported, as a line that starts with `where` unless -q. With --json: one
 * object with the result, if any, and `why`.
 */
void export_print(const struct export_args *args, struct xw_export *x, const char *where,
		  const char *why, bool result);

#endif
