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
	return xw_itree_expect(t, s->buf->data, want);
}

int xw_itree_fresh(struct xw_itree *t, xw_blk goal, unsigned level, struct xw_itree_step *s)
{
	int rc = xw_dcache_alloc(t->cache, goal, XW_DBUF_ITREE, &s->buf);

	if (rc)
		return rc;
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

/* Update the header after adding or removing an entry of `len` bytes. */
static int set_header(struct xw_itree *t, struct xw_itree_step *s, int count, int len)
{
	int rc = xw_dcache_dirty_range(t->cache, s->buf, XW_ITREE_HDR_COUNT, XW_ITREE_HDR_VARIES);

	if (rc)
		return rc;
	s->h.count = (uint16_t)(s->h.count + count);
	s->h.used = (uint16_t)(s->h.used + len);
	xw_itree_hdr_set(s->buf->data, s->h.count, s->h.used);
	return 0;
}

int xw_itree_open_gap(struct xw_itree *t, struct xw_itree_step *s, uint32_t off, uint32_t len)
{
	struct xw_dbuf *b = s->buf;
	int rc = xw_dcache_open_gap(t->cache, b, XW_ITREE_HDR + off, len, XW_ITREE_HDR + s->h.used);

	if (rc)
		return rc;
	for (unsigned i = 0; i < b->n_marks; i++)
		b->mark_off[i] = (uint16_t)(b->mark_off[i] + (b->mark_off[i] >= off ? len : 0));
	return set_header(t, s, 1, (int)len);
}

int xw_itree_close_gap(struct xw_itree *t, struct xw_itree_step *s, uint32_t off, uint32_t len)
{
	struct xw_dbuf *b = s->buf;
	int rc =
		xw_dcache_close_gap(t->cache, b, XW_ITREE_HDR + off, len, XW_ITREE_HDR + s->h.used);

	if (rc)
		return rc;
	for (unsigned i = 0; i < b->n_marks; i++) {
		if (b->mark_off[i] == off) /* the entry with the mark was removed */
			b->mark[i] = peek32(xw_itree_area(s) + off);
		b->mark_off[i] = (uint16_t)(b->mark_off[i] - (b->mark_off[i] > off ? len : 0));
	}
	while (b->n_marks && b->mark_off[b->n_marks - 1] + len >= s->h.used)
		b->n_marks--;
	return set_header(t, s, -1, -(int)len);
}

int xw_itree_tell_parent(struct xw_itree_path *p, unsigned level)
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
 * are not in a near cache either, and each step of a plain binary search would wait for another
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

/* Compare the entry at off with e. */
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
 * The entries of a leaf have variable length, so searching visits entry by entry. Marks shorten
 * that: ascending offsets of some entries with their inodes, recorded while entries are passed.
 * They are at least this many bytes apart when set; deletions between them bring them closer, and
 * after too many insertions following marks are reset.
 */
static uint32_t mark_distance(const struct xw_itree *t)
{
	return xw_itree_bs(t) / XW_DBUF_MARKS;
}

/* Number of marks before the first entry of ino: tells where to start. */
static unsigned marks_below(const struct xw_dbuf *b, xw_ino ino)
{
	unsigned n = 0;

	for (unsigned i = 0; i < b->n_marks; i++)
		n += b->mark[i] < ino;
	return n;
}

/* Byte offset of the first entry whose inode is not below ino; `used` where there is none. */
static uint32_t first_of(struct xw_itree *t, const struct xw_itree_step *s, xw_ino ino)
{
	const uint32_t every = mark_distance(t);
	const uint8_t *area = xw_itree_area(s);
	struct xw_dbuf *b = s->buf;
	unsigned n = marks_below(b, ino);
	uint32_t off = n ? b->mark_off[n - 1] : 0, last = off, here;

	/* the bytes to search, followed by those that a change moves */
	xw_prefetch(area + off, s->h.used - off);
	for (; off < s->h.used && (here = peek32(area + off)) < ino;
	     off += xw_itree_entry_len(s, off)) {
		if (off - last < every || n == XW_DBUF_MARKS ||
		    (n < b->n_marks && off - last < 2 * every))
			continue;
		b->mark_off[n] = (uint16_t)off;
		b->mark[n] = here;
		b->n_marks = (uint8_t)++n;
		last = off;
	}
	return off;
}

/* Byte offset of the first entry that is not below e; `used` where there is none. */
static uint32_t find_in_leaf(struct xw_itree *t, const struct xw_itree_step *s,
			     const struct xw_itree_entry *e, bool *equal)
{
	uint32_t off = first_of(t, s, e->key.ino);

	*equal = false;
	for (; off < s->h.used; off += xw_itree_entry_len(s, off)) {
		int c = cmp_at(s, off, e);

		if (c >= 0) {
			*equal = !c;
			break;
		}
	}
	return off;
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
	*off = find_in_leaf(t, s, e, equal);
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
	int rc = search(t, &e->key, p);

	while (!rc) {
		struct xw_itree_path right;
		unsigned level;
		uint32_t there;

		*off = find_in_leaf(t, &p->s[0], e, equal);
		if (*off < p->s[0].h.used || !has_next(p, &e->key, &level))
			return 0;
		right = *p;
		rc = go_right(&right, level);
		if (rc)
			return rc;
		there = find_in_leaf(t, &right.s[0], e, equal);
		if (!there && !*equal)
			return 0;
		*p = right;
	}
	return rc;
}
