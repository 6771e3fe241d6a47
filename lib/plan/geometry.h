/* SPDX-License-Identifier: MIT */
/*
 * Geometry: where everything that is not a file lives. Pure arithmetic, no I/O.
 *
 * Three ways to get one:
 *   xw_geo_plan        SIZE known: flex_bg heads as mke2fs lays them out.
 *   xw_geo_stream      SIZE unknown: block 0, room for R descriptor blocks, backup places stepped over; data may
 *                      start, nothing else is placed yet. Groups are bounded by what R blocks can describe.
 *   xw_geo_tail        the stream's end is known: group count, inodes per group, tables, bitmaps, journal.
 */
#ifndef XW_PLAN_GEOMETRY_H
#define XW_PLAN_GEOMETRY_H

#include "base/err.h"
#include "base/types.h"
#include "disk/super.h"
#include "plan/params.h"

enum xw_geo_kind { XW_GEO_SIZED, XW_GEO_STREAM, XW_GEO_TAIL };

struct xw_geo {
	enum xw_geo_kind kind;
	struct xw_features features;
	uint32_t block_size, log_block_size;
	uint32_t first_data_block;      /* 1 for 1 KiB blocks, else 0 */
	uint64_t blocks;                /* of the filesystem; for STREAM the most that R can describe */
	uint32_t blocks_per_group;
	uint32_t groups;
	uint32_t inodes_per_group;      /* 0 for STREAM */
	uint32_t inode_size;
	uint32_t itable_blocks;         /* a group */
	uint32_t desc_size, desc_per_block;
	uint32_t desc_blocks;           /* present descriptor blocks a copy (not meta_bg) */
	uint32_t reserved_gdt;          /* s_reserved_gdt_blocks */
	uint32_t head_blocks;           /* 1 + descriptors + reserved: what a group with a superblock starts with */
	uint32_t flex_size;             /* groups a flex group; 1 without flex_bg */
	uint32_t backup_bgs[2];         /* sparse_super2 */
	uint64_t reserved_blocks;       /* -m */
	uint64_t journal_blocks;        /* 0 = none */
	bool packed_meta;               /* -E packed_meta_blocks */
	/* TAIL only; owned */
	xw_blk *block_bitmap, *inode_bitmap, *inode_table;   /* [groups] */
	struct xw_run *journal_runs;    /* data blocks of the journal, in logical order */
	size_t n_journal_runs;
	xw_blk tail_start, tail_end;    /* metadata after the data: first and past-the-last block */
};

struct xw_group_place {
	xw_blk start;                   /* first block */
	uint32_t blocks;                /* in this group (the last may be short) */
	uint32_t head;                  /* superblock + descriptors + reserved at its start, 0 = none */
	bool has_super;
	xw_blk block_bitmap, inode_bitmap, inode_table;      /* 0 for STREAM */
};

int xw_geo_plan(const struct xw_mkfs_params *p, uint64_t fs_bytes, struct xw_geo *out, struct xw_diag *diag);
int xw_geo_stream(const struct xw_mkfs_params *p, struct xw_geo *out, struct xw_diag *diag);

struct xw_tail_req {
	xw_blk used_end;                /* past the last block already taken (data, directories, xattrs, extents) */
	uint64_t used_blocks;           /* blocks taken before it, heads not counted (for --free N%) */
	uint64_t inodes;                /* numbered so far, reserved ones included */
};
/* `stream` stays valid and unchanged. XW_ERR_LIMIT when R cannot describe the result. */
int xw_geo_tail(const struct xw_geo *stream, const struct xw_mkfs_params *p, const struct xw_tail_req *req,
		struct xw_geo *out, struct xw_diag *diag);
void xw_geo_free(struct xw_geo *geo);

bool xw_geo_has_super(const struct xw_geo *geo, uint32_t group);
void xw_geo_group(const struct xw_geo *geo, uint32_t group, struct xw_group_place *out);
/*
 * Mark group's static metadata (head; bitmaps and tables of any group that lie in it) in a bitmap
 * of blocks_per_group bits, bits past a short group's end set too. Journal not included.
 */
void xw_geo_group_bitmap(const struct xw_geo *geo, uint32_t group, uint8_t *bits);
/* Free blocks of the pristine group and its longest free run: what a bitmap would say, without one, O(1) amortised. */
void xw_geo_group_summary(const struct xw_geo *geo, uint32_t group, uint32_t *free_blocks, uint32_t *longest,
			  uint32_t *fragments, uint32_t *first_free);
/* mke2fs(8)'s journal size for this many fs blocks; 0 when too small for one. */
uint64_t xw_journal_default_blocks(uint64_t fs_blocks, uint32_t block_size);

/* Every static superblock field from parameters and geometry. Free counts stay 0: the finaliser knows them. */
void xw_plan_super(const struct xw_mkfs_params *p, const struct xw_geo *geo, struct xw_super *sb);

#endif
