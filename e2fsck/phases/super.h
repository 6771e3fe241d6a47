/* SPDX-License-Identifier: MIT */
/* Shared by the files of the first phase, and by those that repair what it has to leave. */
#ifndef XW_FSCK_SUPER_H
#define XW_FSCK_SUPER_H

#include "phases/phases.h"

/* ---- super.c, groups.c, group_flags.c ---- */

/* Fields that contradict each other or the device. */
int fsck_check_fields(struct fsck *f);
int fsck_check_groups(struct fsck *f);
/* Is the checksum of its descriptor wrong, or can it not be read? */
bool fsck_group_sum_is_wrong(struct fsck *f, uint64_t group);
/* Write the primary descriptor; the copies follow when the image is closed. */
int fsck_group_renew(struct fsck *f, uint64_t group, const struct xw_group_desc *gd);
/* sums: the filesystem has checksums of descriptors. */
int fsck_group_check_flags(struct fsck *f, uint64_t group, bool sums);

/* ---- tables.c ---- */

/* Of inode records and the bits of an inode bitmap, for and against a place of a table. */
struct fsck_evidence {
	const uint8_t *bits; /* of the inode bitmap; NULL: unknown */
	bool prove; /* count proven records, which reads a block for each directory */
	unsigned good, bad; /* records in use that can be of this group; those that cannot */
	unsigned proven; /* good records that prove their inode number */
	unsigned foreign; /* bad records that do not look like an inode at all */
	unsigned hits, misses; /* bits that agree with a record in use; bits that contradict */
};

/* Add the evidence of one block, in buf: records from `index` in the group's table on. */
void fsck_table_block(const struct fsck *f, uint64_t group, uint64_t index, const uint8_t *buf,
		      struct fsck_evidence *e);
/* Add the evidence of the first n blocks of the table at blk. XW_ERR_NOMEM. */
int fsck_table_look(struct fsck *f, uint64_t group, xw_blk blk, uint64_t n,
		    struct fsck_evidence *e);
/* Which block of the group's table is in buf, according to the checksum of a record in use? */
bool fsck_table_index(const struct fsck *f, uint64_t group, const uint8_t *buf, uint64_t *k);
bool fsck_table_is_likely(const struct fsck_evidence *e);
bool fsck_table_is_unlikely(const struct fsck_evidence *e);
/* Does no record there look like an inode, neither of this group nor of another one? */
bool fsck_table_is_foreign(const struct fsck_evidence *e);
int64_t fsck_table_score(const struct fsck_evidence *e);
/*
 * Does blk hold the bitmap that the descriptor describes: by its checksum, otherwise by padding and
 * count? bits: a block, which is left with the inode bitmap if it is sound.
 */
bool fsck_block_bitmap_is_sound(struct fsck *f, uint64_t group, const struct xw_group_desc *gd,
				xw_blk blk);
bool fsck_inode_bitmap_is_sound(struct fsck *f, const struct xw_group_desc *gd, xw_blk blk,
				uint8_t *bits);

/* journal.c: the journal's inode and superblock. */
int fsck_check_journal(struct fsck *f);

/* ---- orphan_file.c ---- */

int fsck_check_orphans(struct fsck *f);
/*
 * Zero the last blocks of truncated orphans behind i_size, where the settled owner map says that
 * they are not shared.
 */
int fsck_zero_cut(struct fsck *f);
/* Check the blocks of the orphan file, if it is one; needs the settled owner map. */
int fsck_check_orphan_file(struct fsck *f);
/*
 * When names are known: an inode of which no block tells that it is the orphan file. *is: it is,
 * with blocks that are all damaged, since no name refers to it.
 */
int fsck_settle_orphan_file(struct fsck *f, bool unnamed, bool *is);

/* ---- resize.c ---- */

/* Check the map of the resize inode; needs the settled owner map. */
int fsck_check_resize(struct fsck *f);
/* The inode of bad blocks. */
int fsck_check_bad_inode(struct fsck *f);

/* ---- hidden.c ---- */

/*
 * An orphan file is of use only beside a journal: tune2fs(8) leaves it behind when it removes the
 * journal. After the journal and the orphans were checked.
 */
int fsck_check_orphan_journal(struct fsck *f);
/*
 * When names are known: numbers in the superblock that belong to files of users are cleared, quota
 * files that no feature uses are deleted, and the number of a project quota file that was lost is
 * restored.
 */
int fsck_settle_hidden(struct fsck *f);

#endif
