/* SPDX-License-Identifier: MIT */
/* Heuristics for damaged extent nodes. Private to lib/walk. */
#ifndef XW_WALK_MAP_JUDGE_H
#define XW_WALK_MAP_JUDGE_H

#include "walk/map.h"

#define XW_WALK_LBLK_END UINT64_C(0xFFFFFFFF) /* the highest number is not a logical block */
#define XW_WALK_ROOM_MISSING 2u /* entries by which eh_max may be smaller than a block allows */

/*
 * Are these blocks inside the filesystem? With 1 KiB blocks the superblock is in range; a pointer
 * to it conflicts with metadata, as to any other metadata block.
 */
static inline bool xw_walk_can_point_to(const struct xw_super *sb, xw_blk blk, uint64_t len)
{
	return blk && blk >= sb->first_data_block && blk < sb->blocks_count &&
	       len <= sb->blocks_count - blk;
}

static inline const uint8_t *xw_walk_map_node(const struct xw_walk_map *w, unsigned level)
{
	return level ? w->nodes + (size_t)(level - 1) * w->block_size : w->root;
}

/* map_header.c: read a block of the map. */
int xw_walk_map_read(const struct xw_walk_map *w, xw_blk blk, void *buf);
/* map.c: does the node have a valid checksum for this inode? */
bool xw_walk_map_verifies(struct xw_walk_map *w, const uint8_t *n);
/*
 * map_node.c: *blk is the child block of an index entry. True: the node is in another block, and
 * *blk is set to it.
 */
bool xw_walk_map_find_node(struct xw_walk_map *w, const struct xw_walk_node *want, xw_blk *blk);
/*
 * Read the next node after that at `level`: does it start at the logical block of the parent's next
 * entry?
 */
bool xw_walk_map_next_agrees(const struct xw_walk_map *w, unsigned level);
/*
 * Guess the number of entries of node n at `level`, whose eh_entries and eh_max are inconsistent.
 */
uint32_t xw_walk_map_guess_entries(const struct xw_walk_map *w, const uint8_t *n, unsigned level);
/* Number of plausible entries that follow the eh_entries entries of the node. */
uint32_t xw_walk_map_stale_entries(const struct xw_walk_map *w, const uint8_t *n, unsigned level);
/* Number of leading entries of the node that do not belong to the next node. */
uint32_t xw_walk_map_own_entries(const struct xw_walk_map *w, const uint8_t *n, unsigned level);
/*
 * For a node with a checksum mismatch: can one corrected header field produce the stored checksum?
 * If so, *h is the corrected header. w->seed must be valid.
 */
bool xw_walk_map_prove_header(const struct xw_walk_map *w, const uint8_t *n, unsigned level,
			      struct xw_extent_hdr *h);
/*
 * map_place.c: does the extent x, the current entry, contradict its neighbors or the size, and can
 * its correct logical block be determined?
 */
bool xw_walk_map_has_place(const struct xw_walk_map *w, const struct xw_extent *x, uint64_t *place);
/*
 * How many blocks of the extent x are used if later entries start before its end: all, those before
 * the next entry, or none if x itself is out of order.
 */
uint32_t xw_walk_map_usable_len(const struct xw_walk_map *w, const struct xw_extent *x);

#endif
