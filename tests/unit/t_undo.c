/* SPDX-License-Identifier: MIT */
/* Headers and keys of undo files. */
#include "config.h"

#include <string.h>

#include "base/crc.h"
#include "base/endian.h"
#include "base/err.h"
#include "base/types.h"
#include "disk/undo.h"
#include "unit.h"

#define FILE_SIZE (64u << 10)
#define AT_COMPAT 0x30
#define AT_CSUM 0x1FC

static void seal(uint8_t buf[XW_UNDO_HEADER_SIZE])
{
	poke32(buf + AT_CSUM, xw_crc32c(~0u, buf, AT_CSUM));
}

START_TEST(header)
{
	static const struct {
		const char *name;
		struct xw_undo_header h;
		int want;
	} rows[] = {
		{"smallest unit", {1, 1, 2, 1024, 1024, 7, true, 0, 0, 0}, 0},
		{"with an offset", {1, 1, 2, 1024, 1024, 7, true, 1 << 20, 0, 0}, 0},
		{"with sizes", {1, 1, 2, 1024, 1024, 7, true, 0, 3000000, 8 << 20}, 0},
		{"not finished", {1, 1, 2, 1024, 1024, 7, false, 0, 0, 0}, 0},
		{"largest unit", {0, 0, 0, 1 << 20, 4096, 0, true, 0, 0, 0}, XW_ERR_CORRUPT},
		{"unit too small", {1, 1, 2, 512, 1024, 0, true, 0, 0, 0}, XW_ERR_CORRUPT},
		{"unit too large", {0, 0, 0, 1 << 21, 1024, 0, true, 0, 0, 0}, XW_ERR_CORRUPT},
		{"unit not a power of two",
		 {1, 1, 2, 3072, 1024, 0, true, 0, 0, 0},
		 XW_ERR_CORRUPT},
		{"no unit", {1, 1, 2, 0, 1024, 0, true, 0, 0, 0}, XW_ERR_CORRUPT},
		{"no unit of positions", {1, 1, 2, 1024, 0, 0, true, 0, 0, 0}, XW_ERR_CORRUPT},
		{"superblock in the last block", {1, 63, 2, 1024, 1024, 0, true, 0, 0, 0}, 0},
		{"superblock after the end",
		 {1, 64, 2, 1024, 1024, 0, true, 0, 0, 0},
		 XW_ERR_CORRUPT},
		{"keys at the end", {0, 1, 64, 1024, 1024, 0, true, 0, 0, 0}, 0},
		{"keys after the end", {0, 1, 65, 1024, 1024, 0, true, 0, 0, 0}, XW_ERR_CORRUPT},
		{"as many keys as blocks", {64, 1, 2, 1024, 1024, 0, true, 0, 0, 0}, 0},
		{"more keys than blocks", {65, 1, 2, 1024, 1024, 0, true, 0, 0, 0}, XW_ERR_CORRUPT},
		{"a far offset", {1, 1, 2, 1024, 1024, 0, true, UINT64_MAX, 0, 0}, XW_ERR_CORRUPT},
	};
	uint8_t buf[XW_UNDO_HEADER_SIZE];
	struct xw_undo_header got;

	for (unsigned i = 0; i < XW_ARRAY_SIZE(rows); i++) {
		const struct xw_undo_header *h = &rows[i].h;

		xw_undo_header_encode(h, buf);
		ck_assert_msg(xw_undo_header_decode(buf, FILE_SIZE, &got) == rows[i].want, "%s",
			      rows[i].name);
		ck_assert_msg(got.keys == h->keys && got.super_at == h->super_at &&
				      got.keys_at == h->keys_at && got.unit == h->unit &&
				      got.fs_unit == h->fs_unit &&
				      got.super_csum == h->super_csum &&
				      got.finished == h->finished && got.offset == h->offset &&
				      got.size_before == h->size_before &&
				      got.size_after == h->size_after,
			      "%s: fields", rows[i].name);
	}
}
END_TEST

START_TEST(damaged_header)
{
	static const struct {
		unsigned at;
		uint32_t value;
		int want;
	} features[] = {
		{AT_COMPAT, 1, 0},
		{AT_COMPAT, 2, XW_ERR_UNSUPPORTED},
		{AT_COMPAT + 4, 1, XW_ERR_UNSUPPORTED},
		{AT_COMPAT + 8, 1, XW_ERR_UNSUPPORTED},
	};
	const struct xw_undo_header h = {1, 1, 2, 1024, 1024, 7, true, 0, 0, 0};
	uint8_t buf[XW_UNDO_HEADER_SIZE];
	struct xw_undo_header got;

	for (unsigned i = 0; i < sizeof(buf); i++) {
		int rc;

		xw_undo_header_encode(&h, buf);
		buf[i] ^= 4;
		rc = xw_undo_header_decode(buf, FILE_SIZE, &got);
		seal(buf);
		if (i < 8)
			ck_assert_msg(rc == XW_ERR_INPUT, "byte %u", i);
		else /* only the checksum is wrong where the values are possible ones */
			ck_assert_msg(rc == (xw_undo_header_decode(buf, FILE_SIZE, &got)
						     ? XW_ERR_CORRUPT
						     : XW_ERR_CHECKSUM),
				      "byte %u", i);
	}
	for (unsigned i = 0; i < XW_ARRAY_SIZE(features); i++) {
		xw_undo_header_encode(&h, buf);
		poke32(buf + features[i].at, features[i].value);
		seal(buf);
		ck_assert_int_eq(xw_undo_header_decode(buf, FILE_SIZE, &got), features[i].want);
	}
}
END_TEST

/* Units that files of our tools and of stock tools have, and those that a failed tool leaves. */
START_TEST(units)
{
	static const struct {
		uint32_t unit, fs_unit, block_size; /* of the filesystem; 0: no superblock */
		bool want;
	} rows[] = {
		{1024, 1024, 1024, true},     {4096, 4096, 4096, true},
		{65536, 65536, 65536, true},  {4096, 4096, 1024, true},
		{4096, 4096, 65536, true},    {32768, 1024, 1024, true},
		{32768, 4096, 4096, true},    {524288, 65536, 65536, true},
		{4096, 4096, 0, true},        {1024, 1024, 0, true},
		{4096, 1024, 4096, false},    {4096, 1024, 1024, false},
		{1024, 4096, 1024, false},    {1024, 1024, 4096, false},
		{2048, 2048, 1024, false},    {32768, 1024, 4096, false},
		{65536, 1024, 65536, false},  {4096, 1024, 0, false},
		{524288, 1024, 65536, false}, {1024, 4096, 4096, false},
	};

	for (unsigned i = 0; i < XW_ARRAY_SIZE(rows); i++) {
		const struct xw_undo_header h = {.unit = rows[i].unit, .fs_unit = rows[i].fs_unit};
		struct xw_super sb = {.magic = XW_SUPER_MAGIC,
				      .blocks_count = 1000,
				      .blocks_per_group = 32768,
				      .clusters_per_group = 32768,
				      .inodes_per_group = 1024,
				      .inodes_count = 1024,
				      .inode_size = 256,
				      .rev_level = 1,
				      .first_ino = 11};
		uint8_t super[XW_SUPER_SIZE] = {0};

		for (uint32_t bs = 1024; bs < rows[i].block_size; bs *= 2)
			sb.log_cluster_size = ++sb.log_block_size;
		sb.blocks_per_group = sb.clusters_per_group = 8192;
		sb.first_data_block = rows[i].block_size == 1024;
		if (rows[i].block_size) {
			xw_super_encode(&sb, super);
			ck_assert_int_eq(xw_super_decode(super, &sb), 0);
		}
		ck_assert_msg(xw_undo_header_agrees(&h, super) == rows[i].want, "%u, %u for %u",
			      rows[i].unit, rows[i].fs_unit, rows[i].block_size);
	}
}
END_TEST

START_TEST(keys)
{
	static const unsigned at[] = {0, 3, 4, 7, 8, 15, 16, 24, 28, 1023};
	const struct xw_undo_key key = {UINT64_C(0x123456789), 77, 4096};
	uint8_t blk[1024] = {0};

	ck_assert_uint_eq(xw_undo_keys_max(1024), 63);
	ck_assert_int_eq(xw_undo_keys_verify(blk, 1024), XW_ERR_CHECKSUM);
	xw_undo_key_put(blk, 62, &key);
	xw_undo_keys_seal(blk, 1024);
	ck_assert_int_eq(xw_undo_keys_verify(blk, 1024), 0);
	ck_assert_uint_eq(xw_undo_key_get(blk, 62).blk, key.blk);
	ck_assert_uint_eq(xw_undo_key_get(blk, 62).csum, key.csum);
	ck_assert_uint_eq(xw_undo_key_get(blk, 62).size, key.size);
	for (unsigned i = 0; i < XW_ARRAY_SIZE(at); i++) {
		blk[at[i]] ^= 1;
		ck_assert_msg(xw_undo_keys_verify(blk, 1024), "byte %u changed", at[i]);
		blk[at[i]] ^= 1;
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("undo files");
	TCase *tc = tcase_create("objects");

	tcase_add_test(tc, header);
	tcase_add_test(tc, damaged_header);
	tcase_add_test(tc, units);
	tcase_add_test(tc, keys);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
