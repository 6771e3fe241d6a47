/* SPDX-License-Identifier: MIT */
/* Judgments about damaged extent nodes, by all that is known of them. Private to lib/walk. */
#ifndef XW_WALK_MAP_JUDGE_H
#define XW_WALK_MAP_JUDGE_H

#include "walk/map.h"

#define XW_WALK_LBLK_END UINT64_C(0xFFFFFFFF) /* the highest number is not a logical block */
#define XW_WALK_ROOM_MISSING 2u /* entries by which eh_max may be smaller than a block allows */

/*
 * Can a pointer refer to these blocks? With 1 KiB blocks the superblock is in range: such a pointer
 * is invalid because the block is in use, like all metadata.
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
/* map.c: does the checksum of the node match, as one of this inode? */
bool xw_walk_map_verifies(struct xw_walk_map *w, const uint8_t *n);
/*
 * map_node.c: *blk is what an index entry says. True: its node is in another block, which is in
 * *blk then.
 */
bool xw_walk_map_find_node(struct xw_walk_map *w, const struct xw_walk_node *want, xw_blk *blk);
/*
 * Behind the node at `level`: does the node of the parent's next entry begin where this entry says?
 * It is read for that.
 */
bool xw_walk_map_next_agrees(const struct xw_walk_map *w, unsigned level);
/* Number of entries of the node n at `level`, whose eh_entries and eh_max contradict each other. */
uint32_t xw_walk_map_guess_entries(const struct xw_walk_map *w, const uint8_t *n, unsigned level);
/* Number of what looks like further entries behind those that eh_entries, which fits, says. */
uint32_t xw_walk_map_entries_behind(const struct xw_walk_map *w, const uint8_t *n, unsigned level);
/* Of the entries that eh_entries says, how many are not those of the next node? */
uint32_t xw_walk_map_own_entries(const struct xw_walk_map *w, const uint8_t *n, unsigned level);
/*
 * Does a header that differs in one field give the node the checksum that is stored? *h is that
 * header then. The node's checksum does not match; seed: of the inode.
 */
bool xw_walk_map_prove_header(const struct xw_walk_map *w, const uint8_t *n, unsigned level,
			      struct xw_extent_hdr *h);
/*
 * map_place.c: does the extent x, the current entry, contradict its neighbors or the size, and is
 * it known where it belongs?
 */
bool xw_walk_map_has_place(const struct xw_walk_map *w, const struct xw_extent *x, uint64_t *place);
/*
 * How many blocks of the extent x are believed if later entries may start before its end: all,
 * those before the next entry, or none where x itself is out of order.
 */
uint32_t xw_walk_map_believed(const struct xw_walk_map *w, const struct xw_extent *x);

#endif
