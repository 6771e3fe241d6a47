/* SPDX-License-Identifier: MIT */
/* Between the files that open, and check superblock, groups and journal. */
#ifndef XW_FSCK_OPEN_H
#define XW_FSCK_OPEN_H

#include "fsck.h"

/* open.c: f->img on what the overlay holds now. */
int fsck_reopen(struct fsck *f);

/* ---- evidence.c ---- */

struct fsck_unknown {
	uint32_t compat, incompat, ro;
};

/* Feature bits that neither stock tools nor we know. */
struct fsck_unknown fsck_unknown_features(const struct xw_super *sb);
/* More bits of one word that nobody knows are damage rather than a new version's features. */
#define FSCK_UNKNOWN_MAX 2
/*
 * A newer kernel may set a feature in the primary alone. Is sb of a version that is not known here
 * rather than damaged: do nothing but a few bits of features make it differ from `mended`?
 */
bool fsck_super_is_newer(const struct xw_super *sb, const struct xw_super *mended);
/* s_first_data_block, as the block size and bigalloc have it. */
uint32_t fsck_first_block(const struct xw_super *sb);
/* Can the filesystem be opened with it? */
bool fsck_super_usable(const struct xw_super *sb);
/* How much on the device speaks against sb: 0 or less where nothing does. */
int fsck_super_penalty(struct xw_dev *dev, const struct xw_super *sb);
/* Does the padding of group 0's inode bitmap begin where sb's inodes per group end? */
bool fsck_bitmap_ends(struct xw_dev *dev, const struct xw_super *sb);
/* The penalty where nothing speaks against sb, and its checksums for it. */
int fsck_super_ideal(const struct xw_super *sb);
/* Does an inode table with the root directory in it begin at block `table`? */
bool fsck_is_root_table(struct xw_dev *dev, const struct xw_image *img, xw_blk table);

/* ---- copies.c ---- */

enum { FSCK_COPIES_MAX = 8 };

struct fsck_copies {
	size_t n;
	struct fsck_copy {
		uint64_t at; /* byte on the device */
		uint8_t raw[XW_SUPER_SIZE];
		struct xw_super sb;
	} v[FSCK_COPIES_MAX];
};

/* Adds copies in the places that sb's geometry gives them; sb NULL: that any usual geometry does.
 */
void fsck_copies_usual(struct xw_dev *dev, const struct xw_super *sb, struct fsck_copies *all);
/* Adds copies wherever on the device. */
void fsck_copies_search(struct xw_dev *dev, struct fsck_copies *all);
/* The one that -b and -B name. XW_ERR_INPUT. */
int fsck_copies_named(struct fsck *f, struct fsck_copies *all);

/* ---- places.c ---- */

/* Of the files that -z and --redo-file name. XW_ERR_EXISTS, XW_ERR_NOTFOUND, XW_ERR_IO. */
int fsck_check_places(struct fsck *f);

/* ---- choose.c ---- */

/*
 * The superblock to go on with, on the overlay: the primary, mended by its copies, or a copy.
 * XW_ERR_INPUT: there is none. XW_ERR_UNSUPPORTED: it has features that nobody knows.
 */
int fsck_choose_super(struct fsck *f);

/* ---- super.c, groups.c, backups.c ---- */

/* Fields that contradict each other or the device. */
int fsck_check_fields(struct fsck *f);
int fsck_check_groups(struct fsck *f);
/* The primary's descriptor, with its checksum. */
int fsck_group_write(struct fsck *f, uint64_t group, const struct xw_group_desc *gd);
/* Copies of superblock and descriptors from the primary ones. */
int fsck_renew_backups(struct fsck *f);

/* ---- journal.c ---- */

/* Before anything else is looked at: what the journal holds, to its place. */
int fsck_replay(struct fsck *f);
/* The journal's inode and superblock. */
int fsck_check_journal(struct fsck *f);

/* ---- orphans.c ---- */

int fsck_check_orphans(struct fsck *f);
/* Of a filesystem that is clean otherwise. *done: they were, or there are none. XW_ERR_NOMEM. */
int fsck_clear_orphans(struct fsck *f, bool *done);

/* ---- resize.c ---- */

/* The resize inode, and the inode of bad blocks. */
int fsck_check_special(struct fsck *f);

#endif
