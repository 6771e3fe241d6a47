/* SPDX-License-Identifier: MIT */
/*
 * xw-mkfs: make an ext4 image, and fill it in the same pass.
 *
 * The tool reads the command line, asks, shows progress and sums up; everything else is the
 * library's.
 */
#include "config.h"

#include "cli/env.h"
#include "cli/run.h"
#include "cli/term.h"
#include "mkfs/mkfs.h"

#include <sys/stat.h>

/* mke2fs's question, asked of a person only: a script passes -F. */
static bool overwrite_after_all(const struct mkfs_args *args)
{
	struct stat st;

	if (!args->line.quiet && !args->line.json && cli_confirm("Proceed anyway?"))
		return true;
	if (args->replace || stat(args->image, &st) || !S_ISREG(st.st_mode))
		cli_hint("pass -F to overwrite it");
	else
		cli_hint("pass --replace for a new file in its place, or -F to overwrite it");
	return false;
}

int main(int argc, char **argv)
{
	struct mkfs_args args;
	const char *done = NULL;
	int err, status;

	cli_guard_streams();
	status = mkfs_args_parse(&args, argc, argv);

	if (status < 0) {
		cli_catch_interrupts();
		err = mkfs_make(&args, false);
		if (err == XW_E_EXISTS && overwrite_after_all(&args))
			err = mkfs_make(&args, true);
		if (err == XW_E_BUSY && args.force < 2)
			cli_hint("-F given twice overwrites even that");
		status = cli_run_status(err);
		if (!err && !args.dry_run)
			done = "the image is made";
	}
	mkfs_args_free(&args);
	return cli_close_account(status, done);
}
