/* SPDX-License-Identifier: MIT */
/* Shared by the files of this room. */
#ifndef XW_TUNE_INTERNAL_H
#define XW_TUNE_INTERNAL_H

#include "tune/tune.h"
#include "update/update.h"

/* Steps to be done; see tune.c for their order. */
#define XW_TUNE_DO_ITREE_DROP 0x0001u
#define XW_TUNE_DO_ITREE_BUILD 0x0002u
#define XW_TUNE_DO_INDEX 0x0004u /* index directories without an index */
#define XW_TUNE_DO_UNINDEX 0x0008u
#define XW_TUNE_DO_TAILS 0x0010u /* make room for checksums in directories */
#define XW_TUNE_DO_JOURNAL_ON 0x0020u
#define XW_TUNE_DO_JOURNAL_OFF 0x0040u
#define XW_TUNE_DO_ORPHAN_ON 0x0080u
#define XW_TUNE_DO_ORPHAN_OFF 0x0100u
#define XW_TUNE_DO_MMP_ON 0x0200u
#define XW_TUNE_DO_MMP_OFF 0x0400u
#define XW_TUNE_DO_QUOTA_ON 0x0800u
#define XW_TUNE_DO_QUOTA_OFF 0x1000u
#define XW_TUNE_DO_RESIZE_OFF 0x2000u
#define XW_TUNE_DO_SPARSE 0x4000u /* free superblock copies that sparse_super does not have */
#define XW_TUNE_DO_SWEEP 0x8000u
#define XW_TUNE_DO_CENSUS 0x10000u /* clear features only if no inode needs them */
#define XW_TUNE_DO_INODES 0x20000u /* larger inodes */

/* Steps on an opened update, before and after the sweep. */
#define XW_TUNE_BEFORE                                                                             \
	(XW_TUNE_DO_ITREE_DROP | XW_TUNE_DO_INDEX | XW_TUNE_DO_UNINDEX | XW_TUNE_DO_TAILS |        \
	 XW_TUNE_DO_JOURNAL_ON | XW_TUNE_DO_JOURNAL_OFF | XW_TUNE_DO_ORPHAN_ON |                   \
	 XW_TUNE_DO_ORPHAN_OFF | XW_TUNE_DO_MMP_ON | XW_TUNE_DO_MMP_OFF | XW_TUNE_DO_QUOTA_OFF |   \
	 XW_TUNE_DO_RESIZE_OFF | XW_TUNE_DO_SPARSE)
#define XW_TUNE_BEHIND (XW_TUNE_DO_ITREE_BUILD | XW_TUNE_DO_QUOTA_ON)
/* More than the superblock changes. */
#define XW_TUNE_DEEP (XW_TUNE_BEFORE | XW_TUNE_DO_INODES | XW_TUNE_DO_SWEEP | XW_TUNE_BEHIND)

struct xw_tune_run {
	const struct xw_tune_opts *opts;
	const struct xw_tune_want *want;
	struct xw_diag *diag;
	struct xw_edit *edit;
	const char *name; /* name of the image */
	struct xw_super sb; /* current superblock on the edit's device */
	struct xw_super to; /* the wanted superblock */
	unsigned work; /* XW_TUNE_DO_* */
	unsigned quota_on, quota_off; /* types to be added, removed */
	xw_blk *tables; /* larger inodes: where each group's table is to be */
	struct xw_tune_outcome *res;
};

/* Do descriptors record what was never used? */
static inline bool xw_tune_tracks_use(const struct xw_super *sb)
{
	return sb->feature_ro_compat & (XW_RO_GDT_CSUM | XW_RO_METADATA_CSUM);
}

static inline xw_blk xw_tune_group_start(const struct xw_image *img, uint64_t group)
{
	return img->sb.first_data_block + group * img->sb.blocks_per_group;
}

static inline uint64_t xw_tune_desc_blocks(const struct xw_image *img)
{
	return xw_div_up(img->groups, img->block_size / img->desc_size);
}

/* A failure whose message begins with the name of the image; fmt: a literal. Returns the code. */
#define xw_tune_refuse(t, code, fmt, ...)                                                          \
	xw_fail((t)->diag, (code), "%s: " fmt, (t)->name, ##__VA_ARGS__)

/*
 * features.c: compares wanted and existing features: sets features and identity of t->to, and
 * t->work.
 */
int xw_tune_plan(struct xw_tune_run *t);
/* census.c: are the features to be cleared in use? */
int xw_tune_census(struct xw_tune_run *t);

/* trust.c: XW_ERR_CORRUPT if t->sb must not be copied over its backups. */
int xw_tune_trust(struct xw_tune_run *t);
/* Does that group have a valid superblock? */
bool xw_tune_backup(struct xw_image *img, uint64_t group, struct xw_super *out);

/* super.c */
int xw_tune_get_super(struct xw_tune_run *t, struct xw_super *sb);
/* Only the primary. */
int xw_tune_put_super(struct xw_tune_run *t, const struct xw_super *sb);
/* The independent fields. */
int xw_tune_fields(struct xw_tune_run *t, struct xw_super *sb);
/* sb and its copies, and the copies of the descriptors. */
int xw_tune_put_copies(struct xw_tune_run *t, const struct xw_super *sb);

/* dirs.c: all directories, one at a time. */
int xw_tune_dirs(struct xw_tune_run *t, struct xw_update *u);

/* blocks.c: features that own blocks. */
/*
 * Free the blocks of the inode, and clear its record; also its number unless that is a reserved
 * one.
 */
int xw_tune_drop_inode(struct xw_update *u, xw_ino ino);
/* Write the record of an inode from a node of the model. */
int xw_tune_put_inode(struct xw_update *u, const struct xw_binode *n);
int xw_tune_alloc_inode(struct xw_update *u, xw_ino *ino);
int xw_tune_journal_off(struct xw_tune_run *t, struct xw_update *u);
int xw_tune_journal_on(struct xw_tune_run *t, struct xw_update *u);
int xw_tune_orphan_off(struct xw_update *u);
int xw_tune_orphan_on(struct xw_tune_run *t, struct xw_update *u);
int xw_tune_mmp_off(struct xw_update *u);
int xw_tune_mmp_on(struct xw_tune_run *t, struct xw_update *u);
int xw_tune_resize_off(struct xw_update *u);
int xw_tune_sparse(struct xw_update *u);

/* quota.c */
int xw_tune_quota_off(struct xw_tune_run *t, struct xw_update *u);
int xw_tune_quota_on(struct xw_tune_run *t, struct xw_update *u);

/* inode_size.c: places for larger inode tables; then, behind that update, the records into them. */
int xw_tune_place_tables(struct xw_tune_run *t, struct xw_update *u);
int xw_tune_move_tables(struct xw_tune_run *t);

/* sweep.c: all checksums, from t->sb to t->to. */
int xw_tune_sweep(struct xw_tune_run *t);

#endif
