/* SPDX-License-Identifier: MIT */
/*
 * Insertion into itrees, and creating and freeing whole trees. The invariants are at the head of
 * itree_path.c.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/endian.h"
#include "dir/itree_internal.h"

/* minimum ratio of the distances to both neighbors in a run, see arrival_order() */
enum { RUN = 16 };

/* Move the entries from byte off on, the count-th and later, to an empty node. */
static void move_tail(const struct xw_itree *t, struct xw_itree_step *from,
		      struct xw_itree_step *to, uint32_t off, unsigned count)
{
	uint32_t len = from->h.used - off;

	memcpy(xw_itree_area(to), xw_itree_area(from) + off, len);
	memset(xw_itree_area(from) + off, 0, len);
	to->h.used = (uint16_t)len;
	to->h.count = (uint16_t)(from->h.count - count);
	from->h.used = (uint16_t)off;
	from->h.count = (uint16_t)count;
	from->buf->n_marks = to->buf->n_marks = 0;
	xw_itree_put_header(t, from);
	xw_itree_put_header(t, to);
}

static struct xw_itree_key last_key(const struct xw_itree_step *s)
{
	const struct xw_dbuf *b = s->buf;
	uint32_t off = b->n_marks ? b->mark_off[b->n_marks - 1] : 0, next = off;

	for (; next < s->h.used; next += xw_itree_entry_len(s, next))
		off = next;
	return (struct xw_itree_key){peek32(xw_itree_area(s) + off),
				     peek32(xw_itree_area(s) + off + 4)};
}

static struct xw_itree_key first_key(const struct xw_itree_step *s)
{
	const uint8_t *p = xw_itree_area(s);

	return (struct xw_itree_key){peek32(p), peek32(p + 4)};
}

/* Trees of other implementations: make sure that no separator on the path is above the key. */
static int lower_separators(struct xw_itree_path *p, const struct xw_itree_key *key)
{
	for (unsigned level = 1; level < p->levels; level++) {
		struct xw_itree_step *s = &p->s[level];
		struct xw_itree_idx e;

		xw_itree_idx_decode(s->buf->data, s->at, &e);
		if (xw_itree_key_cmp(&e.key, key) <= 0)
			continue;
		if (xw_dcache_dirty(p->t->cache, s->buf))
			return XW_ERR_NOMEM;
		xw_itree_forget(p->t);
		e.key = *key;
		xw_itree_idx_encode(s->buf->data, s->at, &e);
	}
	return 0;
}

/* Is the path the rightmost one from `level` up? */
static bool is_rightmost(const struct xw_itree_path *p, unsigned level)
{
	for (; level < p->levels; level++) {
		if (p->s[level].at + 1u != p->s[level].h.count)
			return false;
	}
	return true;
}

/* Would an insertion of `need` bytes into the leaf split the root of a tree of maximum depth? */
static bool too_deep(const struct xw_itree_path *p, uint32_t need)
{
	unsigned level = 0;

	if (p->levels < XW_ITREE_LEVELS)
		return false;
	for (; level < p->levels; level++, need = XW_ITREE_IDX) {
		if (p->s[level].h.used + need <= xw_itree_room(p->t))
			return false;
	}
	return true;
}

static int insert_child(struct xw_itree_path *p, unsigned level, const struct xw_itree_step *left,
			const struct xw_itree_step *right);

/* The root was split: create a new one above both halves. */
static int new_root(struct xw_itree_path *p, const struct xw_itree_step *left,
		    const struct xw_itree_step *right)
{
	struct xw_itree *t = p->t;
	struct xw_itree_step *root = &p->s[p->levels];
	const struct xw_itree_step *child[2] = {left, right};
	int rc = xw_itree_fresh(t, left->buf->blk, p->levels, root);

	if (rc)
		return rc;
	for (unsigned i = 0; i < 2; i++) {
		struct xw_itree_idx e = {
			.key = i ? right->sep : (struct xw_itree_key){0},
			.blk = child[i]->buf->blk,
			.quartile = xw_itree_fullness(t, child[i]),
		};

		xw_itree_idx_encode(root->buf->data, i, &e);
	}
	root->h.count = 2;
	root->h.used = 2 * XW_ITREE_IDX;
	xw_itree_put_header(t, root);
	p->levels++;
	t->root = root->buf->blk;
	return 0;
}

static int put_child(struct xw_itree_path *p, struct xw_itree_step *s, unsigned at,
		     const struct xw_itree_step *child)
{
	const struct xw_itree_idx e = {
		.key = child->sep,
		.blk = child->buf->blk,
		.quartile = xw_itree_fullness(p->t, child),
	};
	int rc = xw_itree_open_gap(p->t, s, at * XW_ITREE_IDX, XW_ITREE_IDX);

	if (!rc)
		xw_itree_idx_encode(s->buf->data, at, &e);
	return rc;
}

/*
 * Number of children that stay in a full index node into which one more is inserted at index `at`;
 * *left: the new child is placed with them. In a run the node is cut at the new child, like its
 * leaf; otherwise half of count + 1 children stay on the left.
 */
static unsigned cut_children(const struct xw_itree_path *p, const struct xw_itree_step *s,
			     unsigned at, bool *left)
{
	const unsigned half = (s->h.count + 1u) / 2;

	*left = p->run ? p->run == XW_ITREE_ASCENDING && at < s->h.count : at <= half - 1;
	if (p->run)
		return at;
	return *left ? half - 1 : half;
}

/*
 * Insert a child after s->at into a full index node: split the node, or at the right edge start a
 * new one.
 */
static int split_index(struct xw_itree_path *p, unsigned level, const struct xw_itree_step *child)
{
	struct xw_itree *t = p->t;
	struct xw_itree_step *s = &p->s[level], right;
	const unsigned at = s->at + 1;
	const bool append = is_rightmost(p, level);
	unsigned stay;
	bool left;
	int rc = xw_itree_fresh(t, s->buf->blk + 1, level, &right);

	if (rc)
		return rc;
	if (append) {
		t->stats.appends++;
		xw_itree_put_header(t, &right);
		rc = put_child(p, &right, 0, child);
	} else {
		t->stats.splits++;
		stay = cut_children(p, s, at, &left);
		move_tail(t, s, &right, stay * XW_ITREE_IDX, stay);
		rc = left ? put_child(p, s, at, child) : put_child(p, &right, at - stay, child);
	}
	if (rc)
		return rc;
	right.sep = first_key(&right);
	return insert_child(p, level + 1, s, &right);
}

/*
 * `right` was split off from `left`, the node of path[level - 1]: insert it into path[level], and
 * update the entry of left.
 */
static int insert_child(struct xw_itree_path *p, unsigned level, const struct xw_itree_step *left,
			const struct xw_itree_step *right)
{
	struct xw_itree_step *s = &p->s[level];
	int rc;

	if (level == p->levels)
		return new_root(p, left, right);
	rc = xw_itree_update_parent(p, level - 1);
	if (!rc)
		rc = xw_dcache_dirty(p->t->cache, s->buf);
	if (rc)
		return rc;
	if (s->h.used + XW_ITREE_IDX > xw_itree_room(p->t))
		return split_index(p, level, right);
	rc = put_child(p, s, s->at + 1, right);
	return rc ? rc : xw_itree_update_parent(p, level);
}

/* Number of entries before off; *prev: the inode of the last of them. */
static unsigned entries_before(const struct xw_itree_step *s, uint32_t off, xw_ino *prev)
{
	unsigned n = 0;

	for (uint32_t at = 0; at < off; at += xw_itree_entry_len(s, at)) {
		*prev = peek32(xw_itree_area(s) + at);
		n++;
	}
	return n;
}

/*
 * The order in which entries arrive at this place of a full leaf. A random inode is about as far
 * from its predecessor as from its successor. In a run, an inode directly follows or precedes one
 * neighbor and is far from the other, and more entries will arrive between them. The decision
 * depends on the leaf alone, not on earlier insertions, so that the tree does not depend on when a
 * directory was opened.
 */
static enum xw_itree_run arrival_order(const struct xw_itree_step *s, uint32_t off, xw_ino ino)
{
	const xw_ino next = peek32(xw_itree_area(s) + off);
	xw_ino prev = 0;
	const unsigned before = entries_before(s, off, &prev);
	const uint64_t from = before ? XW_MAX(ino - prev, 1u) : UINT32_MAX;
	const uint64_t to = XW_MAX(next - ino, 1u);

	if (to >= from * RUN)
		return XW_ITREE_ASCENDING;
	return from >= to * RUN ? XW_ITREE_DESCENDING : XW_ITREE_RANDOM;
}

/*
 * Cut a leaf in a run at the new entry, so that the half in which the run continues gets the free
 * space. *stays: the new entry goes to the left half.
 */
static uint32_t cut_run(const struct xw_itree_path *p, uint32_t off, uint32_t need, unsigned *count,
			bool *stays)
{
	const struct xw_itree_step *s = &p->s[0];
	const uint32_t room = xw_itree_room(p->t);
	xw_ino prev;

	*count = entries_before(s, off, &prev);
	*stays = p->run == XW_ITREE_ASCENDING ? off + need <= room : s->h.used - off + need > room;
	return off;
}

/*
 * Byte offset at which to split a full leaf for a new entry of `need` bytes at `off`: the first
 * entries that, with the new one, make about half of the bytes stay. *stays: the new entry goes to
 * the left half.
 */
static uint32_t cut_point(const struct xw_itree_step *s, uint32_t off, uint32_t need,
			  unsigned *count, bool *stays)
{
	const uint32_t half = (s->h.used + need) / 2;
	uint32_t cut = 0, sum = 0;

	*count = 0;
	*stays = false;
	for (;;) {
		uint32_t len = cut == off && !*stays ? need : xw_itree_entry_len(s, cut);

		/*
		 * Stop if the left half is closer to `half` without this entry, but never leave it
		 * empty.
		 */
		if (sum && sum + len > half && sum + len - half > half - sum)
			break;
		sum += len;
		if (cut == off && !*stays) {
			*stays = true;
		} else {
			cut += len;
			++*count;
		}
		if (sum >= half)
			break;
	}
	/* At the split point a new entry stays: an ascending sequence fills the left half. */
	if (cut == off && !*stays)
		*stays = sum + need <= s->h.used;
	return cut;
}

/*
 * The separator between two leaves. If the inode changes between them, the hash is omitted: when
 * that inode is deleted and its number reused, the new entry goes to the leaf that has space for
 * it, whatever its hash.
 */
static struct xw_itree_key separator(const struct xw_itree_step *left,
				     const struct xw_itree_step *right)
{
	struct xw_itree_key sep = first_key(right);

	if (last_key(left).ino != sep.ino)
		sep.hash = 0;
	return sep;
}

/*
 * The separator in a descending run: all keys still to arrive between the leaves go to the right.
 */
static struct xw_itree_key low_separator(const struct xw_itree_step *left,
					 const struct xw_itree_step *right)
{
	const xw_ino last = last_key(left).ino;

	if (last < first_key(right).ino)
		return (struct xw_itree_key){last + 1, 0};
	return first_key(right);
}

/*
 * Put an entry above the last one of a full leaf at the front of the next leaf under the same
 * parent, if that has space: otherwise a descending sequence would leave one entry per leaf.
 */
static int put_into_next(struct xw_itree_path *p, const struct xw_itree_entry *e, bool *done)
{
	struct xw_itree *t = p->t;
	struct xw_itree_step *parent = &p->s[1], next;
	const unsigned at = parent->at + 1u;
	struct xw_itree_idx idx;
	int rc;

	*done = false;
	if (p->levels < 2 || at >= parent->h.count)
		return 0;
	xw_itree_idx_decode(parent->buf->data, at, &idx);
	rc = xw_itree_load(t, idx.blk, 0, &next);
	if (rc || next.h.used + xw_itree_rec_len(e->name_len) > xw_itree_room(t))
		return rc;
	rc = xw_itree_squeeze_step(t, &next);
	if (!rc)
		rc = xw_dcache_dirty(t->cache, parent->buf);
	if (!rc)
		rc = xw_itree_put_entry(t, &next, 0, e);
	if (rc)
		return rc;
	xw_itree_forget(t);
	idx.key = separator(&p->s[0], &next);
	idx.quartile = (uint8_t)xw_itree_fullness(t, &next);
	xw_itree_idx_encode(parent->buf->data, at, &idx);
	*done = true;
	return 0;
}

static int split_leaf(struct xw_itree_path *p, uint32_t off, const struct xw_itree_entry *e)
{
	struct xw_itree *t = p->t;
	struct xw_itree_step *s = &p->s[0], right;
	const uint32_t need = xw_itree_rec_len(e->name_len);
	const bool append = off == s->h.used;
	bool stays = false;
	unsigned count;
	uint32_t cut;
	int rc = append ? put_into_next(p, e, &stays) : 0;

	if (rc || stays)
		return rc;
	rc = xw_itree_fresh(t, s->buf->blk + 1, 0, &right);

	if (!rc)
		rc = xw_dcache_dirty(t->cache, s->buf);
	if (rc)
		return rc;
	xw_itree_forget(t);
	if (append) {
		t->stats.appends++;
		xw_itree_put_header(t, &right);
		rc = xw_itree_put_entry(t, &right, 0, e);
	} else {
		t->stats.splits++;
		p->run = arrival_order(s, off, e->key.ino);
		cut = p->run ? cut_run(p, off, need, &count, &stays)
			     : cut_point(s, off, need, &count, &stays);
		move_tail(t, s, &right, cut, count);
		rc = xw_itree_put_entry(t, stays ? s : &right, stays ? off : off - cut, e);
	}
	if (rc)
		return rc;
	right.sep = p->run == XW_ITREE_DESCENDING && !stays ? low_separator(s, &right)
							    : separator(s, &right);
	return insert_child(p, 1, s, &right);
}

/*
 * Remove deleted entries if their space is needed, and before a split. *off, the place of e, is
 * updated.
 */
static int make_space(struct xw_itree *t, struct xw_itree_step *s, const struct xw_itree_entry *e,
		      uint32_t *off)
{
	const uint32_t need = xw_itree_rec_len(e->name_len);
	bool equal;
	int rc;

	if (!s->dead || s->reuse != XW_ITREE_NONE || s->h.used + s->dead + need <= xw_itree_room(t))
		return 0;
	rc = xw_itree_squeeze_step(t, s);
	if (!rc)
		*off = xw_itree_find_in_leaf(t, s, e, &equal);
	return rc;
}

static int insert_fast(struct xw_itree *t, const struct xw_itree_entry *e, bool *done)
{
	struct xw_itree_step s;
	bool equal = false;
	uint32_t off = 0;
	int rc = xw_itree_fast(t, e, (int32_t)xw_itree_rec_len(e->name_len), &s, &off, &equal);

	*done = rc == 1;
	if (rc != 1)
		return rc;
	if (equal)
		return XW_ERR_EXISTS;
	rc = make_space(t, &s, e, &off);
	if (rc)
		return rc;
	if (s.buf->blk == t->end.leaf && off == (uint32_t)s.h.used + s.dead)
		t->end.last = XW_MAX(t->end.last, e->key.ino);
	t->stats.inserts++;
	return xw_itree_put_entry(t, &s, off, e);
}

static int insert_slow(struct xw_itree *t, const struct xw_itree_entry *e)
{
	const uint32_t need = xw_itree_rec_len(e->name_len);
	struct xw_itree_path p;
	uint32_t off = 0;
	bool equal = false;
	int rc = xw_itree_locate(t, e, &p, &off, &equal);

	if (rc)
		return rc;
	if (equal)
		return XW_ERR_EXISTS;
	if (need > xw_itree_room(t) / 2 || too_deep(&p, need))
		return XW_ERR_LIMIT;
	rc = lower_separators(&p, &e->key);
	if (!rc)
		rc = make_space(t, &p.s[0], e, &off);
	if (rc)
		return rc;
	t->stats.inserts++;
	if (p.s[0].h.used + need > xw_itree_room(t))
		return split_leaf(&p, off, e);
	rc = xw_itree_put_entry(t, &p.s[0], off, e);
	if (!rc)
		rc = xw_itree_update_parent(&p, 0);
	if (!rc)
		xw_itree_point(&p);
	return rc;
}

int xw_itree_insert(struct xw_itree *t, const struct xw_itree_entry *e)
{
	bool done;
	int rc = insert_fast(t, e, &done);

	return done || rc ? rc : insert_slow(t, e);
}

/* ---- whole trees ---- */

int xw_itree_create(struct xw_itree *t, struct xw_dcache *cache, xw_blk goal)
{
	struct xw_itree_step root;
	int rc;

	t->cache = cache;
	rc = xw_itree_fresh(t, goal, 0, &root);
	if (rc)
		return rc;
	xw_itree_put_header(t, &root);
	t->root = root.buf->blk;
	xw_itree_forget(t);
	return 0;
}

/*
 * Free the leaf at blk. It is read first, since a damaged pointer may refer to a block of a file;
 * it is not cached, so that a large tree does not fill the memory.
 */
static int destroy_leaf(struct xw_itree *t, xw_blk blk, uint8_t *block)
{
	int rc = xw_dcache_peek(t->cache, blk, XW_DBUF_ITREE, block);

	if (!rc)
		rc = xw_itree_expect(t, block, 0);
	return rc ? rc : xw_dcache_release(t->cache, blk);
}

static int destroy_below(struct xw_itree *t, xw_blk blk, int want, uint8_t *block)
{
	struct xw_itree_step s;
	int rc = xw_itree_load(t, blk, want, &s);

	for (unsigned i = 0; !rc && s.h.level && i < s.h.count; i++) {
		struct xw_itree_idx e;

		xw_itree_idx_decode(s.buf->data, i, &e);
		rc = s.h.level == 1 ? destroy_leaf(t, e.blk, block)
				    : destroy_below(t, e.blk, s.h.level - 1, block);
	}
	return rc ? rc : xw_dcache_release(t->cache, blk);
}

int xw_itree_destroy(struct xw_itree *t)
{
	auto_free uint8_t *block = malloc(xw_itree_bs(t));
	int rc = block ? destroy_below(t, t->root, -1, block) : XW_ERR_NOMEM;

	xw_itree_forget(t);
	if (!rc)
		rc = xw_dcache_released_once(t->cache);
	if (!rc)
		t->root = 0;
	return rc;
}
