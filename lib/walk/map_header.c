// SPDX-License-Identifier: MIT
/*
 * The number of entries of an extent node with a damaged header.
 *
 * The bytes after the last entry of a node may be stale entries: those that were moved to a new
 * neighbor when the node was split, and those of truncated contents. The former start at or after
 * the parent's next entry, the latter after the size.
 */
#include "config.h"

#include "walk/map_judge.h"

#include <stdlib.h>

int xw_walk_map_read(const struct xw_walk_map *w, xw_blk blk, void *buf)
{
	return w->read ? w->read(w->arg, blk, buf)
		       : xw_dev_pread(w->dev, buf, w->block_size, blk * w->block_size);
}

/* Upper bound of the logical blocks at which entries of the node start. */
static uint64_t bound(const struct xw_walk_map *w, unsigned level)
{
	const struct xw_walk_map_level *at = &w->at[level];

	if (at->end < XW_WALK_LBLK_END)
		return at->end > at->lblk ? at->end : XW_WALK_LBLK_END;
	return w->size && !w->tail ? w->size : XW_WALK_LBLK_END;
}

/* Decode entry i of the node; an index entry as an extent of length 1. */
static struct xw_extent entry_at(const uint8_t *n, uint32_t i, bool leaf)
{
	struct xw_extent x;
	struct xw_extent_idx e;

	if (leaf) {
		xw_extent_leaf_decode(n, i, &x);
		return x;
	}
	xw_extent_idx_decode(n, i, &e);
	return (struct xw_extent){.lblk = e.lblk, .len = 1, .pblk = e.pblk};
}

/* Is x plausible at or after logical block `next`? Unwritten extents may be past the size. */
static bool is_possible(const struct xw_walk_map *w, unsigned level, const struct xw_extent *x,
			uint64_t next)
{
	const bool preallocated = x->unwritten && w->at[level].end >= XW_WALK_LBLK_END;

	return x->len && x->lblk >= next && xw_walk_can_point_to(w->sb, x->pblk, x->len) &&
	       (preallocated || x->lblk < bound(w, level));
}

static uint32_t room(const struct xw_walk_map *w, unsigned level)
{
	return level ? xw_extent_node_max(w->block_size) : XW_EXT_INODE_ENTRIES;
}

/* The first implausible entry from i on, after entries that end at `next`. */
static uint32_t first_impossible(const struct xw_walk_map *w, const uint8_t *n, unsigned level,
				 uint32_t i, uint64_t next)
{
	for (; i < room(w, level); i++) {
		const struct xw_extent x = entry_at(n, i, level == w->depth);

		if (!is_possible(w, level, &x, next))
			break;
		next = (uint64_t)x.lblk + x.len;
	}
	return i;
}

uint32_t xw_walk_map_guess_entries(const struct xw_walk_map *w, const uint8_t *n, unsigned level)
{
	struct xw_extent_hdr h;
	struct xw_extent last;

	/* If eh_entries fits and its last entry is plausible, eh_max is damaged. */
	xw_extent_hdr_peek(n, &h);
	if (h.entries && h.entries <= room(w, level)) {
		last = entry_at(n, h.entries - 1u, level == w->depth);
		if (is_possible(w, level, &last, w->next))
			return h.entries;
	}
	return first_impossible(w, n, level, 0, w->next);
}

uint32_t xw_walk_map_stale_entries(const struct xw_walk_map *w, const uint8_t *n, unsigned level)
{
	uint64_t next = w->next;
	struct xw_extent_hdr h;
	struct xw_extent last;

	xw_extent_hdr_peek(n, &h);
	if (h.entries) {
		last = entry_at(n, h.entries - 1u, level == w->depth);
		next = (uint64_t)last.lblk + last.len;
	}
	return first_impossible(w, n, level, h.entries, next) - h.entries;
}

bool xw_walk_map_next_agrees(const struct xw_walk_map *w, unsigned level)
{
	const struct xw_walk_map_level *up = &w->at[level - 1];
	struct xw_extent_hdr h;
	struct xw_extent_idx e;
	uint8_t *block;
	bool agrees;

	if (up->index >= up->count)
		return false;
	xw_extent_idx_decode(xw_walk_map_node(w, level - 1), up->index, &e);
	block = xw_walk_can_point_to(w->sb, e.pblk, 1) ? malloc(w->block_size) : NULL;
	agrees = block && !xw_walk_map_read(w, e.pblk, block) && xw_extent_hdr_peek(block, &h) &&
		 h.depth == w->depth - level && entry_at(block, 0, true).lblk == e.lblk;
	free(block);
	return agrees;
}

uint32_t xw_walk_map_own_entries(const struct xw_walk_map *w, const uint8_t *n, unsigned level)
{
	struct xw_extent_hdr h;
	uint32_t own;

	xw_extent_hdr_peek(n, &h);
	own = h.entries;
	if (!level || w->at[level].end >= XW_WALK_LBLK_END)
		return own;
	/* the logical block has the same offset in index and leaf entries */
	while (own && entry_at(n, own - 1, true).lblk >= w->at[level].end)
		own--;
	return own < h.entries && entry_at(n, own, true).lblk == w->at[level].end &&
			       xw_walk_map_next_agrees(w, level)
		       ? own
		       : h.entries;
}

bool xw_walk_map_prove_header(const struct xw_walk_map *w, const uint8_t *n, unsigned level,
			      struct xw_extent_hdr *h)
{
	const unsigned cap = xw_extent_node_max(w->block_size), depth = w->depth - level;
	struct xw_extent_hdr have;
	const bool magic = xw_extent_hdr_peek(n, &have);

	for (unsigned max = cap; max + XW_WALK_ROOM_MISSING >= cap && max; max--) {
		/* eh_magic and eh_entries; eh_max and eh_depth */
		const uint32_t first = xw_extent_block_needed(n, max, w->seed, 0);
		const uint32_t second = xw_extent_block_needed(n, max, w->seed, 4);

		*h = have;
		if ((first & 0xFFFF) == XW_EXT_MAGIC && have.max == max && have.depth == depth) {
			h->entries = (uint16_t)(first >> 16);
		} else if (magic && (second & 0xFFFF) == max && second >> 16 == depth) {
			h->max = (uint16_t)max;
			h->depth = (uint16_t)depth;
		} else {
			continue;
		}
		if (h->entries && h->entries <= max)
			return true;
	}
	return false;
}
