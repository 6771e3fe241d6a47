/* SPDX-License-Identifier: MIT */
/* itree nodes as bytes: written out by hand from itree(5), decoded, encoded, and damaged. */
#include <string.h>

#include "base/crc.h"
#include "base/endian.h"
#include "base/err.h"
#include "disk/dirent.h"
#include "disk/inode.h"
#include "disk/itree.h"
#include "unit.h"

#define BS 1024u
#define DIR 0x01020304u
#define GEN 0x0A0B0C0Du
#define SELF 0x0000112233445566ull
#define SEED 0xDEADBEEFu

/* A leaf with two entries, bytes from the format's table. */
static const uint8_t leaf_head[] = {
	0x45, 0x32, 0x49, 0x54, 1,    0,    2,   0,   36,   0,    0,    0,    0x04, 0x03,
	0x02, 0x01, 0x0D, 0x0C, 0x0B, 0x0A, 0,   0,   0,    0,    0x66, 0x55, 0x44, 0x33,
	0x22, 0x11, 0,    0,    12,   0,    0,   0,   0x10, 0x32, 0x54, 6,    16,   0,
	3,    1,    'a',  'b',  'c',  0,    13,  0,   0,    0,    2,    0,    0,    0,
	20,   0,    5,    2,    'h',  'e',  'l', 'l', 'o',  0,    0,    0,
};

/* An index of level 2 with two children, the second three quarters full. */
static const uint8_t index_head[] = {
	0x45, 0x32, 0x49, 0x54, 1,    2,    2,    0,    32,   0,    0,    0,    0x04,
	0x03, 0x02, 0x01, 0x0D, 0x0C, 0x0B, 0x0A, 0,    0,    0,    0,    0x66, 0x55,
	0x44, 0x33, 0x22, 0x11, 0,    0,    0,    0,    0,    0,    0,    0,    0,
	0,    0x99, 0,    0,    0,    0,    0,    3,    0,    0x11, 0x22, 0x33, 0x44,
	0xAA, 0xBB, 0xCC, 0xDD, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 2,    0,
};

static void fill(uint8_t *block, const uint8_t *head, size_t n)
{
	memset(block, 0, BS);
	memcpy(block, head, n);
}

static void make_leaf(uint8_t *block)
{
	fill(block, leaf_head, sizeof(leaf_head));
}

static void make_index(uint8_t *block)
{
	fill(block, index_head, sizeof(index_head));
}

static const struct xw_itree_entry two[] = {
	{{12, 0x06543210}, 3, XW_FT_REG, "abc"},
	{{13, 2}, 5, XW_FT_DIR, "hello"},
};

START_TEST(leaf_decodes)
{
	struct xw_itree_hdr h;
	struct xw_itree_flaw flaw;
	uint8_t b[BS];
	uint32_t off = 0;

	make_leaf(b);
	ck_assert_int_eq(xw_itree_node_check(b, BS, false, &h, &flaw), 0);
	ck_assert_uint_eq(h.level, 0);
	ck_assert_uint_eq(h.count, 2);
	ck_assert_uint_eq(h.used, 36);
	ck_assert_uint_eq(h.dir, DIR);
	ck_assert_uint_eq(h.generation, GEN);
	ck_assert_uint_eq(h.self, SELF);
	for (unsigned i = 0; i < 2; i++) {
		struct xw_itree_entry e;

		ck_assert_int_eq(xw_itree_leaf_decode(b, h.used, off, &e, &off), 0);
		ck_assert_int_eq(xw_itree_entry_cmp(&e, &two[i]), 0);
		ck_assert_uint_eq(e.ftype, two[i].ftype);
	}
	ck_assert_uint_eq(off, 36);
}
END_TEST

START_TEST(index_decodes)
{
	static const struct xw_itree_idx want[] = {
		{{0, 0}, 0x99, 3},
		{{0x44332211, 0xDDCCBBAA}, 0x060504030201, 2},
	};
	struct xw_itree_hdr h;
	uint8_t b[BS];

	make_index(b);
	ck_assert_int_eq(xw_itree_node_check(b, BS, false, &h, NULL), 0);
	ck_assert_uint_eq(h.level, 2);
	for (unsigned i = 0; i < 2; i++) {
		struct xw_itree_idx e;

		ck_assert_int_eq(xw_itree_idx_decode(b, i, &e), 0);
		ck_assert_int_eq(xw_itree_key_cmp(&e.key, &want[i].key), 0);
		ck_assert_uint_eq(e.blk, want[i].blk);
		ck_assert_uint_eq(e.quartile, want[i].quartile);
	}
}
END_TEST

START_TEST(encodes_the_same_bytes)
{
	struct xw_itree_hdr h;
	uint8_t b[BS], want[BS];

	make_leaf(want);
	memset(b, 0, BS);
	memset(b, 0xA5, XW_ITREE_HDR + 36);
	ck_assert_int_eq(xw_itree_node_check(want, BS, false, &h, NULL), 0);
	xw_itree_hdr_encode(b, BS, &h);
	ck_assert_uint_eq(xw_itree_leaf_encode(b, 0, &two[0]), 16);
	ck_assert_uint_eq(xw_itree_leaf_encode(b, 16, &two[1]), 20);
	ck_assert_mem_eq(b, want, BS);

	make_index(want);
	memset(b, 0, BS);
	memset(b, 0xA5, XW_ITREE_HDR + 32);
	ck_assert_int_eq(xw_itree_node_check(want, BS, false, &h, NULL), 0);
	xw_itree_hdr_encode(b, BS, &h);
	for (unsigned i = 0; i < 2; i++) {
		struct xw_itree_idx e;

		xw_itree_idx_decode(want, i, &e);
		xw_itree_idx_encode(b, i, &e);
	}
	ck_assert_mem_eq(b, want, BS);
}
END_TEST

/* One field damaged at a time, and which rule it breaks. */
static const struct {
	bool index;
	unsigned off;
	uint8_t value;
	unsigned rule;
} damages[] = {
	{false, 0, 0, 6},      {false, 4, 2, 6},     {false, 5, 5, 7},
	{false, 5, 1, 10}, /* as an index its count is wrong */
	{false, 6, 1, 10},     {false, 6, 3, 10},    {false, 8, 35, 10},
	{false, 8, 40, 10},    {false, 9, 4, 6}, /* 1060 bytes in 984 */
	{false, 10, 1, 6},     {false, 21, 1, 6},    {false, BS - 8, 1, 6},
	{false, 32, 14, 11}, /* 14 before 13 */
	{false, 32, 0, 10},    {false, 40, 20, 10},  {false, 42, 0, 10},
	{false, 42, 4, 10}, /* a name with a NUL */
	{false, 42, 2, 10}, /* its padding is not zero */
	{false, 45, '/', 10},  {false, 67, 1, 10}, /* padding */
	{false, 68, 1, 6}, /* behind the entries */
	{false, BS - 9, 1, 6}, {false, 48, 12, 11}, /* (12, 2) behind (12, 6543210) */
	{true, 8, 31, 10},     {true, 8, 48, 10},    {true, 6, 0, 10},
	{true, 32, 0xFF, 0},   {true, 35, 0xFF, 11}, {true, 46, 7, 6},
	{true, 63, 1, 6},      {true, 64, 1, 6},
};

START_TEST(damage_is_seen)
{
	struct xw_itree_flaw flaw = {0};
	struct xw_itree_hdr h;
	uint8_t *b = malloc(BS);
	unsigned rule = damages[_i].rule;

	(damages[_i].index ? make_index : make_leaf)(b);
	b[damages[_i].off] = damages[_i].value;
	ck_assert_int_eq(xw_itree_node_check(b, BS, false, &h, &flaw), rule ? XW_ERR_CORRUPT : 0);
	ck_assert_uint_eq(flaw.rule, rule);
	free(b);
}
END_TEST

START_TEST(encrypted_names_are_any_bytes)
{
	struct xw_itree_hdr h;
	uint8_t b[BS];

	make_leaf(b);
	b[XW_ITREE_HDR + 12] = '/';
	ck_assert_int_eq(xw_itree_node_check(b, BS, false, &h, NULL), XW_ERR_CORRUPT);
	ck_assert_int_eq(xw_itree_node_check(b, BS, true, &h, NULL), 0);
}
END_TEST

/* Not even there: they would lead out of the directory. */
START_TEST(dots_are_no_names)
{
	static const struct {
		const char *name;
		int rc;
	} rows[] = {{".", XW_ERR_CORRUPT}, {"..", XW_ERR_CORRUPT}, {"...", 0}, {".a", 0}};

	for (size_t i = 0; i < XW_ARRAY_SIZE(rows); i++) {
		const struct xw_itree_entry e = {
			{12, 2}, (uint8_t)strlen(rows[i].name), XW_FT_DIR, rows[i].name};
		struct xw_itree_hdr h = {.count = 1};
		struct xw_itree_flaw flaw = {0};
		uint8_t b[BS] = {0};

		h.used = (uint16_t)xw_itree_leaf_encode(b, 0, &e);
		xw_itree_hdr_encode(b, BS, &h);
		for (int any = 0; any < 2; any++) {
			ck_assert_int_eq(xw_itree_node_check(b, BS, any, &h, &flaw), rows[i].rc);
			ck_assert_uint_eq(flaw.rule, rows[i].rc ? 10 : 0);
		}
	}
}
END_TEST

/* Equal separators are allowed, equal entries are not; links of one hash differ in name. */
START_TEST(order)
{
	static const struct {
		struct xw_itree_entry a, b;
		int cmp;
	} rows[] = {
		{{{1, 2}, 1, 0, "a"}, {{2, 0}, 1, 0, "a"}, -1},
		{{{1, 2}, 1, 0, "a"}, {{1, 4}, 1, 0, "a"}, -1},
		{{{0x80000000u, 2}, 1, 0, "a"}, {{1, 4}, 1, 0, "a"}, 1},
		{{{1, 2}, 1, 0, "a"}, {{1, 2}, 1, 0, "b"}, -1},
		{{{1, 2}, 1, 0, "a"}, {{1, 2}, 2, 0, "ab"}, -1},
		{{{1, 2}, 1, 0, "\xFF"}, {{1, 2}, 2, 0, "ab"}, 1},
		{{{1, 2}, 2, 0, "ab"}, {{1, 2}, 2, 7, "ab"}, 0},
	};
	struct xw_itree_hdr h = {.level = 0, .count = 2};
	struct xw_itree_flaw flaw;

	for (size_t i = 0; i < XW_ARRAY_SIZE(rows); i++) {
		int c = xw_itree_entry_cmp(&rows[i].a, &rows[i].b);
		uint8_t b[BS] = {0};
		uint32_t used;

		ck_assert_int_eq((c > 0) - (c < 0), rows[i].cmp);
		used = xw_itree_leaf_encode(b, 0, &rows[i].a);
		used += xw_itree_leaf_encode(b, used, &rows[i].b);
		h.used = (uint16_t)used;
		xw_itree_hdr_encode(b, BS, &h);
		ck_assert_int_eq(xw_itree_node_check(b, BS, false, &h, &flaw),
				 c < 0 ? 0 : XW_ERR_CORRUPT);
		if (c >= 0)
			ck_assert_uint_eq(flaw.rule, 11);
	}
}
END_TEST

START_TEST(owner)
{
	struct xw_itree_hdr h;
	uint8_t b[BS];

	make_leaf(b);
	ck_assert_int_eq(xw_itree_hdr_decode(b, BS, &h, NULL), 0);
	ck_assert_int_eq(xw_itree_hdr_belongs(&h, DIR, GEN, SELF, NULL), 0);
	ck_assert_int_eq(xw_itree_hdr_belongs(&h, DIR + 1, GEN, SELF, NULL), XW_ERR_CORRUPT);
	ck_assert_int_eq(xw_itree_hdr_belongs(&h, DIR, GEN + 1, SELF, NULL), XW_ERR_CORRUPT);
	ck_assert_int_eq(xw_itree_hdr_belongs(&h, DIR, GEN, SELF + 1, NULL), XW_ERR_CORRUPT);
}
END_TEST

START_TEST(checksum)
{
	uint32_t seed = xw_inode_seed(SEED, DIR, GEN);
	uint8_t b[BS];

	make_leaf(b);
	ck_assert_int_eq(xw_itree_verify(b, BS, false, seed), 0);
	ck_assert_int_eq(xw_itree_verify(b, BS, true, seed), XW_ERR_CHECKSUM);
	xw_itree_set_csum(b, BS, true, seed);
	ck_assert_uint_eq(peek32(b + BS - 4), xw_crc32c(seed, b, BS - 4));
	ck_assert_int_eq(xw_itree_verify(b, BS, true, seed), 0);
	ck_assert_int_eq(xw_itree_verify(b, BS, false, seed), XW_ERR_CHECKSUM);
	for (unsigned i = 0; i < 8 * BS; i++) {
		b[i / 8] ^= (uint8_t)(1u << i % 8);
		ck_assert_int_eq(xw_itree_verify(b, BS, true, seed), XW_ERR_CHECKSUM);
		b[i / 8] ^= (uint8_t)(1u << i % 8);
	}
	xw_itree_set_csum(b, BS, false, seed);
	ck_assert_uint_eq(peek32(b + BS - 4), 0);
}
END_TEST

/* The slot is where the format says, and writing it leaves dx_root's checksum right. */
START_TEST(slot)
{
	static const struct {
		uint32_t bs;
		bool csum;
		unsigned off;
	} rows[] = {{1024, false, 1016}, {1024, true, 1008},    {4096, false, 4088},
		    {4096, true, 4080},  {65536, false, 65528}, {65536, true, 65520}};
	uint8_t *b = calloc(1, 65536);

	for (size_t i = 0; i < XW_ARRAY_SIZE(rows); i++) {
		uint32_t bs = rows[i].bs;
		xw_blk root;

		memset(b, 0, bs);
		xw_dx_set_limit(b, XW_DX_ROOT_ENTRIES, xw_dx_root_limit(bs, rows[i].csum), 5);
		xw_dx_block_set_csum(b, bs, XW_DX_ROOT_ENTRIES, SEED);
		ck_assert_int_eq(xw_itree_slot_get(b, bs, rows[i].csum, &root), XW_ERR_CORRUPT);
		ck_assert_uint_eq(root, 0);
		xw_itree_slot_set(b, bs, rows[i].csum, SELF);
		ck_assert_uint_eq(peek64(b + rows[i].off), SELF);
		ck_assert_int_eq(xw_itree_slot_get(b, bs, rows[i].csum, &root), 0);
		ck_assert_uint_eq(root, SELF);
		if (rows[i].csum)
			ck_assert_int_eq(xw_dx_block_verify(b, bs, XW_DX_ROOT_ENTRIES, SEED), 0);
		b[rows[i].off + 6] = 1;
		ck_assert_int_eq(xw_itree_slot_get(b, bs, rows[i].csum, &root), XW_ERR_CORRUPT);
	}
	free(b);
}
END_TEST

START_TEST(quartiles)
{
	for (uint32_t cap = 88; cap < 70000; cap = cap * 3 + 1) {
		ck_assert_uint_eq(xw_itree_quartile(cap, 0), 0);
		for (uint32_t used = 1; used <= cap; used++)
			ck_assert_uint_eq(xw_itree_quartile(cap, used),
					  (unsigned)((used * 4ull + cap - 1) / cap) - 1);
	}
	ck_assert_uint_eq(xw_itree_cap(1024), 984);
	ck_assert_uint_eq(xw_itree_cap(65536), 65496);
	ck_assert_uint_eq(xw_itree_rec_len(1), 16);
	ck_assert_uint_eq(xw_itree_rec_len(4), 16);
	ck_assert_uint_eq(xw_itree_rec_len(5), 20);
	ck_assert_uint_eq(xw_itree_rec_len(255), 268);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("itree_node");
	TCase *t = tcase_create("all");

	tcase_add_test(t, leaf_decodes);
	tcase_add_test(t, index_decodes);
	tcase_add_test(t, encodes_the_same_bytes);
	unit_add_table(t, damage_is_seen, damages);
	tcase_add_test(t, encrypted_names_are_any_bytes);
	tcase_add_test(t, dots_are_no_names);
	tcase_add_test(t, order);
	tcase_add_test(t, owner);
	tcase_add_test(t, checksum);
	tcase_add_test(t, slot);
	tcase_add_test(t, quartiles);
	suite_add_tcase(s, t);
	return unit_main(s);
}
