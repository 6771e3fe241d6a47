/* SPDX-License-Identifier: MIT */
/*
 * Editing an extent tree in place at a cursor: entries are inserted, replaced and deleted where the
 * request says, whether or not the result is a valid tree. As in the stock debugger, blocks of
 * nodes are allocated, freed and counted in i_blocks, blocks of contents are not.
 */
#include "config.h"

#include "exttree.h"
#include "edit/edit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRY = 12 }; /* size of an entry in bytes */

static uint8_t *entry_at(const struct ext_node *n, unsigned i)
{
	return n->buf + XW_EXT_HDR + (size_t)i * ENTRY;
}

/* Index entries and extents both begin with their logical block. */
static uint64_t first_lblk(const struct ext_node *n)
{
	struct xw_extent_idx idx;

	xw_extent_idx_decode(n->buf, 0, &idx);
	return idx.lblk;
}

static void put_header(struct ext_node *n)
{
	xw_extent_hdr_encode(n->buf, &n->h);
	n->dirty = true;
}

static void put_entry(struct ext_tree *t, unsigned level, unsigned at, const struct ext_entry *e)
{
	struct ext_node *n = &t->node[level];
	const struct xw_extent x = {(uint32_t)e->lblk, (uint32_t)e->len, e->pblk, e->unwritten};
	const struct xw_extent_idx idx = {(uint32_t)e->lblk, e->pblk};

	if (level == t->pos.depth)
		xw_extent_leaf_encode(n->buf, at, &x);
	else
		xw_extent_idx_encode(n->buf, at, &idx);
	n->dirty = true;
}

/* ---- nodes ---- */

/* Allocate an empty node near block `goal`. *n must be freed with free(n->buf), even on failure. */
static int new_node(struct ext_tree *t, xw_blk goal, unsigned depth, struct ext_node *n)
{
	const struct xw_alloc_req req = {.goal = goal, .len = 1};
	struct xw_run run;
	int rc;

	*n = (struct ext_node){.h = {.max = (uint16_t)xw_extent_node_max(t->img->block_size),
				     .depth = (uint16_t)depth}};
	rc = xw_space_alloc(t->u->space, &req, &run);
	if (rc)
		return xw_fail(&t->d->diag, rc, "no free block for a node of the extent tree");
	n->buf = calloc(1, t->img->block_size);
	if (!n->buf)
		return xw_fail_nomem(&t->d->diag, "extent node");
	n->blk = run.start;
	n->loaded = true;
	t->gain++;
	put_header(n);
	return 0;
}

static xw_blk goal_of_root(const struct ext_tree *t)
{
	struct xw_extent_idx idx;
	struct xw_extent e;

	xw_extent_idx_decode(t->node[0].buf, 0, &idx);
	xw_extent_leaf_decode(t->node[0].buf, 0, &e);
	return t->pos.depth ? idx.pblk : e.pblk;
}

/* Move all entries of the root to a new node below it. */
static int push_down(struct ext_tree *t)
{
	struct ext_node *root = &t->node[0], child;
	struct xw_extent_idx idx = {0};
	int rc;

	if (t->pos.depth == XW_EXT_MAX_DEPTH)
		return xw_fail(&t->d->diag, XW_ERR_LIMIT, "the tree cannot become deeper");
	rc = new_node(t, goal_of_root(t), t->pos.depth, &child);
	if (rc) {
		free(child.buf);
		return rc;
	}
	memcpy(entry_at(&child, 0), entry_at(root, 0), (size_t)root->h.entries * ENTRY);
	child.h.entries = root->h.entries;
	child.end = root->end;
	put_header(&child);
	idx.lblk = (uint32_t)first_lblk(&child);
	idx.pblk = child.blk;
	memset(entry_at(root, 0), 0, sizeof(t->in.block) - XW_EXT_HDR);
	root->h.entries = 1;
	root->h.depth++;
	put_header(root);
	xw_extent_idx_encode(root->buf, 0, &idx);
	free(t->node[XW_EXT_MAX_DEPTH].buf);
	for (unsigned i = XW_EXT_MAX_DEPTH; i > 0; i--) {
		t->node[i] = i > 1 ? t->node[i - 1] : child;
		t->pos.at[i] = t->pos.at[i - 1];
		t->pos.visited[i] = t->pos.visited[i - 1];
	}
	t->pos.at[0] = 0;
	t->pos.visited[0] = false;
	t->pos.depth++;
	t->pos.level++;
	return 0;
}

/* Shift the entries from index `at` on by one. */
static void open_gap(struct ext_node *n, unsigned at)
{
	memmove(entry_at(n, at + 1), entry_at(n, at), (size_t)(n->h.entries - at) * ENTRY);
	n->h.entries++;
	put_header(n);
}

/*
 * Move the last `moved` entries of the node at `level`, which is not the root, to a new node after
 * it. The cursor stays on its entry.
 */
static int split_at(struct ext_tree *t, unsigned level, unsigned moved)
{
	struct ext_node *n, *parent, more;
	struct ext_entry idx = {0};
	unsigned left;
	int rc;

	if (t->node[level - 1].h.entries == t->node[level - 1].h.max) {
		const unsigned up = t->node[level - 1].h.entries, depth = t->pos.depth;

		if (level == 1)
			rc = push_down(t);
		else
			rc = split_at(t, level - 1, t->pos.at[level - 1] + 1 == up ? 1 : up / 2);
		if (rc)
			return rc;
		level += t->pos.depth - depth;
	}
	n = &t->node[level];
	parent = &t->node[level - 1];
	left = n->h.entries - moved;
	rc = new_node(t, n->blk, n->h.depth, &more);
	if (rc) {
		free(more.buf);
		return rc;
	}
	memcpy(entry_at(&more, 0), entry_at(n, left), (size_t)moved * ENTRY);
	memset(entry_at(n, left), 0, (size_t)moved * ENTRY);
	n->h.entries = (uint16_t)left;
	more.h.entries = (uint16_t)moved;
	put_header(n);
	put_header(&more);
	idx.lblk = first_lblk(&more);
	idx.pblk = more.blk;
	more.end = n->end;
	open_gap(parent, t->pos.at[level - 1] + 1);
	put_entry(t, level - 1, t->pos.at[level - 1] + 1, &idx);
	n->end = idx.lblk;
	if (t->pos.at[level] < left) {
		rc = ext_write_node(t, &more);
		free(more.buf);
		return rc;
	}
	rc = ext_write_node(t, n);
	free(n->buf);
	*n = more;
	t->pos.at[level] -= left;
	t->pos.at[level - 1]++;
	t->pos.visited[level - 1] = false;
	return rc;
}

/* ---- edits ---- */

/* Split the current node: its last `moved` entries go to a new node. The cursor is set again. */
static int split_current(struct ext_tree *t, unsigned moved)
{
	const unsigned height = t->pos.depth - t->pos.level;
	struct ext_entry was = {0};
	struct ext_pos pos;
	int rc = t->pos.placed ? ext_current(t, &was) : 0;

	if (!rc)
		rc = t->pos.level ? split_at(t, t->pos.level, moved) : push_down(t);
	if (rc || !t->pos.placed)
		return rc;
	/* as in the stock debugger, the first entry for that block becomes the current one */
	pos = t->pos;
	rc = ext_goto(t, was.lblk, height);
	if (rc != XW_ERR_NOTFOUND)
		return rc;
	xw_diag_clear(&t->d->diag);
	return ext_seek(t, &pos);
}

int ext_split(struct ext_tree *t)
{
	const struct ext_node *n = &t->node[t->pos.level];

	if (!t->pos.placed)
		return xw_fail(&t->d->diag, XW_ERR_NOTFOUND, "No current node");
	if (t->pos.level && n->h.entries < 2)
		return xw_fail(&t->d->diag, XW_ERR_STATE, "Splitting would result in empty node");
	return split_current(t, n->h.entries / 2);
}

/* Split the node of the cursor if it is full. */
static int make_room(struct ext_tree *t)
{
	const struct ext_node *n = &t->node[t->pos.level];
	const bool last = t->pos.at[t->pos.level] + 1 == n->h.entries;

	if (n->h.entries < n->h.max)
		return 0;
	return split_current(t, last ? 1 : n->h.entries / 2);
}

int ext_insert(struct ext_tree *t, const struct ext_entry *e, bool after)
{
	unsigned at;
	int rc;

	if (!t->pos.placed) {
		t->pos.level = t->pos.at[0] = 0;
		after = false;
	}
	rc = make_room(t);
	if (rc)
		return rc;
	at = t->pos.at[t->pos.level] + after;
	open_gap(&t->node[t->pos.level], at);
	t->pos.at[t->pos.level] = at;
	t->pos.placed = true;
	put_entry(t, t->pos.level, at, e);
	return 0;
}

int ext_replace(struct ext_tree *t, const struct ext_entry *e)
{
	if (!t->pos.placed)
		return xw_fail(&t->d->diag, XW_ERR_NOTFOUND, "No current node");
	put_entry(t, t->pos.level, t->pos.at[t->pos.level], e);
	return 0;
}

int ext_delete(struct ext_tree *t)
{
	struct ext_node *n;
	unsigned at;
	int rc;

	if (!t->pos.placed)
		return xw_fail(&t->d->diag, XW_ERR_NOTFOUND, "No current node");
	for (;;) {
		n = &t->node[t->pos.level];
		at = t->pos.at[t->pos.level];
		n->h.entries--;
		memmove(entry_at(n, at), entry_at(n, at + 1), (size_t)(n->h.entries - at) * ENTRY);
		memset(entry_at(n, n->h.entries), 0, ENTRY);
		put_header(n);
		if (n->h.entries || !t->pos.level)
			break;
		rc = xw_update_free(t->u,
				    n->blk & ~((UINT64_C(1) << t->u->place.enc.cluster_bits) - 1),
				    UINT64_C(1) << t->u->place.enc.cluster_bits);
		if (rc)
			return rc;
		n->dirty = n->loaded = false;
		t->gain--;
		t->pos.level--;
	}
	if (!n->h.entries) {
		n->h.depth = 0;
		n->h.max = XW_EXT_INODE_ENTRIES;
		put_header(n);
		t->pos.depth = 0;
		t->pos.placed = false;
	} else if (at == n->h.entries) {
		t->pos.at[t->pos.level]--;
	}
	return 0;
}

int ext_fix_parents(struct ext_tree *t)
{
	struct ext_entry e;
	int rc = ext_current(t, &e);

	for (unsigned level = t->pos.level; !rc && level && !t->pos.at[level]; level--) {
		struct ext_node *up = &t->node[level - 1];
		struct xw_extent_idx idx;

		xw_extent_idx_decode(up->buf, t->pos.at[level - 1], &idx);
		if (idx.lblk == e.lblk)
			break;
		idx.lblk = (uint32_t)e.lblk;
		xw_extent_idx_encode(up->buf, t->pos.at[level - 1], &idx);
		up->dirty = true;
	}
	return rc;
}

/* ---- one block ---- */

static bool follows(const struct ext_entry *a, const struct ext_entry *b)
{
	const uint64_t most = a->unwritten ? XW_EXT_MAX_UNINIT : XW_EXT_MAX_LEN;

	return a->lblk + a->len == b->lblk && a->pblk + a->len == b->pblk &&
	       a->unwritten == b->unwritten && a->len + b->len <= most;
}

/* Unmap lblk, which is in the extent at the cursor. */
static int cut_out(struct ext_tree *t, const struct ext_entry *e, uint64_t lblk)
{
	const uint64_t before = lblk - e->lblk, after = e->len - before - 1;
	struct ext_entry head = *e, tail = *e;
	int rc;

	head.len = before;
	tail.lblk += before + 1;
	tail.pblk += before + 1;
	tail.len = after;
	if (!before && !after) {
		rc = ext_delete(t);
		return rc || !t->pos.placed ? rc : ext_fix_parents(t);
	}
	rc = ext_replace(t, before ? &head : &tail);
	if (!rc && before && after) {
		rc = ext_insert(t, &tail, true);
		if (!rc)
			rc = ext_move(t, EXT_PREV_LEAF);
	}
	return rc ? rc : ext_fix_parents(t);
}

/* Append or prepend a block to an adjacent extent, or insert it as an extent of its own. */
static int put_in(struct ext_tree *t, const struct ext_entry *one)
{
	struct ext_entry near, next;
	int rc = ext_goto(t, one->lblk, 0);

	if (rc != XW_ERR_NOTFOUND)
		return rc;
	xw_diag_clear(&t->d->diag);
	if (!t->pos.placed)
		return ext_insert(t, one, false);
	rc = ext_current(t, &near);
	if (rc)
		return rc;
	if (follows(&near, one)) {
		near.len++;
		return ext_replace(t, &near);
	}
	if (near.lblk > one->lblk)
		next = near;
	else if (ext_move(t, EXT_NEXT_LEAF) || ext_current(t, &next))
		next.len = 0;
	xw_diag_clear(&t->d->diag);
	if (next.len && follows(one, &next)) {
		next.lblk--;
		next.pblk--;
		next.len++;
		rc = ext_replace(t, &next);
		return rc ? rc : ext_fix_parents(t);
	}
	ext_goto(t, one->lblk, 0);
	xw_diag_clear(&t->d->diag);
	rc = ext_insert(t, one, near.lblk < one->lblk);
	return rc ? rc : ext_fix_parents(t);
}

static int set_bmap(struct ext_tree *t, const struct ext_entry *one)
{
	struct ext_entry e;
	int rc = ext_goto(t, one->lblk, 0);

	if (rc == XW_ERR_NOTFOUND) {
		xw_diag_clear(&t->d->diag);
		return one->pblk ? put_in(t, one) : 0;
	}
	if (!rc)
		rc = ext_current(t, &e);
	if (rc || (e.pblk + (one->lblk - e.lblk) == one->pblk && e.unwritten == one->unwritten))
		return rc;
	if (e.len == 1 && one->pblk)
		return ext_replace(t, one);
	rc = cut_out(t, &e, one->lblk);
	return rc || !one->pblk ? rc : put_in(t, one);
}

int ext_set_bmap(struct ext_tree *t, xw_lblk lblk, xw_blk pblk, bool unwritten)
{
	const struct ext_entry one = {lblk, 1, pblk, true, unwritten, false};
	struct ext_entry was = {0};
	unsigned level;
	int rc = 0;

	if (!t->pos.placed && t->node[0].h.entries)
		rc = ext_move(t, EXT_ROOT);
	if (!rc && t->pos.placed)
		rc = ext_current(t, &was);
	level = t->pos.depth - t->pos.level;
	if (!rc)
		rc = set_bmap(t, &one);
	if (!rc && ext_goto(t, was.lblk, level)) /* the entry may have been deleted */
		xw_diag_clear(&t->d->diag);
	return rc;
}
