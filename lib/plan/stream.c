/* SPDX-License-Identifier: MIT */
/*
 * The layout while the size is not known. What must be decided before the first byte of data goes
 * out is only how many blocks the descriptors may need (R), since they and every backup of them lie
 * in front of data: 256 KiB, which is 64 blocks of 4 KiB (512 GiB of filesystem), 128 of 2 KiB (128
 * GiB), 256 of 1 KiB (32 GiB); -E resize= makes it larger. R is at most a quarter of a block's
 * bytes, so that all of it can be reserved blocks of the resize inode. The group with the second
 * sparse_super2 backup is the last one, and unknown: only the first is stepped over.
 */
#include "plan/map.h"

#define STREAM_DESC_BYTES (256u << 10)

static uint64_t desc_room(const struct xw_geo *geo, const struct xw_mkfs_params *p)
{
	uint64_t room = STREAM_DESC_BYTES / geo->block_size;
	uint64_t wish =
		xw_div_up(xw_div_up(p->resize_blocks, geo->blocks_per_group), geo->desc_per_block);

	room = XW_MAX(room, wish);
	room = XW_MIN(room, geo->block_size / 4);
	/* small groups (-g): leave them three quarters */
	return XW_MAX(XW_MIN(room, geo->blocks_per_group / 4), 1);
}

int xw_geo_stream(const struct xw_mkfs_params *p, struct xw_geo *out, struct xw_diag *diag)
{
	uint64_t groups;

	if (!xw_has_incompat(&p->features, XW_INCOMPAT_FLEX_BG))
		return xw_fail(diag, XW_ERR_USAGE,
			       "SIZE: needed without flex_bg, whose groups hold their own bitmaps "
			       "and tables");
	xw_geo_start(p, out);
	out->kind = XW_GEO_STREAM;
	out->desc_blocks = (uint32_t)desc_room(out, p);
	out->head_blocks = 1 + out->desc_blocks;
	groups = (uint64_t)out->desc_blocks * out->desc_per_block;
	if (out->desc_size == 32) /* 32-bit block numbers */
		groups = XW_MIN(groups,
				(UINT32_MAX - out->first_data_block) / out->blocks_per_group);
	out->groups = (uint32_t)groups;
	out->blocks = out->first_data_block + groups * out->blocks_per_group;
	if (xw_has_compat(&out->features, XW_COMPAT_SPARSE_SUPER2))
		out->backup_bgs[1] = p->num_backup_sb != 0;
	return 0;
}
