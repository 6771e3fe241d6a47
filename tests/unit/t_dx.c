/* SPDX-License-Identifier: MIT */
/* htree blocks: a root and a node the kernel wrote, as debugfs htree_dump prints them; checks; the
 * tail. */
#include <check.h>

#include "base/endian.h"
#include "base/err.h"
#include "disk/dirent.h"
#include "disk/inode.h"
#include "disk_fix.h"
#include "unit.h"

static const struct xw_dx_entry root_entries[] = {
	{0, 1},
	{0x52AA50DA, 4},
	{0x93741BEE, 2},
	{0xCD9002AA, 3},
};
static const struct xw_dx_entry node_entries[] = {
	{0, 1},           {0x0355C77E, 110}, {0x0465EDB4, 70},
	{0x07882F22, 36}, {0x0A413B70, 90},  {0x0BA75286, 8},
};

static uint32_t root_seed(void)
{
	return xw_inode_seed(FIX_SEED, 66, 855601751);
}

static uint32_t node_seed(void)
{
	return xw_inode_seed(FIX_SEED, 12, 157809216);
}

START_TEST(root_as_debugfs)
{
	uint8_t block[1024], out[1024];
	unsigned limit = 0, count = 0;
	struct xw_dx_info info;
	struct xw_dx_entry e;

	FIX(dx_root, block);
	ck_assert_int_eq(xw_dx_root_decode(block, 1024, true, &info, &limit, &count), 0);
	ck_assert_uint_eq(info.reserved_zero, 0);
	ck_assert_uint_eq(info.hash_version, 1);
	ck_assert_uint_eq(info.info_length, 8);
	ck_assert_uint_eq(info.indirect_levels, 0);
	ck_assert_uint_eq(info.unused_flags, 0);
	ck_assert_uint_eq(count, 4);
	ck_assert_uint_eq(limit, 123);
	ck_assert_uint_eq(limit, xw_dx_root_limit(1024, true));
	ck_assert_int_eq(xw_dx_block_verify(block, 1024, XW_DX_ROOT_ENTRIES, root_seed()), 0);
	ck_assert_uint_eq(peek32(block + 1020), 0x09B12FE0);
	memcpy(out, block, sizeof(out));
	memset(out + 24, 0xA5, 8 + 8 * 4);
	memset(out + 1020, 0xA5, 4);
	xw_dx_info_encode(out, &info);
	xw_dx_set_limit(out, XW_DX_ROOT_ENTRIES, limit, count);
	for (unsigned i = 0; i < count; i++) {
		xw_dx_entry_decode(block, XW_DX_ROOT_ENTRIES, i, &e);
		ck_assert_uint_eq(e.hash, root_entries[i].hash);
		ck_assert_uint_eq(e.lblk, root_entries[i].lblk);
		xw_dx_entry_encode(out, XW_DX_ROOT_ENTRIES, i, &e);
	}
	xw_dx_block_set_csum(out, 1024, XW_DX_ROOT_ENTRIES, root_seed());
	ck_assert_mem_eq(out, block, sizeof(block));
}
END_TEST

START_TEST(node_as_debugfs)
{
	uint8_t block[1024], out[1024];
	unsigned limit = 0, count = 0;
	struct xw_dx_entry e;

	FIX(dx_node, block);
	ck_assert_int_eq(xw_dx_node_decode(block, 1024, true, &limit, &count), 0);
	ck_assert_uint_eq(count, 126);
	ck_assert_uint_eq(limit, 126);
	ck_assert_uint_eq(limit, xw_dx_node_limit(1024, true));
	ck_assert_int_eq(xw_dx_block_verify(block, 1024, XW_DX_NODE_ENTRIES, node_seed()), 0);
	ck_assert_uint_eq(peek32(block + 1020), 0x0A87111E);
	memcpy(out, block, sizeof(out));
	memset(out + 8, 0xA5, 8 * 126);
	xw_dx_set_limit(out, XW_DX_NODE_ENTRIES, limit, count);
	for (unsigned i = 0; i < count; i++) {
		xw_dx_entry_decode(block, XW_DX_NODE_ENTRIES, i, &e);
		if (i < XW_ARRAY_SIZE(node_entries)) {
			ck_assert_uint_eq(e.hash, node_entries[i].hash);
			ck_assert_uint_eq(e.lblk, node_entries[i].lblk);
		}
		xw_dx_entry_encode(out, XW_DX_NODE_ENTRIES, i, &e);
	}
	memset(out + 1020, 0, 4);
	xw_dx_block_set_csum(out, 1024, XW_DX_NODE_ENTRIES, node_seed());
	ck_assert_mem_eq(out, block, sizeof(block));
}
END_TEST

/* Used slots and the tail's reserved word are covered, unused slots are not. */
START_TEST(what_the_checksum_covers)
{
	uint8_t block[1024];

	FIX(dx_root, block);
	for (unsigned i = 0; i < 8 * sizeof(block); i++) {
		bool unused = i / 8 >= 32 + 8 * 4 && i / 8 < 1016;
		int err;

		block[i / 8] ^= (uint8_t)(1u << i % 8);
		err = xw_dx_block_verify(block, 1024, XW_DX_ROOT_ENTRIES, root_seed());
		if (unused)
			ck_assert_int_eq(err, 0);
		else
			ck_assert_int_ne(err, 0);
		block[i / 8] ^= (uint8_t)(1u << i % 8);
	}
}
END_TEST

static const struct {
	uint16_t limit, count;
	uint8_t info_length, levels;
	bool csum;
	int want;
} roots[] = {
	{123, 4, 8, 0, true, 0},
	{123, 4, 8, 3, true, 0},
	{123, 4, 8, 4, true, XW_ERR_CORRUPT},
	{123, 4, 16, 0, true, XW_ERR_CORRUPT},
	{123, 0, 8, 0, true, XW_ERR_CORRUPT},
	{123, 124, 8, 0, true, XW_ERR_CORRUPT},
	{123, 123, 8, 0, true, 0},
	{124, 4, 8, 0, true, XW_ERR_CORRUPT},
	{124, 4, 8, 0, false, 0},
	{125, 4, 8, 0, false, XW_ERR_CORRUPT},
	{0xFFFF, 0xFFFF, 8, 0, true, XW_ERR_CORRUPT},
};

START_TEST(root_checks)
{
	struct xw_dx_info info;
	uint8_t block[1024];
	unsigned limit, count;

	FIX(dx_root, block);
	xw_dx_set_limit(block, XW_DX_ROOT_ENTRIES, roots[_i].limit, roots[_i].count);
	block[29] = roots[_i].info_length;
	block[30] = roots[_i].levels;
	ck_assert_int_eq(xw_dx_root_decode(block, 1024, roots[_i].csum, &info, &limit, &count),
			 roots[_i].want);
	ck_assert_uint_eq(limit, roots[_i].limit);
	ck_assert_uint_eq(info.indirect_levels, roots[_i].levels);
}
END_TEST

START_TEST(tail_stays_inside)
{
	uint8_t block[1024];
	uint32_t csum = 0;

	FIX(dx_node, block);
	ck_assert(xw_dx_csum_peek(block, 1024, XW_DX_NODE_ENTRIES, &csum));
	ck_assert_uint_eq(csum, peek32(block + 1020));
	for (unsigned limit = 127; limit < 0x10000; limit += 31) {
		uint8_t before[1024];

		xw_dx_set_limit(block, XW_DX_NODE_ENTRIES, limit, 126);
		memcpy(before, block, sizeof(before));
		ck_assert(!xw_dx_csum_peek(block, 1024, XW_DX_NODE_ENTRIES, &csum));
		ck_assert_int_eq(xw_dx_block_verify(block, 1024, XW_DX_NODE_ENTRIES, 0),
				 XW_ERR_CORRUPT);
		xw_dx_block_set_csum(block, 1024, XW_DX_NODE_ENTRIES, 0);
		ck_assert_mem_eq(block, before, sizeof(before));
	}
	xw_dx_set_limit(block, XW_DX_NODE_ENTRIES, 126, 127);
	ck_assert_int_eq(xw_dx_block_verify(block, 1024, XW_DX_NODE_ENTRIES, 0), XW_ERR_CORRUPT);
}
END_TEST

START_TEST(room)
{
	ck_assert_uint_eq(xw_dx_root_limit(1024, false), 124);
	ck_assert_uint_eq(xw_dx_root_limit(4096, true), 507);
	ck_assert_uint_eq(xw_dx_root_limit(4096, false), 508);
	ck_assert_uint_eq(xw_dx_node_limit(4096, true), 510);
	ck_assert_uint_eq(xw_dx_node_limit(4096, false), 511);
	ck_assert_uint_eq(xw_dx_node_limit(65536, false), 8191);
}
END_TEST

/* The upper bits of a block number are not part of it. */
START_TEST(block_number_mask)
{
	uint8_t block[64] = {0};
	struct xw_dx_entry e;

	poke32(block + 8 + 8 + 4, 0xF1234567);
	xw_dx_entry_decode(block, XW_DX_NODE_ENTRIES, 1, &e);
	ck_assert_uint_eq(e.lblk, 0x01234567);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("dx");
	TCase *t = tcase_create("dx");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, root_as_debugfs);
	tcase_add_test(t, node_as_debugfs);
	tcase_add_test(t, what_the_checksum_covers);
	unit_add_table(t, root_checks, roots);
	tcase_add_test(t, tail_stays_inside);
	tcase_add_test(t, room);
	tcase_add_test(t, block_number_mask);
	suite_add_tcase(s, t);
	return unit_main(s);
}
