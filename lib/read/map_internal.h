/* SPDX-License-Identifier: MIT */
/* What the two kinds of maps share. */
#ifndef XW_READ_MAP_INTERNAL_H
#define XW_READ_MAP_INTERNAL_H

#include "read/map.h"

#define XW_MAP_INDIRECT_LEVELS 3

/* The bytes of the node at a level: the root in the inode, or the block loaded there. */
static inline uint8_t *xw_map_node(struct xw_map_iter *it, unsigned level)
{
	return level ? it->nodes + (size_t)(level - 1) * it->img->block_size : it->root;
}

/* Fail with "IMAGE: inode N: what value". */
int xw_map_corrupt(struct xw_map_iter *it, const char *what, uint64_t value);
/* Take blocks from the budget. */
int xw_map_spend(struct xw_map_iter *it, uint64_t blocks);
/* Read map block blk as the node of `level`: range, budget, on_node. */
int xw_map_load(struct xw_map_iter *it, unsigned level, xw_blk blk);
/* As xw_map_next, before cutting. */
int xw_blockmap_next(struct xw_map_iter *it, struct xw_map_run *run);

#endif
