/* SPDX-License-Identifier: MIT */
/* The statistics of -v: fragmentation and types of inodes. */
#ifndef XW_FSCK_COUNTS_H
#define XW_FSCK_COUNTS_H

#include "disk/inode.h"
#include "read/bitmaps.h"
#include "walk/map.h"

#include "fsck.h"

/* The blocks of one map, in walk order. */
struct fsck_layout {
	xw_blk next; /* end of the last one; 0: none yet */
	bool fragmented;
};

/*
 * Counts as e2fsck does: indirect blocks are part of the sequence, nodes of extent trees are not,
 * and a hole does not interrupt it.
 */
static inline void fsck_layout_add(struct fsck_layout *l, const struct xw_inode *in,
				   const struct xw_walk_map_item *item)
{
	if (item->kind == XW_WALK_NODE && in->flags & XW_FL_EXTENTS)
		return;
	l->fragmented |= l->next && l->next != item->pblk;
	l->next = item->pblk + (item->kind == XW_WALK_RUN ? item->len : 1);
}

/*
 * An inode with as many blocks as a group cannot be contiguous, so e2fsck does not count it as
 * fragmented. blocks: all of its blocks; the limit is in blocks even where clusters are counted.
 */
static inline bool fsck_is_fragmented(const struct fsck_layout *l, uint64_t blocks,
				      const struct xw_image *img)
{
	return l->fragmented && blocks >> xw_image_cluster_bits(img) < img->sb.blocks_per_group;
}

/* Count the levels of indirect blocks of an inode with a block map. */
void fsck_count_indirect(struct fsck_counts *c, const struct xw_inode *in);
/*
 * Count a checked inode. depth: depth of its extent tree, -1 without one. System inodes are counted
 * only in depths and fragmentation.
 */
void fsck_count_inode(struct fsck_counts *c, const struct xw_inode *in, int depth, bool has_map,
		      bool fragmented, bool is_system);
/* Add the counts of a slice of an inode table. */
void fsck_counts_add(struct fsck_counts *to, const struct fsck_counts *c);

#endif
