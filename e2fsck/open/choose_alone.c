// SPDX-License-Identifier: MIT
/*
 * Mends a superblock without a backup: possible values of fields are tried, and the superblock that
 * fits the device best (evidence.c) is kept.
 */
#include "config.h"

#include <string.h>

#include "base/crc.h"
#include "base/endian.h"
#include "open/open.h"

struct trial {
	struct xw_dev *dev;
	struct xw_super best;
	int bad;
	bool damaged; /* the superblock has a wrong checksum, or cannot be used */
	uint32_t sum; /* the stored checksum: only the original superblock matches it */
};

enum {
	CERTAIN = 500,
	BLOCKS_AT = 4,
	COMPAT_AT = 0x5C,
	RO_COMPAT_AT = 0x64,
	SUM_AT = XW_SUPER_SIZE - 4,
	FEW = 4, /* bits of a feature word */
};

static void try_super(struct trial *t, const struct xw_super *sb)
{
	int bad = fsck_super_penalty(t->dev, sb);
	uint8_t raw[XW_SUPER_SIZE];

	if (t->damaged && xw_super_has_csum(sb)) {
		xw_super_encode(sb, raw);
		if (xw_super_stored_csum(raw) == t->sum)
			bad -= CERTAIN;
	}
	if (bad < t->bad) {
		t->bad = bad;
		t->best = *sb;
	}
}

/* Try a copy of the superblock with another value of one field. */
#define TRY_FIELD(t, from, field, value)                                                           \
	do {                                                                                       \
		struct xw_super tried_ = *(from);                                                  \
                                                                                                   \
		tried_.field = (value);                                                            \
		try_super((t), &tried_);                                                           \
	} while (0)

#define ANY_TOOL_COMPAT                                                                            \
	(XW_COMPAT_HAS_JOURNAL | XW_COMPAT_EXT_ATTR | XW_COMPAT_RESIZE_INODE | XW_COMPAT_DIR_INDEX)
#define RARE_INCOMPAT (XW_INCOMPAT_PENDING | XW_INCOMPAT_JOURNAL_DEV)
#define RARE_RO (XW_RO_READONLY | XW_RO_SHARED_BLOCKS | XW_RO_ITREE | XW_RO_ORPHAN_PRESENT)

/*
 * A feature word with many unknown bits is garbage, so its known bits prove nothing either. Bits
 * that are harmless if unused stay; others stay only with a number in the superblock, or if the
 * device supports them. A valid itree sets its bit again.
 */
static bool drop_garbage(struct xw_super *sb)
{
	const struct fsck_unknown u = fsck_unknown_features(sb);
	const bool quota = sb->usr_quota_inum || sb->grp_quota_inum || sb->prj_quota_inum;
	const struct xw_super was = *sb;

	if (__builtin_popcount(u.compat) > FSCK_UNKNOWN_MAX)
		sb->feature_compat &=
			ANY_TOOL_COMPAT | (sb->orphan_file_inum ? XW_COMPAT_ORPHAN_FILE : 0);
	if (__builtin_popcount(u.incompat) > FSCK_UNKNOWN_MAX &&
	    sb->feature_compat & XW_COMPAT_RESIZE_INODE)
		sb->feature_incompat &= ~XW_INCOMPAT_META_BG;
	if (__builtin_popcount(u.incompat) > FSCK_UNKNOWN_MAX)
		sb->feature_incompat &=
			~(u.incompat | RARE_INCOMPAT | (sb->mmp_block ? 0 : XW_INCOMPAT_MMP));
	if (__builtin_popcount(u.ro) > FSCK_UNKNOWN_MAX)
		sb->feature_ro_compat &= ~(u.ro | RARE_RO | (quota ? 0 : XW_RO_QUOTA));
	return memcmp(sb, &was, sizeof(was)) != 0;
}

static void try_plain_features(struct trial *t, const struct xw_super *from)
{
	static const uint32_t ro[] = {0, XW_RO_METADATA_CSUM, XW_RO_GDT_CSUM};
	static const uint32_t incompat[] = {XW_INCOMPAT_64BIT, XW_INCOMPAT_META_BG,
					    XW_INCOMPAT_CSUM_SEED};
	struct xw_super plain = *from;

	if (!drop_garbage(&plain))
		return;
	for (unsigned i = 0; i < 2 * XW_ARRAY_SIZE(ro); i++)
		for (unsigned bits = 0; bits < 1u << XW_ARRAY_SIZE(incompat); bits++) {
			struct xw_super sb = plain;

			sb.feature_ro_compat &=
				~(XW_RO_METADATA_CSUM | XW_RO_GDT_CSUM | XW_RO_BIGALLOC);
			sb.feature_ro_compat |= ro[i / 2] | (i % 2 ? XW_RO_BIGALLOC : 0);
			for (unsigned k = 0; k < XW_ARRAY_SIZE(incompat); k++)
				sb.feature_incompat ^= bits >> k & 1 ? incompat[k] : 0;
			sb.checksum_type = ro[i / 2] == XW_RO_METADATA_CSUM;
			try_super(t, &sb);
		}
}

/*
 * Features that the geometry depends on. Checksums in use may be detected, but some wrong ones are
 * no reason to clear the feature; unknown bits may belong to a newer version.
 */
static void try_features(struct trial *t, const struct xw_super *from)
{
	static const uint32_t incompat[] = {XW_INCOMPAT_64BIT, XW_INCOMPAT_META_BG,
					    XW_INCOMPAT_JOURNAL_DEV, XW_INCOMPAT_CSUM_SEED};
	const uint32_t ro = from->feature_ro_compat;

	try_plain_features(t, from);
	for (size_t i = 0; i < XW_ARRAY_SIZE(incompat); i++)
		TRY_FIELD(t, from, feature_incompat, from->feature_incompat ^ incompat[i]);
	TRY_FIELD(t, from, feature_ro_compat, ro ^ XW_RO_BIGALLOC);
	TRY_FIELD(t, from, feature_ro_compat, ro | XW_RO_METADATA_CSUM);
	TRY_FIELD(t, from, feature_ro_compat, ro | XW_RO_GDT_CSUM);
	if (t->damaged || fsck_features_are_implausible(from)) {
		const struct fsck_unknown u = fsck_unknown_features(from);
		struct xw_super sb = *from;

		sb.feature_compat &= ~u.compat;
		sb.feature_incompat &= ~u.incompat;
		sb.feature_ro_compat &= ~u.ro;
		try_super(t, &sb);
	}
}

static void try_sizes(struct trial *t, const struct xw_super *from)
{
	struct xw_super sb = *from;

	/* Before other block sizes, which imply the same block. */
	sb.first_data_block = fsck_first_block(&sb);
	try_super(t, &sb);
	for (sb.log_block_size = 0; sb.log_block_size <= XW_LOG_BLOCK_MAX; sb.log_block_size++) {
		sb.first_data_block = fsck_first_block(&sb);
		try_super(t, &sb);
		sb.log_cluster_size = sb.log_block_size;
		try_super(t, &sb);
		sb.log_cluster_size = from->log_cluster_size;
	}
	for (uint32_t size = 128; size <= XW_MIN(xw_super_block_size(from), 32768u); size *= 2)
		TRY_FIELD(t, from, inode_size, (uint16_t)size);
	for (uint16_t size = 64; size <= 1024; size *= 2)
		TRY_FIELD(t, from, desc_size, size);
	try_features(t, from);
}

/*
 * bigalloc with one intact field of the three that depend on each other. Of candidates that fit
 * equally well the first is chosen, which the end of the last block bitmap supports.
 */
static void try_cluster_sizes(struct trial *t, const struct xw_super *from)
{
	const uint32_t bits = 8 * xw_super_block_size(from);

	for (int turn = 0; turn < 2; turn++)
		for (unsigned log = from->log_block_size; log <= XW_LOG_CLUSTER_MAX; log++) {
			const unsigned ratio = log - from->log_block_size;
			struct xw_super sb = *from;

			sb.log_cluster_size = log;
			sb.clusters_per_group = sb.blocks_per_group >> ratio;
			if (sb.clusters_per_group <= bits &&
			    sb.clusters_per_group << ratio == sb.blocks_per_group &&
			    fsck_clusters_end(t->dev, &sb) == !turn)
				try_super(t, &sb);
			sb.clusters_per_group = XW_MIN(from->clusters_per_group, bits);
			if ((uint64_t)sb.clusters_per_group << ratio > UINT32_MAX)
				continue;
			sb.blocks_per_group = sb.clusters_per_group << ratio;
			if (fsck_clusters_end(t->dev, &sb) == !turn)
				try_super(t, &sb);
		}
}

/* bigalloc: blocks and clusters per group have the ratio of their sizes. */
static void try_clusters(struct trial *t, const struct xw_super *from)
{
	struct xw_super sb = *from;
	unsigned ratio;

	if (!(from->feature_ro_compat & XW_RO_BIGALLOC))
		return;
	for (sb.log_cluster_size = sb.log_block_size; sb.log_cluster_size <= XW_LOG_CLUSTER_MAX;
	     sb.log_cluster_size++)
		if ((uint64_t)sb.clusters_per_group << (sb.log_cluster_size - sb.log_block_size) ==
		    sb.blocks_per_group)
			try_super(t, &sb);
	try_cluster_sizes(t, from);
	sb = *from;
	if (sb.log_cluster_size < sb.log_block_size || sb.log_cluster_size > XW_LOG_CLUSTER_MAX)
		return;
	/* Of candidates that fit equally well the first is chosen: a bitmap full of clusters. */
	ratio = from->log_cluster_size - from->log_block_size;
	sb.clusters_per_group = 8 * xw_super_block_size(from);
	sb.blocks_per_group = sb.clusters_per_group << ratio;
	try_super(t, &sb);
	TRY_FIELD(t, from, blocks_per_group, from->clusters_per_group << ratio);
	TRY_FIELD(t, from, clusters_per_group, from->blocks_per_group >> ratio);
}

/* If the reserved descriptor blocks overlap the metadata of group 0, they end where it begins. */
static void try_reserved(struct trial *t, const struct xw_super *from)
{
	struct xw_super sb = *from;
	struct xw_image img;
	struct xw_group_desc gd;
	struct xw_group_head h;
	xw_blk first, head;

	if (!fsck_super_usable(from))
		return;
	fsck_image_on(&img, t->dev, from);
	if (!fsck_desc_read(&img, 0, &gd))
		return;
	xw_image_group_head(&img, 0, &h);
	first = XW_MIN(gd.inode_table, XW_MIN(gd.block_bitmap, gd.inode_bitmap));
	head = h.super + h.has_super + h.desc_len;
	if (first < head || first >= head + h.reserved_len)
		return;
	sb.reserved_gdt_blocks = (uint16_t)(first - head);
	try_super(t, &sb);
}

static void try_per_group(struct trial *t, const struct xw_super *from, uint64_t blocks)
{
	struct xw_super sb = *from;

	sb.blocks_per_group = sb.clusters_per_group = (uint32_t)blocks;
	try_super(t, &sb);
}

/*
 * The number of inodes determines that of the groups; mke2fs makes groups of a power of two blocks,
 * or at least a multiple of 8.
 */
static void try_groups(struct trial *t, const struct xw_super *from)
{
	const uint64_t blocks = from->blocks_count - from->first_data_block;
	const uint64_t most = 8 * (uint64_t)xw_super_block_size(from);
	const uint64_t below = from->blocks_per_group & ~7u;
	uint64_t n, least, end;

	if (!from->inodes_per_group || from->inodes_count % from->inodes_per_group ||
	    from->blocks_count <= from->first_data_block)
		return;
	n = from->inodes_count / from->inodes_per_group;
	if (!n || blocks / n > most)
		return;
	least = xw_div_up(blocks, n);
	end = XW_MIN(n > 1 ? xw_div_up(blocks, n - 1) : most + 1, most + 1);
	for (uint64_t power = 8; power < end; power *= 2)
		if (power >= least)
			try_per_group(t, from, power);
	for (uint64_t near = below; near <= below + 8; near += 8)
		if (near >= XW_MAX(least, 8) && near < end)
			try_per_group(t, from, near);
}

static void try_counts(struct trial *t, const struct xw_super *from)
{
	const uint32_t bs = xw_super_block_size(from);
	uint64_t groups;

	if (!(from->feature_ro_compat & XW_RO_BIGALLOC))
		try_groups(t, from);
	try_per_group(t, from, 8 * (uint64_t)bs);
	TRY_FIELD(t, from, blocks_per_group, from->clusters_per_group);
	TRY_FIELD(t, from, clusters_per_group, from->blocks_per_group);
	try_clusters(t, from);
	TRY_FIELD(t, from, log_cluster_size, from->log_block_size);
	/* A truncated device is no reason to shorten the filesystem. */
	if (!fsck_super_usable(from) ||
	    from->inodes_count != xw_super_groups(from) * from->inodes_per_group)
		TRY_FIELD(t, from, blocks_count, t->dev->size / bs);
	TRY_FIELD(t, from, first_ino, 11);
	TRY_FIELD(t, from, checksum_type, 1);
	TRY_FIELD(t, from, log_groups_per_flex, 4);
	TRY_FIELD(t, from, rev_level, 0);
	TRY_FIELD(t, from, rev_level, 1);
	/* Of two candidates of equal quality the first is chosen, which the bitmap supports. */
	groups = xw_super_groups(from);
	for (int turn = 0; turn < 2 && groups; turn++) {
		struct xw_super sb = *from;

		if (fsck_bitmap_ends(t->dev, from) == !turn)
			sb.inodes_count = (uint32_t)(groups * sb.inodes_per_group);
		else if (sb.inodes_count % groups == 0)
			sb.inodes_per_group = (uint32_t)(sb.inodes_count / groups);
		if (groups * sb.inodes_per_group <= UINT32_MAX)
			try_super(t, &sb);
	}
}

/* A single flipped bit is found by the checksum alone. */
static void try_bits(struct trial *t, const struct xw_super *from)
{
	uint8_t raw[XW_SUPER_SIZE];
	struct xw_super sb;

	xw_super_encode(from, raw);
	poke32(raw + SUM_AT, t->sum);
	for (unsigned bit = 0; bit < 8 * SUM_AT; bit++) {
		raw[bit / 8] ^= (uint8_t)(1 << bit % 8);
		if (xw_super_has_magic(raw) && !xw_super_verify(raw) &&
		    !xw_super_decode(raw, &sb) && xw_super_has_csum(&sb))
			try_super(t, &sb);
		raw[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
}

/* Fields that are compared with the device, so that a value that fits by chance is refused. */
static const struct word {
	uint16_t off;
	uint8_t len;
} words[] = {
	{0x00, 4},  {0x04, 4},  {0x14, 4},  {0x18, 4},  {0x1C, 4}, {0x20, 4}, {0x24, 4},
	{0x28, 4},  {0x4C, 4},  {0x54, 4},  {0x58, 2},  {0x5C, 4}, {0x60, 4}, {0x64, 4},
	{0x68, 4},  {0x6C, 4},  {0x70, 4},  {0x74, 4},  {0xCE, 2}, {0xFE, 2}, {0x104, 4},
	{0x150, 4}, {0x174, 1}, {0x175, 1}, {0x270, 4},
};

static void swap(uint32_t *a, uint32_t *b)
{
	const uint32_t was = *a;

	*a = *b;
	*b = was;
}

/*
 * Compute the value of the four bytes at `at` for which the checksum is correct. There is exactly
 * one, since each bit changes the checksum differently.
 */
static uint32_t solve(uint8_t *raw, unsigned at)
{
	uint32_t rows[32], bits[32], none, missing, value = 0;

	poke32(raw + at, 0);
	none = xw_crc32c(~0u, raw, SUM_AT);
	for (unsigned i = 0; i < 32; i++) {
		poke32(raw + at, 1u << i);
		rows[i] = xw_crc32c(~0u, raw, SUM_AT) ^ none;
		bits[i] = 1u << i;
	}
	missing = none ^ xw_super_stored_csum(raw);
	for (unsigned bit = 0, top = 0; bit < 32; bit++) {
		unsigned i = top;

		while (i < 32 && !(rows[i] >> bit & 1))
			i++;
		if (i == 32)
			continue;
		swap(&rows[i], &rows[top]);
		swap(&bits[i], &bits[top]);
		for (unsigned k = top + 1; k < 32; k++)
			if (rows[k] >> bit & 1) {
				rows[k] ^= rows[top];
				bits[k] ^= bits[top];
			}
		if (missing >> bit & 1) {
			missing ^= rows[top];
			value ^= bits[top];
		}
		top++;
	}
	return value;
}

/*
 * A single damaged field has exactly one value for which the stored checksum is correct. So has an
 * intact field of four bytes, but that value hardly ever fits the device.
 */
static void try_words(struct trial *t, const struct xw_super *from)
{
	const bool usual = fsck_super_penalty(t->dev, from) <= fsck_super_ideal(from);
	uint8_t was[XW_SUPER_SIZE], raw[XW_SUPER_SIZE];
	struct xw_super sb;

	xw_super_encode(from, was);
	poke32(was + SUM_AT, t->sum);
	for (size_t i = 0; i < XW_ARRAY_SIZE(words); i++) {
		const struct word *w = &words[i];
		const unsigned at = w->off & ~3u, skip = w->off & 3u;
		uint32_t changed, field = w->len == 4 ? ~0u : ((1u << 8 * w->len) - 1) << 8 * skip;

		memcpy(raw, was, sizeof(raw));
		poke32(raw + at, solve(raw, at));
		changed = peek32(raw + at) ^ peek32(was + at);
		/*
		 * If nothing else contradicts the device, only a field with few valid values
		 * excludes a chance match.
		 */
		if (usual && at != BLOCKS_AT &&
		    (at < COMPAT_AT || at > RO_COMPAT_AT || __builtin_popcount(changed) > FEW))
			continue;
		if (!(changed & ~field) && !xw_super_decode(raw, &sb) && !xw_super_verify(raw) &&
		    xw_super_has_csum(&sb) && fsck_super_usable(&sb) &&
		    fsck_super_penalty(t->dev, &sb) <= fsck_super_ideal(&sb))
			try_super(t, &sb);
	}
}

bool fsck_mend_alone(struct xw_dev *dev, struct xw_super *sb, bool damaged)
{
	struct trial t = {.dev = dev, .best = *sb, .damaged = damaged, .sum = sb->checksum};

	t.bad = fsck_super_penalty(dev, sb);
	if (damaged) {
		try_bits(&t, sb);
		try_words(&t, sb);
	}
	sb->magic = XW_SUPER_MAGIC;
	try_super(&t, sb);
	for (int turn = 0; turn < 4; turn++) {
		const struct xw_super from = t.best;
		const int before = t.bad;

		if (before <= fsck_super_ideal(&from))
			break;
		try_reserved(&t, &from);
		try_sizes(&t, &from);
		try_counts(&t, &from);
		if (t.bad >= before)
			break;
	}
	*sb = t.best;
	return t.bad < -CERTAIN / 2;
}
