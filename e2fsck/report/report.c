// SPDX-License-Identifier: MIT
/* The report about the whole filesystem, worded as in e2fsck. */
#include "config.h"

#include <inttypes.h>

#include "report/report.h"

enum { SECONDS_A_DAY = 86400 };

/*
 * Linux keeps the free counts of the superblock up to date on unmount only: those of a journal that
 * was replayed in memory alone are in the descriptors. Without a check nobody has added them up.
 */
static void count_replayed(struct fsck *f)
{
	uint64_t clusters = 0, inodes = 0;
	struct xw_group_desc gd;

	if (f->opts.mode != FSCK_NO || !f->replayed || f->owners.claims)
		return;
	for (uint64_t g = 0; g < xw_image_groups_here(f->img); g++) {
		if (xw_image_group(f->img, g, &gd)) {
			xw_diag_clear(&f->diag);
			return;
		}
		clusters += gd.free_blocks;
		inodes += gd.free_inodes;
	}
	f->counts.free_known = true;
	f->counts.free_blocks = clusters << xw_image_cluster_bits(f->img);
	f->counts.free_inodes = inodes;
}

void fsck_summary_take(struct fsck *f, struct fsck_summary *s)
{
	const struct xw_super *sb;
	uint64_t free_inodes, free_blocks;
	bool counted;

	*s = (struct fsck_summary){0};
	if (!f->img)
		return;
	count_replayed(f);
	sb = &f->img->sb;
	s->counts = f->counts;
	s->inodes_count = sb->inodes_count;
	s->blocks_count = sb->blocks_count;
	counted = f->opts.mode == FSCK_NO && f->counts.free_known;
	free_inodes = counted ? f->counts.free_inodes : sb->free_inodes_count;
	free_blocks = counted ? f->counts.free_blocks : sb->free_blocks_count;
	s->inodes = sb->inodes_count - XW_MIN(free_inodes, sb->inodes_count);
	s->blocks = sb->blocks_count - XW_MIN(free_blocks, sb->blocks_count);
	if (sb->max_mnt_count > 0 && sb->mnt_count < (unsigned)sb->max_mnt_count)
		s->mounts_left = (unsigned)sb->max_mnt_count - sb->mnt_count;
	s->valid = true;
}

void fsck_say_replayed(const struct fsck *f)
{
	if (f->opts.json || f->opts.quiet)
		return;
	if (f->opts.mode == FSCK_NO)
		printf("Warning: recovering the journal in memory alone because doing a read-only "
		       "filesystem check.\n");
	else
		printf("%s: recovering journal\n", fsck_name(f));
	fflush(stdout);
}

/* As in e2fsck: mounts until the next check, if those are few. */
static void say_next_check(const struct fsck_summary *s)
{
	enum { FEW = 5 };

	if (s->mounts_left == 1)
		printf(" (check after next mount)");
	else if (s->mounts_left > 1 && s->mounts_left <= FEW)
		printf(" (check in %" PRIu32 " mounts)", s->mounts_left);
}

void fsck_say_clean(const struct fsck *f, const struct fsck_summary *s)
{
	printf("%s: clean, %" PRIu64 "/%" PRIu64 " files, %" PRIu64 "/%" PRIu64 " blocks",
	       fsck_name(f), s->inodes, s->inodes_count, s->blocks, s->blocks_count);
	say_next_check(s);
	putchar('\n');
}

void fsck_say_forced(const struct fsck *f)
{
	const struct xw_super *sb = &f->img->sb;
	const int64_t age = f->opts.now - sb->lastcheck;

	if (sb->state & XW_STATE_ERROR)
		printf("%s contains a file system with errors", fsck_name(f));
	else if (!(sb->state & XW_STATE_VALID))
		printf("%s was not cleanly unmounted", fsck_name(f));
	else if (sb->max_mnt_count > 0 && sb->mnt_count >= (unsigned)sb->max_mnt_count)
		printf("%s has been mounted %u times without being checked", fsck_name(f),
		       sb->mnt_count);
	else if (sb->checkinterval && age >= (int64_t)sb->checkinterval)
		printf("%s has gone %" PRId64 " days without being checked", fsck_name(f),
		       age / SECONDS_A_DAY);
	else if (f->features_differ)
		printf("%s primary superblock features different from backup", fsck_name(f));
	else
		return;
	printf(", check forced.\n");
	fflush(stdout);
}

/* In units of one `of` a percent; halves are rounded up, as e2fsck does, and printf does not. */
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

/* The lines of e2fsck -v, and one more where there are itrees. */
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

void fsck_say_reboot(const struct fsck *f)
{
	printf("%s: ***** REBOOT SYSTEM *****\n", fsck_name(f));
}

void fsck_say_end(const struct fsck *f, const struct fsck_summary *s, bool modified)
{
	const struct fsck_findings *all = &f->findings;
	const bool preen = f->opts.mode == FSCK_PREEN;

	fsck_say_counted(f);
	if (modified && !preen)
		printf("\n%s: ***** FILE SYSTEM WAS MODIFIED *****\n", fsck_name(f));
	if (all->reboot)
		fsck_say_reboot(f);
	if (!preen && (all->left || (!s->valid && all->found)))
		printf("\n%s: ********** WARNING: Filesystem still has errors **********\n\n",
		       fsck_name(f));
	if (!s->valid || f->stop)
		return;
	if (f->opts.verbose)
		say_statistics(s);
	else
		printf("%s: %" PRIu64 "/%" PRIu64 " files (%.1f%% non-contiguous), %" PRIu64
		       "/%" PRIu64 " blocks\n",
		       fsck_name(f), s->inodes, s->inodes_count,
		       percent(s->counts.fragmented + s->counts.fragmented_dirs, s->inodes, 10),
		       s->blocks, s->blocks_count);
}
