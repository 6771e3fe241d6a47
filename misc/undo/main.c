// SPDX-License-Identifier: MIT
/* xw-undo: write back what an undo file (-z of the other tools, or of e2fsprogs) holds. */
#include "config.h"

#include "cli/env.h"
#include "cli/foreign.h"
#include "cli/human.h"
#include "cli/options.h"
#include "cli/partition.h"
#include "cli/escape.h"
#include "cli/term.h"
#include "commit/undo_apply.h"
#include "commit/undo_dev.h"
#include "disk/undo.h"
#include "plan/parse.h"
#include "read/image.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

struct args {
	struct cli_line line;
	const char *file, *image, *undo_file;
	uint64_t offset;
	bool offset_set, force, dry_run, show_header;
};

static cli_option_fn set_start, set_partition;

#define AT(member) offsetof(struct args, member)

static const struct cli_option options[] = {
	{"-f", NULL, NULL, "write even if IMAGE is not in the state that UNDO_FILE is for",
	 cli_flag, AT(force)},
	{"-n", NULL, NULL, "only verify UNDO_FILE and that state; write nothing", cli_flag,
	 AT(dry_run)},
	{"-o", NULL, "BYTES", "where in IMAGE the filesystem begins (default: as in UNDO_FILE)",
	 set_start},
	CLI_PARTITION,
	{"-z", NULL, "FILE", "save overwritten blocks in another undo file", cli_text,
	 AT(undo_file)},
	CLI_OUTPUT("print each range of blocks that is restored", "print the result as JSON"),
	{"-h", NULL, NULL, "print the header of UNDO_FILE; without operands, this help", cli_flag,
	 AT(show_header)},
	{NULL, "--help", NULL, "print this help", cli_help},
	CLI_END,
};

static const struct cli_tool tool = {
	.name = "xw-undo",
	.usage = "[-fhnqv] [-o BYTES | --partition N] [-z FILE] UNDO_FILE IMAGE",
	.about = "Undo a change of IMAGE: restore the blocks saved in UNDO_FILE.",
	.notes = "Exit status: 0 done, 1 failed, 2 wrong usage.",
	.tables = {options},
	.handle = set_partition,
};

static int set_offset(struct args *args, const char *value)
{
	if (xw_parse_size(value, 1, &args->offset) || args->offset > INT64_MAX / 2)
		return cli_line_refuse(&args->line, "-o %.80s: not a number of bytes", value);
	args->offset_set = true;
	return -1;
}

static int set_start(struct cli_line *l, const struct cli_option *o, const char *value)
{
	(void)o;
	l->placed = true;
	return set_offset((void *)l, value);
}

/* --partition or IMAGE?offset=, as "offset=BYTES". */
static int set_partition(struct cli_line *l, const struct cli_option *o, const char *value)
{
	(void)o;
	return set_offset((void *)l, value + strlen("offset="));
}

static int parse(struct args *args, int argc, char **argv)
{
	struct cli_line *l = &args->line;
	int status;

	*args = (struct args){0};
	status = cli_line_read(l, &tool, argc, argv);
	if (status >= 0)
		return status;
	args->file = l->operands[0];
	if (args->show_header && !args->file)
		return cli_help(l, NULL, NULL);
	if (args->show_header && (!l->operands[1] || !l->operands[2]))
		return -1;
	if (!l->operands[0] || !l->operands[1] || l->operands[2])
		return cli_line_operands(l, "an undo file and an image are needed");
	args->image = l->operands[1];
	status = cli_line_offset(l, l->operands[1]);
	if (status >= 0)
		return status;
	return cli_line_undo(l, "e2undo", args->image, &args->undo_file);
}

/* Open the image from the start of its filesystem. */
static int open_image(const struct args *args, uint64_t offset, struct xw_diag *diag,
		      struct xw_dev **dev)
{
	const int rc = xw_dev_open_file(
		args->image, args->dry_run ? XW_DEV_RDONLY | XW_DEV_SHARED : 0, diag, dev);

	return rc || !offset ? rc : xw_dev_open_offset(*dev, offset, dev);
}

/* A disk or partition cannot be extended: its filesystem must fit before anything is written. */
static int check_fits(struct xw_dev *dev, struct xw_diag *diag)
{
	uint8_t super[XW_SUPER_SIZE];
	struct xw_super sb;
	int rc;

	if (!dev->fixed || dev->size < XW_SUPER_OFFSET + sizeof(super))
		return 0;
	rc = xw_dev_pread(dev, super, sizeof(super), XW_SUPER_OFFSET);
	return rc || xw_super_decode(super, &sb) ? rc : xw_image_fits(dev, &sb, diag);
}

static void on_piece(void *arg, uint32_t size, uint64_t from, uint64_t to)
{
	(void)arg;
	cli_note("Replayed block of size %" PRIu32 " from %" PRIu64 " to %" PRIu64, size, from, to);
}

/* cut: the file was or would be cut to its size before the change. */
static void print_text(const struct args *args, const struct xw_undo_info *info, bool cut)
{
	const char *would = args->dry_run ? "would be " : "";

	if (!info->pieces && !cut)
		cli_warning("%s: nothing to restore: %s has no old contents, and the size of the "
			    "file before the change is unknown",
			    args->image, args->file);
	else if (args->line.quiet)
		return;
	else if (!cut)
		cli_printf(stdout, "%s: %s in %s %swritten back\n", args->image,
			   cli_size(info->bytes).s, cli_plural(info->pieces, "piece", "pieces").s,
			   would);
	else if (!info->pieces)
		cli_printf(stdout, "%s: %scut to %s, its size before\n", args->image, would,
			   cli_size(info->size_before).s);
	else
		cli_printf(stdout,
			   "%s: %s in %s %swritten back, the file %scut to %s, its size before\n",
			   args->image, cli_size(info->bytes).s,
			   cli_plural(info->pieces, "piece", "pieces").s, would, would,
			   cli_size(info->size_before).s);
}

static void report(const struct args *args, const struct xw_undo_info *info, bool cut)
{
	struct xw_json j = {0};

	if (!args->line.json) {
		print_text(args, info, cut);
		return;
	}
	xw_json_object(&j, NULL);
	xw_json_bool(&j, "written", !args->dry_run);
	xw_json_u64(&j, "bytes", info->bytes);
	xw_json_u64(&j, "pieces", info->pieces);
	xw_json_u64(&j, "offset_bytes", info->offset);
	xw_json_bool(&j, "finished", info->finished);
	if (cut)
		xw_json_u64(&j, "cut_to_bytes", info->size_before);
	xw_json_end(&j, '}');
	puts(xw_json_text(&j) ? xw_json_text(&j) : "{\"error\":\"out of memory\"}");
	xw_json_free(&j);
}

/* With -z, writes go through the device that writes the other undo file. */
static int write_back(const struct args *args, struct xw_undo *u, uint64_t offset,
		      struct xw_dev **dev)
{
	int rc = 0;

	if (args->undo_file)
		rc = xw_undo_dev_open(*dev, args->undo_file, offset, dev);
	if (!rc)
		rc = xw_undo_apply(u, *dev, args->line.verbose ? on_piece : NULL, NULL);
	return rc || !args->undo_file ? rc : xw_undo_dev_finish(*dev);
}

static int undo(const struct args *args, struct xw_undo *u, struct xw_diag *diag, bool *cut)
{
	const struct xw_undo_info *info = xw_undo_info(u);
	const uint64_t offset = args->offset_set ? args->offset : info->offset;
	struct xw_dev *dev = NULL;
	int rc = open_image(args, offset, diag, &dev);

	if (!rc && !args->force)
		rc = check_fits(dev, diag);
	if (!rc && !args->force)
		rc = xw_undo_match(u, dev);
	if (!rc)
		*cut = xw_undo_plan_cut(u, dev);
	if (!rc && !args->dry_run)
		rc = write_back(args, u, offset, &dev);
	xw_dev_close(dev);
	return rc;
}

/*
 * What to do if the image is not in the state that the undo file is for. -f is no advice where
 * something else would be overwritten; but a run of xw-mkfs that was killed has removed the old
 * superblock, and its undo file is not finished.
 */
static void advise(const struct args *args, const struct xw_undo_info *info)
{
	const uint64_t offset = args->offset_set ? args->offset : info->offset;

	if (info->undone)
		return;
	if (!cli_holds_ext(args->image, offset)) {
		const char *what = offset ? NULL : cli_foreign_what(args->image);

		if (!args->line.partition && cli_partition_hint(args->image))
			return;
		if (what)
			cli_hint("it is %s, not a filesystem that was changed", what);
		else if (info->finished)
			cli_hint("no ext2, ext3 or ext4 filesystem is at byte %" PRIu64, offset);
		if (what || info->finished)
			return;
	}
	if (info->other)
		cli_hint("name the image, or its --partition, that the undo file is for; -f would "
			 "overwrite this filesystem");
	else
		cli_hint("-f restores the image anyway");
}

static int read_header(const char *path, struct xw_undo_header *h, struct xw_diag *diag)
{
	uint8_t buf[XW_UNDO_HEADER_SIZE];
	struct xw_dev *dev = NULL;
	int rc = xw_dev_open_file(path, XW_DEV_RDONLY, diag, &dev);

	if (!rc)
		rc = dev->size < sizeof(buf) ? XW_ERR_INPUT
					     : xw_dev_pread(dev, buf, sizeof(buf), 0);
	if (!rc)
		rc = xw_undo_header_decode(buf, dev->size, h);
	xw_dev_close(dev);
	if (rc == XW_ERR_INPUT)
		return xw_fail(diag, rc, "%s: not an undo file", path);
	if (rc == XW_ERR_CHECKSUM)
		cli_warning("%s: the checksum of its header is wrong", path);
	else if (rc && !diag->code)
		cli_warning("%s: its header is not valid", path);
	return diag->code;
}

/* The lines of e2undo -h. */
static int show_header(const struct args *args)
{
	struct xw_undo_header h = {0};
	struct xw_diag diag = {0};

	if (read_header(args->file, &h, &diag)) {
		cli_line_failed(&args->line, diag.text);
		return EXIT_FAILED;
	}
	printf("nr keys:\t%" PRIu64 "\nsuper block:\t%" PRIu64 "\nkey block:\t%" PRIu64 "\n",
	       h.keys, h.super_at, h.keys_at);
	printf("block size:\t%" PRIu32 "\nfs block size:\t%" PRIu32 "\n", h.unit, h.fs_unit);
	printf("super crc:\t0x%" PRIx32 "\nstate:\t\t0x%" PRIx32 "\n", h.super_csum, h.state);
	printf("compat:\t\t0x%" PRIx32 "\nincompat:\t0x%" PRIx32 "\nrocompat:\t0x%" PRIx32 "\n",
	       h.compat, h.incompat, h.ro_compat);
	if (h.offset)
		printf("fs offset:\t%" PRIu64 "\n", h.offset);
	printf("header crc:\t0x%" PRIx32 "\n", h.csum);
	return EXIT_DONE;
}

/* With -f, a wrong checksum in the undo file is no reason to stop. */
static void warn_damage(const struct args *args, const struct xw_undo_info *info)
{
	if (info->bad_header)
		cli_warning("%s: the checksum of its header is wrong", args->file);
	if (info->bad_super)
		cli_warning("%s: the checksum of its superblock is wrong", args->file);
	if (info->bad_keys)
		cli_warning("%s: the checksum of %s is wrong", args->file,
			    cli_plural(info->bad_keys, "block of keys", "blocks of keys").s);
}

static int run(const struct args *args)
{
	struct xw_diag diag = {0};
	struct xw_undo *u = NULL;
	bool cut = false;
	int rc = xw_undo_open(args->file, args->force, &diag, &u);

	if (!rc)
		warn_damage(args, xw_undo_info(u));
	if (!rc)
		rc = undo(args, u, &diag, &cut);
	if (!rc && xw_undo_info(u)->bad_pieces)
		rc = xw_fail(&diag, XW_ERR_CHECKSUM, "%s: the checksum of %s is wrong%s",
			     args->file,
			     cli_plural(xw_undo_info(u)->bad_pieces, "piece", "pieces").s,
			     args->dry_run ? ""
					   : "; the other contents were written back: run "
					     "xw-fsck -f");
	if (rc)
		cli_line_failed(&args->line, *diag.text ? diag.text : xw_err_text(rc));
	if ((rc == XW_ERR_STATE || rc == XW_ERR_TRUNCATED) && !args->force)
		advise(args, xw_undo_info(u));
	if (!rc)
		report(args, xw_undo_info(u), cut);
	xw_undo_close(u);
	return rc ? EXIT_FAILED : EXIT_DONE;
}

int main(int argc, char **argv)
{
	struct args args;
	int status;

	cli_guard_streams();
	status = parse(&args, argc, argv);
	if (status < 0)
		status = args.show_header ? show_header(&args) : run(&args);
	cli_line_free(&args.line);
	return cli_close_stdout(status);
}
