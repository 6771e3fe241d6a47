// SPDX-License-Identifier: MIT
/*
 * The end of a change: freed blocks are released, then bitmaps and descriptors of the changed
 * groups are written, the superblock last. Backups of the superblock and the descriptors are not
 * updated, as in the kernel.
 */
#include "config.h"

#include "update/update.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "update/update_internal.h"

static int release_freed(struct xw_update *u)
{
	for (size_t i = 0; i < u->freed.n; i++) {
		const struct xw_run *r = &u->freed.v[i];
		const int rc = u->unchecked ? xw_unchecked_release(u, r)
					    : xw_space_release(u->space, r->start, r->len);

		if (rc == XW_ERR_CORRUPT)
			return xw_fail(
				u->diag, rc,
				"%s: blocks %" PRIu64 "+%" PRIu64
				" are claimed twice, or free in their bitmap; run xw-fsck -f",
				u->img->dev->name, r->start, r->len);
		if (rc)
			return rc;
	}
	u->freed.n = 0;
	return 0;
}

/* Add the bias to a count: a wrong count stays wrong by the same amount. */
static uint32_t biased(uint64_t count, int64_t bias)
{
	const int64_t sum = (int64_t)count + bias;

	return (uint32_t)XW_MAX(sum, 0);
}

static int put_bitmap(struct xw_update *u, xw_blk blk, const uint8_t *bits)
{
	return xw_dev_pwrite(u->img->dev, bits, u->img->block_size, blk * u->img->block_size);
}

static int block_bitmap(struct xw_update *u, uint32_t group, struct xw_group_desc *gd, uint8_t *buf)
{
	struct xw_group_summary sum;
	int rc;

	memset(buf, 0xff, u->img->block_size);
	rc = xw_space_group_bitmap(u->space, group, buf);
	if (rc)
		return rc;
	xw_update_expose(u, false, group, buf);
	xw_space_group(u->space, group, &sum);
	gd->free_blocks = biased(sum.free, xw_update_bias_of(u, group).blocks);
	gd->flags &= (uint16_t)~XW_BG_BLOCK_UNINIT;
	gd->block_bitmap_csum = xw_bitmap_csum(&u->img->sb, u->img->csum_seed, buf,
					       xw_image_group_bits(u->img) / 8);
	return put_bitmap(u, gd->block_bitmap, buf);
}

static int inode_bitmap(struct xw_update *u, uint32_t group, const struct xw_igroup_summary *sum,
			struct xw_group_desc *gd, uint8_t *buf)
{
	const struct xw_update_bias bias = xw_update_bias_of(u, group);
	const struct xw_super *sb = &u->img->sb;
	int rc = xw_ispace_group_bitmap(u->inodes, group, buf, u->img->block_size);

	if (rc)
		return rc;
	xw_update_expose(u, true, group, buf);
	gd->free_inodes = biased(sum->free, bias.inodes);
	gd->used_dirs = biased(sum->used_dirs, bias.dirs);
	if (xw_super_has_group_csum(sb)) {
		gd->itable_unused = u->unchecked ? xw_unchecked_unused(u, group, gd) : sum->unused;
		gd->flags &= (uint16_t)~XW_BG_INODE_UNINIT;
	}
	gd->inode_bitmap_csum =
		xw_bitmap_csum(sb, u->img->csum_seed, buf, sb->inodes_per_group / 8);
	return put_bitmap(u, gd->inode_bitmap, buf);
}

static int descriptor(struct xw_update *u, uint32_t group, const struct xw_group_desc *gd)
{
	const uint32_t size = u->img->desc_size, per = u->img->block_size / size;
	const uint64_t off = xw_image_desc_block(u->img, group) * u->img->block_size +
			     (uint64_t)(group % per) * size;
	auto_free uint8_t *buf = malloc(size);
	int rc;

	if (!buf)
		return xw_fail_nomem(u->diag, "group descriptor");
	rc = xw_dev_pread(u->img->dev, buf, size, off);
	if (rc)
		return rc;
	xw_group_encode(gd, &u->img->sb, u->img->csum_seed, group, buf);
	return xw_dev_pwrite(u->img->dev, buf, size, off);
}

static int write_group(struct xw_update *u, uint32_t group, uint8_t *buf)
{
	const bool blocks = xw_space_group_touched(u->space, group);
	struct xw_igroup_summary inodes;
	struct xw_group_desc gd;
	int rc;

	xw_ispace_group(u->inodes, group, &inodes);
	if (!blocks && !inodes.touched)
		return 0;
	rc = xw_image_group(u->img, group, &gd);
	if (!rc && blocks)
		rc = block_bitmap(u, group, &gd, buf);
	if (!rc && inodes.touched)
		rc = inode_bitmap(u, group, &inodes, &gd, buf);
	return rc ? rc : descriptor(u, group, &gd);
}

static int write_super(struct xw_update *u)
{
	struct xw_super *sb = &u->img->sb;
	uint8_t buf[XW_SUPER_SIZE];

	sb->free_blocks_count = xw_space_free_blocks(u->space);
	sb->free_inodes_count = (uint32_t)xw_ispace_free_count(u->inodes);
	if (u->unchecked) {
		const int64_t blocks = xw_update_bias_blocks(u) + u->bias.blocks;

		sb->free_blocks_count += (uint64_t)XW_MAX(blocks, -(int64_t)sb->free_blocks_count);
		sb->free_inodes_count = biased(sb->free_inodes_count, u->bias.inodes);
	}
	sb->wtime = u->now;
	if (u->large_file)
		sb->feature_ro_compat |= XW_RO_LARGE_FILE;
	xw_super_encode(sb, buf);
	return xw_dev_pwrite(u->img->dev, buf, sizeof(buf), XW_SUPER_OFFSET);
}

int xw_update_flush(struct xw_update *u)
{
	auto_free uint8_t *buf = malloc(u->img->block_size);
	int rc = buf ? xw_update_quota(u) : xw_fail_nomem(u->diag, "bitmap");

	if (!rc)
		rc = xw_update_write_recs(u);
	if (!rc)
		rc = xw_batch_drain(u->out.batch);
	if (!rc)
		rc = release_freed(u);
	for (uint32_t g = 0; g < u->img->groups && !rc; g++)
		rc = write_group(u, g, buf);
	if (!rc)
		rc = write_super(u);
	xw_update_forget(u);
	xw_image_drop_cache(u->img);
	return rc;
}
