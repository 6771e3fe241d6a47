// SPDX-License-Identifier: MIT
/*
 * What xw-fsck judges places and superblocks by, without an image: records of an inode table, bits
 * of bitmaps, and values that a superblock's checksum confirms.
 */
#include "config.h"

#include <string.h>

#include "base/endian.h"
#include "disk/inode.h"
#include "phases/super.h"
#include "repairs/space.h"
#include "unit.h"

enum { BLOCK = 1024, INODE = 256, PER_BLOCK = BLOCK / INODE, PER_GROUP = 64, SEED = 77 };

/* ---- what is not under test ---- */

static uint8_t disk[BLOCK];
static uint64_t true_blocks;
static bool fits_everything;

int fsck_read(struct fsck *f, xw_blk blk, uint64_t n, void *buf)
{
	(void)f, (void)blk;
	memcpy(buf, disk, n * BLOCK);
	return 0;
}

uint32_t fsck_space_clusters(const struct fsck *f, uint64_t group)
{
	(void)f, (void)group;
	return 1000;
}

int fsck_super_penalty(struct xw_dev *dev, const struct xw_super *sb)
{
	(void)dev;
	return fits_everything || sb->blocks_count == true_blocks ? 0 : 1;
}

int fsck_super_ideal(const struct xw_super *sb)
{
	(void)sb;
	return 0;
}

bool fsck_super_usable(const struct xw_super *sb)
{
	return sb->blocks_count > 1;
}

struct fsck_unknown fsck_unknown_features(const struct xw_super *sb)
{
	(void)sb;
	return (struct fsck_unknown){0};
}

bool fsck_features_are_implausible(const struct xw_super *sb)
{
	(void)sb;
	return false;
}

uint32_t fsck_first_block(const struct xw_super *sb)
{
	return !sb->log_block_size;
}

bool fsck_clusters_end(struct xw_dev *dev, const struct xw_super *sb)
{
	(void)dev, (void)sb;
	return false;
}

bool fsck_bitmap_ends(struct xw_dev *dev, const struct xw_super *sb)
{
	(void)dev, (void)sb;
	return false;
}

/* ---- records ---- */

static struct xw_image img;
static struct fsck f;

static void make(bool csum)
{
	img = (struct xw_image){.block_size = BLOCK,
				.inode_size = INODE,
				.desc_size = 64,
				.groups = 4,
				.csum_seed = SEED,
				.itable_blocks = PER_GROUP / PER_BLOCK};
	img.sb = (struct xw_super){.magic = XW_SUPER_MAGIC,
				   .rev_level = 1,
				   .inode_size = INODE,
				   .inodes_per_group = PER_GROUP,
				   .inodes_count = 4 * PER_GROUP,
				   .first_ino = 11,
				   .first_data_block = 1,
				   .blocks_count = 4001,
				   .blocks_per_group = 1000,
				   .clusters_per_group = 1000,
				   .checksum_type = csum,
				   .feature_ro_compat = csum ? XW_RO_METADATA_CSUM : 0};
	f = (struct fsck){.ses.img = &img};
}

static void put_inode(uint8_t *raw, xw_ino ino, uint16_t mode, uint16_t links)
{
	const struct xw_inode in = {.mode = mode, .links = links, .extra_isize = 32};

	memset(raw, 0, INODE);
	xw_inode_encode(&in, &img.sb, raw);
	xw_inode_set_csum(raw, &img.sb, SEED, ino);
}

/* The evidence of a block with these four records, of the group's inodes from `index` on. */
static struct fsck_evidence look(uint64_t group, uint64_t index, const uint8_t *buf,
				 const uint8_t *bits)
{
	struct fsck_evidence e = {.bits = bits};

	fsck_table_block(&f, group, index, buf, &e);
	return e;
}

START_TEST(records_and_bits)
{
	uint8_t buf[BLOCK] = {0}, bits[BLOCK] = {0};
	struct fsck_evidence e;

	make(_i);
	for (unsigned i = 0; i < 3; i++)
		put_inode(buf + (size_t)i * INODE, PER_GROUP + 1 + i, 0100644, 1);
	bits[0] = 0x07;
	e = look(1, 0, buf, bits);
	ck_assert_uint_eq(e.good, 3);
	ck_assert_uint_eq(e.bad + e.misses + e.foreign, 0);
	ck_assert_uint_eq(e.hits, 3);
	ck_assert(fsck_table_is_plausible(&e) && !fsck_table_is_unlikely(&e));

	bits[0] = 0x08; /* the table of another group */
	e = look(1, 0, buf, bits);
	ck_assert_uint_eq(e.misses, 4);
	ck_assert(fsck_table_is_unlikely(&e) && !fsck_table_is_plausible(&e));
	ck_assert_int_lt(fsck_table_score(&e), 0);

	e = look(2, 0, buf, NULL); /* only checksums tell groups apart */
	ck_assert_uint_eq(e.bad, _i ? 3 : 0);
	ck_assert_uint_eq(e.good, _i ? 0 : 3);
	ck_assert(!fsck_table_is_foreign(&e)); /* they are inodes, after all */
}
END_TEST

START_TEST(what_is_no_record)
{
	uint8_t buf[BLOCK] = {0};
	struct fsck_evidence e;

	make(_i);
	e = look(1, 0, buf, NULL); /* zeros speak neither for nor against it */
	ck_assert_uint_eq(e.good + e.bad, 0);
	ck_assert(!fsck_table_is_plausible(&e) && !fsck_table_is_unlikely(&e));
	for (size_t i = 0; i < sizeof(buf); i++)
		buf[i] = (uint8_t) "The quick brown fox jumps"[i % 25];
	e = look(1, 0, buf, NULL);
	ck_assert_uint_eq(e.bad, 4);
	ck_assert(fsck_table_is_unlikely(&e) && fsck_table_is_foreign(&e));
}
END_TEST

START_TEST(block_of_a_table)
{
	uint8_t buf[BLOCK] = {0};
	uint64_t k = 0;

	make(true);
	put_inode(buf + INODE, 2 * PER_GROUP + 5 * PER_BLOCK + 2, 0100644, 1);
	ck_assert(fsck_table_index(&f, 2, buf, &k));
	ck_assert_uint_eq(k, 5);
	ck_assert(!fsck_table_index(&f, 1, buf, &k));
	memset(buf, 0, sizeof(buf));
	ck_assert(!fsck_table_index(&f, 2, buf, &k));
}
END_TEST

START_TEST(bitmaps)
{
	uint8_t bits[BLOCK];
	struct xw_group_desc gd = {.free_blocks = 990, .free_inodes = PER_GROUP - 8};

	make(_i);
	memset(disk, 0xff, sizeof(disk));
	memset(disk, 0, 125); /* 1000 clusters, then padding */
	disk[3] = 0xff;
	disk[124] = 0x03;
	gd.block_bitmap_csum = xw_bitmap_csum(&img.sb, SEED, disk, 125);
	ck_assert(fsck_block_bitmap_is_valid(&f, 1, &gd, 7));
	ck_assert(!fsck_block_bitmap_is_valid(&f, 1, &gd, 0)); /* no place for one */
	disk[50] = 1;
	ck_assert(!fsck_block_bitmap_is_valid(&f, 1, &gd, 7));
	gd.flags = XW_BG_BLOCK_UNINIT;
	disk[50] = 0;
	ck_assert(!fsck_block_bitmap_is_valid(&f, 1, &gd, 7));

	gd.flags = 0;
	memset(disk, 0xff, sizeof(disk));
	memset(disk, 0, 8);
	disk[0] = 0xff;
	gd.inode_bitmap_csum = xw_bitmap_csum(&img.sb, SEED, disk, PER_GROUP / 8);
	ck_assert(fsck_inode_bitmap_is_valid(&f, &gd, 7, bits));
	ck_assert_mem_eq(bits, disk, BLOCK);
	disk[0] = 0x7f;
	ck_assert(!fsck_inode_bitmap_is_valid(&f, &gd, 7, bits));
	disk[0] = 0xff;
	disk[8] = 0; /* padding, which no checksum covers */
	ck_assert(fsck_inode_bitmap_is_valid(&f, &gd, 7, bits) == _i);
}
END_TEST

/* ---- the superblock's checksum ---- */

static void sealed(struct xw_super *sb)
{
	uint8_t raw[XW_SUPER_SIZE];

	make(true);
	*sb = img.sb;
	xw_super_encode(sb, raw);
	sb->checksum = peek32(raw + XW_SUPER_SIZE - 4);
	true_blocks = sb->blocks_count;
}

START_TEST(computed_value)
{
	struct xw_super sb, whole;

	fits_everything = _i;
	sealed(&whole);
	sb = whole;
	sb.blocks_count = 1234;
	ck_assert(fsck_mend_alone(NULL, &sb, true));
	ck_assert_uint_eq(sb.blocks_count, whole.blocks_count);
	sb = whole;
	sb.blocks_count ^= 1 << 9; /* a flipped bit */
	ck_assert(fsck_mend_alone(NULL, &sb, true));
	ck_assert_uint_eq(sb.blocks_count, whole.blocks_count);
}
END_TEST

/* Where the damage is in no field of the geometry, none is computed that nothing contradicts. */
START_TEST(no_value_by_chance)
{
	struct xw_super sb, whole;

	fits_everything = false;
	sealed(&whole);
	sb = whole;
	sb.hash_seed[1] ^= 0x5a5a5a;
	(void)fsck_mend_alone(NULL, &sb, true);
	ck_assert_uint_eq(sb.blocks_count, whole.blocks_count);
	ck_assert_uint_eq(sb.inodes_count, whole.inodes_count);
	ck_assert_uint_eq(sb.feature_compat, whole.feature_compat);
	ck_assert_uint_eq(sb.feature_incompat, whole.feature_incompat);
	ck_assert_uint_eq(sb.feature_ro_compat, whole.feature_ro_compat);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fsck_places");
	TCase *t = tcase_create("fsck_places");

	unit_add_cases(t, records_and_bits, "no checksums", "checksums");
	unit_add_cases(t, what_is_no_record, "no checksums", "checksums");
	tcase_add_test(t, block_of_a_table);
	unit_add_cases(t, bitmaps, "no checksums", "checksums");
	tcase_add_loop_test(t, computed_value, 0, 2);
	tcase_add_test(t, no_value_by_chance);
	suite_add_tcase(s, t);
	return unit_main(s);
}
