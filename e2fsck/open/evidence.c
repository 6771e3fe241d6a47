// SPDX-License-Identifier: MIT
/*
 * How well a superblock fits the device on which it was found: a penalty, 0 and below if nothing
 * contradicts it. It is used to choose among copies and to judge single fields, so it depends on
 * data located by the geometry alone: descriptors, the root directory's inode, and checksums.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "disk/extent.h"
#include "facts/dirs.h"
#include "open/open.h"

enum {
	UNUSABLE = 1000,
	UNKNOWN_FEATURE = 50,
	FAULTS_MAX = 16,
	SAMPLES = 16, /* groups that are looked at */
	CHUNK = 1 << 20,
	ROOT_SEARCH = 1 << 18, /* blocks in which the root's table is searched */
};

#define COMPAT_KNOWN                                                                               \
	(XW_COMPAT_DIR_PREALLOC | 0x0002u | XW_COMPAT_HAS_JOURNAL | XW_COMPAT_EXT_ATTR |           \
	 XW_COMPAT_RESIZE_INODE | XW_COMPAT_DIR_INDEX | XW_COMPAT_SPARSE_SUPER2 |                  \
	 XW_COMPAT_FAST_COMMIT | XW_COMPAT_STABLE_INODES | XW_COMPAT_ORPHAN_FILE)
#define INCOMPAT_KNOWN                                                                             \
	(XW_INCOMPAT_FILETYPE | XW_INCOMPAT_RECOVER | XW_INCOMPAT_META_BG | XW_INCOMPAT_EXTENTS |  \
	 XW_INCOMPAT_64BIT | XW_INCOMPAT_MMP | XW_INCOMPAT_FLEX_BG | XW_INCOMPAT_EA_INODE |        \
	 XW_INCOMPAT_CSUM_SEED | XW_INCOMPAT_LARGEDIR | XW_INCOMPAT_INLINE_DATA |                  \
	 XW_INCOMPAT_ENCRYPT | XW_INCOMPAT_CASEFOLD | XW_INCOMPAT_PENDING |                        \
	 XW_INCOMPAT_JOURNAL_DEV)
#define RO_KNOWN                                                                                   \
	(XW_RO_SPARSE_SUPER | XW_RO_LARGE_FILE | XW_RO_HUGE_FILE | XW_RO_GDT_CSUM |                \
	 XW_RO_DIR_NLINK | XW_RO_EXTRA_ISIZE | XW_RO_QUOTA | XW_RO_BIGALLOC |                      \
	 XW_RO_METADATA_CSUM | XW_RO_READONLY | XW_RO_PROJECT | XW_RO_SHARED_BLOCKS |              \
	 XW_RO_VERITY | XW_RO_ORPHAN_PRESENT | XW_RO_ITREE)

struct fsck_unknown fsck_unknown_features(const struct xw_super *sb)
{
	return (struct fsck_unknown){
		.compat = sb->feature_compat & ~COMPAT_KNOWN,
		.incompat = sb->feature_incompat & ~INCOMPAT_KNOWN,
		.ro = sb->feature_ro_compat & ~RO_KNOWN,
	};
}

/* Features that no tool has ever set together. */
static bool contradicts(const struct xw_super *sb)
{
	const uint32_t compat = sb->feature_compat, incompat = sb->feature_incompat;
	const uint32_t ro = sb->feature_ro_compat;

	return (ro & XW_RO_METADATA_CSUM && ro & XW_RO_GDT_CSUM) ||
	       (ro & XW_RO_BIGALLOC && !(incompat & XW_INCOMPAT_EXTENTS)) ||
	       (!(ro & XW_RO_METADATA_CSUM) && incompat & XW_INCOMPAT_CSUM_SEED) ||
	       (!(compat & XW_COMPAT_ORPHAN_FILE) && ro & XW_RO_ORPHAN_PRESENT) ||
	       (incompat & XW_INCOMPAT_META_BG && compat & XW_COMPAT_RESIZE_INODE);
}

/*
 * A newer version adds features and drops none: filetype, and with checksums one of the two below,
 * must be set in the word with the unknown bit.
 */
static bool lacks_usual(const struct xw_super *sb, const struct fsck_unknown *u)
{
	return (u->incompat && !(sb->feature_incompat & XW_INCOMPAT_FILETYPE)) ||
	       (u->ro && sb->feature_ro_compat & XW_RO_METADATA_CSUM &&
		!(sb->feature_ro_compat & (XW_RO_SPARSE_SUPER | XW_RO_LARGE_FILE)));
}

static unsigned count_bits(uint32_t a, uint32_t b, uint32_t c)
{
	return (unsigned)(__builtin_popcount(a) + __builtin_popcount(b) + __builtin_popcount(c));
}

bool fsck_features_are_implausible(const struct xw_super *sb)
{
	const struct fsck_unknown u = fsck_unknown_features(sb);
	const unsigned n = count_bits(u.compat, u.incompat, u.ro);

	return n && (n > FSCK_UNKNOWN_MAX || contradicts(sb) || lacks_usual(sb, &u));
}

bool fsck_super_is_newer(const struct xw_super *sb, const struct xw_super *mended)
{
	const struct fsck_unknown u = fsck_unknown_features(sb);
	const unsigned unknown = count_bits(u.compat, u.incompat, u.ro);
	const unsigned differ = count_bits(sb->feature_compat ^ mended->feature_compat,
					   sb->feature_incompat ^ mended->feature_incompat,
					   sb->feature_ro_compat ^ mended->feature_ro_compat);
	struct xw_super rest = *mended;

	rest.feature_compat = sb->feature_compat;
	rest.feature_incompat = sb->feature_incompat;
	rest.feature_ro_compat = sb->feature_ro_compat;
	/* A newer version only adds bits, and the known ones do not contradict each other. */
	if (mended->feature_compat & ~sb->feature_compat ||
	    mended->feature_incompat & ~sb->feature_incompat ||
	    mended->feature_ro_compat & ~sb->feature_ro_compat || fsck_features_are_implausible(sb))
		return false;
	return unknown && unknown <= FSCK_UNKNOWN_MAX && differ <= 2 * FSCK_UNKNOWN_MAX &&
	       !memcmp(&rest, sb, sizeof(rest));
}

uint32_t fsck_first_block(const struct xw_super *sb)
{
	return !sb->log_block_size &&
	       !(sb->feature_ro_compat & XW_RO_BIGALLOC && sb->log_cluster_size);
}

/*
 * Number of fields that keep the filesystem from being opened; counted, so that repairing one of
 * several is an improvement.
 */
static unsigned faults(const struct xw_super *sb)
{
	uint8_t raw[XW_SUPER_SIZE];
	struct xw_super again;
	uint64_t table;
	unsigned n = 0;

	if (sb->log_block_size > XW_LOG_BLOCK_MAX)
		return FAULTS_MAX;
	xw_super_encode(sb, raw);
	n += xw_super_decode(raw, &again) != 0;
	table = (uint64_t)sb->inodes_per_group * sb->inode_size / xw_super_block_size(sb);
	n += sb->first_data_block != fsck_first_block(sb);
	n += sb->blocks_count > XW_BLK_MAX || fsck_first_block(sb) >= sb->blocks_count;
	n += sb->blocks_per_group < 8;
	n += sb->inodes_per_group < 8 || table >= sb->blocks_count;
	n += sb->rev_level > 1;
	n += xw_super_desc_size(sb) > xw_super_block_size(sb);
	n += !!(sb->feature_incompat & XW_INCOMPAT_JOURNAL_DEV);
	return n ? n : xw_super_groups(sb) > UINT32_MAX;
}

bool fsck_super_usable(const struct xw_super *sb)
{
	return !faults(sb);
}

/* Counts that contradict each other. */
static int judge_counts(const struct xw_super *sb, uint64_t size)
{
	const uint32_t bs = xw_super_block_size(sb);
	const bool bigalloc = sb->feature_ro_compat & XW_RO_BIGALLOC;
	const uint32_t features = sb->feature_compat | sb->feature_incompat | sb->feature_ro_compat;
	int bad = 0;

	bad += 4 * (sb->inodes_count != xw_super_groups(sb) * sb->inodes_per_group);
	bad += 4 * (sb->blocks_count > size / bs);
	if (bigalloc) {
		const unsigned ratio = sb->log_cluster_size - sb->log_block_size;

		bad += 4 * ((uint64_t)sb->clusters_per_group << ratio != sb->blocks_per_group);
		bad += 2 * (sb->clusters_per_group % 8 != 0);
	} else {
		bad += 2 * (sb->log_cluster_size != sb->log_block_size);
		bad += 2 * (sb->clusters_per_group != sb->blocks_per_group);
	}
	bad += 2 * (sb->blocks_per_group % 8 || sb->inodes_per_group % 8);
	bad += 2 * (sb->rev_level == 0 && features);
	bad += sb->rev_level && sb->first_ino != 11;
	bad += sb->log_groups_per_flex > 31;
	bad += sb->rev_level && sb->journal_inum && sb->journal_inum != XW_INO_JOURNAL &&
	       (sb->journal_inum < sb->first_ino || sb->journal_inum > sb->inodes_count);
	bad += 2 * (sb->reserved_gdt_blocks > bs / 4);
	bad += sb->feature_ro_compat & XW_RO_METADATA_CSUM && sb->checksum_type != 1;
	return bad;
}

int fsck_super_conflicts(const struct xw_super *sb)
{
	if (!fsck_super_usable(sb))
		return UNUSABLE * (int)faults(sb);
	return judge_counts(sb, UINT64_MAX) + contradicts(sb) + fsck_features_are_implausible(sb);
}

/* Is the inode in this slot of group 0's table that of the root directory? */
static int judge_root(struct xw_dev *dev, const struct xw_image *img, xw_blk table, bool unknown)
{
	/* A superblock that is tried may have an impossible inode size. */
	const bool sound = img->inode_size >= XW_INODE_BODY &&
			   !(img->inode_size & (img->inode_size - 1)) &&
			   img->inode_size == img->sb.inode_size;
	auto_free uint8_t *raw = sound ? malloc(img->inode_size) : NULL;
	struct xw_inode in;

	if (!raw ||
	    xw_dev_pread(dev, raw, img->inode_size, table * img->block_size + img->inode_size))
		return 6;
	(void)xw_inode_decode(raw, &img->sb, &in);
	if ((in.mode & XW_S_IFMT) != XW_S_IFDIR)
		return 6;
	if (xw_super_has_csum(&img->sb) &&
	    !xw_inode_verify(raw, &img->sb, img->csum_seed, XW_INO_ROOT))
		return -2;
	/*
	 * The record of any directory could be here, so its first block must have the root's
	 * entries.
	 */
	if (!fsck_dir_names_itself(dev, img, XW_INO_ROOT, &in, unknown))
		return 6;
	return xw_super_has_csum(&img->sb) ? 4 : 0;
}

bool fsck_is_root_table(struct xw_dev *dev, const struct xw_image *img, xw_blk table)
{
	return judge_root(dev, img, table, true) <= 0;
}

/*
 * Does the group's metadata overlap descriptors or reserved descriptors? A single overlapping
 * location may be damage of the descriptor, unless it is the table with the root directory.
 */
static bool head_overlaps(struct xw_dev *dev, const struct xw_image *img,
			  const struct xw_group_desc *gd, uint64_t group)
{
	struct xw_group_head h;
	xw_blk end;
	bool table;

	xw_image_group_head(img, group, &h);
	end = h.super + h.has_super + h.desc_len + h.reserved_len;
	table = gd->inode_table < end && gd->inode_table + img->itable_blocks > h.super;
	if (table && !group && fsck_is_root_table(dev, img, gd->inode_table))
		return true;
	return table + (gd->block_bitmap >= h.super && gd->block_bitmap < end) +
		       (gd->inode_bitmap >= h.super && gd->inode_bitmap < end) >=
	       2;
}

/* The first bit of the padding with ones at the end of a bitmap of n bits. */
static uint32_t padding_start(const uint8_t *bits, uint32_t n)
{
	while (n && bits[(n - 1) / 8] >> (n - 1) % 8 & 1)
		n--;
	return n;
}

/* Does the padding of the group's bitmap start at bit `end`? */
static bool bitmap_ends(struct xw_dev *dev, const struct xw_super *sb, bool inodes, uint64_t group,
			uint32_t end)
{
	auto_quiet quiet = fsck_quiet(&dev->diag);
	auto_free uint8_t *bits = NULL;
	struct xw_group_desc gd;
	struct xw_image img;
	xw_blk blk;

	fsck_image_on(&img, dev, sb);
	if (end >= 8 * img.block_size || !fsck_desc_read(&img, group, &gd))
		return false;
	blk = inodes ? gd.inode_bitmap : gd.block_bitmap;
	bits = malloc(img.block_size);
	return bits && xw_image_has_blocks(&img, blk, 1) &&
	       !xw_dev_pread(dev, bits, img.block_size, blk * img.block_size) &&
	       padding_start(bits, 8 * img.block_size) == end;
}

bool fsck_bitmap_ends(struct xw_dev *dev, const struct xw_super *sb)
{
	return fsck_super_usable(sb) && bitmap_ends(dev, sb, true, 0, sb->inodes_per_group);
}

bool fsck_clusters_end(struct xw_dev *dev, const struct xw_super *sb)
{
	uint64_t group, blocks;

	if (!fsck_super_usable(sb))
		return false;
	group = xw_super_groups(sb) - 1;
	blocks = sb->blocks_count - sb->first_data_block - group * sb->blocks_per_group;
	blocks = xw_div_up(blocks, UINT64_C(1) << (sb->log_cluster_size - sb->log_block_size));
	return blocks < UINT32_MAX && bitmap_ends(dev, sb, false, group, (uint32_t)blocks);
}

/* The number of bits before the padding of a valid block bitmap; 0: it may be damaged. */
static uint32_t counted_bits(struct xw_dev *dev, const struct xw_image *img,
			     const struct xw_group_desc *gd)
{
	const uint32_t bytes = img->sb.clusters_per_group / 8;
	uint32_t end, free = 0;
	auto_free uint8_t *bits = malloc(img->block_size);

	if (!bits || bytes > img->block_size || gd->flags & XW_BG_BLOCK_UNINIT ||
	    !gd->block_bitmap ||
	    xw_dev_pread(dev, bits, img->block_size, gd->block_bitmap * img->block_size))
		return 0;
	end = padding_start(bits, 8 * img->block_size);
	for (uint32_t i = 0; i < end; i++)
		free += !(bits[i / 8] >> i % 8 & 1);
	if (xw_super_has_csum(&img->sb) &&
	    xw_bitmap_csum(&img->sb, img->csum_seed, bits, bytes) != gd->block_bitmap_csum)
		return 0;
	return free == gd->free_blocks ? XW_MIN(end, img->sb.clusters_per_group) : 0;
}

uint64_t fsck_counted_blocks(struct xw_dev *dev, const struct xw_super *sb)
{
	auto_quiet quiet = fsck_quiet(&dev->diag);
	struct xw_group_desc gd;
	struct xw_image img;
	uint64_t group, count;

	if (!fsck_super_usable(sb) || !sb->inodes_count || sb->inodes_count % sb->inodes_per_group)
		return sb->blocks_count;
	group = sb->inodes_count / sb->inodes_per_group - 1;
	if (group < xw_super_groups(sb) - 1)
		return sb->blocks_count;
	fsck_image_on(&img, dev, sb);
	if (!fsck_desc_read(&img, group, &gd))
		return sb->blocks_count;
	count = (uint64_t)counted_bits(dev, &img, &gd) << xw_image_cluster_bits(&img);
	if (count)
		count += sb->first_data_block + group * sb->blocks_per_group;
	return count > sb->blocks_count && count <= dev->size / img.block_size ? count
									       : sb->blocks_count;
}

static int judge_groups(struct xw_dev *dev, const struct xw_image *img)
{
	const bool sums = xw_super_has_group_csum(&img->sb);
	const uint64_t n = XW_MIN(img->groups, SAMPLES);
	unsigned bad_places = 0, bad_sums = 0, overlaps = 0, in_head = 0;
	xw_blk last = 0;
	bool fits;
	int bad = 0;

	for (uint64_t g = 0; g < n; g++) {
		uint8_t raw[FSCK_DESC_MAX];
		struct xw_group_desc gd;

		if (!fsck_desc_read_raw(img, g, raw)) {
			bad_places++;
			continue;
		}
		xw_group_decode(raw, img->desc_size, &gd);
		if (!gd.block_bitmap && !gd.inode_bitmap && !gd.inode_table) {
			/* empty: a checksum of zeros with seed zero proves nothing */
			bad_places++;
			bad_sums++;
			bad += g ? 0 : 6;
			continue;
		}
		fits = fsck_group_has_places(img, g, &gd);
		bad_places += !fits;
		in_head += fits && head_overlaps(dev, img, &gd, g);
		bad_sums += sums && xw_group_verify(raw, &img->sb, img->csum_seed, (uint32_t)g);
		overlaps +=
			g && gd.inode_table > last && gd.inode_table - last < img->itable_blocks;
		last = gd.inode_table;
		if (!g)
			bad += judge_root(dev, img, gd.inode_table, true);
	}
	bad += (int)(8 * bad_places / n) + !!bad_places + (overlaps ? 4 : 0) + (in_head ? 8 : 0);
	if (sums)
		bad += !bad_sums ? -2 : bad_sums < n ? -1 : 8; /* some may be damaged */
	return bad;
}

int fsck_super_ideal(const struct xw_super *sb)
{
	const bool csum = xw_super_has_csum(sb);

	return (csum ? -2 : 0) + (csum || sb->feature_ro_compat & XW_RO_GDT_CSUM ? -2 : 0);
}

static bool has_root_table(struct xw_dev *dev, const struct xw_image *img)
{
	const xw_blk end = XW_MIN(img->sb.blocks_count, (xw_blk)ROOT_SEARCH);
	const uint32_t bs = img->block_size;
	/* the record of the root is the second of its table, and may be in its second block */
	const uint32_t more = 2 * img->inode_size > bs;
	auto_free uint8_t *buf = malloc(CHUNK + (size_t)more * bs);

	for (xw_blk blk = img->sb.first_data_block, n; buf && blk + more < end; blk += n) {
		n = XW_MIN((uint64_t)CHUNK / bs, end - more - blk);
		if (xw_dev_pread(dev, buf, (n + more) * bs, blk * bs))
			continue;
		for (uint64_t i = 0; i < n; i++)
			if ((xw_inode_raw_mode(buf + i * bs + img->inode_size) & XW_S_IFMT) ==
				    XW_S_IFDIR &&
			    judge_root(dev, img, blk + i, false) <= 0)
				return true;
	}
	return false;
}

bool fsck_root_is_elsewhere(struct xw_dev *dev, const struct xw_super *sb)
{
	auto_quiet quiet = fsck_quiet(&dev->diag); /* an unreadable block has no table */
	struct xw_group_desc gd;
	struct xw_image img;

	if (!fsck_super_usable(sb))
		return false;
	fsck_image_on(&img, dev, sb);
	return img.inode_size >= XW_INODE_BODY && img.inode_size < img.block_size &&
	       fsck_desc_read(&img, 0, &gd) && !fsck_is_root_table(dev, &img, gd.inode_table) &&
	       has_root_table(dev, &img);
}

int fsck_super_penalty(struct xw_dev *dev, const struct xw_super *sb)
{
	auto_quiet quiet = fsck_quiet(&dev->diag); /* an unreadable block only counts against sb */
	const struct fsck_unknown unknown = fsck_unknown_features(sb);
	struct xw_image img;
	int bad = 0;

	if (!fsck_super_usable(sb))
		return UNUSABLE * (int)faults(sb);
	fsck_image_on(&img, dev, sb);
	if (unknown.compat || unknown.incompat || unknown.ro)
		bad += UNKNOWN_FEATURE;
	return bad + judge_counts(sb, dev->size) + judge_groups(dev, &img);
}

bool fsck_group_has(const struct xw_image *img, uint64_t group, xw_blk blk, uint64_t len)
{
	const struct xw_super *sb = &img->sb;
	const xw_blk start = sb->first_data_block + group * sb->blocks_per_group;
	const xw_blk end = XW_MIN(start + sb->blocks_per_group, sb->blocks_count);

	if (!xw_image_has_blocks(img, blk, len))
		return false;
	return sb->feature_incompat & XW_INCOMPAT_FLEX_BG || (blk >= start && blk + len <= end);
}

bool fsck_group_has_places(const struct xw_image *img, uint64_t group,
			   const struct xw_group_desc *gd)
{
	return fsck_group_has(img, group, gd->block_bitmap, 1) &&
	       fsck_group_has(img, group, gd->inode_bitmap, 1) &&
	       fsck_group_has(img, group, gd->inode_table, img->itable_blocks);
}

bool fsck_hash_is_unknown(const struct xw_super *sb)
{
	return sb->feature_compat & XW_COMPAT_DIR_INDEX && sb->def_hash_version > XW_DX_TEA;
}

/* ---- witnesses ---- */

static bool is_empty(const struct xw_group_desc *gd)
{
	return !gd->block_bitmap && !gd->inode_bitmap && !gd->inode_table;
}

/* Are the primary descriptors lost, so that those behind the backup in block `copy` count? */
static bool primary_is_lost(const struct xw_image *img, xw_blk copy)
{
	struct xw_group_desc gd;

	return copy && !(img->sb.feature_incompat & XW_INCOMPAT_META_BG) &&
	       (!fsck_desc_read(img, 0, &gd) || is_empty(&gd) ||
		!fsck_group_has_places(img, 0, &gd));
}

static bool read_desc(const struct xw_image *img, uint64_t group, xw_blk copy,
		      uint8_t raw[FSCK_DESC_MAX])
{
	const uint64_t at = (copy + 1) * img->block_size + group * img->desc_size;

	if (!copy)
		return fsck_desc_read_raw(img, group, raw);
	return img->desc_size <= FSCK_DESC_MAX && !xw_dev_pread(img->dev, raw, img->desc_size, at);
}

/* The padding of a bitmap in use starts behind the group's last inode. */
static void see_bitmap(const struct xw_image *img, const struct xw_group_desc *gd, uint8_t *bits,
		       struct fsck_witness *w)
{
	const uint32_t per_group = img->sb.inodes_per_group, all = 8 * img->block_size;
	uint32_t end;

	if (gd->flags & XW_BG_INODE_UNINIT || !gd->free_inodes || per_group >= all ||
	    xw_dev_pread(img->dev, bits, img->block_size, gd->inode_bitmap * img->block_size))
		return;
	end = padding_start(bits, all);
	w->bitmaps++;
	w->padded += end == per_group ||
		     (end < per_group && per_group - end <= per_group / 4 && end + 8 > per_group);
}

static void see_group(const struct xw_image *img, uint64_t group, const uint8_t *raw, uint8_t *bits,
		      struct fsck_witness *w)
{
	struct xw_group_desc gd;

	xw_group_decode(raw, img->desc_size, &gd);
	if (is_empty(&gd)) {
		w->empty++;
		return;
	}
	if (!fsck_group_has_places(img, group, &gd))
		return;
	w->placed++;
	w->proven += w->sums && !xw_group_verify(raw, &img->sb, img->csum_seed, (uint32_t)group);
	see_bitmap(img, &gd, bits, w);
	if (!group)
		w->root = judge_root(img->dev, img, gd.inode_table, true) <= 0;
}

/*
 * Are there descriptors and a root directory of a filesystem with another size of blocks? They are
 * elsewhere, so those of the last one are still there if an older filesystem had smaller blocks.
 */
static bool has_rival(struct xw_dev *dev, const struct xw_super *sb)
{
	struct xw_super other = *sb;
	struct xw_group_desc gd;
	struct xw_image img;

	other.feature_incompat &= ~(XW_INCOMPAT_64BIT | XW_INCOMPAT_META_BG);
	other.feature_ro_compat &= ~(XW_RO_METADATA_CSUM | XW_RO_GDT_CSUM | XW_RO_BIGALLOC);
	for (unsigned log = 0; log <= XW_LOG_BLOCK_MAX; log++) {
		other.log_block_size = other.log_cluster_size = log;
		other.first_data_block = fsck_first_block(&other);
		other.blocks_count = dev->size / xw_super_block_size(&other);
		for (unsigned size = 128; log != sb->log_block_size && size <= 1024; size *= 2) {
			other.inode_size = (uint16_t)size;
			if (!fsck_super_usable(&other))
				continue;
			fsck_image_on(&img, dev, &other);
			if (fsck_desc_read(&img, 0, &gd) && gd.block_bitmap && gd.inode_bitmap &&
			    xw_image_has_blocks(&img, gd.inode_table, 1) &&
			    fsck_is_root_table(dev, &img, gd.inode_table))
				return true;
		}
	}
	return false;
}

void fsck_witness_collect(struct xw_dev *dev, const struct xw_super *sb, xw_blk copy,
			  struct fsck_witness *w)
{
	auto_quiet quiet = fsck_quiet(&dev->diag); /* an unreadable block says nothing */
	auto_free uint8_t *bits = NULL;
	uint8_t raw[FSCK_DESC_MAX];
	struct xw_image img;
	xw_blk from;

	*w = (struct fsck_witness){.usable = fsck_super_usable(sb),
				   .conflicts = fsck_super_conflicts(sb),
				   .sums = xw_super_has_group_csum(sb)};
	if (!w->usable)
		return;
	fsck_image_on(&img, dev, sb);
	from = primary_is_lost(&img, copy) ? copy : 0;
	w->sums &= !from; /* a backup's descriptors agree with the backup by nature */
	w->rival = from && has_rival(dev, sb);
	w->groups = (unsigned)XW_MIN(img.groups, (uint64_t)SAMPLES);
	bits = malloc(img.block_size);
	for (unsigned i = 0; bits && i < w->groups; i++) {
		const bool last = i == w->groups - 1;
		const unsigned empty = w->empty;
		const uint64_t group = last ? img.groups - 1 : i;

		if (read_desc(&img, group, from, raw))
			see_group(&img, group, raw, bits, w);
		w->cut |= last && w->empty > empty;
	}
}

const char *fsck_witness_against(const struct fsck_witness *w)
{
	const bool proven = w->sums && 2 * w->proven >= w->groups;

	if (!w->usable)
		return "no filesystem can be opened with it";
	if (w->conflicts)
		return "its fields contradict each other";
	if (w->rival)
		return "another filesystem with other blocks is on the device";
	if (2 * w->placed < w->groups || w->cut || (w->empty && !proven))
		return "there are no descriptors where it says";
	if (w->sums && !proven)
		return "the descriptors are those of another filesystem";
	if (!w->root && !proven)
		return "there is no root directory where it says";
	if (2 * w->padded < w->bitmaps)
		return "the bitmaps are of other sizes";
	return NULL;
}
