/* SPDX-License-Identifier: MIT */
/*
 * Geometry: the location of everything except file contents. Pure arithmetic, no I/O.
 *
 * There are three kinds:
 *   xw_geo_plan    SIZE is known: the layout of mke2fs.
 *   xw_geo_stream  SIZE is unknown: only block 0, room for R descriptor blocks, and superblock
 *                  copies are placed; data is written around them. The number of groups is limited
 *                  to those that R blocks can describe.
 *   xw_geo_tail    The end of the stream is known: computes the number of groups and inodes, and
 *                  places inode tables, bitmaps and journal.
 *
 * Without flex_bg every group contains its own bitmaps and table, so a stream reserves room for
 * them at the end of each group ("the reserve"): see stream.c.
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
	/* final: without features that the filesystem is too small or too large for */
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
	/* maximum number of superblock, descriptor and reserved blocks at the start of a group */
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
	/* the first n_common maps are shared by all flex groups without a map of their own */
	size_t n_maps, n_common;
	/*
	 * STREAM without flex_bg: in the first shrunk_groups groups, the reserve has only
	 * shrunk_itable table blocks.
	 */
	uint32_t shrunk_groups, shrunk_itable;
	/* TAIL only; owned */
	struct xw_run *journal_runs; /* data blocks of the journal, in logical order */
	struct xw_run *journal_map_runs; /* the journal's indirect or extent tree blocks */
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
	/* for STREAM the locations in the reserve, or 0 with flex_bg */
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
	xw_blk used_end; /* end of data, directories, xattr blocks and extent tree blocks */
	/* blocks in use before it, excluding heads and reserves (for --free) */
	uint64_t used_blocks;
	uint64_t inodes; /* inodes in use, including reserved ones */
	uint64_t directories; /* number of directories: --free adds a free inode for each */
	uint64_t growth; /* blocks needed to add a name to each directory: minimum with --free */
};
/* XW_ERR_LIMIT: R descriptor blocks cannot describe the result. `stream` is not changed. */
int xw_geo_tail(const struct xw_geo *stream, const struct xw_mkfs_params *p,
		const struct xw_tail_req *req, struct xw_geo *out, struct xw_diag *diag);
/*
 * To be called when data and the number of inodes are known, before other metadata is placed.
 * Without flex_bg, reduces the reserves of groups full of data to the maximum that xw_geo_tail()
 * can need, so that metadata may be placed there. With flex_bg *out is a copy of *stream.
 * XW_ERR_USAGE, XW_ERR_LIMIT as xw_geo_tail().
 */
int xw_geo_shrink(const struct xw_geo *stream, const struct xw_mkfs_params *p,
		  const struct xw_tail_req *req, struct xw_geo *out, struct xw_diag *diag);
void xw_geo_free(struct xw_geo *geo);

/*
 * Maximum number of inodes in a group: the number of bits in a bitmap block, but a multiple of 8
 * that is at least a table block below 2^16.
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
 * Does this group contain descriptors? Without meta_bg, all descriptors follow each superblock
 * copy. With meta_bg, the first two groups and the last group of each meta group contain the block
 * of descriptors of that meta group (the groups that one block describes).
 */
bool xw_geo_has_desc(const struct xw_geo *geo, uint32_t group);
/* Number of blocks at the start of the group for superblock, descriptors, reserved descriptors. */
uint32_t xw_geo_head(const struct xw_geo *geo, uint32_t group);
/* First group >= `group` whose head is not empty; geo->groups if there is none. */
uint32_t xw_geo_next_head(const struct xw_geo *geo, uint32_t group);
void xw_geo_group(const struct xw_geo *geo, uint32_t group, struct xw_group_place *out);
/*
 * Set the bits of the group's metadata blocks (head; bitmaps and tables of any group), without the
 * journal, in a block bitmap. Bits past the end of a short group are set, too.
 */
void xw_geo_group_bitmap(const struct xw_geo *geo, uint32_t group, uint8_t *bits);
/*
 * Free clusters, longest run and number of runs of free clusters, as in the bitmap, computed
 * without it in amortized O(1). first_free: index in the group, 0 if nothing is free.
 */
void xw_geo_group_summary(const struct xw_geo *geo, uint32_t group, uint32_t *free_blocks,
			  uint32_t *longest, uint32_t *fragments, uint32_t *first_free);
/*
 * The size in blocks up to which the filesystem can be enlarged without moving blocks: limited by
 * reserved descriptor blocks and the width of block numbers.
 */
uint64_t xw_geo_growth(const struct xw_geo *geo);
/* Warn if, because of -N, a filesystem enlarged to --grow-to has fewer inodes than usual. */
void xw_geo_warn_few_inodes(const struct xw_geo *geo, const struct xw_mkfs_params *p,
			    struct xw_diag *diag);
#define XW_JOURNAL_FS_BLOCKS 2048u /* smallest filesystem with a journal */
/* Journal size as in mke2fs(8); 0 if the filesystem is too small for a journal. */
uint64_t xw_journal_default_blocks(uint64_t fs_blocks, uint32_t block_size);
/* Blocks of the log, without fast commit blocks: -J size=, or a default. */
uint64_t xw_geo_log_blocks(const struct xw_mkfs_params *p, uint64_t fs_blocks);
/* Minimum number of inodes per group for --grow-to without -N, or --grow-ratio; else 0. */
uint64_t xw_geo_inodes_to_grow(const struct xw_geo *geo, const struct xw_mkfs_params *p);

/*
 * Number of blocks needed to map a journal of `len` blocks in `n` runs: indirect blocks, or extent
 * tree blocks.
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
 * Set all superblock fields that parameters and geometry determine. Free counts stay 0 until the
 * image is finished.
 */
void xw_plan_super(const struct xw_mkfs_params *p, const struct xw_geo *geo, struct xw_super *sb);

#endif
