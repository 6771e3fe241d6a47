/* SPDX-License-Identifier: MIT */
/* Between the files of the room. */
#ifndef XW_UPDATE_UPDATE_INTERNAL_H
#define XW_UPDATE_UPDATE_INTERNAL_H

#include "update/edit.h"

/*
 * take.c: the clusters of a file's map, in the order of its runs, each once: with bigalloc runs may
 * share one. Without, a cluster is a block.
 */
struct xw_update_clusters {
	struct xw_update *u;
	uint64_t next; /* logical clusters below it have been seen */
};
/* *out: the run's clusters that are new, in blocks; len 0: none. XW_ERR_CORRUPT: misplaced. */
int xw_update_clusters(struct xw_update_clusters *c, const struct xw_map_run *run,
		       struct xw_run *out);
/*
 * contents.c: as xw_space_alloc_all(), for what will be written to u->data, with a line where there
 * is no space. When the last contents of a file have theirs: xw_update_contents_done().
 */
int xw_update_alloc_contents(struct xw_update *u, const struct xw_alloc_req *req,
			     struct xw_run **runs, size_t *n);
int xw_update_contents_done(struct xw_update *u);
/*
 * All that an inode's contents, map and itree hold, in whole clusters, each once. In blocks; a code
 * that is not 0 ends it.
 */
typedef int xw_update_cluster_fn(void *arg, xw_blk start, uint64_t len);
int xw_update_each_cluster(struct xw_update *u, xw_ino ino, const struct xw_inode *in,
			   xw_update_cluster_fn *fn, void *arg);
/* When an inode was deleted: never 0, which would say that it was not. */
static inline uint32_t xw_update_dtime(const struct xw_update *u)
{
	return (uint32_t)XW_MIN(XW_MAX(u->now, 1), (int64_t)UINT32_MAX);
}
/*
 * adopt.c: blocks of the sharer that the image has already get their place there, and the image's
 * take their references.
 */
int xw_update_adopt_xattrs(struct xw_update *u);
/* One block of a map or itree, the only one of its cluster, is free. */
int xw_update_free_one(struct xw_update *u, xw_blk blk);
/*
 * The record of an inode that has nothing any more (xw_update_empty()); raw is owned from here on.
 * keep: it says what it had, so that it can be taken back.
 */
int xw_update_bury(struct xw_update *u, xw_ino ino, struct xw_inode *in, uint8_t *raw, bool keep);
/* lax.c: as the bitmap readers of read/bitmaps.h, without their checks. */
int xw_update_lax_blocks(struct xw_update *u, uint32_t group, uint8_t *bits);
int xw_update_lax_inodes(struct xw_update *u, uint32_t group, uint8_t *bits);
/* The group's directories, as many as there can be. */
int xw_update_lax_dirs(struct xw_update *u, uint32_t group, uint32_t *dirs);
/* By how much the group's counts are wrong (zeros: nobody knows of it); all groups' together. */
struct xw_update_bias xw_update_bias_of(const struct xw_update *u, uint32_t group);
int64_t xw_update_bias_blocks(const struct xw_update *u);
/* Behind the last inode of the group that its bitmap counted as used before. */
int xw_update_lax_end(struct xw_update *u, uint32_t group, uint32_t *end);
/* Records at the end of the group's table that nobody wrote, as far as that was known before. */
uint32_t xw_update_lax_unused(const struct xw_update *u, uint32_t group,
			      const struct xw_group_desc *gd);
/* Free what can be freed of a run. */
int xw_update_lax_release(struct xw_update *u, const struct xw_run *r);
/*
 * protect.c, where u->protect is set; otherwise these do nothing, and an inode is as free as its
 * bitmap says. Is it the checksum of that bitmap? XW_ERR_CHECKSUM.
 */
int xw_update_check_bitmap(struct xw_update *u, uint32_t group, bool inodes, uint32_t csum,
			   const uint8_t *bits);
/* Metadata of the len blocks of a group becomes used in bits. */
int xw_update_hide_metadata(struct xw_update *u, uint32_t group, xw_blk start, uint64_t len,
			    uint8_t *bits);
/* Before a bitmap is written: what was hidden is as free as it was. */
void xw_update_expose(const struct xw_update *u, bool inode, uint32_t group, uint8_t *bits);
/* Is blk metadata? The answer holds for *some of the n blocks. */
bool xw_update_is_metadata(const struct xw_update *u, xw_blk blk, uint64_t n, uint64_t *some);
/* xw_update_mark_block() of metadata. */
int xw_update_mark_metadata(struct xw_update *u, xw_blk blk, bool used);
int xw_update_alloc_inode(struct xw_update *u, xw_ino goal, bool dir, xw_ino *ino);
/* A live inode that was hidden is free to the allocator again, as its bitmap has it. */
int xw_update_unhide_inode(struct xw_update *u, xw_ino ino);
/* Records and usage that have been written, or never will be. */
void xw_update_forget(struct xw_update *u);
/*
 * behind.c: once g has run. XW_ERR_CORRUPT: an inode went of which a name is left in a directory
 * that was not read; as far as that can be looked at for little.
 */
int xw_update_look_behind(struct xw_update *u, const struct xw_tree *t, struct xw_update_gone *g);
/* open.c calls it: orphans are put away as part of the change. */
int xw_update_orphans(struct xw_update *u);
/* old.c: what of i_blocks is not map and contents (xattrs), in blocks. */
int xw_update_other_blocks(struct xw_update *u, xw_ino ino, const struct xw_inode *in,
			   uint64_t *other);
/*
 * itree.c: every node of a directory's itree, each seen once and found to be what it should. None
 * where there is no itree.
 */
int xw_update_itree_nodes(struct xw_update *u, xw_ino ino, const struct xw_inode *in,
			  int (*fn)(void *arg, xw_blk blk, unsigned level), void *arg);
/*
 * old.c: inline contents went to blocks: the entry of raw's attributes that held the rest of them
 * goes.
 */
int xw_update_drop_inline(struct xw_update *u, xw_ino ino, const struct xw_inode *in, uint8_t *raw);
/* n's map and size into *in. */
void xw_update_set_contents(struct xw_update *u, const struct xw_binode *n, struct xw_inode *in);
/* And its blocks, plus `other` blocks. */
int xw_update_set_map(struct xw_update *u, const struct xw_binode *n, struct xw_inode *in,
		      uint64_t other);
/* map.c: as xw_update_map_read(), of any directory and without `other`. */
int xw_update_map_load(struct xw_update *u, xw_ino ino, const struct xw_inode *in,
		       struct xw_update_map *m);
/*
 * As xw_update_map_write(), but i_blocks is the caller's: *gain is by how many blocks the map
 * itself grows. Flags of an index or itree go.
 */
int xw_update_map_put(struct xw_update *u, xw_ino ino, struct xw_inode *in, struct xw_update_map *m,
		      int64_t *gain);
/* m has the extents of `from`, which has none any more. */
void xw_update_map_take(struct xw_update_map *m, struct xw_update_map *from);
/* Where a neighbour of the file's end would be, else of its inode. */
xw_blk xw_update_map_goal(const struct xw_update *u, xw_ino ino, const struct xw_update_map *m);
/* Where block lblk must be, since another block of its cluster is there; 0: nowhere yet. */
xw_blk xw_update_map_partner(const struct xw_update *u, const struct xw_update_map *m,
			     uint64_t lblk);
/* Blocks for n's map, written at once. n->map and its runs are the caller's to free. */
int xw_update_build_map(struct xw_update *u, struct xw_binode *n);
/* The record of an inode of the image, where the tree changed something about it. */
int xw_update_old(struct xw_update *u, const struct xw_binode *n);
/* itable.c: all records into their tables. */
int xw_update_write_recs(struct xw_update *u);
void xw_update_forget_recs(struct xw_update *u);
/* The same at once, so that few are held; who reads the image from here on finds them in it. */
int xw_update_settle_recs(struct xw_update *u);
/* groups.c: bitmaps, descriptors, superblock. */
int xw_update_groups(struct xw_update *u);
/* quota.c: the files, at the end. */
int xw_update_quota(struct xw_update *u);

#endif
