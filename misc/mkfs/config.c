/* SPDX-License-Identifier: MIT */
/*
 * Which mke2fs.conf(5) counts. The same command shall give the same bytes on any machine, so the
 * system's file is read only for who names a usage type with -T, and asks for what the place means
 * by it; MKE2FS_CONFIG asks for a file in so many words. A file that is not there is the built-in
 * table, as in mke2fs.
 */
#include "config.h"

#include "cli/env.h"
#include "cli/term.h"
#include "mkfs/mkfs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SYSTEM_FILE "/etc/mke2fs.conf"
/* The library takes no larger ones: one byte more lets it say so. */
#define READ_MAX ((1u << 20) + 1)

static bool usage_type_named(const struct cli_line *l)
{
	for (size_t i = 0; i < l->count; i++) {
		if (!strcmp(l->settings[i].name, "-T"))
			return true;
	}
	return false;
}

static int read_all(struct mkfs_args *args, FILE *in)
{
	args->config = malloc(READ_MAX);
	if (!args->config) {
		cli_error("out of memory reading %s", args->config_name);
		return EXIT_FAILED;
	}
	args->config_len = fread(args->config, 1, READ_MAX, in);
	if (!ferror(in))
		return -1;
	cli_error("%s: cannot read: %s", args->config_name, strerror(errno));
	return EXIT_FAILED;
}

int mkfs_config_read(struct mkfs_args *args)
{
	const char *name = cli_mke2fs_config();
	FILE *in;
	int status;

	if (!name)
		name = usage_type_named(&args->line) ? SYSTEM_FILE : "";
	if (!*name)
		return -1;
	args->config_name = name;
	in = fopen(name, "re");
	if (!in) {
		if (errno == ENOENT)
			return -1;
		cli_error("%s: cannot open: %s", name, strerror(errno));
		return EXIT_FAILED;
	}
	status = read_all(args, in);
	fclose(in);
	return status;
}
