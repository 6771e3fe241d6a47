/* SPDX-License-Identifier: MIT */
/* The parts of xw-age. */
#ifndef XW_AGE_TOOL_H
#define XW_AGE_TOOL_H

#include "age/options.h"
#include "cli/options.h"

#define AGE_EXIT_MISSED 3 /* a limit of --until was not reached */

struct age_args {
	struct cli_line line;
	struct xw_diag diag;
	struct xw_age_options o;
	const char *image, *svg;
	bool measure_only;
};

/* args is zero. -1: continue; otherwise the exit status. End with age_args_free() in any case. */
int age_args_parse(struct age_args *args, int argc, char **argv);
void age_args_free(struct age_args *args);

/* Print the report as YAML, or as JSON with --json. */
int age_report(FILE *out, const struct age_args *args, const struct xw_age_told *told);
/* A drawing of free space before and after. before may be NULL. */
void age_svg(FILE *out, const char *name, const struct xw_age_measure *before,
	     const struct xw_age_measure *after);

#endif
