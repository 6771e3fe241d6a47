/* SPDX-License-Identifier: MIT */
/* The superblock: fields as dumpe2fs prints them, checksums, round trips, rejection. */
#include <check.h>

#include "base/endian.h"
#include "base/err.h"
#include "disk/super.h"
#include "disk_fix.h"
#include "unit.h"

START_TEST(fields_as_dumpe2fs)
{
	static const uint8_t uuid[16] =
		"\x12\x34\x56\x78\x9a\xbc\xde\xf0\x11\x22\x33\x44\x55\x66\x77\x88";
	uint8_t buf[XW_SUPER_SIZE];
	struct xw_super sb;

	FIX(super_csum, buf);
	ck_assert_int_eq(xw_super_decode(buf, &sb), 0);
	ck_assert_uint_eq(sb.inodes_count, 128);
	ck_assert_uint_eq(sb.blocks_count, 16384);
	ck_assert_uint_eq(sb.r_blocks_count, 819);
	ck_assert_uint_eq(sb.free_blocks_count, 15030);
	ck_assert_uint_eq(sb.free_inodes_count, 60);
	ck_assert_uint_eq(sb.first_data_block, 1);
	ck_assert_uint_eq(xw_super_block_size(&sb), 1024);
	ck_assert_uint_eq(sb.blocks_per_group, 8192);
	ck_assert_uint_eq(sb.clusters_per_group, 8192);
	ck_assert_uint_eq(sb.inodes_per_group, 64);
	ck_assert_int_eq(sb.mtime, 1795220450);
	ck_assert_int_eq(sb.wtime, 1795220451);
	ck_assert_int_eq(sb.lastcheck, 1795220450);
	ck_assert_int_eq(sb.mkfs_time, 1795220450);
	ck_assert_uint_eq(sb.mnt_count, 1);
	ck_assert_int_eq(sb.max_mnt_count, -1);
	ck_assert_uint_eq(sb.state, XW_STATE_VALID);
	ck_assert_uint_eq(sb.errors, 1);
	ck_assert_uint_eq(sb.rev_level, 1);
	ck_assert_uint_eq(sb.first_ino, 11);
	ck_assert_uint_eq(sb.inode_size, 256);
	ck_assert_uint_eq(sb.desc_size, 64);
	ck_assert_uint_eq(sb.reserved_gdt_blocks, 127);
	ck_assert_uint_eq(sb.journal_inum, 8);
	ck_assert_uint_eq(sb.jnl_backup_type, 1);
	ck_assert_uint_eq(sb.jnl_blocks[16], 1 << 20);
	ck_assert_uint_eq(sb.jnl_blocks[0] & 0xFFFF, 0xF30A);
	ck_assert_uint_eq(sb.def_hash_version, 1);
	ck_assert_uint_eq(sb.hash_seed[0], 0x0F);
	ck_assert_uint_eq(sb.default_mount_opts, 0x000C);
	ck_assert_uint_eq(sb.min_extra_isize, 32);
	ck_assert_uint_eq(sb.want_extra_isize, 32);
	ck_assert_uint_eq(sb.flags, XW_FLAG_SIGNED_HASH);
	ck_assert_uint_eq(sb.raid_stride, 4);
	ck_assert_uint_eq(sb.raid_stripe_width, 8);
	ck_assert_uint_eq(sb.log_groups_per_flex, 4);
	ck_assert_uint_eq(sb.checksum_type, 1);
	ck_assert_uint_eq(sb.kbytes_written, 235);
	ck_assert_uint_eq(sb.overhead_blocks, 1319);
	ck_assert_uint_eq(sb.checksum, 0x98D80A67);
	ck_assert_mem_eq(sb.uuid, uuid, 16);
	ck_assert_str_eq(sb.volume_name, "fixture");
	ck_assert_str_eq(sb.last_mounted, "/dev/shm/fx/m");
	ck_assert_uint_eq(sb.feature_compat, XW_COMPAT_HAS_JOURNAL | XW_COMPAT_EXT_ATTR |
						     XW_COMPAT_RESIZE_INODE | XW_COMPAT_DIR_INDEX);
	ck_assert_uint_eq(sb.feature_incompat, XW_INCOMPAT_FILETYPE | XW_INCOMPAT_EXTENTS |
						       XW_INCOMPAT_64BIT | XW_INCOMPAT_FLEX_BG |
						       XW_INCOMPAT_EA_INODE);
	ck_assert_uint_eq(sb.feature_ro_compat, XW_RO_SPARSE_SUPER | XW_RO_LARGE_FILE |
							XW_RO_HUGE_FILE | XW_RO_DIR_NLINK |
							XW_RO_EXTRA_ISIZE | XW_RO_METADATA_CSUM);
	ck_assert_uint_eq(xw_super_csum_seed(&sb), FIX_SEED);
	ck_assert_uint_eq(xw_super_desc_size(&sb), 64);
	ck_assert_uint_eq(xw_super_groups(&sb), 2);
}
END_TEST

START_TEST(fixtures_encode_to_themselves)
{
	uint8_t buf[XW_SUPER_SIZE], out[XW_SUPER_SIZE];
	struct xw_super sb;

	if (_i)
		FIX(super_uninit, buf);
	else
		FIX(super_csum, buf);
	memset(out, 0xA5, sizeof(out));
	memset(&sb, 0xA5, sizeof(sb));
	ck_assert_int_eq(xw_super_decode(buf, &sb), 0);
	ck_assert_int_eq(xw_super_verify(buf), 0);
	ck_assert(xw_super_has_magic(buf));
	ck_assert_uint_eq(xw_super_stored_csum(buf), sb.checksum);
	xw_super_encode(&sb, out);
	ck_assert_mem_eq(out, buf, sizeof(buf));
	out[56] ^= 1;
	ck_assert(!xw_super_has_magic(out));
}
END_TEST

/* Every flipped bit is noticed, but for the one that switches checksums off. */
START_TEST(checksum_covers_everything)
{
	uint8_t buf[XW_SUPER_SIZE];

	FIX(super_csum, buf);
	for (unsigned i = 0; i < 8 * sizeof(buf); i++) {
		int want = i == 8 * 0x65 + 2 ? 0 : XW_ERR_CHECKSUM;

		buf[i / 8] ^= (uint8_t)(1u << i % 8);
		ck_assert_int_eq(xw_super_verify(buf), want);
		buf[i / 8] ^= (uint8_t)(1u << i % 8);
	}
	ck_assert_int_eq(xw_super_verify(buf), 0);
}
END_TEST

/* No byte is lost or moved, whatever stands in it. */
START_TEST(random_round_trip)
{
	uint64_t rng = 0x1234567 + (uint64_t)_i;
	uint8_t buf[XW_SUPER_SIZE], out[XW_SUPER_SIZE];
	struct xw_super sb;

	fix_random_bytes(&rng, buf, sizeof(buf));
	buf[0x4C] |= 1; /* revision 0 implies some fields */
	buf[0x65] &= (uint8_t)~4u; /* the checksum as it stands */
	if (_i % 2) {
		buf[0x60] |= 0x80;
	} else {
		buf[0x60] &= 0x7F; /* without 64bit the high halves read and write as zero */
		memset(buf + 0x150, 0, 12);
	}
	memset(out, 0xA5, sizeof(out));
	xw_super_decode(buf, &sb);
	xw_super_encode(&sb, out);
	ck_assert_mem_eq(out, buf, sizeof(buf));
}
END_TEST

START_TEST(high_halves_need_64bit)
{
	uint8_t buf[XW_SUPER_SIZE];
	struct xw_super sb;

	FIX(super_csum, buf);
	poke32(buf + 0x150, 1);
	poke32(buf + 0x154, 2);
	poke32(buf + 0x158, 3);
	xw_super_decode(buf, &sb);
	ck_assert_uint_eq(sb.blocks_count, 16384 + (1ull << 32));
	ck_assert_uint_eq(sb.r_blocks_count, 819 + (2ull << 32));
	ck_assert_uint_eq(sb.free_blocks_count, 15030 + (3ull << 32));
	buf[0x60] &= 0x7F;
	xw_super_decode(buf, &sb);
	ck_assert_uint_eq(sb.blocks_count, 16384);
	ck_assert_uint_eq(xw_super_desc_size(&sb), 32);
}
END_TEST

START_TEST(wide_fields)
{
	uint8_t buf[XW_SUPER_SIZE];
	struct xw_super sb, got;

	FIX(super_csum, buf);
	xw_super_decode(buf, &sb);
	sb.def_resuid = 0x12345678;
	sb.def_resgid = 0x9ABCDEF0;
	sb.mtime = 0xFE12345678;
	sb.wtime = -5;
	sb.lastcheck = INT64_MAX;
	xw_super_encode(&sb, buf);
	ck_assert_int_eq(xw_super_verify(buf), 0);
	xw_super_decode(buf, &got);
	ck_assert_uint_eq(got.def_resuid, 0x12345678);
	ck_assert_uint_eq(got.def_resgid, 0x9ABCDEF0);
	ck_assert_uint_eq(peek16(buf + 0x284), 0x1234);
	ck_assert_uint_eq(peek16(buf + 0x286), 0x9ABC);
	ck_assert_int_eq(got.mtime, 0xFE12345678);
	ck_assert_uint_eq(buf[0x275], 0xFE);
	ck_assert_int_eq(got.wtime, 0);
	ck_assert_int_eq(got.lastcheck, (1ll << 40) - 1);
}
END_TEST

START_TEST(seed_field_wins)
{
	uint8_t buf[XW_SUPER_SIZE];
	struct xw_super sb;

	FIX(super_csum, buf);
	poke32(buf + 0x270, 0xCAFE1234);
	xw_super_decode(buf, &sb);
	ck_assert_uint_eq(xw_super_csum_seed(&sb), FIX_SEED);
	sb.feature_incompat |= XW_INCOMPAT_CSUM_SEED;
	ck_assert_uint_eq(xw_super_csum_seed(&sb), 0xCAFE1234);
}
END_TEST

START_TEST(revision_zero_implies)
{
	uint8_t buf[XW_SUPER_SIZE];
	struct xw_super sb;

	FIX(super_uninit, buf);
	poke32(buf + 0x4C, 0);
	poke32(buf + 0x54, 0);
	poke16(buf + 0x58, 0);
	ck_assert_int_eq(xw_super_decode(buf, &sb), 0);
	ck_assert_uint_eq(sb.first_ino, 11);
	ck_assert_uint_eq(sb.inode_size, 128);
}
END_TEST

static const struct {
	unsigned off, bytes;
	uint32_t value;
	int want;
} changes[] = {
	{0x38, 2, 0xEF54, XW_ERR_INPUT}, /* magic */
	{0x18, 4, 6, 0}, /* 64 KiB blocks */
	{0x18, 4, 7, XW_ERR_CORRUPT},
	{0x18, 4, 0xFFFFFFFF, XW_ERR_CORRUPT},
	{0x20, 4, 0, XW_ERR_CORRUPT}, /* blocks per group */
	{0x20, 4, 8193, XW_ERR_CORRUPT},
	{0x24, 4, 0, XW_ERR_CORRUPT}, /* clusters per group */
	{0x28, 4, 0, XW_ERR_CORRUPT}, /* inodes per group */
	{0x28, 4, 8192, 0},
	{0x28, 4, 8193, XW_ERR_CORRUPT},
	{0x58, 2, 0, XW_ERR_CORRUPT}, /* inode size */
	{0x58, 2, 64, XW_ERR_CORRUPT},
	{0x58, 2, 192, XW_ERR_CORRUPT},
	{0x58, 2, 1024, 0},
	{0x58, 2, 2048, XW_ERR_CORRUPT},
	{0xFE, 2, 0, XW_ERR_CORRUPT}, /* descriptor size under 64bit */
	{0xFE, 2, 32, XW_ERR_CORRUPT},
	{0xFE, 2, 96, XW_ERR_CORRUPT},
	{0xFE, 2, 128, 0},
	{0xFE, 2, 2048, XW_ERR_CORRUPT},
};

START_TEST(rejects)
{
	uint8_t buf[XW_SUPER_SIZE];
	struct xw_super sb;

	FIX(super_csum, buf);
	if (changes[_i].bytes == 2)
		poke16(buf + changes[_i].off, (uint16_t)changes[_i].value);
	else
		poke32(buf + changes[_i].off, changes[_i].value);
	ck_assert_int_eq(xw_super_decode(buf, &sb), changes[_i].want);
	/* filled all the same, and the helpers stay safe */
	ck_assert_uint_eq(sb.inodes_count, 128);
	ck_assert_uint_le(xw_super_block_size(&sb), 65536);
	ck_assert_uint_ge(xw_super_desc_size(&sb), 32);
	xw_super_groups(&sb);
}
END_TEST

START_TEST(bigalloc_groups)
{
	uint8_t buf[XW_SUPER_SIZE];
	struct xw_super sb;

	FIX(super_csum, buf);
	buf[0x65] |= 2; /* bigalloc, 16 blocks a cluster */
	poke32(buf + 0x1C, 4);
	poke32(buf + 0x20, 8192 * 16);
	ck_assert_int_eq(xw_super_decode(buf, &sb), 0);
	poke32(buf + 0x20, 8192 * 16 + 1);
	ck_assert_int_eq(xw_super_decode(buf, &sb), XW_ERR_CORRUPT);
	poke32(buf + 0x20, 8192 * 16);
	poke32(buf + 0x24, 8193);
	ck_assert_int_eq(xw_super_decode(buf, &sb), XW_ERR_CORRUPT);
	poke32(buf + 0x24, 8192);
	poke32(buf + 0x1C, 21);
	ck_assert_int_eq(xw_super_decode(buf, &sb), XW_ERR_CORRUPT);
}
END_TEST

START_TEST(external_journal_has_no_groups)
{
	uint8_t buf[XW_SUPER_SIZE];
	struct xw_super sb;

	FIX(super_csum, buf);
	buf[0x60] |= XW_INCOMPAT_JOURNAL_DEV;
	poke32(buf + 0x20, 0);
	poke32(buf + 0x28, 0);
	ck_assert_int_eq(xw_super_decode(buf, &sb), 0);
	ck_assert_uint_eq(xw_super_groups(&sb), 0);
}
END_TEST

START_TEST(group_count)
{
	struct xw_super sb = {.blocks_per_group = 8192, .first_data_block = 1};

	sb.blocks_count = 1;
	ck_assert_uint_eq(xw_super_groups(&sb), 0);
	sb.blocks_count = 8193;
	ck_assert_uint_eq(xw_super_groups(&sb), 1);
	sb.blocks_count = 8194;
	ck_assert_uint_eq(xw_super_groups(&sb), 2);
	sb.blocks_count = UINT64_MAX;
	ck_assert_uint_eq(xw_super_groups(&sb), (UINT64_MAX - 1) / 8192 + 1);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("super");
	TCase *t = tcase_create("super");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, fields_as_dumpe2fs);
	tcase_add_loop_test(t, fixtures_encode_to_themselves, 0, 2);
	tcase_add_test(t, checksum_covers_everything);
	tcase_add_loop_test(t, random_round_trip, 0, 200);
	tcase_add_test(t, high_halves_need_64bit);
	tcase_add_test(t, wide_fields);
	tcase_add_test(t, seed_field_wins);
	tcase_add_test(t, revision_zero_implies);
	unit_add_table(t, rejects, changes);
	tcase_add_test(t, bigalloc_groups);
	tcase_add_test(t, external_journal_has_no_groups);
	tcase_add_test(t, group_count);
	suite_add_tcase(s, t);
	return unit_main(s);
}
