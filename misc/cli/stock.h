/* SPDX-License-Identifier: MIT */
/* The names of e2fsprogs, which --enable-stock-names links to the tools. */
#ifndef XW_CLI_STOCK_H
#define XW_CLI_STOCK_H

#include <stdbool.h>

/*
 * The program of e2fsprogs that this one was called as, NULL for a name of its own. Names of one
 * program are the same: "mke2fs" also for mkfs.ext4, "e2fsck" also for fsck.ext4.
 */
const char *cli_stock_name(void);

/*
 * The exit status under that name: wrong usage is 1 there, as any failure of these programs, but
 * for e2fsck, whose 2 is not that of wrong usage.
 */
int cli_stock_status(int status);

/*
 * Does that program print its synopsis alone if operands are missing, or too many? e2freefrag and
 * debugfs say what is wrong.
 */
bool cli_stock_usage_alone(void);

/* The version: under a stock name that of e2fsprogs whose behavior it has, in the stock form. */
void cli_print_version(const char *tool);

#endif
