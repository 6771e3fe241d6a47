/* SPDX-License-Identifier: MIT */
/* The closing report of xw-import. */
#include "config.h"

#include <string.h>

#include "cli/account.h"
#include "cli/human.h"
#include "cli/escape.h"
#include "cli/term.h"
#include "import/tool.h"

static void print_removed(FILE *out, const struct xw_import_result *r)
{
	if (r->removed_inodes)
		cli_row(out, "removed", "%s; %s freed, rebuilt directories included",
			cli_plural(r->removed_inodes, "existing file", "existing files").s,
			cli_size(r->freed_blocks * r->block_size).s);
	if (r->orphans)
		cli_row(out, "orphans", "%s released first",
			cli_plural(r->orphans, "deleted file", "deleted files").s);
	cli_row_replaced(out, r->replaced_blocks * r->block_size);
}

static void print_commit(FILE *out, const struct xw_import_result *r)
{
	cli_row(out, "commit", "%s of metadata, through %s%s",
		cli_size(r->commit_blocks * r->block_size).s,
		!strcmp(r->commit, "journal")  ? "the journal"
		: !strcmp(r->commit, "inside") ? "a redo record in the image"
					       : "a redo file",
		r->replayed ? "; the journal was replayed first" : "");
}

void import_print_result(FILE *out, const struct import_args *args,
			 const struct xw_import_result *r)
{
	const struct cli_files files = {r->files, r->directories, r->symlinks, r->hardlinks,
					r->specials};

	fputs(cli_style(out, CLI_BOLD), out);
	cli_printf(out, "%s", args->image);
	fprintf(out, "%s%s\n", cli_style(out, CLI_PLAIN),
		args->dry_run ? "  (dry run: nothing was written)" : "");
	cli_row_files(out, &files);
	cli_row_data(out, r->data_blocks * r->block_size, r->extents, r->files_with_data);
	if (r->inline_inodes)
		cli_row(out, "inline", "%s in inodes",
			cli_plural(r->inline_inodes, "file or directory", "files and directories")
				.s);
	print_removed(out, r);
	cli_row(out, "left", "%s and %s", cli_size(r->free_blocks * r->block_size).s,
		cli_plural(r->free_inodes, "inode", "inodes").s);
	if (args->line.verbose) {
		cli_row(out, "directories", "%s of the image rebuilt",
			cli_count(r->rebuilt_directories).s);
		if (!r->removed_inodes)
			cli_row(out, "freed", "%s of their old blocks",
				cli_size(r->freed_blocks * r->block_size).s);
		if (!args->dry_run) {
			cli_row(out, "written", "%s", cli_size(r->bytes_written).s);
			print_commit(out, r);
		}
	}
	cli_row_time(out, r->seconds, r->bytes_in);
}
