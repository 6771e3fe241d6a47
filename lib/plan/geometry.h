/* SPDX-License-Identifier: MIT */
/*
 * Geometry: the location of everything except file contents. Pure arithmetic, no I/O.
 *
 * Three ways to compute one:
 *   xw_geo_plan    SIZE known: flex_bg heads as mke2fs lays them out.
 *   xw_geo_stream  SIZE unknown: block 0, room for R descriptor blocks, backup locations skipped;
 *                  data may start, nothing else is placed yet. The number of groups is limited by
 *                  what R blocks can describe.
 *   xw_geo_tail    the end of the stream is known: group count, inodes per group, tables, bitmaps,
 *                  journal.
 *
 * Without flex_bg every group holds its own bitmaps and table, so a stream reserves room for them
 * at the end of each group ("the reserve"): stream.c.
 */
#ifndef XW_PLAN_GEOMETRY_H
#define XW_PLAN_GEOMETRY_H

#include "base/err.h"
#include "base/types.h"
#include "disk/super.h"
#include "plan/params.h"

enum xw_geo_kind { XW_GEO_SIZED, XW_GEO_STREAM, XW_GEO_TAIL };

struct xw_geo_map;

struct xw_geo {
	enum xw_geo_kind kind;
	/* final: without those that mke2fs drops because of the size */
	struct xw_features features;
	uint32_t block_size, log_block_size;
	uint32_t first_data_block; /* 1 for 1 KiB blocks without bigalloc, else 0 */
	uint64_t blocks; /* size of the filesystem; for STREAM the maximum that R can describe */
	uint32_t cluster_bits; /* bigalloc: log2 of the number of blocks in a cluster; else 0 */
	uint32_t blocks_per_group;
	uint32_t groups;
	uint32_t inodes_per_group; /* 0 for STREAM */
	uint32_t inode_size;
	uint32_t itable_blocks; /* per group; for STREAM the size of the reserve, 0 with flex_bg */
	uint32_t desc_size, desc_per_block;
	uint32_t desc_blocks; /* existing descriptor blocks; for STREAM: R, the room for them */
	uint32_t reserved_gdt; /* s_reserved_gdt_blocks */
	/* superblock, descriptors and reserved blocks at the start of a group: the maximum */
	uint32_t head_blocks;
	uint32_t flex_size; /* groups per flex group; 1 without flex_bg */
	uint32_t backup_bgs[2]; /* sparse_super2 */
	uint32_t stride; /* -E stride, which shifts bitmaps without flex_bg */
	uint64_t reserved_blocks; /* -m */
	uint64_t journal_blocks; /* 0 = none */
	uint64_t overhead; /* s_overhead_clusters: heads, bitmaps, tables, journal */
	bool packed_meta; /* -E packed_meta_blocks, with flex_bg */
	/* Locations of bitmaps and tables that do not follow a formula; owned. Use xw_geo_group. */
	struct xw_geo_map *maps;
	/* the first n_common serve all flex groups without a map of their own */
	size_t n_maps, n_common;
	/*
	 * STREAM without flex_bg: groups below shrunk_groups have a reserve of only this many table
	 * blocks
	 */
	uint32_t shrunk_groups, shrunk_itable;
	/* TAIL only; owned */
	struct xw_run *journal_runs; /* data blocks of the journal, in logical order */
	struct xw_run *journal_map_runs; /* its indirect or extent tree blocks outside the inode */
	size_t n_journal_runs, n_journal_map_runs;
	uint64_t journal_map_blocks;
	xw_blk own_last; /* without flex_bg: start of the bitmaps and table of the last group */
	const xw_blk *bad; /* SIZED: blocks to be avoided, ascending; owned by the parameters */
	size_t n_bad;
	xw_blk tail_start, tail_end; /* metadata after the data: first and past-the-last block */
};

struct xw_group_place {
	xw_blk start; /* first block */
	uint32_t blocks; /* number of blocks in this group (the last may be short) */
	uint32_t head; /* superblock + descriptors + reserved at its start, 0 = none */
	bool has_super;
	/* for STREAM those of the reserve, 0 with flex_bg */
	xw_blk block_bitmap, inode_bitmap, inode_table;
};

/*
 * fs_bytes: params.size_bytes. XW_ERR_USAGE when options contradict each other or the size,
 * XW_ERR_NOSPC when too small for any filesystem or for an explicitly requested journal,
 * XW_ERR_LIMIT when too large for the block size. If the descriptors would fill a group the
 * filesystem becomes meta_bg, as with mke2fs. A filesystem too small for the journal of its type
 * loses has_journal, as with mke2fs; this is logged, as a warning if the type was given explicitly.
 */
int xw_geo_plan(const struct xw_mkfs_params *p, uint64_t fs_bytes, struct xw_geo *out,
		struct xw_diag *diag);
int xw_geo_stream(const struct xw_mkfs_params *p, struct xw_geo *out, struct xw_diag *diag);

struct xw_tail_req {
	xw_blk used_end; /* past the last block taken (data, directories, xattrs, extents) */
	/* blocks in use before it, excluding heads and reserves (for --free) */
	uint64_t used_blocks;
	uint64_t inodes; /* numbered so far, reserved ones included */
	uint64_t directories; /* directories among these: --free leaves an inode for each, */
	uint64_t growth; /* and this many blocks that one more name in each of them can take */
};
/* `stream` stays valid and unchanged. XW_ERR_LIMIT when R cannot describe the result. */
int xw_geo_tail(const struct xw_geo *stream, const struct xw_mkfs_params *p,
		const struct xw_tail_req *req, struct xw_geo *out, struct xw_diag *diag);
/*
 * The data has ended and the number of inodes is known, but not yet the metadata after the data:
 * without flex_bg, the reserves of the groups full of data are reduced to the maximum that
 * xw_geo_tail can need, so that metadata may be placed there. With flex_bg nothing changes. *out is
 * a STREAM of its own. XW_ERR_USAGE, XW_ERR_LIMIT as xw_geo_tail.
 */
int xw_geo_shrink(const struct xw_geo *stream, const struct xw_mkfs_params *p,
		  const struct xw_tail_req *req, struct xw_geo *out, struct xw_diag *diag);
void xw_geo_free(struct xw_geo *geo);

/*
 * Maximum number of inodes in a group: the bits of its bitmap; below 2^16 by a table block, and a
 * multiple of 8.
 */
static inline uint32_t xw_geo_inodes_max(const struct xw_geo *geo)
{
	return XW_MIN(8 * geo->block_size, (65536u - geo->block_size / geo->inode_size) & ~7u);
}

bool xw_geo_has_super(const struct xw_geo *geo, uint32_t group);
/* Location of the group's superblock copy, if it has one; descriptors follow it. */
xw_blk xw_geo_super_at(const struct xw_geo *geo, uint32_t group);
/* First group >= `group` with a superblock copy; geo->groups when there is none. */
uint32_t xw_geo_next_super(const struct xw_geo *geo, uint32_t group);
/*
 * Does this group hold descriptors? All of them follow each superblock copy; with meta_bg one block
 * of them, that of the group's own meta group (as many groups as a block describes), in the first
 * two groups and the last group of the meta group.
 */
bool xw_geo_has_desc(const struct xw_geo *geo, uint32_t group);
/*
 * Blocks of superblock, descriptors and reserved descriptors at the start of the group, 0 = none.
 */
uint32_t xw_geo_head(const struct xw_geo *geo, uint32_t group);
/* First group >= `group` with a head; geo->groups when there is none. */
uint32_t xw_geo_next_head(const struct xw_geo *geo, uint32_t group);
void xw_geo_group(const struct xw_geo *geo, uint32_t group, struct xw_group_place *out);
/*
 * Mark the static metadata of a group (head; bitmaps and tables of any group that lie in it) in a
 * bitmap of blocks_per_group bits; bits past the end of a short group are set, too. Journal not
 * included.
 */
void xw_geo_group_bitmap(const struct xw_geo *geo, uint32_t group, uint8_t *bits);
/*
 * Free blocks of the empty group and its longest free run, as a bitmap would show, computed without
 * one in O(1) amortized. first_free: index in the group, 0 when nothing is free.
 */
void xw_geo_group_summary(const struct xw_geo *geo, uint32_t group, uint32_t *free_blocks,
			  uint32_t *longest, uint32_t *fragments, uint32_t *first_free);
/*
 * The number of blocks up to which new groups need no room that is in use: as many as descriptors
 * are reserved for, or block numbers reach.
 */
uint64_t xw_geo_growth(const struct xw_geo *geo);
/* Warn where -N leaves the enlarged filesystem of --grow-to fewer inodes than are usual. */
void xw_geo_warn_few_inodes(const struct xw_geo *geo, const struct xw_mkfs_params *p,
			    struct xw_diag *diag);
#define XW_JOURNAL_FS_BLOCKS 2048u /* smallest filesystem with a journal */
/* mke2fs(8)'s journal size for this many fs blocks; 0 when too small for one. */
uint64_t xw_journal_default_blocks(uint64_t fs_blocks, uint32_t block_size);
/* Blocks of the log, without those for fast commits, as -J size= or --grow-to say. */
uint64_t xw_geo_log_blocks(const struct xw_mkfs_params *p, uint64_t fs_blocks);
/* The inodes that a group has to have for --grow-to without -N, or for --grow-ratio; else 0. */
uint64_t xw_geo_inodes_to_grow(const struct xw_geo *geo, const struct xw_mkfs_params *p);

/*
 * Blocks outside the inode that map a journal of `len` blocks in `n` runs: indirect blocks, or
 * extent tree blocks.
 */
uint64_t xw_journal_map_blocks(const struct xw_geo *geo, const struct xw_run *runs, size_t n,
			       uint64_t len);
/*
 * Number of blocks at the end of geo->journal_blocks that belong to fast commits. fs_blocks:
 * geo->blocks.
 */
uint64_t xw_geo_fast_commit_blocks(const struct xw_geo *geo, const struct xw_mkfs_params *p,
				   uint64_t fs_blocks);
/* Blocks of the orphan file in a filesystem of geo->blocks; 0 without the feature. */
uint64_t xw_geo_orphan_blocks(const struct xw_geo *geo, const struct xw_mkfs_params *p);

/*
 * Every static superblock field from parameters and geometry. Free counts stay 0; they are set when
 * the image is finished.
 */
void xw_plan_super(const struct xw_mkfs_params *p, const struct xw_geo *geo, struct xw_super *sb);

#endif
