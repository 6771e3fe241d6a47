/* SPDX-License-Identifier: MIT */
/*
 * Geometry: where everything that is not a file lives. Pure arithmetic, no I/O.
 *
 * Three ways to get one:
 *   xw_geo_plan    SIZE known: flex_bg heads as mke2fs lays them out.
 *   xw_geo_stream  SIZE unknown: block 0, room for R descriptor blocks, backup places stepped over;
 *                  data may start, nothing else is placed yet. Groups are bounded by what R blocks
 *                  can describe.
 *   xw_geo_tail    the stream's end is known: group count, inodes per group, tables, bitmaps,
 *                  journal.
 *
 * Without flex_bg every group holds its own bitmaps and table, so a stream keeps room for them at
 * the end of each ("the reserve"): stream.c.
 */
#ifndef XW_PLAN_GEOMETRY_H
#define XW_PLAN_GEOMETRY_H

#include "base/err.h"
#include "base/types.h"
#include "disk/super.h"
#include "plan/params.h"

#pragma GCC visibility push(default)

enum xw_geo_kind { XW_GEO_SIZED, XW_GEO_STREAM, XW_GEO_TAIL };

struct xw_geo_map;

struct xw_geo {
	enum xw_geo_kind kind;
	struct xw_features features; /* final: what mke2fs drops by size is dropped */
	uint32_t block_size, log_block_size;
	uint32_t first_data_block; /* 1 for 1 KiB blocks but with bigalloc, else 0 */
	uint64_t blocks; /* of the filesystem; for STREAM the most that R can describe */
	uint32_t cluster_bits; /* bigalloc: log2 of the blocks of a cluster; else 0 */
	uint32_t blocks_per_group;
	uint32_t groups;
	uint32_t inodes_per_group; /* 0 for STREAM */
	uint32_t inode_size;
	uint32_t itable_blocks; /* a group; for STREAM what the reserve holds, 0 with flex_bg */
	uint32_t desc_size, desc_per_block;
	uint32_t desc_blocks; /* present descriptor blocks; for STREAM: R, the room for them */
	uint32_t reserved_gdt; /* s_reserved_gdt_blocks */
	uint32_t head_blocks; /* superblock, descriptors, reserved before a group: the most */
	uint32_t flex_size; /* groups a flex group; 1 without flex_bg */
	uint32_t backup_bgs[2]; /* sparse_super2 */
	uint32_t stride; /* -E stride, as it moves bitmaps without flex_bg */
	uint64_t reserved_blocks; /* -m */
	uint64_t journal_blocks; /* 0 = none */
	uint64_t overhead; /* s_overhead_clusters: heads, bitmaps, tables, journal */
	bool packed_meta; /* -E packed_meta_blocks, with flex_bg */
	/* Where bitmaps and tables are, other than by formula; owned. Ask xw_geo_group. */
	struct xw_geo_map *maps;
	size_t n_maps, n_common; /* the first n_common serve all flex groups without their own */
	/*
	 * STREAM without flex_bg: the reserves of groups below shrunk_groups hold only so many
	 * table blocks
	 */
	uint32_t shrunk_groups, shrunk_itable;
	/* TAIL only; owned */
	struct xw_run *journal_runs; /* data blocks of the journal, in logical order */
	struct xw_run *journal_map_runs; /* its indirect or extent tree blocks outside the inode */
	size_t n_journal_runs, n_journal_map_runs;
	uint64_t journal_map_blocks;
	xw_blk own_last; /* without flex_bg: where the last group's bitmaps and table start */
	const xw_blk *bad; /* SIZED: blocks that nothing may lie on, ascending; the parameters' */
	size_t n_bad;
	xw_blk tail_start, tail_end; /* metadata after the data: first and past-the-last block */
};

struct xw_group_place {
	xw_blk start; /* first block */
	uint32_t blocks; /* in this group (the last may be short) */
	uint32_t head; /* superblock + descriptors + reserved at its start, 0 = none */
	bool has_super;
	/* for STREAM the reserve's, 0 with flex_bg */
	xw_blk block_bitmap, inode_bitmap, inode_table;
};

/*
 * fs_bytes: params.size_bytes. XW_ERR_USAGE when options do not fit each other or the size,
 * XW_ERR_NOSPC when too small for any filesystem, XW_ERR_LIMIT when too large for the block size.
 * Where the descriptors would fill a group it becomes meta_bg, as with mke2fs. A filesystem too
 * small for a journal loses has_journal, as with mke2fs, which is logged: as a warning when the
 * journal was asked for by name.
 */
int xw_geo_plan(const struct xw_mkfs_params *p, uint64_t fs_bytes, struct xw_geo *out,
		struct xw_diag *diag);
int xw_geo_stream(const struct xw_mkfs_params *p, struct xw_geo *out, struct xw_diag *diag);

struct xw_tail_req {
	xw_blk used_end; /* past the last block taken (data, directories, xattrs, extents) */
	uint64_t used_blocks; /* blocks taken before it, neither heads nor reserves (for --free) */
	uint64_t inodes; /* numbered so far, reserved ones included */
	uint64_t directories; /* of these: --free leaves an inode for each, */
	uint64_t growth; /* and so many blocks that a new name in each of them can take */
};
/* `stream` stays valid and unchanged. XW_ERR_LIMIT when R cannot describe the result. */
int xw_geo_tail(const struct xw_geo *stream, const struct xw_mkfs_params *p,
		const struct xw_tail_req *req, struct xw_geo *out, struct xw_diag *diag);
/*
 * The data has ended, and the number of inodes is known, but not yet the metadata behind the
 * data: without flex_bg, the reserves of the groups full of data are cut down to the most that
 * xw_geo_tail can want of them, so that metadata may go there. With flex_bg nothing changes. *out
 * is a STREAM of its own. XW_ERR_USAGE, XW_ERR_LIMIT as xw_geo_tail.
 */
int xw_geo_shrink(const struct xw_geo *stream, const struct xw_mkfs_params *p,
		  const struct xw_tail_req *req, struct xw_geo *out, struct xw_diag *diag);
void xw_geo_free(struct xw_geo *geo);

/* Inodes a group has at most: bits again; below 2^16 by a table block, and a multiple of 8. */
static inline uint32_t xw_geo_inodes_max(const struct xw_geo *geo)
{
	return XW_MIN(8 * geo->block_size, (65536u - geo->block_size / geo->inode_size) & ~7u);
}

bool xw_geo_has_super(const struct xw_geo *geo, uint32_t group);
/* Where the group's superblock copy is, if it has one; descriptors follow it. */
xw_blk xw_geo_super_at(const struct xw_geo *geo, uint32_t group);
/* Lowest group >= `group` with a superblock copy; geo->groups when there is none. */
uint32_t xw_geo_next_super(const struct xw_geo *geo, uint32_t group);
/*
 * Descriptors in this group: all of them behind each superblock copy; with meta_bg one block, that
 * of the group's own meta group (as many groups as a block describes), in its first two groups and
 * its last.
 */
bool xw_geo_has_desc(const struct xw_geo *geo, uint32_t group);
/* Blocks of superblock, descriptors and room for more at the start of the group, 0 = none. */
uint32_t xw_geo_head(const struct xw_geo *geo, uint32_t group);
/* Lowest group >= `group` with a head; geo->groups when there is none. */
uint32_t xw_geo_next_head(const struct xw_geo *geo, uint32_t group);
void xw_geo_group(const struct xw_geo *geo, uint32_t group, struct xw_group_place *out);
/*
 * Mark group's static metadata (head; bitmaps and tables of any group that lie in it) in a bitmap
 * of blocks_per_group bits, bits past a short group's end set too. Journal not included.
 */
void xw_geo_group_bitmap(const struct xw_geo *geo, uint32_t group, uint8_t *bits);
/*
 * Free blocks of the pristine group and its longest free run: what a bitmap would say, without one,
 * O(1) amortised. first_free: index in the group, 0 when nothing is free.
 */
void xw_geo_group_summary(const struct xw_geo *geo, uint32_t group, uint32_t *free_blocks,
			  uint32_t *longest, uint32_t *fragments, uint32_t *first_free);
/* mke2fs(8)'s journal size for this many fs blocks; 0 when too small for one. */
uint64_t xw_journal_default_blocks(uint64_t fs_blocks, uint32_t block_size);

/*
 * Blocks outside the inode that map a journal of `len` blocks in `n` runs: indirect blocks, or
 * those of an extent tree.
 */
uint64_t xw_journal_map_blocks(const struct xw_geo *geo, const struct xw_run *runs, size_t n,
			       uint64_t len);
/* Of geo->journal_blocks, those at the end that belong to fast commits. fs_blocks: geo->blocks. */
uint64_t xw_geo_fast_commit_blocks(const struct xw_geo *geo, const struct xw_mkfs_params *p,
				   uint64_t fs_blocks);
/* Blocks of the orphan file in a filesystem of geo->blocks; 0 without the feature. */
uint64_t xw_geo_orphan_blocks(const struct xw_geo *geo, const struct xw_mkfs_params *p);

/*
 * Every static superblock field from parameters and geometry. Free counts stay 0: the finaliser
 * knows them.
 */
void xw_plan_super(const struct xw_mkfs_params *p, const struct xw_geo *geo, struct xw_super *sb);

#pragma GCC visibility pop

#endif
