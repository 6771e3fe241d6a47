/* SPDX-License-Identifier: MIT */
/* The parts of xw-tune. */
#ifndef XW_TUNE_TOOL_H
#define XW_TUNE_TOOL_H

#include "cli/run.h"
#include "tune/options.h"

struct tune_args {
	struct cli_line line;
	struct cli_run run; /* log messages */
	struct xw_diag diag;
	struct xw_tune_options o;
	bool list;
	bool print_label; /* called as "e2label IMAGE" */
	const char *undo_file; /* -z */
	const char *image;
};

/* -1: continue; otherwise the exit status. End with tune_args_free() in any case. */
int tune_args_parse(struct tune_args *args, int argc, char **argv);
void tune_args_free(struct tune_args *args);

/* One line per change, worded as in tune2fs. */
void tune_print_result(FILE *out, const struct tune_args *args, const struct xw_tune_outcome *r);
/* The superblock, as -l prints it. */
int tune_list(struct tune_args *args);
/* The label and a newline, as e2label prints it. */
int tune_print_label(struct tune_args *args);
/* What -E clear_pending has done. */
void tune_print_pending(FILE *out, const struct tune_args *args, enum xw_tune_pending was);

#endif
