/* SPDX-License-Identifier: MIT */
/*
 * The layout while the filesystem size is unknown. Before the first data is written, only the
 * maximum number of descriptor blocks (R) must be decided, since descriptors and their backups lie
 * in front of data. R is 256 KiB: 64 blocks of 4 KiB (enough for 512 GiB), 128 of 2 KiB (128 GiB),
 * or 256 of 1 KiB (32 GiB); -E resize= can raise it to a quarter of the block size, the number of
 * blocks that the resize inode can reserve. The second backup of sparse_super2 is in the last
 * group, which is unknown, so data skips only the first.
 *
 * With meta_bg, descriptor blocks lie in three groups of each meta group, for any filesystem size:
 * no room must be reserved, and the maximum number of groups is a constant.
 *
 * Without flex_bg, the bitmaps and inode table of a group must lie in the group, and all tables
 * have the same size, which is unknown. Therefore every group has room for them at its end, the
 * reserve. Between data of two groups a reserve cannot grow, but it can shrink. Its table has the
 * size that mke2fs uses for small filesystems, one inode per 4 KiB (1/16 of the space), or more by
 * -i or -T, but at most half of the group without its head. xw_geo_shrink() makes unneeded parts
 * available to the metadata that is placed after the data. The reserve is at the end of the group
 * so that the data of a small image directly follows the head of group 0.
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

/* Inode table blocks of a reserve: a multiple of inode_step() (tail.c). */
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
	/*
	 * as in mke2fs, groups are smaller if -i asks for more inodes than a bitmap block has bits
	 */
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
