/* SPDX-License-Identifier: MIT */
/* The closing report of the tools: aligned rows, and the rows that several tools print. */
#ifndef XW_CLI_ACCOUNT_H
#define XW_CLI_ACCOUNT_H

#include <stdint.h>
#include <stdio.h>

/* "  LABEL       TEXT" */
void cli_row(FILE *out, const char *label, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

struct cli_files {
	uint64_t files, directories, symlinks, hardlinks, specials;
};
/* "2 files, 1 directory, 1 symlink": counts of 0 are omitted after the first two. */
void cli_print_files(FILE *out, const struct cli_files *f);
/* "files": these counts. */
void cli_row_files(FILE *out, const struct cli_files *f);
/* "data": bytes in extents for files. */
void cli_row_data(FILE *out, uint64_t bytes, uint64_t extents, uint64_t files);
/* "free": bytes, and their share of all blocks. */
void cli_row_free(FILE *out, uint64_t blocks, uint64_t of_blocks, uint64_t block_size);
/* "replaced": bytes written for files that were replaced later; no row for 0. */
void cli_row_replaced(FILE *out, uint64_t bytes);
/* "time": with the rate if input was read. */
void cli_row_time(FILE *out, double seconds, uint64_t bytes_in);

#endif
