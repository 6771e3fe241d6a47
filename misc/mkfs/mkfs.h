/* SPDX-License-Identifier: MIT */
/* The parts of xw-mkfs: arguments, running, the account of what was made. */
#ifndef XW_MKFS_TOOL_H
#define XW_MKFS_TOOL_H

#include "api/xw.h"
#include "cli/options.h"

/* The command line, read but not judged: values are checked by the library, which names them. */
struct mkfs_args {
	struct cli_line line;
	const char **sources; /* owned array */
	size_t source_count;
	const char *image;
	char **argv; /* the command line with what the name of the program says, owned */
	char type_option[3], type[5];
	unsigned force;
	bool dry_run, replace;
	char *config; /* the mke2fs.conf that counts, owned; NULL = none */
	const char *config_name;
	size_t config_len;
};

/* -1: go on; otherwise the status to exit with (help was printed, or an error). */
int mkfs_args_parse(struct mkfs_args *args, int argc, char **argv);
void mkfs_args_free(struct mkfs_args *args);
/* The options are known: find and read the configuration. -1 or the status, as above. */
int mkfs_config_read(struct mkfs_args *args);

/*
 * One attempt, errors and the result printed. Returns 0 or an XW_E_* code; XW_E_EXISTS leaves the
 * target as it was, and `overwrite` answers it.
 */
int mkfs_make(const struct mkfs_args *args, bool overwrite);

/* The closing account, or the plan of a dry run, in a few aligned lines. */
void mkfs_print_result(FILE *out, const struct mkfs_args *args, const struct xw_mkfs_result *r);

void mkfs_print_help(FILE *out);

#endif
