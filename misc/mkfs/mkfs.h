/* SPDX-License-Identifier: MIT */
/* The parts of xw-mkfs: arguments, running, the closing report. */
#ifndef XW_MKFS_TOOL_H
#define XW_MKFS_TOOL_H

#include "api/xw.h"
#include "cli/options.h"

/* The command line, not validated yet: the library checks values and names them. */
struct mkfs_args {
	struct cli_line line;
	const char **sources; /* owned array */
	size_t source_count;
	const char *image;
	/* implied by the name mke2fs, mkfs.ext2, mkfs.ext3 or mkfs.ext4; NULL: another name */
	const char *stock_type;
	unsigned force;
	bool dry_run, replace;
	char *config; /* the mke2fs.conf to use, owned; NULL = none */
	const char *config_name;
	size_t config_len;
	const char *undo_file; /* NULL: none */
};

/* -1: continue; otherwise the exit status (help or an error was printed). */
int mkfs_args_parse(struct mkfs_args *args, int argc, char **argv);
void mkfs_args_free(struct mkfs_args *args);
/*
 * Called when the options are known: find and read the configuration. -1 or the exit status, as
 * above.
 */
int mkfs_config_read(struct mkfs_args *args);

#define MKFS_LOGGED_MAX 32

/* Log lines of the first attempt, which the second attempt does not repeat. */
struct mkfs_logged {
	char *lines[MKFS_LOGGED_MAX]; /* owned; a refused attempt does not log more lines */
	size_t count;
};

void mkfs_logged_free(struct mkfs_logged *logged);

/*
 * One attempt; prints errors and the result. Returns 0 or an XW_E_* code; after XW_E_EXISTS the
 * target is unchanged, and `overwrite` allows to overwrite it: that is the second attempt.
 */
int mkfs_make(const struct mkfs_args *args, bool overwrite, struct mkfs_logged *logged);

/* The closing report, or the plan of a dry run, in a few aligned lines. */
void mkfs_print_result(FILE *out, const struct mkfs_args *args, const struct xw_mkfs_result *r);

#endif
