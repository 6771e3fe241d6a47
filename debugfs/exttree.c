/* SPDX-License-Identifier: MIT */
/*
 * Loads and writes the nodes on the path of a cursor in an extent tree, and moves the cursor. As in
 * the stock debugger, a walk visits an index entry twice: before its children, and after them
 * (2ND_VISIT); `visited` says which visit it is.
 */
#include "config.h"

#include "exttree.h"
#include "base/auto.h"
#include "edit/edit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static struct ext_node *current_node(struct ext_tree *t)
{
	return &t->node[t->pos.level];
}

static uint64_t entry_start(const struct ext_tree *t, unsigned level, unsigned i)
{
	struct xw_extent_idx idx;
	struct xw_extent e;

	if (level == t->pos.depth) {
		xw_extent_leaf_decode(t->node[level].buf, i, &e);
		return e.lblk;
	}
	xw_extent_idx_decode(t->node[level].buf, i, &idx);
	return idx.lblk;
}

int ext_write_node(struct ext_tree *t, struct ext_node *n)
{
	const uint32_t bs = t->img->block_size;

	if (xw_super_has_csum(&t->img->sb))
		xw_extent_block_set_csum(
			n->buf, bs, xw_inode_seed(t->img->csum_seed, t->ino, t->in.generation));
	n->dirty = false;
	return xw_dev_pwrite(t->img->dev, n->buf, bs, n->blk * bs);
}

int ext_save(struct ext_tree *t)
{
	const uint64_t unit = (uint64_t)t->img->block_size >> 9;
	const int64_t cluster = INT64_C(1) << t->u->place.enc.cluster_bits;
	const int64_t before = (int64_t)xw_update_bytes(t->u, &t->in);
	int rc = 0;

	xw_edit_doubt(t->d->edit);
	for (unsigned i = 1; i < XW_ARRAY_SIZE(t->node) && !rc; i++) {
		if (t->node[i].loaded && t->node[i].dirty)
			rc = ext_write_node(t, &t->node[i]);
	}
	if (!rc && t->gain) {
		const int64_t blocks =
			(int64_t)(xw_inode_fs_blocks_512(&t->in, &t->img->sb) / unit) +
			t->gain * cluster;

		t->gain = 0;
		rc = xw_inode_set_blocks(&t->in, &t->img->sb, blocks > 0 ? (uint64_t)blocks : 0);
	}
	if (!rc)
		rc = xw_update_charge(t->u, &t->in, 0,
				      (int64_t)xw_update_bytes(t->u, &t->in) - before);
	if (!rc)
		rc = xw_update_put(t->u, t->ino, &t->in, steal(t->raw));
	return rc ? rc : xw_update_get(t->u, t->ino, &t->in, &t->raw);
}

/* Load the node that the current entry of a level points to. */
static int load_child(struct ext_tree *t, unsigned level)
{
	struct ext_node *parent = &t->node[level], *child = &t->node[level + 1];
	const uint32_t bs = t->img->block_size;
	const unsigned at = t->pos.at[level];
	const uint32_t seed = xw_inode_seed(t->img->csum_seed, t->ino, t->in.generation);
	struct xw_extent_idx idx;
	int rc;

	xw_extent_idx_decode(parent->buf, at, &idx);
	child->end = at + 1 < parent->h.entries ? entry_start(t, level, at + 1) : parent->end;
	if (child->loaded && child->blk == idx.pblk)
		return 0;
	rc = child->dirty ? ext_save(t) : 0;
	if (rc)
		return rc;
	child->loaded = false;
	if (!child->buf)
		child->buf = malloc(bs);
	if (!child->buf)
		return xw_fail_nomem(&t->d->diag, "extent node");
	if (!xw_image_has_blocks(t->img, idx.pblk, 1))
		return xw_fail(&t->d->diag, XW_ERR_CORRUPT,
			       "inode %" PRIu32 ": a node of its extent tree, block %" PRIu64
			       ", is outside the filesystem",
			       t->ino, idx.pblk);
	rc = xw_dev_pread(t->img->dev, child->buf, bs, idx.pblk * bs);
	if (rc)
		return rc;
	if (xw_extent_hdr_decode(child->buf, bs, &child->h) ||
	    child->h.depth != t->pos.depth - level - 1)
		return xw_fail(&t->d->diag, XW_ERR_CORRUPT,
			       "inode %" PRIu32 ": block %" PRIu64
			       " is not a node of its extent tree",
			       t->ino, idx.pblk);
	if (xw_super_has_csum(&t->img->sb) && !t->d->how.no_csum &&
	    xw_extent_block_verify(child->buf, bs, seed))
		dbg_complain(t->d, "inode %" PRIu32 ": block %" PRIu64 ": checksum mismatch",
			     t->ino, idx.pblk);
	child->blk = idx.pblk;
	child->loaded = true;
	return 0;
}

int ext_seek(struct ext_tree *t, const struct ext_pos *pos)
{
	int rc;

	t->pos.visited[0] = true; /* without a saved position, `next` goes to the first entry */
	if (!pos->placed || pos->depth != t->pos.depth)
		return 0;
	for (unsigned level = 0; level <= pos->level; level++) {
		if (pos->at[level] >= t->node[level].h.entries)
			return 0;
		t->pos.at[level] = pos->at[level];
		t->pos.visited[level] = pos->visited[level];
		rc = level < pos->level ? load_child(t, level) : 0;
		if (rc)
			return rc;
	}
	t->pos.level = pos->level;
	t->pos.placed = true;
	return 0;
}

int ext_load(struct dbg *d, struct xw_update *u, const struct dbg_extents *x, struct ext_tree *t)
{
	struct ext_node *root = &t->node[0];
	int rc;

	*t = (struct ext_tree){.d = d, .img = u ? u->img : d->img, .u = u, .ino = x->ino};
	rc = u ? xw_update_get(u, x->ino, &t->in, &t->raw)
	       : dbg_read_inode(d, x->ino, &t->in, NULL);
	if (rc)
		return rc;
	if (!(t->in.flags & XW_FL_EXTENTS) || t->in.flags & XW_FL_INLINE_DATA)
		return xw_fail(&d->diag, XW_ERR_INPUT,
			       "inode %" PRIu32 " does not use extent-based block maps", x->ino);
	root->buf = t->in.block;
	if (xw_extent_hdr_decode(root->buf, sizeof(t->in.block), &root->h))
		return xw_fail(&d->diag, XW_ERR_CORRUPT,
			       "inode %" PRIu32 ": the root of its extent tree is damaged", x->ino);
	root->end = xw_div_up(t->in.size, t->img->block_size);
	root->loaded = true;
	t->pos.depth = root->h.depth;
	return ext_seek(t, &x->pos);
}

void ext_unload(struct ext_tree *t)
{
	for (unsigned i = 1; i < XW_ARRAY_SIZE(t->node); i++)
		free(t->node[i].buf);
	free(t->raw);
}

int ext_current(struct ext_tree *t, struct ext_entry *e)
{
	const unsigned level = t->pos.level, at = t->pos.at[level];
	const struct ext_node *n = current_node(t);
	struct xw_extent_idx idx;
	struct xw_extent x;

	if (!t->pos.placed)
		return xw_fail(&t->d->diag, XW_ERR_NOTFOUND, "No current node");
	if (level == t->pos.depth) {
		xw_extent_leaf_decode(n->buf, at, &x);
		*e = (struct ext_entry){x.lblk, x.len,       x.pblk,
					true,   x.unwritten, t->pos.visited[level]};
		return 0;
	}
	xw_extent_idx_decode(n->buf, at, &idx);
	*e = (struct ext_entry){.lblk = idx.lblk, .pblk = idx.pblk};
	e->visited = t->pos.visited[level];
	e->len = (at + 1 < n->h.entries ? entry_start(t, level, at + 1) : n->end) - idx.lblk;
	/* as in the stock debugger, the length wraps around if entries are out of order */
	e->len &= UINT32_MAX;
	return 0;
}

/* ---- moves ---- */

static int no_extent(struct ext_tree *t, const char *which)
{
	return xw_fail(&t->d->diag, XW_ERR_NOTFOUND, "No '%s' extent", which);
}

static int to_entry(struct ext_tree *t, unsigned at, bool visited)
{
	t->pos.at[t->pos.level] = at;
	t->pos.visited[t->pos.level] = visited;
	t->pos.placed = true;
	return 0;
}

static int go_root(struct ext_tree *t)
{
	t->pos.level = 0;
	t->pos.placed = t->node[0].h.entries != 0;
	if (!t->pos.placed)
		return no_extent(t, "next");
	return to_entry(t, 0, false);
}

static int go_sibling(struct ext_tree *t, bool next)
{
	const unsigned at = t->pos.at[t->pos.level], entries = current_node(t)->h.entries;

	if (!t->pos.placed)
		return next && entries ? to_entry(t, 0, false)
				       : no_extent(t, next ? "next" : "previous");
	if (next ? at + 1 >= entries : !at)
		return no_extent(t, next ? "next" : "previous");
	return next ? to_entry(t, at + 1, false) : to_entry(t, at - 1, t->pos.level < t->pos.depth);
}

static int go_down(struct ext_tree *t, bool last)
{
	const unsigned level = t->pos.level;
	int rc;

	if (level == t->pos.depth || !t->pos.placed)
		return no_extent(t, "down");
	rc = load_child(t, level);
	if (rc)
		return rc;
	if (!t->node[level + 1].h.entries)
		return no_extent(t, "down");
	t->pos.level++;
	return to_entry(t, last ? t->node[level + 1].h.entries - 1u : 0,
			last && t->pos.level < t->pos.depth);
}

static int go_up(struct ext_tree *t)
{
	if (!t->pos.level)
		return no_extent(t, "up");
	t->pos.level--;
	return 0;
}

/* The order is: an index entry, its children, the same entry again, its next sibling. */
static int go_on(struct ext_tree *t, bool next)
{
	const unsigned level = t->pos.level;
	const bool before = t->pos.visited[level] != next;
	const unsigned last = next ? current_node(t)->h.entries - 1u : 0;

	if (level < t->pos.depth && before) {
		t->pos.visited[level] = true;
		return go_down(t, !next);
	}
	if (t->pos.at[level] == last && level && t->pos.placed) {
		if (!next)
			t->pos.visited[level - 1] = false;
		return go_up(t);
	}
	return go_sibling(t, next);
}

static int go_leaf(struct ext_tree *t, bool next)
{
	int rc;

	do
		rc = go_on(t, next);
	while (!rc && t->pos.level < t->pos.depth);
	return rc;
}

static int go_last(struct ext_tree *t)
{
	const unsigned entries = current_node(t)->h.entries;

	return entries ? to_entry(t, entries - 1, false) : no_extent(t, "next");
}

static int go_last_leaf(struct ext_tree *t)
{
	int rc;

	while (t->pos.level < t->pos.depth) {
		while (!go_sibling(t, true))
			;
		xw_diag_clear(&t->d->diag);
		rc = go_down(t, false);
		if (rc)
			return rc;
	}
	return go_last(t);
}

int ext_move(struct ext_tree *t, enum ext_move move)
{
	switch (move) {
	case EXT_ROOT:
		return go_root(t);
	case EXT_FIRST_SIB:
		return current_node(t)->h.entries ? to_entry(t, 0, false) : no_extent(t, "next");
	case EXT_LAST_SIB:
		return go_last(t);
	case EXT_NEXT_SIB:
	case EXT_PREV_SIB:
		return go_sibling(t, move == EXT_NEXT_SIB);
	case EXT_NEXT_LEAF:
	case EXT_PREV_LEAF:
		return go_leaf(t, move == EXT_NEXT_LEAF);
	case EXT_LAST_LEAF:
		return go_last_leaf(t);
	case EXT_NEXT:
	case EXT_PREV:
		return go_on(t, move == EXT_NEXT);
	case EXT_UP:
		return go_up(t);
	default:
		return go_down(t, false);
	}
}

/*
 * Descend from the last entry of an index node that starts at or below lblk, or from its first
 * entry. As in the stock debugger, the search starts at the second entry.
 */
static int descend(struct ext_tree *t, uint64_t lblk)
{
	const unsigned level = t->pos.level;
	uint64_t start = 0;

	do {
		if (go_sibling(t, true))
			break;
		start = entry_start(t, level, t->pos.at[level]);
	} while (start < lblk);
	if (start > lblk)
		go_sibling(t, false);
	xw_diag_clear(&t->d->diag);
	return go_down(t, false);
}

int ext_goto(struct ext_tree *t, uint64_t lblk, unsigned level)
{
	struct ext_entry e;
	int rc = go_root(t);

	if (!rc && level > t->pos.depth)
		return xw_fail(&t->d->diag, XW_ERR_UNSUPPORTED,
			       "Ext2fs operation not supported while trying to go to block %" PRIu64
			       ", level %u",
			       lblk, level);
	while (!rc && t->pos.level < t->pos.depth - level)
		rc = descend(t, lblk);
	while (!rc) {
		rc = ext_current(t, &e);
		if (rc || (lblk >= e.lblk && lblk - e.lblk < e.len))
			return rc;
		if (lblk < e.lblk && t->pos.at[t->pos.level])
			go_sibling(t, false);
		if (lblk < e.lblk)
			break;
		if (t->pos.at[t->pos.level] + 1 >= current_node(t)->h.entries)
			break;
		go_sibling(t, true);
	}
	if (rc && rc != XW_ERR_NOTFOUND)
		return rc;
	xw_diag_clear(&t->d->diag);
	return xw_fail(&t->d->diag, XW_ERR_NOTFOUND,
		       "Extent not found while trying to go to block %" PRIu64 ", level %u", lblk,
		       level);
}
