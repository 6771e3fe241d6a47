/* SPDX-License-Identifier: MIT */
/*
 * Private to plan/: the locations of the bitmaps and inode tables of a range of groups, run-length
 * encoded.
 *
 * The objects of a flex group are contiguous unless a superblock copy interrupts them, so a few
 * segments describe any number of groups. Flex groups without a superblock copy have the same
 * layout and share one map. Block numbers are relative to the first block of the range.
 */
#ifndef XW_PLAN_MAP_H
#define XW_PLAN_MAP_H

#include "base/vec.h"
#include "plan/geometry.h"

enum xw_meta_kind {
	XW_META_BLOCK_BITMAP,
	XW_META_INODE_BITMAP,
	XW_META_INODE_TABLE,
	XW_META_KINDS
};

/* Objects of groups first .. first + count - 1 of the range, contiguous from start. */
struct xw_seg {
	uint64_t start;
	uint32_t first, count;
};

struct xw_geo_map {
	uint32_t first_group; /* of the range; XW_MAP_ANY: shared by all ranges without a map */
	uint32_t unit[XW_META_KINDS]; /* size of one object in blocks */
	XW_VEC(struct xw_seg) segs[XW_META_KINDS]; /* by first */
	XW_VEC(struct xw_run)
	runs; /* all blocks of all segments, ascending, merged; see xw_map_seal */
};

#define XW_MAP_ANY UINT32_MAX

void xw_map_init(struct xw_geo_map *map, const struct xw_geo *geo, uint32_t first_group);
void xw_map_free(struct xw_geo_map *map);
/*
 * Add the objects of `count` groups at start; the groups of a kind must be added in ascending
 * order. XW_ERR_NOMEM.
 */
int xw_map_add(struct xw_geo_map *map, enum xw_meta_kind kind, uint32_t group, uint32_t count,
	       uint64_t start);
/* Compute map->runs after the last object was added. XW_ERR_NOMEM. */
int xw_map_seal(struct xw_geo_map *map);
/* Free geo->maps. */
void xw_geo_free_maps(struct xw_geo *geo);
uint64_t xw_map_find(const struct xw_geo_map *map, enum xw_meta_kind kind, uint32_t group);

static inline xw_blk xw_geo_group_start(const struct xw_geo *geo, uint32_t group)
{
	return geo->first_data_block + (xw_blk)group * geo->blocks_per_group;
}

static inline uint32_t xw_geo_group_of(const struct xw_geo *geo, xw_blk blk)
{
	return (uint32_t)((blk - geo->first_data_block) / geo->blocks_per_group);
}

/* Number of clusters that cover this many blocks; without bigalloc a cluster is a block. */
static inline uint64_t xw_geo_clusters_up(const struct xw_geo *geo, uint64_t blocks)
{
	return xw_round_up(blocks, UINT64_C(1) << geo->cluster_bits);
}

/* Without flex_bg the bitmaps and table of a group lie in the group. */
static inline bool xw_geo_own(const struct xw_geo *geo)
{
	return !xw_has_incompat(&geo->features, XW_INCOMPAT_FLEX_BG);
}

/* Inode table blocks of this group; in a stream, those for which room is reserved. */
static inline uint32_t xw_geo_table_blocks(const struct xw_geo *geo, uint32_t group)
{
	return group < geo->shrunk_groups ? geo->shrunk_itable : geo->itable_blocks;
}

static inline bool xw_geo_meta_bg(const struct xw_geo *geo)
{
	return xw_has_incompat(&geo->features, XW_INCOMPAT_META_BG);
}

/* Every group has a superblock copy. */
static inline bool xw_geo_dense(const struct xw_geo *geo)
{
	return !xw_has_ro(&geo->features, XW_RO_SPARSE_SUPER) &&
	       !xw_has_compat(&geo->features, XW_COMPAT_SPARSE_SUPER2);
}

/* Total blocks of all heads. */
uint64_t xw_geo_heads(const struct xw_geo *geo);

/* SIZED with flex_bg: compute geo->maps as mke2fs places metadata. XW_ERR_NOMEM, XW_ERR_LIMIT. */
int xw_geo_flex_maps(struct xw_geo *geo, struct xw_diag *diag);
/*
 * SIZED without flex_bg: maps of the groups in which the formula places metadata on a bad block.
 * XW_ERR_NOMEM, XW_ERR_LIMIT.
 */
int xw_geo_own_maps(struct xw_geo *geo, struct xw_diag *diag);
/* The first bad block at or after blk; XW_BLK_MAX: none. */
xw_blk xw_geo_next_bad(const struct xw_geo *geo, xw_blk blk);

/* Common to sized and stream layouts: block size, group size, descriptors. */
void xw_geo_start(const struct xw_mkfs_params *p, struct xw_geo *geo);
/*
 * The journal size of a SIZED filesystem: -J size= or the default; 0 without has_journal, or if the
 * filesystem is too small for a journal.
 */
uint64_t xw_geo_journal_blocks(const struct xw_geo *geo, const struct xw_mkfs_params *p,
			       uint64_t fs_blocks);
/*
 * If the filesystem is too small for a journal, clear has_journal and orphan_file, and log this: as
 * a warning if the type was given explicitly. XW_ERR_NOSPC if the journal was requested explicitly.
 */
int xw_geo_drop_journal(struct xw_geo *geo, const struct xw_mkfs_params *p, struct xw_diag *diag);
/* s_overhead_clusters: heads, bitmaps, inode tables, journal, the block before the first group. */
uint64_t xw_geo_overhead(const struct xw_geo *geo);
/*
 * s_overhead_clusters with bigalloc: objects that share a cluster count once. Requires known
 * locations.
 */
uint64_t xw_geo_overhead_clusters(const struct xw_geo *geo);

#endif
