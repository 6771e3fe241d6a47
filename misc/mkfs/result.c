/* SPDX-License-Identifier: MIT */
/* The report of xw-mkfs: the plan of -n, or a summary of the image. */
#include "config.h"

#include "cli/account.h"
#include "cli/env.h"
#include "cli/human.h"
#include "cli/escape.h"
#include "cli/term.h"
#include "mkfs/mkfs.h"

#include <inttypes.h>

/* The ratio of the usage type "huge"; with fewer, inodes are used up before space is. */
#define MANY_BYTES_PER_INODE 65536u

/* An external journal consists only of blocks. */
static void print_journal(FILE *out, const struct xw_mkfs_result *r)
{
	cli_row(out, "journal", "%s, %s of %s", cli_size(r->size_bytes).s,
		cli_plural(r->blocks, "block", "blocks").s, cli_size(r->block_size).s);
}

static void print_shape(FILE *out, const struct xw_mkfs_result *r)
{
	cli_row(out, "size", "%s, %s of %s, %s", cli_size(r->size_bytes).s,
		cli_plural(r->blocks, "block", "blocks").s, cli_size(r->block_size).s,
		cli_plural(r->groups, "group", "groups").s);
	cli_row(out, "inodes", "%s, %s free", cli_count(r->inodes).s, cli_count(r->free_inodes).s);
	cli_row_free(out, r->free_blocks, r->blocks, r->block_size);
}

static void print_content(FILE *out, const struct xw_mkfs_result *r)
{
	const struct cli_files files = {r->files, r->directories, r->symlinks, r->hardlinks,
					r->specials};

	cli_row_files(out, &files);
	cli_row_data(out, r->data_blocks * r->block_size, r->extents, r->files_with_data);
	if (r->inline_inodes)
		cli_row(out, "inline", "%s in inodes",
			cli_plural(r->inline_inodes, "file or directory", "files and directories")
				.s);
	if (r->xattr_references || r->xattr_in_inode || r->ea_inodes)
		cli_row(out, "xattrs", "%s for %s, %s in inodes, %s",
			cli_plural(r->xattr_blocks, "shared block", "shared blocks").s,
			cli_plural(r->xattr_references, "reference", "references").s,
			cli_count(r->xattr_in_inode).s,
			cli_plural(r->ea_inodes, "value inode", "value inodes").s);
}

static void print_metadata(FILE *out, const struct xw_mkfs_result *r)
{
	uint64_t journal = r->journal_blocks * r->block_size;

	if (r->data_blocks)
		cli_row(out, "metadata", "%s, %s of the data%s%s",
			cli_size(r->metadata_blocks * r->block_size).s,
			cli_share((double)r->metadata_blocks, (double)r->data_blocks).s,
			journal ? "; journal " : "", journal ? cli_size(journal).s : "");
	else
		cli_row(out, "metadata", "%s%s%s", cli_size(r->metadata_blocks * r->block_size).s,
			journal ? "; journal " : "", journal ? cli_size(journal).s : "");
}

/* How far resize2fs can grow the image; a lack of inodes or of a journal shows only then. */
static void print_growth(FILE *out, const struct xw_mkfs_result *r)
{
	const bool few = r->inodes_per_group * MANY_BYTES_PER_INODE < r->group_bytes;

	cli_row(out, "grows", "up to %s, with %s per %s%s%s%s", cli_size(r->growth_bytes).s,
		cli_plural(r->inodes_per_group, "inode", "inodes").s, cli_size(r->group_bytes).s,
		few ? " (few for small files)" : "", r->journal_blocks ? "" : ", without a journal",
		few ? "; see --grow-to" : "");
}

static void print_effort(FILE *out, const struct xw_mkfs_result *r, unsigned verbose)
{
	if (verbose) {
		cli_row(out, "directories", "%s, %s with an index",
			cli_plural(r->directory_blocks, "block", "blocks").s,
			cli_count(r->indexed_directories).s);
		cli_row(out, "written", "%s in %s, %s sequential, %s", cli_size(r->bytes_written).s,
			cli_plural(r->writes, "write", "writes").s,
			cli_share((double)r->sequential_writes, (double)r->writes).s,
			cli_plural(r->backward_seeks, "backward seek", "backward seeks").s);
	}
	if (r->bad_blocks)
		cli_row(out, "bad", "%s", cli_plural(r->bad_blocks, "block", "blocks").s);
	cli_row_replaced(out, r->replaced_blocks * r->block_size);
	cli_row_time(out, r->seconds, r->bytes_in);
}

/*
 * Print the locations of backup superblocks in the words and lines of mke2fs, which scripts parse.
 * A line has room for LINE_WIDTH characters behind the tab.
 */
static void print_backups(FILE *out, const struct xw_mkfs_result *r)
{
	enum { LINE_WIDTH = 72 };
	int used = LINE_WIDTH;

	if (!r->n_superblock_backups)
		return;
	fputs("Superblock backups stored on blocks: ", out);
	for (uint64_t i = 0; i < r->n_superblock_backups; i++) {
		char number[24];
		const int len =
			snprintf(number, sizeof(number), "%" PRIu64, r->superblock_backups[i]) + 2;

		if (i)
			fputs(", ", out);
		if (used + len > LINE_WIDTH) {
			fputs("\n\t", out);
			used = 0;
		}
		fputs(number, out);
		used += len;
	}
	fputc('\n', out);
}

void mkfs_print_result(FILE *out, const struct mkfs_args *args, const struct xw_mkfs_result *r)
{
	/* The UUID in a plan would differ from that of the actual run. */
	fputs(cli_style(out, CLI_BOLD), out);
	cli_printf(out, "%s", args->image);
	fprintf(out, "%s  %s%s\n", cli_style(out, CLI_PLAIN), args->dry_run ? "planned" : "UUID ",
		args->dry_run ? "" : cli_uuid(r->uuid).s);
	if (args->undo_file && !args->dry_run)
		cli_row(out, "undo", "%s %s %s", cli_undo_tool(), args->undo_file, args->image);
	if (!r->inodes) {
		print_journal(out, r);
		return;
	}
	print_shape(out, r);
	if (args->source_count && r->files + r->directories + r->symlinks + r->specials)
		print_content(out, r);
	print_metadata(out, r);
	if (args->line.verbose)
		print_growth(out, r);
	if (!args->dry_run)
		print_effort(out, r, args->line.verbose);
	print_backups(out, r);
}
