// SPDX-License-Identifier: MIT
/*
 * Finding the node of an index entry with a damaged block number.
 *
 * The checksum of a node depends on inode number and generation, so a matching checksum proves that
 * a node belongs to this tree, and its depth and first logical block identify the entry. Without
 * checksums only one candidate is unambiguous: the block number without its upper half, in a
 * filesystem too small for an upper half.
 */
#include "config.h"

#include <stdlib.h>

#include "walk/map_judge.h"

enum { BLOCK_BITS = 48, LOW_BITS = 32 };

uint32_t xw_walk_map_seed(struct xw_walk_map *w)
{
	if (!w->seeded)
		w->seed = xw_inode_seed(xw_super_csum_seed(w->sb), w->ino, w->generation);
	w->seeded = true;
	return w->seed;
}

bool xw_walk_map_verifies(struct xw_walk_map *w, const uint8_t *n)
{
	return !xw_extent_block_verify(n, w->block_size, xw_walk_map_seed(w));
}

/* Are all entries of the leaf or index node plausible, in order and before logical block `end`? */
static bool has_possible_entries(const struct xw_walk_map *w, const uint8_t *n, uint64_t end)
{
	struct xw_extent_hdr h;
	uint64_t next = 0;

	xw_extent_hdr_peek(n, &h);
	for (unsigned i = 0; i < h.entries; i++) {
		struct xw_extent x = {.len = 1};
		struct xw_extent_idx e;

		if (h.depth) {
			xw_extent_idx_decode(n, i, &e);
			x.lblk = e.lblk;
			x.pblk = e.pblk;
		} else {
			xw_extent_leaf_decode(n, i, &x);
		}
		if (!x.len || x.lblk < next || x.lblk >= end ||
		    !xw_walk_can_point_to(w->sb, x.pblk, x.len))
			return false;
		next = (uint64_t)x.lblk + x.len;
	}
	return true;
}

bool xw_walk_map_node_like(const struct xw_walk_map *w, const void *block, unsigned *depth,
			   uint32_t *lblk)
{
	const unsigned cap = xw_extent_node_max(w->block_size);
	struct xw_extent_hdr h;
	struct xw_extent_idx first;

	if (!xw_extent_hdr_peek(block, &h) || !h.entries || h.entries > h.max || h.max > cap ||
	    h.max + XW_WALK_ROOM_MISSING < cap || h.depth >= XW_EXT_MAX_DEPTH)
		return false;
	/* the logical block has the same offset in index and leaf entries */
	xw_extent_idx_decode(block, 0, &first);
	*depth = h.depth;
	*lblk = first.lblk;
	return true;
}

/* Is n the wanted node? */
static bool is_node(struct xw_walk_map *w, const uint8_t *n, const struct xw_walk_node *want)
{
	unsigned depth;
	uint32_t lblk;

	if (!xw_walk_map_node_like(w, n, &depth, &lblk) || depth != want->depth ||
	    lblk != want->lblk)
		return false;
	return w->csum ? xw_walk_map_verifies(w, n) : has_possible_entries(w, n, want->end);
}

bool xw_walk_map_is_node(struct xw_walk_map *w, xw_blk blk, const struct xw_walk_node *want)
{
	uint8_t *n = xw_walk_can_point_to(w->sb, blk, 1) ? malloc(w->block_size) : NULL;
	const bool is = n && !xw_walk_map_read(w, blk, n) && is_node(w, n, want);

	free(n);
	return is;
}

bool xw_walk_map_find_node(struct xw_walk_map *w, const struct xw_walk_node *want, xw_blk *blk)
{
	const xw_blk stored = *blk, low = stored & ((UINT64_C(1) << LOW_BITS) - 1);

	if (xw_walk_map_is_node(w, stored, want))
		return false;
	*blk = low;
	if (low != stored && xw_walk_map_is_node(w, low, want))
		return true;
	for (unsigned bit = 0; w->csum && bit < BLOCK_BITS; bit++) {
		*blk = stored ^ UINT64_C(1) << bit;
		if (xw_walk_map_is_node(w, *blk, want))
			return true;
	}
	if (w->csum && w->find && w->find(w->find_arg, w, want, blk))
		return true;
	*blk = stored;
	return false;
}
