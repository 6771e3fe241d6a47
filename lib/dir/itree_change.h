/* SPDX-License-Identifier: MIT */
/* Incremental insertion into an itree and deletion from it, over the directory's block cache. */
#ifndef XW_DIR_ITREE_CHANGE_H
#define XW_DIR_ITREE_CHANGE_H

#include "dir/cache.h"
#include "disk/itree.h"

/* Counters of changes, for measurements. */
struct xw_itree_stats {
	uint64_t inserts, deletes;
	uint64_t appends, splits; /* nodes started at the end, nodes split */
	uint64_t merges, freed; /* neighbors merged, empty nodes freed */
	uint64_t parents; /* deletions that changed an index node */
};

#define XW_ITREE_FINGERS 4u

/* A leaf that was changed before: keys between the two bounds belong to that leaf only. */
struct xw_itree_finger {
	xw_blk leaf; /* 0: unknown */
	uint64_t above, below; /* exclusive bounds, as xw_itree_key_number(); below 0: no limit */
	xw_ino last; /* no entry of the last leaf has a higher inode; 0: unknown */
};

struct xw_itree {
	struct xw_dcache *cache; /* owner and blocks; borrowed */
	xw_blk root;
	struct xw_itree_finger end; /* the last leaf */
	struct xw_itree_finger fingers[XW_ITREE_FINGERS]; /* leaves of other recent changes */
	unsigned next_finger; /* to be replaced next */
	struct xw_itree_stats stats;
};

/* To be called after the tree was changed by other code. */
static inline void xw_itree_forget(struct xw_itree *t)
{
	t->end.leaf = 0;
	for (unsigned i = 0; i < XW_ITREE_FINGERS; i++)
		t->fingers[i].leaf = 0;
}

/* Create a tree without entries. */
int xw_itree_create(struct xw_itree *t, struct xw_dcache *cache, xw_blk goal);
/*
 * Free all nodes, reading each of them first. XW_ERR_CORRUPT, XW_ERR_CHECKSUM: a node does not
 * belong to this directory.
 */
int xw_itree_destroy(struct xw_itree *t);
/* XW_ERR_LIMIT: the tree would be too deep, nothing was changed. XW_ERR_EXISTS. */
int xw_itree_insert(struct xw_itree *t, const struct xw_itree_entry *e);
/* Remove the entry with this key and name. XW_ERR_NOTFOUND */
int xw_itree_remove(struct xw_itree *t, const struct xw_itree_entry *e);

#endif
