/* SPDX-License-Identifier: MIT */
/*
 * Block and inode bitmaps. What is given out has passed every test there is without looking at
 * inodes: whoever puts data where a bitmap says "free" trusts it with somebody's file.
 */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "read/bitmaps.h"

static bool bigalloc(const struct xw_image *img)
{
	return img->sb.feature_ro_compat & XW_RO_BIGALLOC;
}

/* log2 of blocks a cluster. Without bigalloc the field is one that nobody looks at. */
static uint32_t cluster_bits(const struct xw_image *img)
{
	return bigalloc(img) ? img->sb.log_cluster_size - img->sb.log_block_size : 0;
}

uint32_t xw_image_group_bits(const struct xw_image *img)
{
	return bigalloc(img) ? img->sb.clusters_per_group : img->sb.blocks_per_group;
}

static bool tracks_use(const struct xw_image *img)
{
	return img->sb.feature_ro_compat & (XW_RO_GDT_CSUM | XW_RO_METADATA_CSUM);
}

static int fail(struct xw_image *img, int code, uint64_t group, const char *which, const char *what)
{
	return xw_fail(img->diag, code, "%s: group %" PRIu64 ": %s bitmap: %s", img->dev->name,
		       group, which, what);
}

static bool get_bit(const uint8_t *bits, uint64_t i)
{
	return bits[i / 8] >> (i % 8) & 1;
}

static void set_bits(uint8_t *bits, uint64_t from, uint64_t to)
{
	for (; from < to && from % 8; from++)
		bits[from / 8] |= (uint8_t)(1u << from % 8);
	if (from + 8 <= to) {
		memset(bits + from / 8, 0xff, (to - from) / 8);
		from += (to - from) / 8 * 8;
	}
	for (; from < to; from++)
		bits[from / 8] |= (uint8_t)(1u << from % 8);
}

static uint64_t count_clear(const uint8_t *bits, uint64_t bytes)
{
	uint64_t used = 0, word;
	uint64_t i = 0;

	for (; i + sizeof(word) <= bytes; i += sizeof(word)) {
		memcpy(&word, bits + i, sizeof(word));
		used += (uint64_t)__builtin_popcountll(word);
	}
	for (; i < bytes; i++)
		used += (uint64_t)__builtin_popcount(bits[i]);
	return bytes * 8 - used;
}

static int read_bits(struct xw_image *img, uint64_t group, xw_blk blk, uint32_t csum,
		     const char *which, uint8_t *bits, uint32_t bytes)
{
	const struct xw_super *sb = &img->sb;
	int rc;

	if (!xw_image_has_blocks(img, blk, 1))
		return fail(img, XW_ERR_CORRUPT, group, which, "outside the filesystem");
	rc = xw_image_meta(img, blk, 0, bits, bytes);
	if (!rc && !(img->flags & XW_IMAGE_NOCSUM) &&
	    (sb->feature_ro_compat & XW_RO_METADATA_CSUM) &&
	    xw_bitmap_csum(sb, img->csum_seed, bits, bytes) != csum)
		rc = fail(img, XW_ERR_CHECKSUM, group, which, "checksum mismatch");
	return rc;
}

/* The clusters of the group that hold metadata: set them, or find that one is not. */
static bool each_meta(struct xw_image *img, const struct xw_sysmap *m, xw_blk start, uint64_t len,
		      bool set, uint8_t *bits)
{
	const uint32_t ratio = cluster_bits(img);
	uint64_t n;

	for (uint64_t at = 0; at < len; at += n) {
		bool meta;

		n = xw_sysmap_at(m, start + at, len - at, &meta);
		if (!meta)
			continue;
		if (set)
			set_bits(bits, at >> ratio, ((at + n - 1) >> ratio) + 1);
		for (uint64_t i = at >> ratio; i <= (at + n - 1) >> ratio; i++)
			if (!get_bit(bits, i))
				return false;
	}
	return true;
}

int xw_image_block_bitmap(struct xw_image *img, const struct xw_sysmap *m, uint64_t group,
			  uint8_t *bits)
{
	const struct xw_super *sb = &img->sb;
	const uint32_t per_group = xw_image_group_bits(img), bytes = per_group / 8;
	const uint32_t ratio = cluster_bits(img);
	const xw_blk start = sb->first_data_block + group * sb->blocks_per_group;
	struct xw_group_desc gd;
	uint64_t len;
	bool uninit;
	int rc;

	rc = xw_image_group(img, group, &gd);
	if (rc)
		return rc;
	if (per_group % 8 || bytes > img->block_size ||
	    (uint64_t)per_group << ratio != sb->blocks_per_group)
		return fail(img, XW_ERR_CORRUPT, group, "block", "impossible size");
	len = XW_MIN(sb->blocks_per_group, sb->blocks_count - start);
	uninit = tracks_use(img) && gd.flags & XW_BG_BLOCK_UNINIT;
	if (uninit)
		memset(bits, 0, bytes);
	else
		rc = read_bits(img, group, gd.block_bitmap, gd.block_bitmap_csum, "block", bits,
			       bytes);
	if (rc)
		return rc;
	if (!each_meta(img, m, start, len, uninit, bits))
		return fail(img, XW_ERR_CORRUPT, group, "block", "metadata counts as free");
	set_bits(bits, ((len - 1) >> ratio) + 1, per_group);
	if (count_clear(bits, bytes) != gd.free_blocks)
		return fail(img, XW_ERR_CORRUPT, group, "block",
			    "not as many are free as the descriptor says");
	return 0;
}

int xw_image_inode_bitmap(struct xw_image *img, uint64_t group, uint8_t *bits)
{
	const struct xw_super *sb = &img->sb;
	const uint32_t per_group = sb->inodes_per_group, bytes = (per_group + 7) / 8;
	const uint64_t before = group * per_group;
	struct xw_group_desc gd;
	uint64_t there;
	int rc;

	rc = xw_image_group(img, group, &gd);
	if (rc)
		return rc;
	if (bytes > img->block_size)
		return fail(img, XW_ERR_CORRUPT, group, "inode", "impossible size");
	if (tracks_use(img) && gd.flags & XW_BG_INODE_UNINIT)
		memset(bits, 0, bytes);
	else
		rc = read_bits(img, group, gd.inode_bitmap, gd.inode_bitmap_csum, "inode", bits,
			       bytes);
	if (rc)
		return rc;
	there = before < sb->inodes_count ? XW_MIN(per_group, sb->inodes_count - before) : 0;
	set_bits(bits, there, (uint64_t)bytes * 8);
	if (count_clear(bits, bytes) != gd.free_inodes)
		return fail(img, XW_ERR_CORRUPT, group, "inode",
			    "not as many are free as the descriptor says");
	return 0;
}
