// SPDX-License-Identifier: MIT
/* The report about the whole filesystem, worded as in e2fsck. */
#include "config.h"

#include <inttypes.h>

#include "cli/escape.h"
#include "say/say.h"

enum { SECONDS_A_DAY = 86400 };

void say_replayed(void *arg, const struct fsck *f)
{
	const struct say *s = arg;

	if (s->json || s->quiet)
		return;
	if (f->opts.mode == FSCK_NO)
		printf("Warning: recovering the journal in memory alone because doing a read-only "
		       "filesystem check.\n");
	else
		cli_printf(stdout, "%s: recovering journal\n", xw_fsck_name(f));
	fflush(stdout);
}

void say_line(void *arg, const struct fsck *f, enum fsck_line kind, const char *line)
{
	const struct say *s = arg;

	(void)f;
	if (!s->json && (kind == FSCK_LINE_WANTED || !s->quiet))
		cli_printf(stdout, "%s\n", line);
}

/* As in e2fsck: print the number of mounts until the next check if it is small. */
static void say_next_check(const struct fsck_summary *s)
{
	enum { FEW = 5 };

	if (s->mounts_left == 1)
		printf(" (check after next mount)");
	else if (s->mounts_left > 1 && s->mounts_left <= FEW)
		printf(" (check in %" PRIu32 " mounts)", s->mounts_left);
}

void say_clean(const struct fsck *f, const struct fsck_summary *s)
{
	cli_printf(stdout,
		   "%s: clean, %" PRIu64 "/%" PRIu64 " files, %" PRIu64 "/%" PRIu64 " blocks",
		   xw_fsck_name(f), s->inodes, s->inodes_count, s->blocks, s->blocks_count);
	say_next_check(s);
	putchar('\n');
}

void say_forced(void *arg, const struct fsck *f)
{
	const struct say *s = arg;
	const struct xw_super *sb = &f->ses.img->sb;
	const int64_t age = f->opts.now - sb->lastcheck;

	if (s->json || s->quiet)
		return;
	if (sb->state & XW_STATE_ERROR)
		cli_printf(stdout, "%s contains a file system with errors", xw_fsck_name(f));
	else if (!(sb->state & XW_STATE_VALID))
		cli_printf(stdout, "%s was not cleanly unmounted", xw_fsck_name(f));
	else if (sb->max_mnt_count > 0 && sb->mnt_count >= (unsigned)sb->max_mnt_count)
		cli_printf(stdout, "%s has been mounted %u times without being checked",
			   xw_fsck_name(f), sb->mnt_count);
	else if (sb->checkinterval && age >= (int64_t)sb->checkinterval)
		cli_printf(stdout, "%s has gone %" PRId64 " days without being checked",
			   xw_fsck_name(f), age / SECONDS_A_DAY);
	else if (f->start.features_differ)
		cli_printf(stdout, "%s primary superblock features different from backup",
			   xw_fsck_name(f));
	else
		return;
	printf(", check forced.\n");
	fflush(stdout);
}

/* Percentage in steps of 1/of percent; halves are rounded up as in e2fsck, unlike printf(). */
static double percent(uint64_t part, uint64_t whole, unsigned of)
{
	return whole ? (double)((part * 100 * of + whole / 2) / whole) / of : 0;
}

static void row(uint64_t n, const char *one, const char *many)
{
	printf("%12" PRIu64 " %s\n", n, n == 1 ? one : many);
}

static void say_layout(const struct fsck_summary *s)
{
	const struct fsck_counts *c = &s->counts;
	bool any = false;

	printf("%12" PRIu64 " non-contiguous file%s (%.1f%%)\n", c->fragmented,
	       c->fragmented == 1 ? "" : "s", percent(c->fragmented, s->inodes, 10));
	printf("%12" PRIu64 " non-contiguous director%s (%.1f%%)\n", c->fragmented_dirs,
	       c->fragmented_dirs == 1 ? "y" : "ies", percent(c->fragmented_dirs, s->inodes, 10));
	printf("%12s # of inodes with ind/dind/tind blocks: %" PRIu64 "/%" PRIu64 "/%" PRIu64 "\n",
	       "", c->indirect[0], c->indirect[1], c->indirect[2]);
	for (size_t i = 0; i < XW_ARRAY_SIZE(c->by_depth); i++)
		any |= c->by_depth[i] != 0;
	if (!any)
		return;
	printf("%12s Extent depth histogram: %" PRIu64, "", c->by_depth[0]);
	for (size_t i = 1; i < XW_ARRAY_SIZE(c->by_depth) && c->by_depth[i]; i++)
		printf("/%" PRIu64, c->by_depth[i]);
	putchar('\n');
}

/* The lines of e2fsck -v, and one more if the filesystem has itrees. */
static void say_statistics(const struct fsck_summary *s)
{
	const struct fsck_counts *c = &s->counts;
	const uint64_t all = c->regular + c->dirs + c->char_devices + c->block_devices + c->fifos +
			     c->links + c->symlinks + c->sockets - c->ea_inodes;

	printf("\n%12" PRIu64 " inode%s used (%.2f%%, out of %" PRIu64 ")\n", s->inodes,
	       s->inodes == 1 ? "" : "s", percent(s->inodes, s->inodes_count, 100),
	       s->inodes_count);
	say_layout(s);
	printf("%12" PRIu64 " block%s used (%.2f%%, out of %" PRIu64 ")\n", s->blocks,
	       s->blocks == 1 ? "" : "s", percent(s->blocks, s->blocks_count, 100),
	       s->blocks_count);
	row(c->bad_blocks, "bad block", "bad blocks");
	row(c->large_files, "large file", "large files");
	if (c->itrees)
		row(c->itrees, "directory with an inode-ordered tree",
		    "directories with inode-ordered trees");
	putchar('\n');
	row(c->regular, "regular file", "regular files");
	row(c->dirs, "directory", "directories");
	row(c->char_devices, "character device file", "character device files");
	row(c->block_devices, "block device file", "block device files");
	row(c->fifos, "fifo", "fifos");
	row(c->links, "link", "links");
	printf("%12" PRIu64 " symbolic link%s (%" PRIu64 " fast symbolic link%s)\n", c->symlinks,
	       c->symlinks == 1 ? "" : "s", c->fast_symlinks, c->fast_symlinks == 1 ? "" : "s");
	row(c->sockets, "socket", "sockets");
	printf("------------\n");
	row(all, "file", "files");
}

static void say_reboot(const struct fsck *f)
{
	cli_printf(stdout, "%s: ***** REBOOT SYSTEM *****\n", xw_fsck_name(f));
}

void say_end(const struct say *s, const struct fsck *f, const struct fsck_outcome *o,
	     const struct fsck_summary *sum)
{
	const struct fsck_findings *all = &f->ses.findings;
	const bool preen = f->opts.mode == FSCK_PREEN;
	const bool modified = o->committed && (all->modified || o->recounted);

	say_counted(s);
	if (xw_fsck_tells_changes(f, o))
		say_changes(s, f);
	if (modified && !preen)
		cli_printf(stdout, "\n%s: ***** FILE SYSTEM WAS MODIFIED *****\n", xw_fsck_name(f));
	if (all->reboot)
		say_reboot(f);
	if (!preen && (all->left || (!sum->valid && all->found)))
		cli_printf(stdout,
			   "\n%s: ********** WARNING: Filesystem still has errors **********\n\n",
			   xw_fsck_name(f));
	if (!sum->valid || f->ses.stop)
		return;
	if (s->verbose)
		say_statistics(sum);
	else
		cli_printf(stdout,
			   "%s: %" PRIu64 "/%" PRIu64 " files (%.1f%% non-contiguous), %" PRIu64
			   "/%" PRIu64 " blocks\n",
			   xw_fsck_name(f), sum->inodes, sum->inodes_count,
			   percent(sum->counts.fragmented + sum->counts.fragmented_dirs,
				   sum->inodes, 10),
			   sum->blocks, sum->blocks_count);
}

void say_outcome(const struct say *s, const struct fsck *f, const struct fsck_outcome *o)
{
	struct fsck_summary sum = o->summary;

	if (f->ses.findings.canceled)
		cli_printf(stdout, "%s: xw-fsck canceled; nothing was changed.\n", xw_fsck_name(f));
	else if (o->skipped && sum.valid && !f->opts.journal_only && !s->quiet && !o->rc)
		say_clean(f, &sum);
	if (o->skipped && f->ses.findings.reboot && !s->quiet)
		say_reboot(f);
	if (o->rc)
		sum.valid = false; /* the counts belong to a state that was not written */
	if (f->ses.findings.ended && f->ses.findings.fixed)
		cli_printf(
			stdout,
			"%s: nothing was repaired: the check ended before anything was written.\n",
			xw_fsck_name(f));
	if (!o->skipped && !s->quiet)
		say_end(s, f, o, &sum);
}
