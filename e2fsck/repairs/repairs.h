/* SPDX-License-Identifier: MIT */
/*
 * Everything that repairs write: blocks of one owner, single records, and updates, which allocate.
 * No other part of the check writes.
 */
#ifndef XW_FSCK_REPAIRS_H
#define XW_FSCK_REPAIRS_H

#include <string.h>

#include "dir/build.h"
#include "facts/facts.h"
#include "report/report.h"

/* ---- write.c: single records ---- */

/*
 * Write a block of an owner. Sets f->round.changed, and invalidates the cache of the image. Before
 * the owner map is complete, blocks are kept in memory: fsck_finish_claims() writes those that
 * belong to their owner alone, and drops the others, whose damage is found again in a later round.
 * Afterwards a block with another owner is refused with XW_ERR_INTERNAL.
 */
int fsck_write(struct fsck *f, enum fsck_owner owner, xw_blk blk, const void *buf);
/* As fsck_write(), but a contested block is left unchanged. */
int fsck_try_write(struct fsck *f, enum fsck_owner owner, xw_blk blk, const void *buf);
/* Write the kept blocks, now that the owner map is complete. */
int fsck_write_kept(struct fsck *f);
/* Does the inode table block with this record belong to the group alone? */
bool fsck_inode_may_write(struct fsck *f, xw_ino ino);
/* Encode `in` over raw, set the checksum, write it. */
int fsck_inode_write(struct fsck *f, xw_ino ino, const struct xw_inode *in, uint8_t *raw);
/* Zero the record except the generation; sets dtime. Facts: no longer in use. */
int fsck_inode_clear(struct fsck *f, xw_ino ino);
/*
 * Write f->ses.img->sb with checksum to the primary superblock (backups: backups.c, when the image
 * is closed).
 */
int fsck_super_write(struct fsck *f);
/* The same; the backups are renewed when the image is closed. */
int fsck_super_renew(struct fsck *f);
/* Write the primary descriptor, with its checksum. */
int fsck_group_write(struct fsck *f, uint64_t group, const struct xw_group_desc *gd);

/* ---- maps.c: extent trees from their runs ---- */

/* Called when all claims are known: rewrite damaged extent trees, then write the kept blocks. */
int fsck_finish_claims(struct fsck *f);
/* Number of nodes outside of the inode for n runs, and their levels. */
size_t fsck_map_nodes(const struct fsck *f, size_t n, unsigned *depth);
/*
 * Fill a node with entries [first, first + n) of the level below it: `up`, or runs at depth 0. It
 * has room for max entries.
 */
void fsck_map_fill(const struct xw_map_run *runs, const struct xw_extent_idx *up, uint8_t *node,
		   size_t first, size_t n, unsigned max, unsigned depth);

/*
 * ---- update.c, space.c: repairs that allocate, through the transaction that every tool uses ----
 *
 * The first call of a round repairs bitmaps, counts and quota, so only phases behind `contested`
 * may call it. One update is open at a time; it can hold several repairs.
 * fsck_update_keep() writes it to the overlay; on failure fsck_update_drop().
 */
int fsck_update(struct fsck *f, struct xw_update **out);
/* Open an update without settling bitmaps, counts and quota first. */
int fsck_update_begin(struct fsck *f, struct xw_update **out);
int fsck_update_keep(struct fsck *f);
/* Write to the overlay and continue the update; after a failure it must be dropped. */
int fsck_update_step(struct fsck *f);
void fsck_update_drop(struct fsck *f);

/* ---- dir_edit.c ---- */

/*
 * Repairs of single entries of any directory whose blocks have been checked. All read the inode,
 * change blocks in place and leave the facts to the caller.
 */
/* The inode number in ".." of d, which may not have been checked yet; 0: it has none. */
int fsck_dir_dotdot(struct fsck *f, struct fsck_dir *d, xw_ino *out);
/* The first name of ino in directory `dir`; *len 0: there is none. */
int fsck_dir_name(struct fsck *f, xw_ino dir, xw_ino ino, char name[XW_NAME_MAX], size_t *len);
/* Set ".." of d to parent. */
int fsck_dir_set_parent(struct fsck *f, struct fsck_dir *d, xw_ino parent);
/*
 * Clear the entries of directory `dir` that refer to `ino` (except "." and ".."); with `name` only
 * those of that name.
 */
int fsck_dir_clear_names(struct fsck *f, xw_ino dir, xw_ino ino, const char *name);

/* Compare struct xw_dir_entry by name, for qsort() and bsearch(). */
static inline int fsck_by_name(const void *x, const void *y)
{
	const struct xw_dir_entry *a = x, *b = y;
	const int c = memcmp(a->name, b->name, XW_MIN(a->name_len, b->name_len));

	return c ? c : a->name_len - b->name_len;
}

/* dir_rebuild.c: every directory with `rebuild`. */
struct fsck_dirscan;
int fsck_dir_rebuild_all(struct fsck_dirscan *s);

/* ---- lost_found.c: unattached inodes ---- */

struct fsck_lost {
	XW_VEC(xw_ino) inos;
};
/* Remove the name /lost+found from an inode that cannot be used as lost+found. */
int fsck_lost_found_check(struct fsck *f);
/*
 * Create lost+found if it is missing: f->facts.lost_found, 0 if that was declined. Pointers
 * returned by fsck_dir() may become invalid.
 */
int fsck_lost_found(struct fsck *f);
/*
 * Give each inode the name #NUMBER in lost+found; facts are updated, records are not (links.c
 * writes them). Inodes for which there is no space are reported and skipped.
 */
int fsck_reconnect(struct fsck *f, struct fsck_lost *lost);

/* root_blocks.c: the blocks of a root directory without inode or map. */
struct fsck_root_blocks {
	xw_blk first; /* 0: not found */
	XW_VEC(xw_blk) more;
	uint32_t subdirs; /* named by these blocks */
};

/*
 * Find and claim the root's blocks, when all other claims are known. in: the root's inode, whose
 * valid extents are kept; NULL: lost. XW_ERR_NOMEM. The caller frees `more`.
 */
int fsck_root_blocks(struct fsck *f, const struct xw_inode *in, struct fsck_root_blocks *out);

/* inode_root.c: create a missing root directory. */
int fsck_make_root(struct fsck *f);
/*
 * If the root's map has wrong blocks, map the right blocks if these are found, and set
 * f->round.again.
 */
int fsck_find_root(struct fsck *f);

/* extents.c: maps that -E bmap2extent and optimize_extents change; RO_SHARED_BLOCKS. */
int fsck_rewrite_maps(struct fsck *f);
/* Compare bitmaps, counts and quota with the facts: a phase. */
int fsck_check_space(struct fsck *f);
/* Rewrite the copies of superblock and descriptors from the primary ones. */
int fsck_renew_backups(struct fsck *f);

#endif
