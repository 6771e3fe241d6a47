/* SPDX-License-Identifier: MIT */
/*
 * Shared by the files that implement itree_change.h: the path from a leaf to the root, and its
 * nodes.
 */
#ifndef XW_DIR_ITREE_INTERNAL_H
#define XW_DIR_ITREE_INTERNAL_H

#include "dir/itree_change.h"
#include "dir/itree_leaf.h"

struct xw_itree_step {
	struct xw_dbuf *buf;
	struct xw_itree_hdr h;
	uint16_t dead; /* leaves: size of deleted entries, see itree_leaf.h */
	uint32_t reuse; /* the last search found a deleted entry to replace here, or NONE */
	unsigned at; /* index nodes: index of the child on the path */
	struct xw_itree_key sep; /* new nodes: their separator for the parent */
};

/* The order in which entries arrive where a full leaf is split. */
enum xw_itree_run {
	XW_ITREE_RANDOM,
	XW_ITREE_ASCENDING, /* each after its predecessor */
	XW_ITREE_DESCENDING, /* each before its successor */
};

struct xw_itree_path {
	struct xw_itree *t;
	enum xw_itree_run run;
	struct xw_itree_step s[XW_ITREE_LEVELS];
	unsigned levels;
	bool parent_changed;
};

static inline uint32_t xw_itree_bs(const struct xw_itree *t)
{
	return t->cache->owner.block_size;
}

static inline uint32_t xw_itree_room(const struct xw_itree *t)
{
	return xw_itree_cap(xw_itree_bs(t));
}

static inline uint8_t *xw_itree_area(const struct xw_itree_step *s)
{
	return s->buf->data + XW_ITREE_HDR;
}

static inline unsigned xw_itree_fullness(const struct xw_itree *t, const struct xw_itree_step *s)
{
	return xw_itree_quartile(xw_itree_room(t), s->h.used);
}

static inline bool xw_itree_is_root(const struct xw_itree_path *p, unsigned level)
{
	return level + 1 == p->levels;
}

/* Size of the leaf entry at off. */
static inline uint32_t xw_itree_entry_len(const struct xw_itree_step *s, uint32_t off)
{
	return xw_itree_rec_len(xw_itree_area(s)[off + 10]);
}

/* Load the node at blk. want: its level, and it must have entries; -1: the root, of any level. */
int xw_itree_load(struct xw_itree *t, xw_blk blk, int want, struct xw_itree_step *s);
/* Is `block`, verified by the cache, a node of that level? XW_ERR_CORRUPT */
int xw_itree_expect(struct xw_itree *t, const uint8_t *block, int want);
/* Allocate a new node near goal; its header is not written yet. */
int xw_itree_fresh(struct xw_itree *t, xw_blk goal, unsigned level, struct xw_itree_step *s);
void xw_itree_put_header(const struct xw_itree *t, struct xw_itree_step *s);
/* Update the header: add to the number of entries, their bytes, and the bytes of deleted ones. */
int xw_itree_count(struct xw_itree *t, struct xw_itree_step *s, int count, int used, int dead);
/* Open a gap of `len` bytes at off for one more entry; updates the header. */
int xw_itree_open_gap(struct xw_itree *t, struct xw_itree_step *s, uint32_t off, uint32_t len);
/* Update the fill of path[level] in its parent. */
int xw_itree_update_parent(struct xw_itree_path *p, unsigned level);
/*
 * Find the path and the offset of e, or where it would be inserted. Where equal keys span leaves
 * the search continues to the right; it stops before a leaf that starts above e.
 */
int xw_itree_locate(struct xw_itree *t, const struct xw_itree_entry *e, struct xw_itree_path *p,
		    uint32_t *off, bool *equal);

/*
 * Remember the leaf of the path as a finger. Code that moves the bounds of leaves must forget
 * fingers.
 */
void xw_itree_point(const struct xw_itree_path *p);
/*
 * 1: e belongs to a leaf with a finger, at *off (*equal: it exists), and changing that leaf's size
 * by `gain` affects no other node. 0: a full search is necessary.
 */
int xw_itree_fast(struct xw_itree *t, const struct xw_itree_entry *e, int32_t gain,
		  struct xw_itree_step *s, uint32_t *off, bool *equal);

#endif
