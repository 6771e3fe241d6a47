/* SPDX-License-Identifier: MIT */
/*
 * xw-mkfs: create an ext4 image, and fill it in the same pass.
 *
 * The tool reads the command line, asks, shows progress and prints a report; everything else is
 * done by the library.
 */
#include "config.h"

#include "cli/env.h"
#include "cli/partition.h"
#include "cli/run.h"
#include "cli/term.h"
#include "mkfs/mkfs.h"

#include <string.h>
#include <sys/stat.h>

/* Is --replace compatible with the given options? */
static bool may_replace(const struct mkfs_args *args)
{
	const struct cli_line *l = &args->line;

	if (args->replace || args->undo_file)
		return false;
	for (size_t i = 0; i < l->count; i++) {
		if (!strcmp(l->settings[i].name, "-S") ||
		    (!strcmp(l->settings[i].name, "-E") && strstr(l->settings[i].value, "offset=")))
			return false;
	}
	return true;
}

/* -F given twice overwrites a busy file, but never a busy block device. */
static void say_busy(const struct mkfs_args *args)
{
	struct stat st;

	if (!stat(args->image, &st) && S_ISBLK(st.st_mode))
		cli_hint("no -F overwrites a device in use");
	else if (args->force < 2)
		cli_hint("-F given twice overwrites a file in use");
}

/*
 * Under its stock names the tool continues without an answer if there is no terminal, as mke2fs
 * does. It never overwrites its own source, and --replace, which mke2fs does not have, still asks.
 */
static bool continues_as_stock(const struct mkfs_args *args)
{
	struct stat image, source;

	if (!args->stock_type || args->replace || cli_can_ask() || stat(args->image, &image))
		return false;
	for (size_t i = 0; i < args->source_count; i++) {
		if (!stat(args->sources[i], &source) && source.st_dev == image.st_dev &&
		    source.st_ino == image.st_ino)
			return false;
	}
	return true;
}

/*
 * Does -F help? An existing undo file, or another name that exists already, is never overwritten,
 * and the library looks for an undo file first.
 */
static bool may_overwrite(const struct mkfs_args *args)
{
	struct stat st;

	return !args->force && !stat(args->image, &st) &&
	       (!args->undo_file || stat(args->undo_file, &st));
}

/* The question of mke2fs, asked only interactively: a script uses -F. */
static bool overwrite_after_all(const struct mkfs_args *args)
{
	struct stat st;

	if (!may_overwrite(args))
		return false;
	if (continues_as_stock(args))
		return true;
	if (!args->line.json && cli_confirm("Proceed anyway?"))
		return true;
	if (!args->line.placed && cli_partition_hint(args->image))
		cli_hint("pass -F to overwrite the whole disk");
	else if (!may_replace(args) || stat(args->image, &st) || !S_ISREG(st.st_mode))
		cli_hint("pass -F to overwrite it");
	else if (!cli_holds_ext(args->image, 0))
		cli_hint("pass --replace -F for a new file in its place, or -F to overwrite it");
	else
		cli_hint("pass --replace for a new file in its place, or -F to overwrite it");
	return false;
}

int main(int argc, char **argv)
{
	struct mkfs_args args;
	struct mkfs_logged logged = {.count = 0};
	const char *done = NULL;
	int rc, status;

	cli_guard_streams();
	status = mkfs_args_parse(&args, argc, argv);

	if (status < 0) {
		cli_catch_interrupts();
		rc = mkfs_make(&args, false, &logged);
		if (rc == XW_E_EXISTS && overwrite_after_all(&args))
			rc = mkfs_make(&args, true, &logged);
		if (rc == XW_E_BUSY)
			say_busy(&args);
		status = cli_run_status(rc);
		if (!rc && !args.dry_run)
			done = "the image is made";
	}
	mkfs_logged_free(&logged);
	mkfs_args_free(&args);
	return cli_close_account(status, done);
}
