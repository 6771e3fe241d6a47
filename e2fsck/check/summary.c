// SPDX-License-Identifier: MIT
/* Counts of the filesystem, taken before the image is closed. */
#include "config.h"

#include "check/check.h"

/*
 * Linux updates the free counts of the superblock only when it unmounts. After a replay in memory,
 * without a check, the counts of the descriptors are added up instead.
 */
static void count_replayed(struct fsck *f)
{
	uint64_t clusters = 0, inodes = 0;
	struct xw_group_desc gd;

	if (f->opts.mode != FSCK_NO || !f->start.replayed || f->facts.owners.claims)
		return;
	for (uint64_t g = 0; g < xw_image_groups_here(f->ses.img); g++) {
		if (xw_image_group(f->ses.img, g, &gd)) {
			xw_diag_clear(&f->ses.diag);
			return;
		}
		clusters += gd.free_blocks;
		inodes += gd.free_inodes;
	}
	f->facts.counts.free_known = true;
	f->facts.counts.free_blocks = clusters << xw_image_cluster_bits(f->ses.img);
	f->facts.counts.free_inodes = inodes;
}

void fsck_summary_fill(struct fsck *f, struct fsck_summary *s)
{
	const struct xw_super *sb;
	uint64_t free_inodes, free_blocks;
	bool counted;

	*s = (struct fsck_summary){0};
	if (!f->ses.img)
		return;
	count_replayed(f);
	sb = &f->ses.img->sb;
	s->counts = f->facts.counts;
	s->inodes_count = sb->inodes_count;
	s->blocks_count = sb->blocks_count;
	s->block_size = f->ses.img->block_size;
	counted = f->opts.mode == FSCK_NO && f->facts.counts.free_known;
	free_inodes = counted ? f->facts.counts.free_inodes : sb->free_inodes_count;
	free_blocks = counted ? f->facts.counts.free_blocks : sb->free_blocks_count;
	s->inodes = sb->inodes_count - XW_MIN(free_inodes, sb->inodes_count);
	s->blocks = sb->blocks_count - XW_MIN(free_blocks, sb->blocks_count);
	if (sb->max_mnt_count > 0 && sb->mnt_count < (unsigned)sb->max_mnt_count)
		s->mounts_left = (unsigned)sb->max_mnt_count - sb->mnt_count;
	s->valid = true;
}
