/* SPDX-License-Identifier: MIT */
/*
 * Scripts ask a program for its version to learn which options it has ("mke2fs -V 2>&1"). Under a
 * stock name the answer is the version of e2fsprogs that the tools are tested against, on stderr
 * and in the stock form; the second line names this library.
 */
#include "config.h"

#include "cli/options.h"
#include "cli/stock.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define STOCK_VERSION "1.47.0 (5-Feb-2023)"

const char *cli_stock_name(void)
{
	static const struct {
		const char *name, *program;
	} names[] = {
		{"mke2fs", "mke2fs"},         {"mkfs.ext2", "mke2fs"}, {"mkfs.ext3", "mke2fs"},
		{"mkfs.ext4", "mke2fs"},      {"e2fsck", "e2fsck"},    {"fsck.ext2", "e2fsck"},
		{"fsck.ext3", "e2fsck"},      {"fsck.ext4", "e2fsck"}, {"debugfs", "debugfs"},
		{"dumpe2fs", "dumpe2fs"},     {"tune2fs", "tune2fs"},  {"e2label", "e2label"},
		{"e2freefrag", "e2freefrag"}, {"e2undo", "e2undo"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(program_invocation_short_name, names[i].name))
			return names[i].program;
	}
	return NULL;
}

int cli_stock_status(int status)
{
	const char *stock = cli_stock_name();

	return status == EXIT_USAGE && stock && strcmp(stock, "e2fsck") ? EXIT_FAILED : status;
}

bool cli_stock_usage_alone(void)
{
	const char *stock = cli_stock_name();

	return stock && strcmp(stock, "e2freefrag") && strcmp(stock, "debugfs");
}

void cli_print_version(const char *tool)
{
	const char *stock = cli_stock_name();

	if (stock)
		fprintf(stderr, "%s " STOCK_VERSION "\n\tUsing extwright library version %s\n",
			stock, PACKAGE_VERSION);
	else
		printf("%s (extwright) %s\n", tool, PACKAGE_VERSION);
}
