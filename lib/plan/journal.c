/* SPDX-License-Identifier: MIT */
/*
 * The journal's size and its map blocks. The size depends on the filesystem size in blocks as in
 * mke2fs 1.47.0 (observed on both sides of every step), for any block size. Fast commits need
 * additional blocks: by default a 64th of the default journal size, even with -J size=.
 */
#include "disk/extent.h"
#include "disk/indirect.h"
#include "plan/map.h"

uint64_t xw_journal_default_blocks(uint64_t fs_blocks, uint32_t block_size)
{
	static const struct {
		uint64_t below, blocks;
	} steps[] = {
		{XW_JOURNAL_FS_BLOCKS, 0}, {32768, 1024},          {256 * 1024, 4096},
		{512 * 1024, 8192},        {4096 * 1024, 16384},   {8192 * 1024, 32768},
		{16384 * 1024, 65536},     {32768 * 1024, 131072},
	};

	(void)block_size;
	for (size_t i = 0; i < XW_ARRAY_SIZE(steps); i++) {
		if (fs_blocks < steps[i].below)
			return steps[i].blocks;
	}
	return 262144;
}

uint64_t xw_geo_fast_commit_blocks(const struct xw_geo *geo, const struct xw_mkfs_params *p,
				   uint64_t fs_blocks)
{
	if (!xw_has_compat(&geo->features, XW_COMPAT_FAST_COMMIT))
		return 0;
	if (p->fast_commit_kib)
		return xw_div_up(p->fast_commit_kib * 1024, p->block_size); /* 0 is the default */
	return xw_journal_default_blocks(fs_blocks, p->block_size) / 64;
}

/*
 * With --grow-to the log has the size for the later filesystem size, since it cannot be enlarged
 * when the filesystem grows; but at most this many blocks, so that a small image does not consist
 * mainly of an empty log.
 */
#define GROW_LOG_BLOCKS 4096u

uint64_t xw_geo_log_blocks(const struct xw_mkfs_params *p, uint64_t fs_blocks)
{
	const uint64_t later = p->grow_bytes / p->block_size;
	uint64_t log = xw_journal_default_blocks(fs_blocks, p->block_size), most;

	if (p->journal_bytes)
		return p->journal_bytes / p->block_size;
	most = XW_MIN(xw_journal_default_blocks(later, p->block_size), GROW_LOG_BLOCKS);
	if (p->size_bytes)
		most = XW_MIN(most, fs_blocks / 8);
	return XW_MAX(log, most);
}

uint64_t xw_geo_journal_blocks(const struct xw_geo *geo, const struct xw_mkfs_params *p,
			       uint64_t fs_blocks)
{
	if (!xw_has_compat(&geo->features, XW_COMPAT_HAS_JOURNAL) || p->journal_device)
		return 0;
	if (!xw_journal_default_blocks(fs_blocks, p->block_size))
		return 0;
	return xw_geo_fast_commit_blocks(geo, p, fs_blocks) + xw_geo_log_blocks(p, fs_blocks);
}

int xw_geo_drop_journal(struct xw_geo *geo, const struct xw_mkfs_params *p, struct xw_diag *diag)
{
	if (geo->journal_blocks || p->journal_device ||
	    !xw_has_compat(&geo->features, XW_COMPAT_HAS_JOURNAL))
		return 0;
	if (p->journal_asked)
		return xw_fail(diag, XW_ERR_NOSPC,
			       "filesystem too small for a journal: %llu blocks, %u needed",
			       (unsigned long long)geo->blocks, XW_JOURNAL_FS_BLOCKS);
	xw_log(diag, *p->fs_type ? XW_LOG_WARN : XW_LOG_INFO,
	       "filesystem too small for a journal; made without");
	geo->features.w[XW_FW_COMPAT] &= ~(XW_COMPAT_HAS_JOURNAL | XW_COMPAT_ORPHAN_FILE);
	return 0;
}

uint64_t xw_geo_orphan_blocks(const struct xw_geo *geo, const struct xw_mkfs_params *p)
{
	if (!xw_has_compat(&geo->features, XW_COMPAT_ORPHAN_FILE))
		return 0;
	if (p->orphan_blocks)
		return p->orphan_blocks;
	return XW_MIN(XW_MAX(geo->blocks / 4096, 32), 512);
}

static uint64_t extent_blocks(uint64_t extents, unsigned per_block)
{
	uint64_t sum = 0;

	while (extents > XW_EXT_INODE_ENTRIES) {
		extents = xw_div_up(extents, per_block);
		sum += extents;
	}
	return sum;
}

static uint64_t indirect_blocks(uint64_t len, uint64_t per_block)
{
	uint64_t sum = 0, span = 1, below;

	len -= XW_MIN(len, XW_NDIR_BLOCKS);
	/* span: the number of data blocks that the slot of i_block for this depth can map */
	for (int depth = 1; depth <= 3 && len; depth++) {
		span *= per_block;
		below = XW_MIN(len, span);
		len -= below;
		for (int i = 0; i < depth; i++) {
			below = xw_div_up(below, per_block);
			sum += below;
		}
	}
	return sum;
}

uint64_t xw_journal_map_blocks(const struct xw_geo *geo, const struct xw_run *runs, size_t n,
			       uint64_t len)
{
	uint64_t extents = 0;

	if (!xw_has_incompat(&geo->features, XW_INCOMPAT_EXTENTS))
		return indirect_blocks(len, xw_indirect_per_block(geo->block_size));
	for (size_t i = 0; i < n; i++)
		extents += xw_div_up(runs[i].len, XW_EXT_MAX_LEN);
	return extent_blocks(extents, xw_extent_node_max(geo->block_size));
}
