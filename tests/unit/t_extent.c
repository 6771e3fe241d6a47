/* SPDX-License-Identifier: MIT */
/* Extent nodes: a block the kernel wrote, entry encodings, header checks, the tail. */
#include <check.h>

#include "base/endian.h"
#include "base/err.h"
#include "disk/extent.h"
#include "disk/inode.h"
#include "disk_fix.h"
#include "unit.h"

static uint32_t holes_seed(void)
{
	return xw_inode_seed(FIX_SEED, 13, 3130461200);
}

/* debugfs: (ETB0):9346, (0):9377, (4):9381, ... (24):9401 */
START_TEST(block_as_debugfs)
{
	struct xw_extent_hdr h;
	struct xw_extent e;
	uint8_t node[1024], out[1024];

	FIX(extent_block, node);
	ck_assert_int_eq(xw_extent_hdr_decode(node, sizeof(node), &h), 0);
	ck_assert_uint_eq(h.entries, 7);
	ck_assert_uint_eq(h.max, 84);
	ck_assert_uint_eq(h.max, xw_extent_node_max(1024));
	ck_assert_uint_eq(h.depth, 0);
	memcpy(out, node, sizeof(out));
	memset(out, 0xA5, 12 + 12 * 7);
	xw_extent_hdr_encode(out, &h);
	for (unsigned i = 0; i < h.entries; i++) {
		xw_extent_leaf_decode(node, i, &e);
		ck_assert_uint_eq(e.lblk, 4 * i);
		ck_assert_uint_eq(e.len, 1);
		ck_assert_uint_eq(e.pblk, 9377 + 4 * i);
		ck_assert(!e.unwritten);
		xw_extent_leaf_encode(out, i, &e);
	}
	ck_assert_mem_eq(out, node, sizeof(node));
	ck_assert_int_eq(xw_extent_block_verify(node, sizeof(node), holes_seed()), 0);
	memset(out + 1020, 0, 4);
	xw_extent_block_set_csum(out, sizeof(out), holes_seed());
	ck_assert_mem_eq(out, node, sizeof(node));
}
END_TEST

START_TEST(root_in_inode)
{
	struct xw_extent_idx x;
	struct xw_extent_hdr h;
	uint8_t rec[256], out[60] = {0};

	FIX(inode_holes, rec);
	ck_assert_int_eq(xw_extent_hdr_decode(rec + 40, 60, &h), 0);
	ck_assert_uint_eq(h.depth, 1);
	ck_assert_uint_eq(h.entries, 1);
	ck_assert_uint_eq(h.max, XW_EXT_INODE_ENTRIES);
	xw_extent_idx_decode(rec + 40, 0, &x);
	ck_assert_uint_eq(x.lblk, 0);
	ck_assert_uint_eq(x.pblk, 9346);
	xw_extent_hdr_encode(out, &h);
	xw_extent_idx_encode(out, 0, &x);
	ck_assert_mem_eq(out, rec + 40, 24);
}
END_TEST

START_TEST(checksum_covers_everything)
{
	uint8_t node[1024];
	uint32_t seed;

	FIX(extent_block, node);
	ck_assert(xw_extent_block_seed(node, sizeof(node), &seed));
	ck_assert_uint_eq(seed, holes_seed());
	for (unsigned i = 0; i < 8 * sizeof(node); i++) {
		node[i / 8] ^= (uint8_t)(1u << i % 8);
		ck_assert_int_ne(xw_extent_block_verify(node, sizeof(node), holes_seed()), 0);
		node[i / 8] ^= (uint8_t)(1u << i % 8);
	}
	ck_assert_int_eq(xw_extent_block_verify(node, sizeof(node), holes_seed() ^ 1),
			 XW_ERR_CHECKSUM);
	node[5] = 1; /* eh_max */
	ck_assert(!xw_extent_block_seed(node, sizeof(node), &seed));
}
END_TEST

static const struct {
	uint32_t len;
	bool unwritten;
	uint16_t stored;
} lengths[] = {
	{1, false, 1},
	{32767, false, 32767},
	{XW_EXT_MAX_LEN, false, 32768},
	{1, true, 32769},
	{XW_EXT_MAX_UNINIT, true, 65535},
};

START_TEST(length_encoding)
{
	struct xw_extent e = {.lblk = 0xFFFFFFFE, .pblk = XW_BLK_MAX - 1}, got;
	uint8_t node[60] = {0};

	e.len = lengths[_i].len;
	e.unwritten = lengths[_i].unwritten;
	xw_extent_leaf_encode(node, 2, &e);
	ck_assert_uint_eq(peek32(node + 36), 0xFFFFFFFE);
	ck_assert_uint_eq(peek16(node + 40), lengths[_i].stored);
	ck_assert_uint_eq(peek16(node + 42), 0xFFFF);
	ck_assert_uint_eq(peek32(node + 44), 0xFFFFFFFF);
	xw_extent_leaf_decode(node, 2, &got);
	ck_assert_uint_eq(got.len, e.len);
	ck_assert_uint_eq(got.unwritten, e.unwritten);
	ck_assert_uint_eq(got.pblk, e.pblk);
}
END_TEST

START_TEST(random_round_trip)
{
	uint64_t rng = 5 + (uint64_t)_i;
	uint8_t node[60], out[60];
	struct xw_extent_idx x;
	struct xw_extent e;

	fix_random_bytes(&rng, node, sizeof(node));
	memcpy(out, node, 12);
	for (unsigned i = 0; i < 4; i++) {
		xw_extent_leaf_decode(node, i, &e);
		xw_extent_leaf_encode(out, i, &e);
	}
	ck_assert_mem_eq(out, node, sizeof(node));
	for (unsigned i = 0; i < 4; i++) {
		poke16(node + 12 + 12 * i + 10, 0); /* ei_unused */
		xw_extent_idx_decode(node, i, &x);
		xw_extent_idx_encode(out, i, &x);
	}
	ck_assert_mem_eq(out, node, sizeof(node));
}
END_TEST

static const struct {
	size_t size;
	uint16_t magic, entries, max, depth;
	int want;
} headers[] = {
	{60, 0xF30A, 0, 4, 0, 0},
	{60, 0xF30A, 4, 4, 5, 0},
	{60, 0xF30A, 4, 4, 6, XW_ERR_CORRUPT},
	{60, 0xF30A, 5, 4, 0, XW_ERR_CORRUPT},
	{60, 0xF30A, 0, 5, 0, XW_ERR_CORRUPT},
	{60, 0xF30A, 0, 0, 0, XW_ERR_CORRUPT},
	{60, 0xF30B, 0, 4, 0, XW_ERR_CORRUPT},
	{1024, 0xF30A, 84, 84, 0, 0},
	{1024, 0xF30A, 85, 85, 0, XW_ERR_CORRUPT},
	{8, 0xF30A, 0, 0, 0, XW_ERR_CORRUPT},
	{12, 0xF30A, 0, 1, 0, XW_ERR_CORRUPT},
};

START_TEST(header_checks)
{
	struct xw_extent_hdr h;
	uint8_t node[1024] = {0};

	poke16(node, headers[_i].magic);
	poke16(node + 2, headers[_i].entries);
	poke16(node + 4, headers[_i].max);
	poke16(node + 6, headers[_i].depth);
	ck_assert_int_eq(xw_extent_hdr_decode(node, headers[_i].size, &h), headers[_i].want);
}
END_TEST

/* A lying eh_max must not lead outside the block. */
START_TEST(tail_stays_inside)
{
	uint8_t node[1025] = {0};

	node[1024] = 0x77;
	for (unsigned max = 85; max < 0x10000; max += 17) {
		poke16(node + 4, (uint16_t)max);
		ck_assert_int_eq(xw_extent_block_verify(node, 1024, 0), XW_ERR_CORRUPT);
		xw_extent_block_set_csum(node, 1024, 0);
	}
	for (unsigned i = 6; i < 1024; i++)
		ck_assert_uint_eq(node[i], 0);
	ck_assert_uint_eq(node[1024], 0x77);
}
END_TEST

START_TEST(node_room)
{
	static const unsigned want[] = {84, 169, 340, 681, 1364, 2729, 5460};

	for (unsigned i = 0; i < XW_ARRAY_SIZE(want); i++) {
		uint32_t size = 1024u << i;

		ck_assert_uint_eq(xw_extent_node_max(size), want[i]);
		ck_assert_uint_le(12 + 12 * want[i] + 4, size);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("extent");
	TCase *t = tcase_create("extent");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, block_as_debugfs);
	tcase_add_test(t, root_in_inode);
	tcase_add_test(t, checksum_covers_everything);
	unit_add_table(t, length_encoding, lengths);
	tcase_add_loop_test(t, random_round_trip, 0, 100);
	unit_add_table(t, header_checks, headers);
	tcase_add_test(t, tail_stays_inside);
	tcase_add_test(t, node_room);
	suite_add_tcase(s, t);
	return unit_main(s);
}
