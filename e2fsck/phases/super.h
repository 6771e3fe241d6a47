/* SPDX-License-Identifier: MIT */
/* Shared by the files of the phase `super`, and by later phases that finish its repairs. */
#ifndef XW_FSCK_SUPER_H
#define XW_FSCK_SUPER_H

#include "phases/phases.h"

/* ---- super.c, groups.c, group_flags.c ---- */

/* Check the fields of the superblock against each other and the device. */
int fsck_check_fields(struct fsck *f);
/* Check the group descriptors. */
int fsck_check_groups(struct fsck *f);
/* Is the checksum of the group's descriptor wrong, or can the descriptor not be read? */
bool fsck_group_sum_is_wrong(struct fsck *f, uint64_t group);
/* Write the primary descriptor; the copies follow when the image is closed. */
int fsck_group_renew(struct fsck *f, uint64_t group, const struct xw_group_desc *gd);
/* Check flags and counts of a descriptor. sums: the filesystem has checksums of descriptors. */
int fsck_group_check_flags(struct fsck *f, uint64_t group, bool sums);

/* ---- tables.c ---- */

/* Evidence for and against a location of an inode table. */
struct fsck_evidence {
	const uint8_t *bits; /* the inode bitmap; NULL: unknown */
	bool prove; /* count `proven`, which reads a block for each directory */
	unsigned good, bad; /* records in use that may belong to the group; that cannot */
	unsigned proven; /* good records that prove their inode number */
	unsigned foreign; /* bad records that do not look like inodes at all */
	unsigned hits, misses; /* bits that agree with a record in use; that contradict one */
};

/* Add the evidence of one block, in buf: records from `index` in the group's table on. */
void fsck_table_block(const struct fsck *f, uint64_t group, uint64_t index, const uint8_t *buf,
		      struct fsck_evidence *e);
/* Add the evidence of the first n blocks of the table at blk. XW_ERR_NOMEM. */
int fsck_table_evidence(struct fsck *f, uint64_t group, xw_blk blk, uint64_t n,
			struct fsck_evidence *e);
/* Which block of the group's table is in buf, according to the checksum of a record in use? */
bool fsck_table_index(const struct fsck *f, uint64_t group, const uint8_t *buf, uint64_t *k);
bool fsck_table_is_plausible(const struct fsck_evidence *e);
bool fsck_table_is_unlikely(const struct fsck_evidence *e);
/* Do most records look like inodes of no group? */
bool fsck_table_is_foreign(const struct fsck_evidence *e);
int64_t fsck_table_score(const struct fsck_evidence *e);
/*
 * Does blk hold the bitmap that the descriptor describes, according to its checksum, or else to
 * padding and number of free bits? bits: buffer of one block, which receives the inode bitmap.
 */
bool fsck_block_bitmap_is_valid(struct fsck *f, uint64_t group, const struct xw_group_desc *gd,
				xw_blk blk);
bool fsck_inode_bitmap_is_valid(struct fsck *f, const struct xw_group_desc *gd, xw_blk blk,
				uint8_t *bits);
/*
 * May blk hold the group's bitmap, although a bit in it or the descriptor's count is wrong? Padding
 * must be set, and the bits agree with the group's metadata, or with the records of its table.
 */
bool fsck_block_bitmap_is_plausible(struct fsck *f, uint64_t group, const struct xw_group_desc *gd,
				    xw_blk blk);
bool fsck_inode_bitmap_is_plausible(struct fsck *f, uint64_t group, const struct xw_group_desc *gd,
				    xw_blk blk);

/* journal.c: check the journal's inode and superblock. */
int fsck_check_journal(struct fsck *f);

/* ---- orphan_file.c ---- */

/* Process or drop the orphan list; drop an orphan file without its feature. */
int fsck_check_orphans(struct fsck *f);
/*
 * Zero the last blocks of truncated orphans past i_size, unless they are shared according to the
 * complete owner map.
 */
int fsck_zero_cut(struct fsck *f);
/* Check the blocks of the orphan file, if it is one; needs the complete owner map. */
int fsck_check_orphan_file(struct fsck *f);
/*
 * When names are known: decide about an inode without any valid block of an orphan file. *is: it is
 * the orphan file, with all blocks damaged, since it has no name.
 */
int fsck_judge_orphan_file(struct fsck *f, bool unnamed, bool *is);

/* ---- resize.c ---- */

/* Check the map of the resize inode; needs the complete owner map. */
int fsck_check_resize(struct fsck *f);
/* Check the bad-block inode. */
int fsck_check_bad_inode(struct fsck *f);

/* ---- hidden.c ---- */

/*
 * Remove the orphan file of a filesystem without a journal, which tune2fs(8) leaves when it removes
 * the journal. Called after journal and orphans were checked.
 */
int fsck_check_orphan_journal(struct fsck *f);
/*
 * When names are known: clear inode numbers in the superblock that belong to files of users, delete
 * quota files of a missing feature, and restore the lost number of a project quota file.
 */
int fsck_repair_hidden(struct fsck *f);

#endif
