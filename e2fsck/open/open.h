/* SPDX-License-Identifier: MIT */
/* Shared by the files that open the image and check superblock, groups and journal. */
#ifndef XW_FSCK_OPEN_H
#define XW_FSCK_OPEN_H

#include "fsck.h"

/* open.c: reopen f->img on the current contents of the overlay. */
int fsck_reopen(struct fsck *f);

/* ---- evidence.c ---- */

struct fsck_unknown {
	uint32_t compat, incompat, ro;
};

/* Feature bits unknown to stock tools and to us. */
struct fsck_unknown fsck_unknown_features(const struct xw_super *sb);
/* More unknown bits in one word are taken for damage rather than a new version's features. */
#define FSCK_UNKNOWN_MAX 2
/*
 * A newer kernel may set a feature only in the primary. Does sb differ from `mended` only in a few
 * unknown feature bits, so that it is of a newer version rather than damaged?
 */
bool fsck_super_is_newer(const struct xw_super *sb, const struct xw_super *mended);
/* Are there unknown features beside known ones that contradict each other, or very many? */
bool fsck_features_are_odd(const struct xw_super *sb);
/* s_first_data_block according to block size and bigalloc. */
uint32_t fsck_first_block(const struct xw_super *sb);
/* Can the filesystem be opened with it? */
bool fsck_super_usable(const struct xw_super *sb);
/* How much data on the device contradicts sb: 0 or less if none. */
int fsck_super_penalty(struct xw_dev *dev, const struct xw_super *sb);
/* Does the padding of group 0's inode bitmap start at sb's number of inodes per group? */
bool fsck_bitmap_ends(struct xw_dev *dev, const struct xw_super *sb);
/* bigalloc: does the padding of the last block bitmap start after the filesystem's last cluster? */
bool fsck_clusters_end(struct xw_dev *dev, const struct xw_super *sb);
/*
 * Change one field after the other as long as sb fits the device better. damaged: its own checksum
 * is wrong, or it cannot be used. true: the checksum confirms the result.
 */
bool fsck_mend_alone(struct xw_dev *dev, struct xw_super *sb, bool damaged);
/* The penalty if nothing contradicts sb, and its checksums support it. */
int fsck_super_ideal(const struct xw_super *sb);
/* Does an inode table with the root directory start at block `table`? */
bool fsck_is_root_table(struct xw_dev *dev, const struct xw_image *img, xw_blk table);
/*
 * Is there, by sb's own geometry, such a table where the descriptor of group 0 does not lead? Then
 * the descriptor is wrong, and not sb.
 */
bool fsck_root_is_elsewhere(struct xw_dev *dev, const struct xw_super *sb);
/*
 * The number of blocks according to the bitmap of the last group, if it has free blocks behind the
 * end of sb's filesystem; otherwise that of sb.
 */
uint64_t fsck_counted_blocks(struct xw_dev *dev, const struct xw_super *sb);

/* ---- copies.c ---- */

enum { FSCK_COPIES_MAX = 8 };

struct fsck_copies {
	size_t n;
	struct fsck_copy {
		uint64_t at; /* offset on the device in bytes */
		uint8_t raw[XW_SUPER_SIZE];
		struct xw_super sb;
	} v[FSCK_COPIES_MAX];
};

/* Add copies at the places given by sb's geometry; sb NULL: by any default geometry. */
void fsck_copies_usual(struct xw_dev *dev, const struct xw_super *sb, struct fsck_copies *all);
/* Add copies found anywhere on the device. */
void fsck_copies_search(struct xw_dev *dev, struct fsck_copies *all);
/* The copy given by -b and -B. XW_ERR_INPUT. */
int fsck_copies_named(struct fsck *f, struct fsck_copies *all);

/* ---- places.c ---- */

/* Can files be made in this directory, which is made with them where it is missing? Or errno. */
bool fsck_can_make_in(const char *dir);
/* Check the files given by -z and --redo-file. XW_ERR_EXISTS, XW_ERR_NOTFOUND, XW_ERR_IO. */
int fsck_check_places(struct fsck *f);

/* ---- choose.c ---- */

/*
 * Choose the superblock to continue with, on the overlay: the primary, repaired from its copies, or
 * a copy. XW_ERR_INPUT: there is none. XW_ERR_UNSUPPORTED: it has unknown features.
 */
int fsck_choose_super(struct fsck *f);

/* ---- super.c, groups.c, backups.c ---- */

/* Is the default hash one that no directory can have? Such a filesystem is not clean. */
bool fsck_hash_is_unknown(const struct xw_super *sb);
/* Fields that contradict each other or the device. */
int fsck_check_fields(struct fsck *f);
int fsck_check_groups(struct fsck *f);
/* Write the primary descriptor, with its checksum. */
int fsck_group_write(struct fsck *f, uint64_t group, const struct xw_group_desc *gd);
/* Are its bitmaps and its table inside of the filesystem, without flex_bg of the group? */
bool fsck_group_has_places(const struct xw_image *img, uint64_t group,
			   const struct xw_group_desc *gd);
/* Is the checksum of its descriptor wrong, or can it not be read? */
bool fsck_group_sum_is_wrong(struct fsck *f, uint64_t group);
/* group_flags.c: sums: the filesystem has checksums of descriptors. */
int fsck_group_check_flags(struct fsck *f, uint64_t group, bool sums);
/* Rewrite the copies of superblock and descriptors from the primary ones. */
int fsck_renew_backups(struct fsck *f);

/* ---- tables.c ---- */

/* Of inode records and the bits of an inode bitmap, for and against a place of a table. */
struct fsck_evidence {
	const uint8_t *bits; /* of the inode bitmap; NULL: unknown */
	unsigned good, bad; /* records in use that can be of this group; those that cannot */
	unsigned foreign; /* of the bad ones: they look like no inode at all */
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

/* ---- journal.c ---- */

/* Called before all checks: replay the journal. */
int fsck_replay(struct fsck *f);
/* The journal's inode and superblock. */
int fsck_check_journal(struct fsck *f);
/*
 * Has the journal inside of the filesystem, if there is one, a sound inode and an empty log?
 * Otherwise it is to be checked: a mount would replay or discard the log.
 */
bool fsck_journal_is_empty(struct fsck *f);
/*
 * journal_choice.c: how to replay the log: flags of session/journal.h. XW_ERR_NOMEM, XW_ERR_IO.
 */
struct xw_log;
/* journal.c: a damaged log was replayed in this way. */
void fsck_found_replay(struct fsck *f, unsigned how);
int fsck_choose_replay(struct fsck *f, struct xw_log *log, unsigned *flags);
/* An external journal that is damaged: a new one is made in the filesystem. */
int fsck_drop_external(struct fsck *f);
/* The internal one: it is made anew at the end of the round, if there is space then. */
int fsck_drop_journal(struct fsck *f);

/*
 * journal_device.c: replay the journal on the device of -j, or that with its UUID. XW_ERR_NOTFOUND:
 * recovery is needed, and there is no such device; XW_ERR_INPUT: it is another journal.
 */
int fsck_replay_device(struct fsck *f);

/* ---- orphans.c ---- */

int fsck_check_orphans(struct fsck *f);
/* For a filesystem that is clean otherwise. *done: processed, or there are none. XW_ERR_NOMEM. */
int fsck_clear_orphans(struct fsck *f, bool *done);

/* With the owner map settled: the blocks of the orphan file. */
int fsck_check_orphan_file(struct fsck *f);

/* ---- resize.c ---- */

/* With the owner map settled: the resize inode. */
int fsck_check_resize(struct fsck *f);
/* The inode of bad blocks. */
int fsck_check_bad_inode(struct fsck *f);

#endif
