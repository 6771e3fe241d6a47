/* SPDX-License-Identifier: MIT */
/* Private to lib/tune. */
#ifndef XW_TUNE_INTERNAL_H
#define XW_TUNE_INTERNAL_H

#include "tune/tune.h"
#include "update/update.h"

/* Steps of a change; see tune.c for their order. */
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
#define XW_TUNE_DO_SPARSE 0x4000u /* free superblock copies that sparse_super does without */
#define XW_TUNE_DO_SWEEP 0x8000u
#define XW_TUNE_DO_CENSUS 0x10000u /* clear features only if no inode needs them */
#define XW_TUNE_DO_INODES 0x20000u /* larger inodes */

/* Steps on an opened update, before and after the sweep. */
#define XW_TUNE_BEFORE                                                                             \
	(XW_TUNE_DO_ITREE_DROP | XW_TUNE_DO_INDEX | XW_TUNE_DO_UNINDEX | XW_TUNE_DO_TAILS |        \
	 XW_TUNE_DO_JOURNAL_ON | XW_TUNE_DO_JOURNAL_OFF | XW_TUNE_DO_ORPHAN_ON |                   \
	 XW_TUNE_DO_ORPHAN_OFF | XW_TUNE_DO_MMP_ON | XW_TUNE_DO_MMP_OFF | XW_TUNE_DO_QUOTA_OFF |   \
	 XW_TUNE_DO_RESIZE_OFF | XW_TUNE_DO_SPARSE)
#define XW_TUNE_AFTER (XW_TUNE_DO_ITREE_BUILD | XW_TUNE_DO_QUOTA_ON)
/* Steps that change more than the superblock. */
#define XW_TUNE_DEEP (XW_TUNE_BEFORE | XW_TUNE_DO_INODES | XW_TUNE_DO_SWEEP | XW_TUNE_AFTER)

struct xw_tune_run {
	const struct xw_tune_opts *opts;
	const struct xw_tune_want *want;
	struct xw_diag *diag;
	struct xw_edit *edit;
	const char *name; /* name of the image */
	struct xw_super sb; /* current superblock on the edit's device */
	struct xw_super to; /* the wanted superblock */
	unsigned work; /* XW_TUNE_DO_* */
	unsigned quota_on, quota_off; /* 1 << enum xw_quota_type: to be added, removed */
	xw_blk *tables; /* for larger inodes: the new location of each inode table */
	struct xw_tune_outcome *res;
};

/* Do group descriptors record which parts of bitmaps and inode tables are uninitialized? */
static inline bool xw_tune_tracks_use(const struct xw_super *sb)
{
	return xw_super_has_group_csum(sb);
}

static inline void xw_tune_image_end(struct xw_image **img)
{
	xw_image_close(*img);
}

static inline xw_blk xw_tune_group_start(const struct xw_image *img, uint64_t group)
{
	return img->sb.first_data_block + group * img->sb.blocks_per_group;
}

static inline uint64_t xw_tune_desc_blocks(const struct xw_image *img)
{
	return xw_div_up(img->groups, img->block_size / img->desc_size);
}

/* Fail with a message that begins with the name of the image; fmt: a literal. */
#define xw_tune_refuse(t, code, fmt, ...)                                                          \
	xw_fail((t)->diag, (code), "%s: " fmt, (t)->name, ##__VA_ARGS__)

/*
 * features.c: compute t->to (features, UUID, checksum seed, encoding) and t->work from the wanted
 * and the existing features.
 */
int xw_tune_plan(struct xw_tune_run *t);
/* census.c: XW_ERR_UNSUPPORTED if an inode uses a feature to be cleared. */
int xw_tune_census(struct xw_tune_run *t);
typedef int xw_tune_inode_fn(void *arg, xw_ino ino, struct xw_inode *in, const uint8_t *raw);
/* Call fn for each valid inode record; a non-zero code ends the loop. */
int xw_tune_each_inode(struct xw_image *img, xw_tune_inode_fn *fn, void *arg);

/* check_super.c: XW_ERR_CORRUPT if t->sb must not be copied over its backups. */
int xw_tune_check_super(struct xw_tune_run *t);
/* Does the group have a valid backup superblock? */
bool xw_tune_backup(struct xw_image *img, uint64_t group, struct xw_super *out);

/* super.c */
int xw_tune_get_super(struct xw_tune_run *t, struct xw_super *sb);
/* Write the primary superblock only. */
int xw_tune_put_super(struct xw_tune_run *t, const struct xw_super *sb);
/* Set the fields that do not depend on each other. */
int xw_tune_fields(struct xw_tune_run *t, struct xw_super *sb);
/* Write the primary superblock, its copies, and the copies of the descriptors. */
int xw_tune_put_copies(struct xw_tune_run *t, const struct xw_super *sb);

/* dirs.c: convert all directories, one at a time. */
int xw_tune_dirs(struct xw_tune_run *t, struct xw_update *u);

/* blocks.c: features that own blocks. */
/*
 * Free the blocks of an inode and clear its record. Unless the inode is reserved, free it in the
 * bitmap, too.
 */
int xw_tune_drop_inode(struct xw_update *u, xw_ino ino);
/* Write the inode record of a node of the model. */
int xw_tune_put_inode(struct xw_update *u, const struct xw_binode *n);
int xw_tune_alloc_inode(struct xw_update *u, xw_ino *ino);
int xw_tune_journal_off(struct xw_tune_run *t, struct xw_update *u);
/* Refuse to set fast_commit if Linux would not mount the image because of its journal. */
int xw_tune_check_fast_commit(struct xw_tune_run *t);
int xw_tune_journal_on(struct xw_tune_run *t, struct xw_update *u);
int xw_tune_orphan_off(struct xw_tune_run *t, struct xw_update *u);
int xw_tune_orphan_on(struct xw_tune_run *t, struct xw_update *u);
int xw_tune_mmp_off(struct xw_tune_run *t, struct xw_update *u);
int xw_tune_mmp_on(struct xw_tune_run *t, struct xw_update *u);
int xw_tune_resize_off(struct xw_tune_run *t, struct xw_update *u);
int xw_tune_sparse(struct xw_tune_run *t, struct xw_update *u);

/* quota.c */
int xw_tune_quota_off(struct xw_tune_run *t, struct xw_update *u);
int xw_tune_quota_on(struct xw_tune_run *t, struct xw_update *u);

/* inode_size.c: allocate larger inode tables in an update; after it, move the records into them. */
int xw_tune_place_tables(struct xw_tune_run *t, struct xw_update *u);
int xw_tune_move_tables(struct xw_tune_run *t);

/* sweep.c: convert all checksums from t->sb to t->to. */
int xw_tune_sweep(struct xw_tune_run *t);

#endif
