// SPDX-License-Identifier: MIT
/*
 * Collects evidence that a block belongs to the inode table or is a bitmap of a group. Records are
 * compared with the inode bitmap and with their checksums, which depend on the inode number;
 * bitmaps are compared with their checksums.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/bytes.h"
#include "disk/extent.h"
#include "facts/dirs.h"
#include "phases/super.h"
#include "repairs/space.h"

enum {
	LINKS_MAX = 60000,
	LOOK_BLOCKS = 1 << 12, /* blocks of a table that are compared with its bitmap */
};

/* ---- records ---- */

static bool map_is_plausible(const struct xw_image *img, const struct xw_inode *in)
{
	const unsigned type = in->mode & XW_S_IFMT;
	struct xw_extent_hdr root;

	if (type != XW_S_IFREG && type != XW_S_IFDIR && type != XW_S_IFLNK)
		return !in->size && !(in->flags & (XW_FL_INLINE_DATA | XW_FL_EXTENTS));
	if (in->flags & XW_FL_INLINE_DATA)
		return true;
	if (in->flags & XW_FL_EXTENTS)
		return xw_extent_hdr_peek(in->block, &root) && root.entries <= root.max;
	if (type == XW_S_IFLNK && in->size < sizeof(in->block))
		return true;
	for (unsigned i = 0; i < 15; i++)
		if (xw_inode_slot(in, i) >= img->sb.blocks_count)
			return false;
	return true;
}

/* Could this be an inode, judging by its fields alone? */
static bool is_plausible(const struct xw_image *img, const struct xw_inode *in)
{
	const unsigned type = in->mode & XW_S_IFMT;
	static const uint16_t types[] = {XW_S_IFIFO, XW_S_IFCHR, XW_S_IFDIR, XW_S_IFBLK,
					 XW_S_IFREG, XW_S_IFLNK, XW_S_IFSOCK};
	bool known = !in->mode && !in->links;

	for (size_t i = 0; i < XW_ARRAY_SIZE(types); i++)
		known = known || type == types[i];
	return known && in->links <= LINKS_MAX && map_is_plausible(img, in);
}

/* Do size and i_block of the inode equal their backup in s_jnl_blocks? */
static bool is_saved_journal(const struct xw_super *sb, xw_ino ino, const struct xw_inode *in)
{
	if (!(sb->feature_compat & XW_COMPAT_HAS_JOURNAL) || ino != sb->journal_inum ||
	    sb->jnl_backup_type != 1 || (uint32_t)in->size != sb->jnl_blocks[16])
		return false;
	for (unsigned i = 0; i < 15; i++)
		if (xw_inode_slot(in, i) != sb->jnl_blocks[i])
			return false;
	return true;
}

/* Does a good record prove that it is inode `ino`? */
static bool is_proven(const struct fsck *f, xw_ino ino, const struct xw_inode *in)
{
	if (xw_super_has_csum(&f->ses.img->sb))
		return true;
	return is_saved_journal(&f->ses.img->sb, ino, in) ||
	       ((in->mode & XW_S_IFMT) == XW_S_IFDIR &&
		fsck_dir_names_itself(f->ses.dev, f->ses.img, ino, in, false));
}

static void examine_record(const struct fsck *f, xw_ino ino, const uint8_t *raw,
			   struct fsck_evidence *e)
{
	const struct xw_image *img = f->ses.img;
	const uint64_t index = (ino - 1) % img->sb.inodes_per_group;
	const bool bit = e->bits && e->bits[index / 8] >> index % 8 & 1;
	struct xw_inode in = {0};
	bool bad = false;

	if (!xw_all_zero(raw, img->inode_size)) {
		const bool decoded = !xw_inode_decode(raw, &img->sb, &in);
		const bool plausible = decoded && is_plausible(img, &in);

		bad = !decoded || (xw_super_has_csum(&img->sb)
					   ? xw_inode_verify(raw, &img->sb, img->csum_seed, ino)
					   : !plausible);
		e->bad += bad;
		e->good += !bad && in.mode;
		e->foreign += bad && !plausible;
		e->proven += e->prove && !bad && in.mode && is_proven(f, ino, &in);
	}
	if (!e->bits || bad || ino < img->sb.first_ino)
		return;
	e->hits += bit && in.links;
	e->misses += bit != (in.links != 0);
}

void fsck_table_block(const struct fsck *f, uint64_t group, uint64_t index, const uint8_t *buf,
		      struct fsck_evidence *e)
{
	const struct xw_image *img = f->ses.img;
	const uint32_t per_group = img->sb.inodes_per_group;
	const uint32_t per_block = img->block_size / img->inode_size;

	for (uint32_t i = 0; i < per_block && index + i < per_group; i++)
		examine_record(f, (xw_ino)(group * per_group + index + i + 1),
			       buf + (size_t)i * img->inode_size, e);
}

int fsck_table_evidence(struct fsck *f, uint64_t group, xw_blk blk, uint64_t n,
			struct fsck_evidence *e)
{
	const struct xw_image *img = f->ses.img;
	const uint32_t per_block = img->block_size / img->inode_size;
	auto_free uint8_t *buf = malloc(img->block_size);

	if (!buf)
		return xw_fail_nomem(&f->ses.diag, "an inode table");
	for (uint64_t b = 0; b < XW_MIN(n, img->itable_blocks); b++) {
		if (fsck_read(f, blk + b, 1, buf))
			e->bad++;
		else
			fsck_table_block(f, group, b * per_block, buf, e);
	}
	return 0;
}

bool fsck_table_index(const struct fsck *f, uint64_t group, const uint8_t *buf, uint64_t *k)
{
	const struct xw_image *img = f->ses.img;
	const uint32_t per_block = img->block_size / img->inode_size;
	const uint8_t *raw = buf;
	struct xw_inode in = {0};
	uint32_t i = 0;

	for (; i < per_block && !in.links; i++, raw += img->inode_size)
		if (xw_inode_decode(raw, &img->sb, &in) || !is_plausible(img, &in))
			return false;
	for (*k = 0, raw -= img->inode_size; in.links && *k < img->itable_blocks; ++*k)
		if (!xw_inode_verify(
			    raw, &img->sb, img->csum_seed,
			    (xw_ino)(group * img->sb.inodes_per_group + *k * per_block + i)))
			return true;
	*k = 0;
	return false;
}

bool fsck_table_is_plausible(const struct fsck_evidence *e)
{
	return e->good + e->proven > e->bad && e->hits >= e->misses;
}

bool fsck_table_is_unlikely(const struct fsck_evidence *e)
{
	return e->bad > e->good || e->misses > e->hits;
}

bool fsck_table_is_foreign(const struct fsck_evidence *e)
{
	return !e->good && e->foreign > e->bad / 2;
}

int64_t fsck_table_score(const struct fsck_evidence *e)
{
	return (int64_t)e->good + e->hits + 8 * (int64_t)e->proven -
	       4 * ((int64_t)e->bad + e->misses);
}

/* ---- bitmaps ---- */

static uint64_t count_zeros(const uint8_t *bits, uint64_t from, uint64_t end)
{
	uint64_t zeros = 0;

	for (uint64_t i = from; i < end; i++)
		zeros += !(bits[i / 8] >> i % 8 & 1);
	return zeros;
}

/* Without a checksum: are there `free` zeros in the first n bits, and is the padding all ones? */
static bool bits_agree(const struct xw_image *img, const uint8_t *bits, uint64_t n, uint64_t free)
{
	return !count_zeros(bits, n, 8 * (uint64_t)img->block_size) &&
	       count_zeros(bits, 0, n) == free;
}

bool fsck_block_bitmap_is_valid(struct fsck *f, uint64_t group, const struct xw_group_desc *gd,
				xw_blk blk)
{
	const struct xw_image *img = f->ses.img;
	auto_free uint8_t *bits = malloc(img->block_size);
	const uint64_t n = fsck_space_clusters(f, group);

	if (!bits || gd->flags & XW_BG_BLOCK_UNINIT || !xw_image_has_blocks(img, blk, 1) ||
	    fsck_read(f, blk, 1, bits))
		return false;
	if (!xw_super_has_csum(&img->sb))
		return bits_agree(img, bits, n, gd->free_blocks);
	return xw_bitmap_csum(&img->sb, img->csum_seed, bits, xw_image_group_bits(img) / 8) ==
	       gd->block_bitmap_csum;
}

bool fsck_inode_bitmap_is_valid(struct fsck *f, const struct xw_group_desc *gd, xw_blk blk,
				uint8_t *bits)
{
	const struct xw_image *img = f->ses.img;
	const uint32_t n = img->sb.inodes_per_group;

	if (gd->flags & XW_BG_INODE_UNINIT || !xw_image_has_blocks(img, blk, 1) ||
	    n > 8 * img->block_size || fsck_read(f, blk, 1, bits))
		return false;
	if (!xw_super_has_csum(&img->sb))
		return bits_agree(img, bits, n, gd->free_inodes);
	return xw_bitmap_csum(&img->sb, img->csum_seed, bits, n / 8) == gd->inode_bitmap_csum;
}

/* Are the bits of these blocks set, as far as they are in the group? */
static bool has_bits(const struct fsck *f, uint64_t group, const uint8_t *bits, xw_blk blk,
		     uint64_t len)
{
	const struct xw_image *img = f->ses.img;
	const unsigned shift = xw_image_cluster_bits(img);
	const xw_blk start = img->sb.first_data_block + group * (uint64_t)img->sb.blocks_per_group;
	const xw_blk end = start + ((uint64_t)fsck_space_clusters(f, group) << shift);

	for (xw_blk at = XW_MAX(blk, start); at < XW_MIN(blk + len, end); at++) {
		const uint64_t bit = (at - start) >> shift;

		if (!(bits[bit / 8] >> bit % 8 & 1))
			return false;
	}
	return true;
}

bool fsck_block_bitmap_is_plausible(struct fsck *f, uint64_t group, const struct xw_group_desc *gd,
				    xw_blk blk)
{
	const struct xw_image *img = f->ses.img;
	auto_free uint8_t *bits = malloc(img->block_size);
	const uint64_t n = fsck_space_clusters(f, group);
	struct xw_group_head h;

	if (!bits || !xw_image_has_blocks(img, blk, 1) || fsck_read(f, blk, 1, bits) ||
	    count_zeros(bits, n, 8 * (uint64_t)img->block_size) ||
	    (gd->free_blocks && !count_zeros(bits, 0, n)))
		return false;
	xw_image_group_head(img, group, &h);
	return has_bits(f, group, bits, h.super, h.has_super + h.desc_len + h.reserved_len) &&
	       has_bits(f, group, bits, gd->block_bitmap, 1) &&
	       has_bits(f, group, bits, gd->inode_bitmap, 1) &&
	       has_bits(f, group, bits, gd->inode_table, img->itable_blocks);
}

bool fsck_inode_bitmap_is_plausible(struct fsck *f, uint64_t group, const struct xw_group_desc *gd,
				    xw_blk blk)
{
	const struct xw_image *img = f->ses.img;
	auto_free uint8_t *bits = malloc(img->block_size);
	const uint64_t n = img->sb.inodes_per_group, end = 8 * (uint64_t)img->block_size;
	/* the unused part of the table may never have been zeroed */
	const uint64_t unused = xw_super_has_group_csum(&img->sb) ? gd->itable_unused : 0;
	const uint64_t used = xw_div_up(n - XW_MIN(unused, n), img->block_size / img->inode_size);
	const uint64_t table = XW_MIN(used, (uint64_t)LOOK_BLOCKS);
	/* most of the reserved inodes have no links */
	const unsigned reserved = group ? 0 : img->sb.first_ino;
	struct fsck_evidence e = {.bits = bits};

	if (!bits || !xw_image_has_blocks(img, blk, 1) || n > end || fsck_read(f, blk, 1, bits) ||
	    count_zeros(bits, n, end) || fsck_table_evidence(f, group, gd->inode_table, table, &e))
		return false;
	return e.misses <= e.hits / 8 + reserved && (n < end || e.hits);
}
