/* SPDX-License-Identifier: MIT */
/* What the files behind itree_change.h share: the path from a leaf to the root, and nodes on it. */
#ifndef XW_DIR_ITREE_INTERNAL_H
#define XW_DIR_ITREE_INTERNAL_H

#include "dir/itree_change.h"

struct xw_itree_step {
	struct xw_dbuf *buf;
	struct xw_itree_hdr h;
	unsigned at; /* index nodes: the child that the path goes through */
	struct xw_itree_key sep; /* new nodes: the separator that their parent gets */
};

struct xw_itree_path {
	struct xw_itree *t;
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

/* Bytes of the leaf entry at off. */
static inline uint32_t xw_itree_entry_len(const struct xw_itree_step *s, uint32_t off)
{
	return xw_itree_rec_len(xw_itree_area(s)[off + 10]);
}

/* The node at blk. want: its level, and that it has entries; -1: the root, whatever it is. */
int xw_itree_load(struct xw_itree *t, xw_blk blk, int want, struct xw_itree_step *s);
/* Is the node in `block`, which the cache has checked, such a one? XW_ERR_CORRUPT */
int xw_itree_expect(struct xw_itree *t, const uint8_t *block, int want);
/* A new node near goal, its header still to be put. */
int xw_itree_fresh(struct xw_itree *t, xw_blk goal, unsigned level, struct xw_itree_step *s);
void xw_itree_put_header(const struct xw_itree *t, struct xw_itree_step *s);
/* Make `len` bytes of room at off for one entry more, or take them out; the header says so. */
int xw_itree_open_gap(struct xw_itree *t, struct xw_itree_step *s, uint32_t off, uint32_t len);
int xw_itree_close_gap(struct xw_itree *t, struct xw_itree_step *s, uint32_t off, uint32_t len);
/* Tell the parent how full path[level] is now. */
int xw_itree_tell_parent(struct xw_itree_path *p, unsigned level);
/*
 * Path and offset where e is, or would be inserted. Where equal keys span leaves the search goes
 * right; it stays in front of a leaf that begins above e.
 */
int xw_itree_locate(struct xw_itree *t, const struct xw_itree_entry *e, struct xw_itree_path *p,
		    uint32_t *off, bool *equal);

/* Keep a finger on the path's leaf. Whoever moves the bounds of leaves forgets them. */
void xw_itree_point(const struct xw_itree_path *p);
/*
 * 1: e belongs into a leaf under a finger, at *off (*equal: there it is), and a change of its
 * size by `gain` concerns nobody else. 0: to be found the long way.
 */
int xw_itree_fast(struct xw_itree *t, const struct xw_itree_entry *e, int32_t gain,
		  struct xw_itree_step *s, uint32_t *off, bool *equal);

#endif
