/* SPDX-License-Identifier: MIT */
/*
 * Changing itrees.
 *
 * Invariants, besides those of the format:
 * 1. The first separator of a node equals the separator of that node in its parent (0, 0 on the
 *    leftmost path): if a node loses its first child, the separator of that child passes to the
 *    next one. So a key that belongs below a node is never less than its first separator. (Trees of
 *    other implementations may lack this: insertion lowers separators where necessary.)
 * 2. A change of a child updates its parent only if the child crosses a quarter of its capacity,
 *    splits, or is removed.
 *
 * A change uses the path from the leaf to the root. All functions take that path; `level` is the
 * level of the node concerned, path[level]. Most changes need no path: they affect the last leaf,
 * or a recently changed one (the number of a deleted file is reused for the next), and stay within
 * its quarter. The tree keeps fingers on these leaves.
 *
 * In a large directory most time is spent waiting for memory. So a search touches few cache lines
 * of a node, using estimates and marks, and prefetches the lines that it will need.
 */
#include "config.h"

#include <string.h>

#include "base/endian.h"
#include "dir/itree_internal.h"

/* ---- nodes ---- */

int xw_itree_expect(struct xw_itree *t, const uint8_t *block, int want)
{
	if (want < 0 || (block[5] == want && peek16(block + 6)))
		return 0;
	t->cache->why = "an itree node does not match its parent";
	return XW_ERR_CORRUPT;
}

int xw_itree_load(struct xw_itree *t, xw_blk blk, int want, struct xw_itree_step *s)
{
	int rc = xw_dcache_get(t->cache, blk, XW_DBUF_ITREE, &s->buf);

	if (rc)
		return rc;
	s->at = 0;
	/* verified by the cache: the header fields not read here are known */
	s->h = (struct xw_itree_hdr){
		.level = s->buf->data[5],
		.count = peek16(s->buf->data + 6),
		.used = peek16(s->buf->data + 8),
		.dir = t->cache->owner.ino,
		.generation = t->cache->owner.generation,
		.self = blk,
	};
	s->dead = xw_itree_dead(s->buf->data);
	s->reuse = XW_ITREE_NONE;
	return xw_itree_expect(t, s->buf->data, want);
}

int xw_itree_fresh(struct xw_itree *t, xw_blk goal, unsigned level, struct xw_itree_step *s)
{
	int rc = xw_dcache_alloc(t->cache, goal, XW_DBUF_ITREE, &s->buf);

	if (rc)
		return rc;
	s->at = 0;
	s->dead = 0;
	s->reuse = XW_ITREE_NONE;
	s->h = (struct xw_itree_hdr){
		.level = (uint8_t)level,
		.dir = t->cache->owner.ino,
		.generation = t->cache->owner.generation,
		.self = s->buf->blk,
	};
	return 0;
}

void xw_itree_put_header(const struct xw_itree *t, struct xw_itree_step *s)
{
	xw_itree_hdr_encode(s->buf->data, xw_itree_bs(t), &s->h);
}

int xw_itree_update_parent(struct xw_itree_path *p, unsigned level)
{
	struct xw_itree_step *parent = &p->s[level + 1];
	struct xw_itree_idx e;
	unsigned q = xw_itree_fullness(p->t, &p->s[level]);
	int rc;

	if (xw_itree_is_root(p, level))
		return 0;
	xw_itree_idx_decode(parent->buf->data, parent->at, &e);
	if (e.quartile == q)
		return 0;
	rc = xw_dcache_dirty(p->t->cache, parent->buf);
	if (rc)
		return rc;
	p->parent_changed = true;
	e.quartile = q;
	xw_itree_idx_encode(parent->buf->data, parent->at, &e);
	return 0;
}

/* ---- lookup ---- */

/* Separator i as a number. */
static uint64_t separator(const struct xw_itree_step *s, unsigned i)
{
	const uint8_t *p = xw_itree_area(s) + (size_t)i * XW_ITREE_IDX;

	return (uint64_t)peek32(p) << 32 | peek32(p + 4);
}

/* Estimate the position of a key in the node from 0 to count - 1, assuming evenly spread inodes. */
static unsigned guess_child(const struct xw_itree_step *s, xw_ino ino)
{
	const xw_ino first = peek32(xw_itree_area(s));
	const xw_ino last = peek32(xw_itree_area(s) + s->h.used - XW_ITREE_IDX);

	if (ino <= first || ino >= last)
		return ino <= first ? 0 : s->h.count - 1u;
	return (unsigned)((uint64_t)(ino - first) * (s->h.count - 1u) / (last - first));
}

/*
 * The last child whose separator is below the key; the first child if there is none. Index nodes
 * are rarely in a fast CPU cache, and each step of a plain binary search would wait for another
 * line.
 */
static unsigned choose_child(const struct xw_itree_step *s, const struct xw_itree_key *key)
{
	const uint64_t k = xw_itree_key_number(key);
	unsigned lo = guess_child(s, key->ino), hi = lo + 1, step = 1;

	/* search from the estimate in growing steps, until lo is below the key and hi is not */
	while (lo && separator(s, lo) >= k) {
		hi = lo;
		lo -= XW_MIN(step, lo);
		step *= 2;
	}
	while (hi < s->h.count && separator(s, hi) < k) {
		lo = hi;
		hi = XW_MIN(hi + step, s->h.count);
		step *= 2;
	}
	while (hi - lo > 1) {
		const unsigned mid = lo + (hi - lo) / 2;

		if (separator(s, mid) < k)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

/*
 * Prefetch the lines of a leaf where its entry should be, assuming that the leaf is full and inodes
 * are evenly spread between the separators.
 */
static void expect_entry(const struct xw_itree_path *p, const struct xw_itree_idx *e, xw_ino ino)
{
	const struct xw_itree_step *parent = &p->s[1];
	const uint32_t room = xw_itree_room(p->t), width = 4 * XW_CACHE_LINE;
	uint32_t off = 0;
	struct xw_itree_idx next;

	if (parent->at + 1u < parent->h.count) {
		xw_itree_idx_decode(parent->buf->data, parent->at + 1u, &next);
		if (e->key.ino < ino && ino < next.key.ino)
			off = (uint32_t)((uint64_t)(ino - e->key.ino) * room /
					 (next.key.ino - e->key.ino));
	}
	off = off > width / 2 ? off - width / 2 : 0;
	xw_dcache_expect(p->t->cache, e->blk, XW_ITREE_HDR + XW_MIN(off, room - width), width);
}

/*
 * Descend from path[level] to the leftmost leaf that may hold the key, or (NULL) to the leftmost
 * leaf.
 */
static int descend(struct xw_itree_path *p, unsigned level, const struct xw_itree_key *key)
{
	for (; level; level--) {
		struct xw_itree_step *s = &p->s[level];
		struct xw_itree_idx e;
		int rc;

		xw_itree_idx_decode(s->buf->data, s->at, &e);
		if (level == 1 && key)
			expect_entry(p, &e, key->ino);
		rc = xw_itree_load(p->t, e.blk, (int)level - 1, &p->s[level - 1]);
		if (rc)
			return rc;
		if (level > 1 && key)
			p->s[level - 1].at = choose_child(&p->s[level - 1], key);
	}
	return 0;
}

static int search(struct xw_itree *t, const struct xw_itree_key *key, struct xw_itree_path *p)
{
	struct xw_itree_step root;
	int rc = xw_itree_load(t, t->root, -1, &root);

	if (rc)
		return rc;
	*p = (struct xw_itree_path){.t = t, .levels = root.h.level + 1u};
	if (root.h.level && root.h.count < 2) {
		t->cache->why = "an index root with fewer than two children";
		return XW_ERR_CORRUPT;
	}
	if (root.h.level)
		root.at = choose_child(&root, key);
	p->s[root.h.level] = root;
	return descend(p, root.h.level, key);
}

/* Is there a leaf to the right of the path whose separator is not above the key? */
static bool has_next(const struct xw_itree_path *p, const struct xw_itree_key *key, unsigned *level)
{
	const uint64_t k = xw_itree_key_number(key);

	for (*level = 1; *level < p->levels; (*level)++) {
		const struct xw_itree_step *s = &p->s[*level];

		if (s->at + 1u < s->h.count)
			return separator(s, s->at + 1) <= k;
	}
	return false;
}

/* ---- fingers ---- */

/* The finger on this leaf, or else the one to be replaced next. */
static struct xw_itree_finger *finger_for(struct xw_itree *t, xw_blk leaf)
{
	for (unsigned i = 0; i < XW_ITREE_FINGERS; i++) {
		if (t->fingers[i].leaf == leaf)
			return &t->fingers[i];
	}
	return &t->fingers[t->next_finger++ % XW_ITREE_FINGERS];
}

void xw_itree_point(const struct xw_itree_path *p)
{
	struct xw_itree_finger f = {.leaf = p->s[0].buf->blk};

	for (unsigned level = 1; level < p->levels; level++) {
		const struct xw_itree_step *s = &p->s[level];

		f.above = XW_MAX(f.above, separator(s, s->at));
		if (!f.below && s->at + 1u < s->h.count)
			f.below = separator(s, s->at + 1);
	}
	if (f.below)
		*finger_for(p->t, f.leaf) = f;
	else
		p->t->end = f;
}

static const struct xw_itree_finger *finger_at(const struct xw_itree *t, uint64_t k)
{
	const struct xw_itree_finger *f = t->fingers;

	if (t->end.leaf && k > t->end.above)
		return &t->end;
	for (; f < t->fingers + XW_ITREE_FINGERS; f++) {
		if (f->leaf && k > f->above && k < f->below)
			return f;
	}
	return NULL;
}

int xw_itree_fast(struct xw_itree *t, const struct xw_itree_entry *e, int32_t gain,
		  struct xw_itree_step *s, uint32_t *off, bool *equal)
{
	const struct xw_itree_finger *f = finger_at(t, xw_itree_key_number(&e->key));
	uint32_t used;
	int rc;

	if (!f)
		return 0;
	rc = xw_itree_load(t, f->leaf, -1, s);
	if (rc)
		return rc;
	used = (uint32_t)(s->h.used + gain);
	if (used > xw_itree_room(t) || s->h.count < 2 ||
	    xw_itree_quartile(xw_itree_room(t), used) != xw_itree_fullness(t, s))
		return 0;
	if (f == &t->end && f->last && e->key.ino > f->last)
		*off = s->h.used + s->dead;
	else
		*off = xw_itree_find_in_leaf(t, s, e, equal);
	return 1;
}

int xw_itree_locate(struct xw_itree *t, const struct xw_itree_entry *e, struct xw_itree_path *p,
		    uint32_t *off, bool *equal)
{
	int rc = search(t, &e->key, p);

	while (!rc) {
		struct xw_itree_path right;
		unsigned level;
		uint32_t there;

		*off = xw_itree_find_in_leaf(t, &p->s[0], e, equal);
		if (*off < (uint32_t)p->s[0].h.used + p->s[0].dead || !has_next(p, &e->key, &level))
			return 0;
		right = *p;
		right.s[level].at++;
		rc = descend(&right, level, NULL);
		if (rc)
			return rc;
		there = xw_itree_find_in_leaf(t, &right.s[0], e, equal);
		if (!there && !*equal)
			return 0;
		*p = right;
	}
	return rc;
}
