// SPDX-License-Identifier: MIT
/*
 * The tolerant walk over extent trees and block maps; see the header.
 *
 * Both consist of nodes with entries. An extent node stores its number of entries and its depth; in
 * a pointer block all words are entries, zeros are holes, and the height follows from the position.
 * The logical block of an index entry of an extent tree is checked against its subtree. On a
 * mismatch the subtree is used, since extents store their logical blocks.
 */
#include "config.h"

#include "walk/map.h"

#include <stdlib.h>
#include <string.h>

#include "base/endian.h"
#include "disk/indirect.h"
#include "walk/map_judge.h"

#define INDIRECT_LEVELS 3

static void queue_finding(struct xw_walk_map *w, unsigned level, enum xw_walk_map_rule rule,
			  uint64_t num, uint64_t num2)
{
	if (w->n_queue < XW_ARRAY_SIZE(w->queue))
		w->queue[w->n_queue++] = (struct xw_walk_map_item){
			.rule = rule,
			.node = w->at[level].blk,
			.level = level,
			.lblk = w->at[level].lblk,
			.num = num,
			.num2 = num2,
		};
}

void xw_walk_map_init(struct xw_walk_map *w, struct xw_dev *dev, const struct xw_super *sb)
{
	w->dev = dev;
	w->sb = sb;
	w->nodes = NULL;
	w->node_levels = 0;
	w->read = NULL;
	w->arg = NULL;
	w->full_room = w->outvote = w->deep = false;
	w->find = NULL;
	w->find_arg = NULL;
	w->stale_level = 0;
	w->n_queue = w->queue_at = 0;
	w->block_size = xw_super_block_size(sb);
	w->csum = xw_super_has_csum(sb);
	w->over = true;
}

void xw_walk_map_free(struct xw_walk_map *w)
{
	free(w->nodes);
	w->nodes = NULL;
	w->node_levels = 0;
	w->over = true;
}

void xw_walk_map_skip(struct xw_walk_map *w)
{
	w->enter = false;
}

/* Set the depth of the tree from its root, or to the depth assumed by the caller. */
static void root_depth(struct xw_walk_map *w, unsigned stated, bool magic, int depth)
{
	const unsigned deepest = w->deep ? XW_WALK_MAP_DEEP : XW_EXT_MAX_DEPTH;

	if (magic && stated > deepest)
		queue_finding(w, 0, XW_MAP_DEPTH, stated, 0);
	w->depth = stated <= deepest ? stated : 0;
	if (depth >= 0)
		w->depth = (unsigned)depth;
}

/* Number of entries to visit in a node with a consistent header. */
static uint32_t entries_of(const struct xw_walk_map *w, unsigned level, uint32_t stated)
{
	const uint8_t *n = xw_walk_map_node(w, level);

	if (w->stale_level == level + 1)
		return stated + xw_walk_map_stale_entries(w, n, level);
	return w->outvote ? xw_walk_map_own_entries(w, n, level) : stated;
}

/* Check the header of the extent node at `level` and determine how many entries to visit. */
static void extent_header(struct xw_walk_map *w, unsigned level, int depth)
{
	const uint8_t *n = xw_walk_map_node(w, level);
	const uint32_t cap = level ? xw_extent_node_max(w->block_size) : XW_EXT_INODE_ENTRIES;
	struct xw_extent_hdr h, real;
	const bool magic = xw_extent_hdr_peek(n, &h);
	const bool fits = h.max && h.max <= cap && h.entries <= h.max;
	const bool wrong_sum = level && w->csum && !xw_walk_map_verifies(w, n);
	const bool proved = wrong_sum && xw_walk_map_prove_header(w, n, level, &real);
	uint32_t *const count = &w->at[level].count;

	if (!magic)
		queue_finding(w, level, XW_MAP_MAGIC, 0, 0);
	if (!level)
		root_depth(w, h.depth, magic, depth);
	else if (magic && h.depth != w->depth - level)
		queue_finding(w, level, XW_MAP_DEPTH, h.depth, w->depth - level);
	/* Without magic and consistent header the block may not be a node at all. */
	if (proved)
		*count = real.entries;
	else if (level && !magic && (!fits || h.depth != w->depth - level))
		*count = 0;
	else
		*count = fits ? entries_of(w, level, h.entries)
			      : xw_walk_map_guess_entries(w, n, level);
	if (magic &&
	    (*count != h.entries || !fits || (w->full_room && h.max + XW_WALK_ROOM_MISSING < cap)))
		queue_finding(w, level, XW_MAP_ENTRIES, h.entries, h.max);
	if (magic && fits && wrong_sum && !proved)
		queue_finding(w, level, XW_MAP_CSUM, 0, 0);
	if (level && !*count && magic && fits)
		queue_finding(w, level, XW_MAP_EMPTY, 0, 0);
}

/* Will the first extent of the current node be moved to the start of the node? */
static bool first_moves(struct xw_walk_map *w)
{
	struct xw_walk_map_level *at = &w->at[w->level];
	struct xw_extent x;
	uint64_t place;
	bool moves;

	if (!w->outvote || w->level < w->depth)
		return false;
	xw_extent_leaf_decode(xw_walk_map_node(w, w->level), 0, &x);
	at->index = 1;
	moves = xw_walk_map_has_place(w, &x, &place) && place == at->lblk;
	at->index = 0;
	return moves;
}

/* Check the start of the current extent node against its parent. */
static void extent_start(struct xw_walk_map *w)
{
	const unsigned level = w->level;
	struct xw_extent_idx first;

	if (!w->at[level].count || first_moves(w))
		return;
	/* the logical block has the same offset in index and leaf entries */
	xw_extent_idx_decode(xw_walk_map_node(w, level), 0, &first);
	if (first.lblk != w->at[level].lblk)
		queue_finding(w, level, XW_MAP_START, first.lblk, w->at[level].lblk);
}

int xw_walk_map_begin(struct xw_walk_map *w, xw_ino ino, const struct xw_inode *inode, int depth)
{
	w->ino = ino;
	w->generation = inode->generation;
	w->seeded = false;
	w->extents = inode->flags & XW_FL_EXTENTS;
	w->dense = (inode->mode & XW_S_IFMT) == XW_S_IFDIR;
	w->tail = inode->flags & XW_FL_VERITY;
	w->bytes = inode->size;
	w->size = xw_div_up(inode->size, w->block_size);
	w->over = w->enter = false;
	w->level = w->n_queue = w->queue_at = 0;
	w->next = w->from = 0;
	w->budget = w->sb->blocks_count;
	memcpy(w->root, inode->block, sizeof(w->root));
	w->at[0] = (struct xw_walk_map_level){.end = XW_WALK_LBLK_END};
	if (w->extents) {
		extent_header(w, 0, depth);
	} else {
		w->at[0].count = XW_TIND_SLOT + 1;
		w->depth = INDIRECT_LEVELS;
	}
	return 0;
}

void xw_walk_map_seek(struct xw_walk_map *w, xw_lblk from)
{
	w->from = from;
	if (!w->extents)
		w->at[0].index = (uint32_t)XW_MIN(from, (uint64_t)XW_NDIR_BLOCKS);
}

/* ---- entering a node ---- */

/* Logical blocks covered by a pointer of a block map with `height` levels of pointers below it. */
static uint64_t covers(const struct xw_walk_map *w, unsigned height)
{
	uint64_t n = 1;

	while (height--)
		n *= xw_indirect_per_block(w->block_size);
	return n;
}

static int make_room(struct xw_walk_map *w)
{
	const unsigned levels = w->extents ? w->depth : INDIRECT_LEVELS;
	uint8_t *nodes;

	if (levels <= w->node_levels)
		return 0;
	nodes = realloc(w->nodes, (size_t)levels * w->block_size);
	if (!nodes)
		return XW_ERR_NOMEM;
	w->nodes = nodes;
	w->node_levels = levels;
	return 0;
}

/*
 * Index of the entry that contains `from`, in a node of a block map that starts at logical block
 * lblk.
 */
static uint32_t first_pointer(const struct xw_walk_map *w, uint64_t lblk, unsigned height)
{
	const uint64_t i = w->from > lblk ? (w->from - lblk) / covers(w, height) : 0;

	return (uint32_t)XW_MIN(i, (uint64_t)xw_indirect_per_block(w->block_size));
}

/*
 * Enter the node that was yielded last, described by at[level + 1]: read it and check its header.
 */
static int enter(struct xw_walk_map *w)
{
	const unsigned level = w->level + 1;
	const uint32_t bs = w->block_size;
	int rc = make_room(w);

	w->enter = false;
	if (rc)
		return rc;
	rc = xw_walk_map_read(w, w->at[level].blk, w->nodes + (size_t)(level - 1) * bs);
	if (rc == XW_ERR_NOMEM)
		return rc;
	if (rc) {
		queue_finding(w, level, XW_MAP_READ, (uint64_t)-rc, 0);
		return 0;
	}
	w->at[level].index = 0;
	w->level = level;
	if (w->extents) {
		extent_header(w, level, -1);
		extent_start(w);
	} else {
		w->at[level].count = xw_indirect_per_block(bs);
		w->at[level].index = first_pointer(w, w->at[level].lblk, w->depth - level);
	}
	return 0;
}

/* ---- entries ---- */

static bool spend(struct xw_walk_map *w, uint64_t blocks, struct xw_walk_map_item *item)
{
	if (blocks <= w->budget) {
		w->budget -= blocks;
		return true;
	}
	item->rule = XW_MAP_BUDGET;
	w->over = true;
	return false;
}

/* Yield the node of an entry; the next call enters it unless it is skipped. */
static int yield_node(struct xw_walk_map *w, struct xw_walk_map_item *item,
		      struct xw_walk_map_level below)
{
	item->kind = XW_WALK_NODE;
	if (!xw_walk_can_point_to(w->sb, item->pblk, 1)) {
		item->rule = XW_MAP_NODE_RANGE;
		return 2;
	}
	if (!spend(w, 1, item))
		return 2;
	w->at[w->level + 1] = below;
	w->enter = true;
	return 1;
}

/* Queue a finding to be returned after the run or node in item. */
static void queue_after(struct xw_walk_map *w, const struct xw_walk_map_item *item,
			enum xw_walk_map_rule rule, uint64_t num)
{
	struct xw_walk_map_item after = *item;

	after.rule = rule;
	after.num = num;
	if (w->n_queue < XW_ARRAY_SIZE(w->queue))
		w->queue[w->n_queue++] = after;
}

static int extent_index(struct xw_walk_map *w, struct xw_walk_map_item *item)
{
	const struct xw_walk_map_level *at = &w->at[w->level];
	const uint8_t *n = xw_walk_map_node(w, w->level);
	struct xw_extent_idx e, after;
	uint64_t end = at->end;
	xw_blk stored;
	int rc;

	*item = (struct xw_walk_map_item){.node = at->blk, .index = item->index, .level = w->level};
	xw_extent_idx_decode(n, item->index, &e);
	if (item->index + 1 < at->count) {
		xw_extent_idx_decode(n, item->index + 1, &after);
		end = after.lblk;
	}
	item->lblk = e.lblk;
	item->len = end > e.lblk ? end - e.lblk : 0;
	item->height = w->depth - w->level;
	if (end <= w->from && item->len && e.lblk >= w->next && end <= at->end) {
		w->next = end;
		return 0;
	}
	stored = e.pblk;
	if (w->outvote)
		xw_walk_map_find_node(w, &(struct xw_walk_node){item->height - 1, e.lblk, end},
				      &e.pblk);
	item->pblk = e.pblk;
	rc = yield_node(w, item,
			(struct xw_walk_map_level){.end = end, .blk = e.pblk, .lblk = e.lblk});
	if (rc == 1 && e.pblk != stored)
		queue_after(w, item, XW_MAP_INDEX, stored);
	return rc;
}

/* Check the extent in item, of which len blocks are used. */
static enum xw_walk_map_rule judge_extent(const struct xw_walk_map *w,
					  const struct xw_walk_map_item *item, uint64_t len)
{
	if (!item->len)
		return XW_MAP_LENGTH;
	if (item->lblk < w->next || !len)
		return XW_MAP_ORDER;
	if (item->lblk + len > XW_WALK_LBLK_END)
		return XW_MAP_WRAP;
	return xw_walk_can_point_to(w->sb, item->pblk, len) ? XW_MAP_OK : XW_MAP_RANGE;
}

static int extent_leaf(struct xw_walk_map *w, struct xw_walk_map_item *item)
{
	struct xw_extent x;
	uint32_t len, stored;
	uint64_t end, place;

	xw_extent_leaf_decode(xw_walk_map_node(w, w->level), item->index, &x);
	stored = x.lblk;
	if (w->outvote && xw_walk_map_has_place(w, &x, &place))
		x.lblk = (uint32_t)place;
	item->kind = XW_WALK_RUN;
	item->height = 0;
	item->num2 = 0;
	item->lblk = x.lblk;
	item->len = x.len;
	item->pblk = x.pblk;
	item->unwritten = x.unwritten;
	item->num = w->next;
	len = w->outvote ? xw_walk_map_usable_len(w, &x) : x.len;
	item->rule = judge_extent(w, item, len);
	if (item->rule || !spend(w, len, item))
		return 2;
	if (x.lblk != stored) {
		item->lblk = stored;
		queue_after(w, item, XW_MAP_PLACE, x.lblk);
		item->lblk = x.lblk;
	}
	if (len < x.len)
		queue_after(w, item, XW_MAP_LONG, (uint64_t)x.lblk + len);
	item->len = len;
	end = item->lblk + len;
	w->next = end;
	if (end <= w->from && end <= w->at[w->level].end && len == x.len)
		return 0;
	if (end > w->at[w->level].end)
		queue_after(w, item, XW_MAP_END, w->at[w->level].end);
	return 1;
}

static int extent_entry(struct xw_walk_map *w, struct xw_walk_map_item *item)
{
	struct xw_walk_map_level *at = &w->at[w->level];

	item->node = at->blk;
	item->index = at->index++;
	item->level = w->level;
	return w->level < w->depth ? extent_index(w, item) : extent_leaf(w, item);
}

static uint32_t pointer(const struct xw_walk_map *w, uint32_t i)
{
	return peek32(xw_walk_map_node(w, w->level) + (size_t)4 * i);
}

/* Levels of pointers below an entry of the current node of a block map; 0: data. */
static unsigned height_of(const struct xw_walk_map *w, uint32_t index)
{
	if (w->level)
		return w->depth - w->level;
	return index < XW_NDIR_BLOCKS ? 0 : index - XW_NDIR_BLOCKS + 1;
}

/* Merge consecutive data pointers from at->index on into one run. */
static int gather(struct xw_walk_map *w, struct xw_walk_map_item *item, uint32_t blk)
{
	struct xw_walk_map_level *at = &w->at[w->level];
	const uint32_t end = w->level ? at->count : XW_NDIR_BLOCKS;

	item->kind = XW_WALK_RUN;
	item->lblk = at->lblk + at->index - 1;
	item->pblk = blk;
	item->len = 1;
	if (item->lblk >= XW_WALK_LBLK_END)
		item->rule = XW_MAP_WRAP;
	else if (!xw_walk_can_point_to(w->sb, blk, 1))
		item->rule = XW_MAP_RANGE;
	if (item->rule)
		return 2;
	for (; at->index < end && item->lblk + item->len < XW_WALK_LBLK_END;
	     at->index++, item->len++)
		if (pointer(w, at->index) != blk + item->len ||
		    !xw_walk_can_point_to(w->sb, blk + item->len, 1))
			break;
	return spend(w, item->len, item) ? 1 : 2;
}

/* 0: a hole, or skipped. */
static int pointer_entry(struct xw_walk_map *w, struct xw_walk_map_item *item)
{
	struct xw_walk_map_level *at = &w->at[w->level];
	const uint32_t i = at->index++;
	const unsigned height = height_of(w, i);
	const uint32_t blk = pointer(w, i);
	uint64_t lblk = at->lblk + i;

	if (!blk)
		return 0;
	*item = (struct xw_walk_map_item){.node = at->blk, .index = i, .level = w->level};
	if (!height)
		return gather(w, item, blk);
	if (w->level) {
		lblk = at->lblk + i * covers(w, height);
	} else {
		lblk = XW_NDIR_BLOCKS;
		for (unsigned h = 1; h < height; h++)
			lblk += covers(w, h);
	}
	if (!w->level && lblk + covers(w, height) <= w->from)
		return 0;
	if (!w->level)
		w->depth = height; /* depth of this branch, at which its data pointers are */
	item->lblk = lblk;
	item->len = covers(w, height);
	item->pblk = blk;
	item->height = height;
	return yield_node(
		w, item,
		(struct xw_walk_map_level){.end = XW_WALK_LBLK_END, .blk = blk, .lblk = lblk});
}

int xw_walk_map_next(struct xw_walk_map *w, struct xw_walk_map_item *item)
{
	for (;;) {
		struct xw_walk_map_level *at;
		int rc;

		if (w->queue_at < w->n_queue) {
			*item = w->queue[w->queue_at++];
			if (w->queue_at == w->n_queue)
				w->queue_at = w->n_queue = 0;
			return 2;
		}
		if (w->over)
			return 0;
		if (w->enter) {
			rc = enter(w);
			if (rc)
				return rc;
			continue;
		}
		at = &w->at[w->level];
		if (at->index >= at->count) {
			if (!w->level) {
				w->over = true;
				return 0;
			}
			w->level--;
			continue;
		}
		rc = w->extents ? extent_entry(w, item) : pointer_entry(w, item);
		if (rc)
			return rc;
	}
}

int xw_walk_map_shorten(const struct xw_walk_map *w, const uint8_t *root,
			struct xw_extent_idx *entry, unsigned *depth)
{
	struct xw_extent_hdr h;
	uint8_t *block;
	int rc = 0;

	if (!xw_extent_hdr_peek(root, &h) || h.depth <= XW_EXT_MAX_DEPTH ||
	    h.depth > XW_WALK_MAP_DEEP || h.entries != 1) /* a higher eh_depth is itself damaged */
		return 0;
	block = malloc(w->block_size);
	if (!block)
		return XW_ERR_NOMEM;
	xw_extent_idx_decode(root, 0, entry);
	*depth = h.depth;
	while (!rc && entry->pblk > w->sb->first_data_block && entry->pblk < w->sb->blocks_count) {
		rc = xw_walk_map_read(w, entry->pblk, block);
		if (rc || !xw_extent_hdr_peek(block, &h) || h.depth != *depth - 1)
			break;
		if (h.depth < XW_EXT_MAX_DEPTH) {
			rc = 1;
		} else if (h.entries == 1) {
			xw_extent_idx_decode(block, 0, entry);
			--*depth;
		} else {
			break;
		}
	}
	free(block);
	return rc;
}
