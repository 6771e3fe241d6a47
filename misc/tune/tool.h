/* SPDX-License-Identifier: MIT */
/* The parts of xw-tune. */
#ifndef XW_TUNE_TOOL_H
#define XW_TUNE_TOOL_H

#include "cli/options.h"
#include "tune/tune.h"

struct tune_args {
	struct cli_line line;
	struct xw_tune_want want;
	struct xw_tune_opts opts;
	struct xw_diag diag; /* for the library's messages about options */
	bool list;
	bool print_label; /* called as "e2label IMAGE" */
	bool clear_pending;
	const char *hash_name; /* as given by the user */
	const char *encoding_name;
	const char *image;
	char *undo_default; /* owned; what -z '' means */
};

/* -1: continue; otherwise the exit status. */
int tune_args_parse(struct tune_args *args, int argc, char **argv);
/* Is there anything to change? */
bool tune_args_change(const struct tune_args *args);

/*
 * values.c and lists.c: store the value of an option in args. 0, or an exit status after a message
 * on stderr.
 */
typedef int tune_setter(struct tune_args *args, const char *value);
tune_setter tune_set_max_mounts, tune_set_mounts, tune_set_errors, tune_set_interval,
	tune_set_group, tune_set_user, tune_set_percent, tune_set_blocks, tune_set_label,
	tune_set_last_mounted, tune_set_lastcheck, tune_set_uuid, tune_set_inode_size;
tune_setter tune_set_extended, tune_set_journal, tune_set_mount_opts, tune_set_features,
	tune_set_quota;
/* "BAD - VALUE" and the synopsis. */
int tune_bad_value(struct tune_args *args, const char *bad, const char *value);

/* One line per change, worded as in tune2fs. */
void tune_print_result(FILE *out, const struct tune_args *args, const struct xw_tune_outcome *r);
/* The superblock, as -l prints it. */
int tune_list(const struct tune_args *args, struct xw_diag *diag);
/* The label and a newline, as e2label prints it. */
int tune_print_label(const struct tune_args *args, struct xw_diag *diag);
int tune_print_json(FILE *out, const struct xw_tune_outcome *r);
/* What -E clear_pending has done. */
void tune_print_pending(FILE *out, const struct tune_args *args, enum xw_tune_pending was);
int tune_print_pending_json(FILE *out, enum xw_tune_pending was);

#endif
