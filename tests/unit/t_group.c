/* SPDX-License-Identifier: MIT */
/* Group descriptors: fields as dumpe2fs prints them, the three kinds of checksum, bitmaps, round
 * trips. */
#include <check.h>

#include "base/endian.h"
#include "base/err.h"
#include "disk/group.h"
#include "disk_fix.h"
#include "unit.h"

static const struct kind {
	const char *name;
	bool csum;
	unsigned size;
	uint16_t checksum;
	uint64_t block_bitmap, inode_bitmap, inode_table;
	uint32_t free_blocks, free_inodes, used_dirs, unused, flags, block_csum, inode_csum;
} kinds[] = {
	{"metadata_csum", true, 64, 0x8D68, 131, 133, 150, 7024, 60, 2, 60, XW_BG_INODE_ZEROED,
	 0xC9D2D8A9, 0xC37CA9C4},
	{"uninit_bg, 32 bytes", false, 32, 0x7F06, 67, 69, 86, 7102, 64, 0, 64,
	 XW_BG_INODE_UNINIT | XW_BG_INODE_ZEROED, 0, 0},
	{"uninit_bg, 64 bytes", false, 64, 0x2715, 131, 133, 150, 7038, 64, 0, 64,
	 XW_BG_INODE_UNINIT | XW_BG_INODE_ZEROED, 0, 0},
};

/* The superblock and descriptor 1 of a kind. */
static void load(int i, struct xw_super *sb, uint8_t desc[64])
{
	uint8_t buf[XW_SUPER_SIZE], d[64];

	if (kinds[i].csum)
		FIX(super_csum, buf);
	else
		FIX(super_uninit, buf);
	ck_assert_int_eq(xw_super_decode(buf, sb), 0);
	if (kinds[i].csum) {
		FIX(desc_csum, d);
	} else if (kinds[i].size == 32) {
		FIX(desc_crc16_32, d);
	} else {
		FIX(desc_crc16_64, d);
		sb->feature_incompat |= XW_INCOMPAT_64BIT;
		sb->desc_size = 64;
	}
	memcpy(desc, d, sizeof(d));
	ck_assert_uint_eq(xw_super_desc_size(sb), kinds[i].size);
}

START_TEST(fields_as_dumpe2fs)
{
	const struct kind *k = &kinds[_i];
	struct xw_group_desc gd;
	struct xw_super sb;
	uint8_t d[64];

	load(_i, &sb, d);
	memset(&gd, 0xA5, sizeof(gd));
	xw_group_decode(d, k->size, &gd);
	ck_assert_uint_eq(gd.block_bitmap, k->block_bitmap);
	ck_assert_uint_eq(gd.inode_bitmap, k->inode_bitmap);
	ck_assert_uint_eq(gd.inode_table, k->inode_table);
	ck_assert_uint_eq(gd.free_blocks, k->free_blocks);
	ck_assert_uint_eq(gd.free_inodes, k->free_inodes);
	ck_assert_uint_eq(gd.used_dirs, k->used_dirs);
	ck_assert_uint_eq(gd.itable_unused, k->unused);
	ck_assert_uint_eq(gd.flags, k->flags);
	ck_assert_uint_eq(gd.block_bitmap_csum, k->block_csum);
	ck_assert_uint_eq(gd.inode_bitmap_csum, k->inode_csum);
	ck_assert_uint_eq(gd.exclude_bitmap_lo, 0);
	ck_assert_uint_eq(gd.exclude_bitmap_hi, 0);
	ck_assert_uint_eq(gd.checksum, k->checksum);
}
END_TEST

START_TEST(fixtures_encode_to_themselves)
{
	struct xw_group_desc gd;
	struct xw_super sb;
	uint8_t d[64], out[64];

	load(_i, &sb, d);
	xw_group_decode(d, kinds[_i].size, &gd);
	gd.checksum = 0;
	memset(out, 0, sizeof(out));
	memset(out, 0xA5, XW_MIN(kinds[_i].size, 0x3Cu));
	xw_group_encode(&gd, &sb, FIX_SEED, 1, out);
	ck_assert_mem_eq(out, d, kinds[_i].size);
}
END_TEST

START_TEST(checksum_covers_everything)
{
	struct xw_super sb;
	uint8_t d[64];

	load(_i, &sb, d);
	ck_assert_int_eq(xw_group_verify(d, &sb, FIX_SEED, 1), 0);
	ck_assert_int_eq(xw_group_verify(d, &sb, FIX_SEED, 2), XW_ERR_CHECKSUM);
	for (unsigned i = 0; i < 8 * kinds[_i].size; i++) {
		d[i / 8] ^= (uint8_t)(1u << i % 8);
		ck_assert_int_eq(xw_group_verify(d, &sb, FIX_SEED, 1), XW_ERR_CHECKSUM);
		d[i / 8] ^= (uint8_t)(1u << i % 8);
	}
}
END_TEST

START_TEST(no_feature_no_checksum)
{
	struct xw_super sb;
	uint8_t d[64], out[64];
	struct xw_group_desc gd;

	load(_i, &sb, d);
	sb.feature_ro_compat &= ~(XW_RO_METADATA_CSUM | XW_RO_GDT_CSUM);
	d[3] ^= 0xFF;
	ck_assert_int_eq(xw_group_verify(d, &sb, FIX_SEED, 1), 0);
	xw_group_decode(d, kinds[_i].size, &gd);
	memcpy(out, d, sizeof(out));
	xw_group_encode(&gd, &sb, FIX_SEED, 1, out);
	ck_assert_mem_eq(out, d, sizeof(out)); /* a stale one stays */
	gd.checksum = 0;
	xw_group_encode(&gd, &sb, FIX_SEED, 1, out);
	ck_assert_uint_eq(peek16(out + 0x1E), 0);
}
END_TEST

START_TEST(random_round_trip)
{
	uint64_t rng = 99 + (uint64_t)_i;
	struct xw_super sb = {.desc_size = 128};
	struct xw_group_desc gd;
	uint8_t d[128], out[128];
	unsigned size;

	sb.feature_incompat = _i % 2 ? XW_INCOMPAT_64BIT : 0;
	size = xw_super_desc_size(&sb);
	ck_assert_uint_eq(size, _i % 2 ? 128 : 32);
	fix_random_bytes(&rng, d, sizeof(d));
	memcpy(out, d, sizeof(out));
	memset(out, 0xA5, size == 32 ? 32 : 0x3C);
	xw_group_decode(d, size, &gd);
	xw_group_encode(&gd, &sb, 0, 5, out);
	ck_assert_mem_eq(out, d, sizeof(out)); /* what follows the descriptor is not touched */
}
END_TEST

START_TEST(bitmaps_as_dumpe2fs)
{
	uint8_t blocks[1024], inodes[8];
	struct xw_super sb;
	uint8_t d[64];

	load(0, &sb, d);
	FIX(block_bitmap, blocks);
	FIX(inode_bitmap, inodes);
	ck_assert_uint_eq(xw_bitmap_csum(&sb, FIX_SEED, blocks, sizeof(blocks)), 0x6D36D17C);
	ck_assert_uint_eq(xw_bitmap_csum(&sb, FIX_SEED, inodes, sizeof(inodes)), 0xC37CA9C4);
	sb.feature_incompat &= ~XW_INCOMPAT_64BIT; /* 32-byte descriptors keep 16 bits */
	ck_assert_uint_eq(xw_bitmap_csum(&sb, FIX_SEED, blocks, sizeof(blocks)), 0xD17C);
	sb.feature_ro_compat &= ~XW_RO_METADATA_CSUM;
	ck_assert_uint_eq(xw_bitmap_csum(&sb, FIX_SEED, blocks, sizeof(blocks)), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("group");
	TCase *t = tcase_create("group");

	tcase_set_timeout(t, 60);
	unit_add_rows(t, fields_as_dumpe2fs, kinds, name);
	unit_add_rows(t, fixtures_encode_to_themselves, kinds, name);
	unit_add_rows(t, checksum_covers_everything, kinds, name);
	unit_add_rows(t, no_feature_no_checksum, kinds, name);
	tcase_add_loop_test(t, random_round_trip, 0, 100);
	tcase_add_test(t, bitmaps_as_dumpe2fs);
	suite_add_tcase(s, t);
	return unit_main(s);
}
