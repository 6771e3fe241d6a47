/* SPDX-License-Identifier: MIT */
/* Incremental insertion into an itree and deletion from it, over the directory's block cache. */
#ifndef XW_DIR_ITREE_CHANGE_H
#define XW_DIR_ITREE_CHANGE_H

#include "dir/cache.h"
#include "disk/itree.h"

#pragma GCC visibility push(default)

/* What changes did, for measurements. */
struct xw_itree_stats {
	uint64_t inserts, deletes;
	uint64_t appends, splits; /* nodes opened at the end, nodes halved */
	uint64_t merges, freed; /* neighbours united, nodes freed empty */
	uint64_t parents; /* deletes that changed an index node */
};

#define XW_ITREE_FINGERS 4u

/* A leaf, where a change was: keys between the two belong into that leaf and nowhere else. */
struct xw_itree_finger {
	xw_blk leaf; /* 0: not known */
	uint64_t above, below; /* exclusive, as xw_itree_key_number(); below: 0 for no limit */
};

struct xw_itree {
	struct xw_dcache *cache; /* owner and blocks; not owned */
	xw_blk root;
	struct xw_itree_finger end; /* the last leaf */
	struct xw_itree_finger fingers[XW_ITREE_FINGERS]; /* where changes were elsewhere */
	unsigned next_finger; /* to be pointed elsewhere */
	struct xw_itree_stats stats;
};

/* When the tree was changed by others. */
static inline void xw_itree_forget(struct xw_itree *t)
{
	t->end.leaf = 0;
	for (unsigned i = 0; i < XW_ITREE_FINGERS; i++)
		t->fingers[i].leaf = 0;
}

/* A tree without entries. */
int xw_itree_create(struct xw_itree *t, struct xw_dcache *cache, xw_blk goal);
/* Free all nodes, each of them read first. XW_ERR_CORRUPT, XW_ERR_CHECKSUM: one is none of this
 * directory's. */
int xw_itree_destroy(struct xw_itree *t);
/* XW_ERR_LIMIT: it would become too deep, nothing was changed. XW_ERR_EXISTS. */
int xw_itree_insert(struct xw_itree *t, const struct xw_itree_entry *e);
/* The entry with this key and name. XW_ERR_NOTFOUND */
int xw_itree_remove(struct xw_itree *t, const struct xw_itree_entry *e);

#pragma GCC visibility pop

#endif
