/* SPDX-License-Identifier: MIT */
/* The parts of xw-age. */
#ifndef XW_AGE_TOOL_H
#define XW_AGE_TOOL_H

#include "age/age.h"
#include "cli/options.h"

#define AGE_EXIT_MISSED 3 /* a limit of --until was not reached */

struct age_args {
	struct cli_line line;
	struct xw_age_opts opts;
	const char *image, *svg;
	bool measure_only, have_profile;
	char *profile, *size; /* copies that values point into; owned */
};

/* -1: continue; otherwise the exit status. End with age_args_free() in any case. */
int age_args_parse(struct age_args *args, int argc, char **argv);
void age_args_free(struct age_args *args);

/* before: NULL with --measure. run: likewise. YAML, or JSON with --json. */
int age_report(FILE *out, const struct age_args *args, const struct xw_age_outcome *run,
	       const struct xw_age_measure *before, const struct xw_age_measure *after);
/* A drawing of free space before and after. before may be NULL. */
void age_svg(FILE *out, const char *name, const struct xw_age_measure *before,
	     const struct xw_age_measure *after);

#endif
