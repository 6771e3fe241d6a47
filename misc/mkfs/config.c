/* SPDX-License-Identifier: MIT */
/*
 * Selects the mke2fs.conf(5) to use. The same command must give the same bytes on any machine, so
 * the system's file is read only if a usage type is named with -T, which refers to local
 * definitions; MKE2FS_CONFIG selects a file explicitly. A missing file means the built-in table, as
 * in mke2fs.
 */
#include "config.h"

#include "cli/env.h"
#include "cli/term.h"
#include "mkfs/mkfs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SYSTEM_FILE "/etc/mke2fs.conf"
/* The library limits the size: one more byte lets it report that. */
#define READ_MAX ((1u << 20) + 1)

static int read_all(struct mkfs_args *args, FILE *in)
{
	args->config = malloc(READ_MAX);
	if (!args->config) {
		cli_line_failf(&args->line, "out of memory reading %s", args->config_name);
		return EXIT_FAILED;
	}
	args->config_len = fread(args->config, 1, READ_MAX, in);
	if (!ferror(in))
		return -1;
	cli_line_failf(&args->line, "%s: cannot read: %s", args->config_name, strerror(errno));
	return EXIT_FAILED;
}

int mkfs_config_read(struct mkfs_args *args)
{
	const char *name = cli_mke2fs_config();
	FILE *in;
	int status;

	if (!name)
		name = cli_line_setting(&args->line, "-T") ? SYSTEM_FILE : "";
	if (!*name)
		return -1;
	args->config_name = name;
	in = fopen(name, "re");
	if (!in) {
		if (errno == ENOENT)
			return -1;
		cli_line_failf(&args->line, "%s: cannot open: %s", name, strerror(errno));
		return EXIT_FAILED;
	}
	status = read_all(args, in);
	fclose(in);
	return status;
}
