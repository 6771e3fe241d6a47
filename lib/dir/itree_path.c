/* SPDX-License-Identifier: MIT */
/*
 * Changing itrees.
 *
 * Invariants, besides the format's:
 * 1. The first separator of a node equals the separator of that node in its parent (0, 0 on the
 *    leftmost path): a node that loses its first child gives the child's separator to the next one.
 *    So a key that belongs below a node never lies below its first separator. (Trees of other
 *    makers may lack this: insertion lowers separators where it must.)
 * 2. A parent is touched by changes of a child only when the child crosses a quarter of its
 *    capacity, splits, or goes.
 *
 * A change knows the path from the leaf to the root. All functions take that path; `level` is the
 * level of the node they are about, path[level]. Most changes need none of it: they fall into the
 * leaf of the last one, for which the tree keeps a finger there, and leave it in its quarter.
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
	t->cache->why = "a node of the itree is not what its parent says";
	return XW_ERR_CORRUPT;
}

int xw_itree_load(struct xw_itree *t, xw_blk blk, int want, struct xw_itree_step *s)
{
	int ret = xw_dcache_get(t->cache, blk, XW_DBUF_ITREE, &s->buf);

	if (ret)
		return ret;
	s->at = 0;
	/* the cache has checked it: what is in the header beside these is known */
	s->h = (struct xw_itree_hdr){
		.level = s->buf->data[5],
		.count = peek16(s->buf->data + 6),
		.used = peek16(s->buf->data + 8),
		.dir = t->cache->owner.ino,
		.generation = t->cache->owner.generation,
		.self = blk,
	};
	return xw_itree_expect(t, s->buf->data, want);
}

int xw_itree_fresh(struct xw_itree *t, xw_blk goal, unsigned level, struct xw_itree_step *s)
{
	int ret = xw_dcache_alloc(t->cache, goal, XW_DBUF_ITREE, &s->buf);

	if (ret)
		return ret;
	s->at = 0;
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

void xw_itree_open_gap(const struct xw_itree *t, struct xw_itree_step *s, uint32_t off,
		       uint32_t len)
{
	memmove(xw_itree_area(s) + off + len, xw_itree_area(s) + off, s->h.used - off);
	s->h.used = (uint16_t)(s->h.used + len);
	s->h.count++;
	s->buf->hint = 0;
	xw_itree_put_header(t, s);
}

void xw_itree_close_gap(const struct xw_itree *t, struct xw_itree_step *s, uint32_t off,
			uint32_t len)
{
	memmove(xw_itree_area(s) + off, xw_itree_area(s) + off + len, s->h.used - off - len);
	memset(xw_itree_area(s) + s->h.used - len, 0, len);
	s->h.used = (uint16_t)(s->h.used - len);
	s->h.count--;
	s->buf->hint = 0;
	xw_itree_put_header(t, s);
}

int xw_itree_tell_parent(struct xw_itree_path *p, unsigned level)
{
	struct xw_itree_step *parent = &p->s[level + 1];
	struct xw_itree_idx e;
	unsigned q = xw_itree_fullness(p->t, &p->s[level]);
	int ret;

	if (xw_itree_is_root(p, level))
		return 0;
	xw_itree_idx_decode(parent->buf->data, parent->at, &e);
	if (e.quartile == q)
		return 0;
	ret = xw_dcache_dirty(p->t->cache, parent->buf);
	if (ret)
		return ret;
	p->parent_changed = true;
	e.quartile = q;
	xw_itree_idx_encode(parent->buf->data, parent->at, &e);
	return 0;
}

/* ---- searching ---- */

/* Separator i as a number. */
static uint64_t separator(const struct xw_itree_step *s, unsigned i)
{
	const uint8_t *p = xw_itree_area(s) + (size_t)i * XW_ITREE_IDX;

	return (uint64_t)peek32(p) << 32 | peek32(p + 4);
}

/* The last child whose separator is below the key; the first child where none is. */
static unsigned choose_child(const struct xw_itree_step *s, const struct xw_itree_key *key)
{
	const uint64_t k = xw_itree_key_number(key);
	unsigned lo = 1, hi = s->h.count;

	if (hi > 1 && separator(s, hi - 1) < k)
		return hi - 1; /* names mostly come in the order of their inodes */
	while (lo < hi) {
		unsigned mid = lo + (hi - lo) / 2;

		if (separator(s, mid) < k)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo - 1;
}

/* From path[level] down: to the leftmost leaf that may hold the key, or (NULL) the leftmost one. */
static int descend(struct xw_itree_path *p, unsigned level, const struct xw_itree_key *key)
{
	for (; level; level--) {
		struct xw_itree_step *s = &p->s[level];
		struct xw_itree_idx e;
		int ret;

		xw_itree_idx_decode(s->buf->data, s->at, &e);
		ret = xw_itree_load(p->t, e.blk, (int)level - 1, &p->s[level - 1]);
		if (ret)
			return ret;
		if (level > 1 && key)
			p->s[level - 1].at = choose_child(&p->s[level - 1], key);
	}
	return 0;
}

static int search(struct xw_itree *t, const struct xw_itree_key *key, struct xw_itree_path *p)
{
	struct xw_itree_step root;
	int ret = xw_itree_load(t, t->root, -1, &root);

	if (ret)
		return ret;
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

static int cmp_at(const struct xw_itree_step *s, uint32_t off, const struct xw_itree_entry *e)
{
	const uint8_t *p = xw_itree_area(s) + off;
	struct xw_itree_entry here = {.key = {.ino = peek32(p)}};

	if (here.key.ino != e->key.ino)
		return here.key.ino < e->key.ino ? -1 : 1;
	here.key.hash = peek32(p + 4);
	here.name_len = p[10];
	here.name = (const char *)p + XW_ITREE_REC_HDR;
	return xw_itree_entry_cmp(&here, e);
}

/*
 * Byte offset of the first entry that is not below e; `used` where there is none. The leaf's hint
 * is where an entry was put last: names come in the order of their inodes more often than not.
 */
static uint32_t find_in_leaf(const struct xw_itree_step *s, const struct xw_itree_entry *e,
			     bool *equal)
{
	uint32_t off = s->buf->hint;

	*equal = false;
	if (off >= s->h.used || cmp_at(s, off, e) > 0)
		off = 0;
	for (; off < s->h.used; off += xw_itree_entry_len(s, off)) {
		int c = cmp_at(s, off, e);

		if (c >= 0) {
			*equal = !c;
			break;
		}
	}
	return off;
}

/* Is there a leaf to the right of the path's whose separator is not above the key? */
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

/* ---- the finger ---- */

void xw_itree_point(const struct xw_itree_path *p)
{
	struct xw_itree_finger *f = &p->t->finger;

	*f = (struct xw_itree_finger){.leaf = p->s[0].buf->blk};
	for (unsigned level = 1; level < p->levels; level++) {
		const struct xw_itree_step *s = &p->s[level];

		f->above = XW_MAX(f->above, separator(s, s->at));
		if (!f->below && s->at + 1u < s->h.count)
			f->below = separator(s, s->at + 1);
	}
}

int xw_itree_fast(struct xw_itree *t, const struct xw_itree_entry *e, int32_t gain,
		  struct xw_itree_step *s, uint32_t *off, bool *equal)
{
	const struct xw_itree_finger *f = &t->finger;
	const uint64_t k = xw_itree_key_number(&e->key);
	uint32_t used;
	int ret;

	if (!f->leaf || k <= f->above || (f->below && k >= f->below))
		return 0;
	ret = xw_itree_load(t, f->leaf, -1, s);
	if (ret)
		return ret;
	used = (uint32_t)(s->h.used + gain);
	if (used > xw_itree_room(t) || s->h.count < 2 ||
	    xw_itree_quartile(xw_itree_room(t), used) != xw_itree_fullness(t, s))
		return 0;
	*off = find_in_leaf(s, e, equal);
	return 1;
}

static int go_right(struct xw_itree_path *p, unsigned level)
{
	p->s[level].at++;
	return descend(p, level, NULL);
}

int xw_itree_locate(struct xw_itree *t, const struct xw_itree_entry *e, struct xw_itree_path *p,
		    uint32_t *off, bool *equal)
{
	int ret = search(t, &e->key, p);

	while (!ret) {
		struct xw_itree_path right;
		unsigned level;
		uint32_t there;

		*off = find_in_leaf(&p->s[0], e, equal);
		if (*off < p->s[0].h.used || !has_next(p, &e->key, &level))
			return 0;
		right = *p;
		ret = go_right(&right, level);
		if (ret)
			return ret;
		there = find_in_leaf(&right.s[0], e, equal);
		if (!there && !*equal)
			return 0;
		*p = right;
	}
	return ret;
}
