/* SPDX-License-Identifier: MIT */
/* The names of e2fsprogs, which --enable-stock-names links to the tools. */
#ifndef XW_CLI_STOCK_H
#define XW_CLI_STOCK_H

#include <stdbool.h>

/*
 * The program of e2fsprogs that this tool was called as; NULL: called by its own name. Aliases of a
 * program give one name: "mke2fs" for mkfs.ext4, "e2fsck" for fsck.ext4.
 */
const char *cli_stock_name(void);

/*
 * The exit status under that name: EXIT_USAGE becomes 1, as for any failure of these programs,
 * except for e2fsck, whose status 2 has another meaning.
 */
int cli_stock_status(int status);

/*
 * Does that program print its synopsis alone if operands are missing, or too many? e2freefrag and
 * debugfs say what is wrong.
 */
bool cli_stock_usage_alone(void);

/*
 * Print the version; under a stock name the version of e2fsprogs whose behavior the tool has, in
 * the stock form.
 */
void cli_print_version(const char *tool);

#endif
