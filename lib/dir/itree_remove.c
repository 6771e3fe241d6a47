/* SPDX-License-Identifier: MIT */
/*
 * Deletion from itrees. The invariants are at the head of itree_path.c.
 *
 * A node that has lost entries is freed if it is empty. Otherwise, if it crossed a quarter of its
 * capacity, its parent is updated, and only then neighbors are considered for merging. A merge may
 * remove a child from the parent, which is then treated in the same way.
 */
#include "config.h"

#include <string.h>

#include "base/endian.h"
#include "dir/itree_internal.h"

/* Remove child i from an index node; the separator of the first one is kept for its successor. */
static int remove_child(struct xw_itree *t, struct xw_itree_step *s, unsigned i)
{
	struct xw_itree_idx gone, next;
	int rc;

	xw_itree_forget(t);
	if (!i && s->h.count > 1) {
		xw_itree_idx_decode(s->buf->data, 0, &gone);
		xw_itree_idx_decode(s->buf->data, 1, &next);
		next.key = gone.key;
		xw_itree_idx_encode(s->buf->data, 1, &next);
	}
	rc = xw_dcache_close_gap(t->cache, s->buf, XW_ITREE_HDR + i * XW_ITREE_IDX, XW_ITREE_IDX,
				 XW_ITREE_HDR + s->h.used);
	return rc ? rc : xw_itree_count(t, s, -1, -(int)XW_ITREE_IDX, 0);
}

/*
 * After the first child of a node was removed, the next child inherits its separator. The first
 * separators below that child must become the same, or keys between the old and the new separator
 * would be out of place there.
 */
static int lower_first(struct xw_itree *t, const struct xw_itree_step *s)
{
	struct xw_itree_step below = *s;
	struct xw_itree_key key;
	struct xw_itree_idx e;

	xw_itree_idx_decode(s->buf->data, 0, &e);
	key = e.key;
	while (below.h.level > 1) {
		int rc = xw_itree_load(t, e.blk, below.h.level - 1, &below);

		if (!rc)
			rc = xw_dcache_dirty(t->cache, below.buf);
		if (rc)
			return rc;
		xw_itree_idx_decode(below.buf->data, 0, &e);
		e.key = key;
		xw_itree_idx_encode(below.buf->data, 0, &e);
	}
	return 0;
}

/* Replace an index root that has one child by that child. */
static int collapse(struct xw_itree_path *p)
{
	struct xw_itree *t = p->t;
	struct xw_itree_step *root = &p->s[p->levels - 1];

	while (root->h.level && root->h.count == 1) {
		struct xw_itree_idx e;
		int rc = xw_dcache_release(t->cache, root->buf->blk);

		if (rc)
			return rc;
		t->stats.freed++;
		xw_itree_idx_decode(root->buf->data, 0, &e);
		rc = xw_itree_load(t, e.blk, root->h.level - 1, root - 1);
		if (rc)
			return rc;
		t->root = e.blk;
		p->levels--;
		root--;
	}
	return 0;
}

/* Merge children i and i + 1 of path[level + 1] into the left one. *done: it was possible. */
static int merge(struct xw_itree_path *p, unsigned level, unsigned i, bool *done)
{
	struct xw_itree *t = p->t;
	struct xw_itree_step *parent = &p->s[level + 1], left, right;
	struct xw_itree_idx l, r;
	int rc;

	*done = false;
	xw_itree_idx_decode(parent->buf->data, i, &l);
	xw_itree_idx_decode(parent->buf->data, i + 1, &r);
	/* Both must fill less than three quarters; quartiles are rounded down. */
	if (l.quartile + r.quartile > 1 || l.blk == r.blk)
		return 0;
	rc = xw_itree_load(t, l.blk, (int)level, &left);
	if (!rc)
		rc = xw_itree_load(t, r.blk, (int)level, &right);
	if (rc || left.h.used + right.h.used > xw_itree_room(t))
		return rc;
	rc = xw_dcache_dirty(t->cache, left.buf);
	if (!rc)
		rc = xw_itree_squeeze_step(t, &left);
	if (!rc)
		rc = xw_itree_squeeze_step(t, &right);
	if (!rc)
		rc = xw_dcache_release(t->cache, r.blk);
	if (rc)
		return rc;
	memcpy(xw_itree_area(&left) + left.h.used, xw_itree_area(&right), right.h.used);
	left.h.used = (uint16_t)(left.h.used + right.h.used);
	left.h.count = (uint16_t)(left.h.count + right.h.count);
	left.buf->n_marks = 0;
	xw_itree_put_header(t, &left);
	l.quartile = xw_itree_fullness(t, &left);
	xw_itree_idx_encode(parent->buf->data, i, &l);
	p->s[level] = left;
	parent->at = i;
	t->stats.merges++;
	*done = true;
	return remove_child(t, parent, i + 1);
}

/*
 * path[level] lost entries and its parent was updated: merge it with neighbors. *any: a merge
 * happened.
 */
static int coalesce(struct xw_itree_path *p, unsigned level, bool *any)
{
	struct xw_itree_step *parent = &p->s[level + 1];
	bool done = true;
	int rc = 0;

	*any = false;
	while (done && !rc) {
		done = false;
		if (parent->at)
			rc = merge(p, level, parent->at - 1, &done);
		if (!rc && !done && parent->at + 1u < parent->h.count)
			rc = merge(p, level, parent->at, &done);
		*any |= done;
	}
	return rc;
}

/*
 * path[level] lost entries: free it, update its parent or merge it with neighbors; then treat the
 * parent.
 */
static int after_removal(struct xw_itree_path *p, unsigned level)
{
	struct xw_itree *t = p->t;

	for (;; level++) {
		struct xw_itree_step *s = &p->s[level], *parent = s + 1;
		struct xw_itree_idx e;
		bool merged = false;
		int rc;

		if (xw_itree_is_root(p, level))
			return collapse(p);
		xw_itree_idx_decode(parent->buf->data, parent->at, &e);
		if (s->h.count && e.quartile == xw_itree_fullness(t, s))
			return 0;
		rc = xw_dcache_dirty(t->cache, parent->buf);
		if (rc)
			return rc;
		p->parent_changed = true;
		if (!s->h.count) {
			t->stats.freed++;
			rc = remove_child(t, parent, parent->at);
			if (!rc)
				rc = xw_dcache_release(t->cache, s->buf->blk);
			if (!rc && !parent->at && parent->h.count)
				rc = lower_first(t, parent);
		} else {
			rc = xw_itree_update_parent(p, level);
			if (!rc)
				rc = coalesce(p, level, &merged);
			if (!rc && !merged)
				return 0;
		}
		if (rc)
			return rc;
	}
}

/* Remove the entry at off from a leaf. */
static int delete_entry(struct xw_itree *t, struct xw_itree_step *leaf, uint32_t off)
{
	t->stats.deletes++;
	return xw_itree_delete_entry(t, leaf, off);
}

int xw_itree_remove(struct xw_itree *t, const struct xw_itree_entry *e)
{
	struct xw_itree_step s;
	struct xw_itree_path p;
	uint32_t off = 0;
	bool equal = false;
	int rc = xw_itree_fast(t, e, -(int32_t)xw_itree_rec_len(e->name_len), &s, &off, &equal);

	if (rc == 1)
		return equal ? delete_entry(t, &s, off) : XW_ERR_NOTFOUND;
	if (!rc)
		rc = xw_itree_locate(t, e, &p, &off, &equal);
	if (!rc && !equal)
		rc = XW_ERR_NOTFOUND;
	if (!rc)
		rc = delete_entry(t, &p.s[0], off);
	if (rc)
		return rc;
	xw_itree_point(&p);
	rc = after_removal(&p, 0);
	t->stats.parents += p.parent_changed;
	return rc;
}
