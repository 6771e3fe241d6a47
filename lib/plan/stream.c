/* SPDX-License-Identifier: MIT */
/*
 * The layout while the size is not known. What must be decided before the first byte of data goes
 * out is only how many blocks the descriptors may need (R), since they and every backup of them lie
 * in front of data: 256 KiB, which is 64 blocks of 4 KiB (512 GiB of filesystem), 128 of 2 KiB (128
 * GiB), 256 of 1 KiB (32 GiB); -E resize= makes it larger. R is at most a quarter of a block's
 * bytes, so that all of it can be reserved blocks of the resize inode. The group with the second
 * sparse_super2 backup is the last one, and unknown: only the first is stepped over.
 *
 * With meta_bg a block of descriptors lies in each of three groups of a meta group, wherever the
 * filesystem ends: nothing must be kept free, and the end of what a stream can be is just a number.
 *
 * Without flex_bg a group's bitmaps and inode table must lie in the group, and all tables are of
 * one size, which nobody knows yet. So room for them, the reserve, is kept at the end of every
 * group: it cannot grow once data lies in front of it and the next group's behind, but it can
 * shrink. It is as large as mke2fs makes tables of small filesystems, one inode for 4 KiB (1/16 of
 * the space), more where -i or -T say so, and at most half of what the head leaves. What the source
 * turns out not to need goes to the metadata that is placed after the data (xw_geo_shrink). At the
 * end and not at the start of groups, so that while everything is in group 0 data lies right behind
 * the head and nothing else is in its way.
 */
#include "plan/map.h"

#define STREAM_DESC_BYTES (256u << 10)
#define RESERVE_BYTES_PER_INODE 4096u
#define META_BG_GROUPS 65536u

static uint64_t desc_room(const struct xw_geo *geo, const struct xw_mkfs_params *p)
{
	uint64_t room = STREAM_DESC_BYTES / geo->block_size;
	uint64_t wish =
		xw_div_up(xw_div_up(p->resize_blocks, geo->blocks_per_group), geo->desc_per_block);

	room = XW_MAX(room, wish);
	room = XW_MIN(room, geo->block_size / 4);
	/* small groups (-g): leave three quarters of a group */
	return XW_MAX(XW_MIN(room, geo->blocks_per_group / 4), 1);
}

/* Table blocks of a reserve: a multiple of the step of inodes per group (tail.c). */
static uint32_t reserve_room(const struct xw_geo *geo, const struct xw_mkfs_params *p)
{
	uint64_t per_block = geo->block_size / geo->inode_size, step = XW_MAX(per_block, 8);
	uint64_t ratio = RESERVE_BYTES_PER_INODE, inodes, most;

	if (p->bytes_per_inode)
		ratio = XW_MIN(ratio, p->bytes_per_inode);
	inodes = ((uint64_t)geo->blocks_per_group + geo->first_data_block) * geo->block_size;
	inodes = xw_round_up(xw_div_up(inodes, ratio), step);
	most = (geo->blocks_per_group - xw_geo_head(geo, 0)) / 2 * per_block;
	most = XW_MIN(most, xw_geo_inodes_max(geo)) / step * step;
	return (uint32_t)(XW_MIN(inodes, most) / per_block);
}

int xw_geo_stream(const struct xw_mkfs_params *p, struct xw_geo *out, struct xw_diag *diag)
{
	uint64_t groups;

	(void)diag;
	xw_geo_start(p, out);
	out->kind = XW_GEO_STREAM;
	/* more inodes than an inode bitmap has bits: smaller groups, as mke2fs does it */
	if (p->bytes_per_inode)
		out->blocks_per_group = (uint32_t)XW_MIN(
			out->blocks_per_group,
			xw_geo_inodes_max(out) * p->bytes_per_inode / out->block_size &
				~((8ull << out->cluster_bits) - 1));
	if (xw_geo_meta_bg(out)) {
		groups = META_BG_GROUPS;
		out->desc_blocks = (uint32_t)(groups / out->desc_per_block);
		out->head_blocks = 2;
	} else {
		out->desc_blocks = (uint32_t)desc_room(out, p);
		out->head_blocks = 1 + out->desc_blocks;
		groups = (uint64_t)out->desc_blocks * out->desc_per_block;
	}
	if (xw_geo_own(out))
		out->itable_blocks = reserve_room(out, p);
	if (out->desc_size == 32) /* 32-bit block numbers */
		groups = XW_MIN(groups,
				(UINT32_MAX - out->first_data_block) / out->blocks_per_group);
	out->groups = (uint32_t)groups;
	out->blocks = out->first_data_block + groups * out->blocks_per_group;
	if (xw_has_compat(&out->features, XW_COMPAT_SPARSE_SUPER2))
		out->backup_bgs[1] = p->num_backup_sb != 0;
	return 0;
}
