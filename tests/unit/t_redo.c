/* SPDX-License-Identifier: MIT */
/* Headers and lists of redo records: their bytes, and every number that is out of bounds. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/crc.h"
#include "base/endian.h"
#include "base/err.h"
#include "disk/redo.h"
#include "disk/redo_list.h"
#include "unit.h"

#define AT_VERSION 0x08
#define AT_BLOCK_SIZE 0x0C
#define AT_OLD_SIZE 0x28
#define AT_NEW_SIZE 0x30
#define AT_BLOCKS 0x38
#define AT_LOG_OFFSET 0x40
#define AT_LOG_BLOCKS 0x48
#define AT_CSUM 0x3FC
#define LIST_AT_BLOCK_SIZE 0x08
#define LIST_AT_CSUM 0x0C
#define LIST_AT_N 0x38

/* ---- the header ---- */

static void seal(uint8_t *buf)
{
	poke32(buf + AT_CSUM, 0);
	poke32(buf + AT_CSUM, xw_crc32c(~0u, buf, XW_REDO_HEADER_SIZE));
}

static struct xw_redo_header example(void)
{
	struct xw_redo_header h = {
		.version = 1,
		.block_size = 1024,
		.nonce = 0x1122334455667788,
		.old_size = 1 << 20,
		.new_size = 2 << 20,
		.blocks = 100,
		.log_offset = xw_redo_log_offset(100, 1024),
		.log_blocks = xw_redo_log_blocks(100, 1024),
		.hashes_csum = 0x99AABBCC,
		.place = {.device = 5, .number = 6, .born = 7, .offset = 512},
	};

	memset(h.uuid, 0xA1, sizeof(h.uuid));
	memset(h.place.boot, 0xB2, sizeof(h.place.boot));
	memset(h.old_super, 0xC3, sizeof(h.old_super));
	memset(h.pending_super, 0xD4, sizeof(h.pending_super));
	memset(h.new_super, 0xE5, sizeof(h.new_super));
	return h;
}

/* An exact allocation: a sanitizer finds a step outside. */
static uint8_t *encoded(void)
{
	const struct xw_redo_header h = example();
	uint8_t *buf = malloc(XW_REDO_HEADER_SIZE);

	ck_assert_ptr_nonnull(buf);
	memset(buf, 0x5A, XW_REDO_HEADER_SIZE);
	xw_redo_header_encode(&h, buf);
	return buf;
}

START_TEST(header)
{
	const struct xw_redo_header want = example();
	static struct xw_redo_header got;
	uint8_t *buf = encoded();

	ck_assert_int_eq(memcmp(buf, "XW-REDO1", 8), 0);
	ck_assert_uint_eq(peek32(buf + AT_VERSION), 1);
	ck_assert_uint_eq(peek32(buf + AT_BLOCK_SIZE), 1024);
	ck_assert_uint_eq(peek64(buf + AT_BLOCKS), 100);
	ck_assert_uint_eq(peek64(buf + AT_LOG_OFFSET), 6144); /* 4096 + 100 * 2 hashes of 8 */
	ck_assert_uint_eq(peek64(buf + AT_LOG_BLOCKS), 104); /* superblock, 2 descriptors, commit */
	ck_assert_uint_eq(buf[0x10], 0xA1);
	ck_assert_uint_eq(buf[0x400], 0xC3);
	ck_assert_uint_eq(buf[0x800], 0xD4);
	ck_assert_uint_eq(buf[0xC00], 0xE5);
	ck_assert_int_eq(xw_redo_header_decode(buf, &got), 0);
	ck_assert_uint_eq(got.version, want.version);
	ck_assert_uint_eq(got.block_size, want.block_size);
	ck_assert_mem_eq(got.uuid, want.uuid, sizeof(got.uuid));
	ck_assert_uint_eq(got.nonce, want.nonce);
	ck_assert_uint_eq(got.old_size, want.old_size);
	ck_assert_uint_eq(got.new_size, want.new_size);
	ck_assert_uint_eq(got.blocks, want.blocks);
	ck_assert_uint_eq(got.log_offset, want.log_offset);
	ck_assert_uint_eq(got.log_blocks, want.log_blocks);
	ck_assert_uint_eq(got.hashes_csum, want.hashes_csum);
	ck_assert_mem_eq(got.place.boot, want.place.boot, sizeof(got.place.boot));
	ck_assert_uint_eq(got.place.device, 5);
	ck_assert_uint_eq(got.place.number, 6);
	ck_assert_uint_eq(got.place.born, 7);
	ck_assert_uint_eq(got.place.offset, 512);
	ck_assert_mem_eq(got.old_super, want.old_super, XW_SUPER_SIZE);
	ck_assert_mem_eq(got.pending_super, want.pending_super, XW_SUPER_SIZE);
	ck_assert_mem_eq(got.new_super, want.new_super, XW_SUPER_SIZE);
	free(buf);
}
END_TEST

START_TEST(damaged_header)
{
	static struct xw_redo_header got;
	uint8_t *buf = encoded();

	for (unsigned i = 0; i < XW_REDO_HEADER_SIZE; i++) {
		buf[i] ^= 4;
		ck_assert_msg(xw_redo_header_decode(buf, &got) ==
				      (i < 8 ? XW_ERR_INPUT : XW_ERR_CHECKSUM),
			      "byte %u", i);
		buf[i] ^= 4;
	}
	poke32(buf + AT_VERSION, 2);
	seal(buf);
	ck_assert_int_eq(xw_redo_header_decode(buf, &got), XW_ERR_UNSUPPORTED);
	ck_assert_uint_eq(got.version, 2);
	free(buf);
}
END_TEST

START_TEST(header_bounds)
{
	static const struct {
		const char *name;
		unsigned at, width;
		uint64_t value;
		int want;
	} rows[] = {
		{"unchanged", AT_VERSION, 4, 1, 0},
		{"no block size", AT_BLOCK_SIZE, 4, 0, XW_ERR_CORRUPT},
		{"small blocks", AT_BLOCK_SIZE, 4, 512, XW_ERR_CORRUPT},
		{"large blocks", AT_BLOCK_SIZE, 4, 131072, XW_ERR_CORRUPT},
		{"no power of two", AT_BLOCK_SIZE, 4, 3072, XW_ERR_CORRUPT},
		{"another block size", AT_BLOCK_SIZE, 4, 2048, XW_ERR_CORRUPT},
		{"no blocks", AT_BLOCKS, 8, 0, XW_ERR_CORRUPT},
		{"a block less", AT_BLOCKS, 8, 99, XW_ERR_CORRUPT},
		{"blocks over 32 bits", AT_BLOCKS, 8, UINT64_C(1) << 32, XW_ERR_CORRUPT},
		{"blocks that overflow", AT_BLOCKS, 8, UINT64_MAX, XW_ERR_CORRUPT},
		{"log too early", AT_LOG_OFFSET, 8, 5120, XW_ERR_CORRUPT},
		{"log too late", AT_LOG_OFFSET, 8, 7168, XW_ERR_CORRUPT},
		{"log too short", AT_LOG_BLOCKS, 8, 103, XW_ERR_CORRUPT},
		{"log too long", AT_LOG_BLOCKS, 8, 105, XW_ERR_CORRUPT},
		{"log over 32 bits", AT_LOG_BLOCKS, 8, (UINT64_C(1) << 32) + 104, XW_ERR_CORRUPT},
		{"largest old size", AT_OLD_SIZE, 8, INT64_MAX, 0},
		{"old size too large", AT_OLD_SIZE, 8, UINT64_C(1) << 63, XW_ERR_CORRUPT},
		{"largest new size", AT_NEW_SIZE, 8, INT64_MAX, 0},
		{"new size too large", AT_NEW_SIZE, 8, UINT64_C(1) << 63, XW_ERR_CORRUPT},
	};
	static struct xw_redo_header got;

	for (unsigned i = 0; i < XW_ARRAY_SIZE(rows); i++) {
		uint8_t *buf = encoded();

		if (rows[i].width == 8)
			poke64(buf + rows[i].at, rows[i].value);
		else
			poke32(buf + rows[i].at, (uint32_t)rows[i].value);
		seal(buf);
		ck_assert_msg(xw_redo_header_decode(buf, &got) == rows[i].want, "%s", rows[i].name);
		free(buf);
	}
}
END_TEST

START_TEST(hashes)
{
	uint64_t table[2] = {0x0102030405060708, UINT64_MAX};
	const uint8_t bytes[16] = {8,    7,    6,    5,    4,    3,    2,    1,
				   0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};

	xw_redo_hashes_encode(table, 2);
	ck_assert_mem_eq(table, bytes, sizeof(bytes));
	xw_redo_hashes_decode(table, 2);
	ck_assert_uint_eq(table[0], 0x0102030405060708);
	ck_assert_uint_eq(table[1], UINT64_MAX);
	ck_assert_uint_eq(xw_redo_hash_bytes(3, 4096), 3 * 8 * 8);
}
END_TEST

/* ---- the list ---- */

static const struct xw_run runs[] = {{7, 1}, {UINT64_C(1) << 40, 300}, {9, UINT64_MAX}};

static uint8_t *encoded_list(void)
{
	struct xw_redo_list l = {.block_size = 1024,
				 .nonce = 0x1122334455667788,
				 .bytes = 70000,
				 .next = 99,
				 .n = XW_ARRAY_SIZE(runs),
				 .index = 2,
				 .size = 1 << 20};
	uint8_t *buf = malloc(l.block_size);

	ck_assert_ptr_nonnull(buf);
	memset(buf, 0x5A, l.block_size);
	memset(l.uuid, 0xA1, sizeof(l.uuid));
	xw_redo_list_encode(&l, runs, buf);
	return buf;
}

static void seal_list(uint8_t *buf)
{
	poke32(buf + LIST_AT_CSUM, 0);
	poke32(buf + LIST_AT_CSUM, xw_crc32c(~0u, buf, 1024));
}

START_TEST(list)
{
	uint8_t *buf = encoded_list();
	struct xw_redo_list got;
	uint32_t block_size;

	ck_assert_int_eq(memcmp(buf, "XW-INSD1", 8), 0);
	ck_assert_uint_eq(peek32(buf + LIST_AT_N), 3);
	ck_assert_uint_eq(peek64(buf + 0x50), 7);
	ck_assert(xw_redo_list_peek(buf, &block_size));
	ck_assert_uint_eq(block_size, 1024);
	ck_assert_int_eq(xw_redo_list_decode(buf, 1024, &got), 0);
	ck_assert_uint_eq(got.block_size, 1024);
	ck_assert_uint_eq(got.uuid[15], 0xA1);
	ck_assert_uint_eq(got.nonce, 0x1122334455667788);
	ck_assert_uint_eq(got.bytes, 70000);
	ck_assert_uint_eq(got.next, 99);
	ck_assert_uint_eq(got.n, 3);
	ck_assert_uint_eq(got.index, 2);
	ck_assert_uint_eq(got.size, 1 << 20);
	for (size_t i = 0; i < XW_ARRAY_SIZE(runs); i++) {
		const struct xw_run run = xw_redo_list_run(buf, i);

		ck_assert_uint_eq(run.start, runs[i].start);
		ck_assert_uint_eq(run.len, runs[i].len);
	}
	free(buf);
}
END_TEST

START_TEST(damaged_list)
{
	uint8_t *buf = encoded_list();
	struct xw_redo_list got;

	for (unsigned i = 0; i < 1024; i++) {
		buf[i] ^= 4;
		ck_assert_msg(xw_redo_list_decode(buf, 1024, &got) == XW_ERR_CORRUPT, "byte %u", i);
		buf[i] ^= 4;
	}
	/* the block of another size, right otherwise */
	poke32(buf + LIST_AT_BLOCK_SIZE, 2048);
	seal_list(buf);
	ck_assert_int_eq(xw_redo_list_decode(buf, 1024, &got), XW_ERR_CORRUPT);
	free(buf);
}
END_TEST

START_TEST(list_bounds)
{
	static const struct {
		uint32_t block_size;
		bool possible;
	} sizes[] = {{0, false},    {512, false},    {1024, true},       {1536, false},
		     {65536, true}, {131072, false}, {UINT32_MAX, false}};
	const size_t max = xw_redo_list_max(1024);
	uint8_t *buf = encoded_list();
	struct xw_redo_list got;
	uint32_t block_size;

	ck_assert_uint_eq(max, (1024 - 0x50) / 16);
	poke32(buf + LIST_AT_N, (uint32_t)max);
	seal_list(buf);
	ck_assert_int_eq(xw_redo_list_decode(buf, 1024, &got), 0);
	ck_assert_uint_eq(xw_redo_list_run(buf, max - 1).start, 0);
	poke32(buf + LIST_AT_N, (uint32_t)max + 1);
	seal_list(buf);
	ck_assert_int_eq(xw_redo_list_decode(buf, 1024, &got), XW_ERR_CORRUPT);
	poke32(buf + LIST_AT_N, UINT32_MAX);
	seal_list(buf);
	ck_assert_int_eq(xw_redo_list_decode(buf, 1024, &got), XW_ERR_CORRUPT);
	for (unsigned i = 0; i < XW_ARRAY_SIZE(sizes); i++) {
		uint8_t *head = malloc(XW_REDO_LIST_HEADER);

		ck_assert_ptr_nonnull(head);
		memcpy(head, buf, XW_REDO_LIST_HEADER);
		poke32(head + LIST_AT_BLOCK_SIZE, sizes[i].block_size);
		ck_assert_msg(xw_redo_list_peek(head, &block_size) == sizes[i].possible, "%u",
			      (unsigned)sizes[i].block_size);
		head[0] ^= 1;
		ck_assert(!xw_redo_list_peek(head, &block_size));
		free(head);
	}
	free(buf);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("redo");
	TCase *tc = tcase_create("record");

	tcase_add_test(tc, header);
	tcase_add_test(tc, damaged_header);
	tcase_add_test(tc, header_bounds);
	tcase_add_test(tc, hashes);
	tcase_add_test(tc, list);
	tcase_add_test(tc, damaged_list);
	tcase_add_test(tc, list_bounds);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
