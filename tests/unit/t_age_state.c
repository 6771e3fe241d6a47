/* SPDX-License-Identifier: MIT */
/* The state of an aging run: its bytes, round trips, and every number that is out of bounds. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc.h"
#include "base/endian.h"
#include "base/err.h"
#include "disk/age_state.h"
#include "unit.h"

#define CSUM 1020
#define CPU(i) (160u + 264u * (i))
#define POOL(i, k) (CPU(i) + 8 + 16u * (k))

static const struct xw_age_bounds fs = {
	.blocks = 32768, .first_data_block = 1, .inodes = 8192, .groups = 4, .block_size = 1024};

static struct xw_age_state example(void)
{
	struct xw_age_state s = {
		.options = 0x1122334455667788,
		.base = {.blocks = 32768, .free = 30000, .block_size = 1024, .now = 1700000000},
		.counts = {.ops = 100,
			   .created = 60,
			   .removed = 20,
			   .changed = 15,
			   .skipped = 5,
			   .shortened = 3,
			   .written = 1 << 20,
			   .steps = 7},
		.ended = 1,
		.writing = 40,
		.seen = {.free_blocks = 29000,
			 .free_inodes = 8000,
			 .dirs = 4,
			 .mnt_count = 2,
			 .mtime = 1600000000,
			 .wtime = 1700000000},
		.memory = {.stream = {3, 0}},
	};

	s.memory.pools[0].n = 2;
	s.memory.pools[0].run[0] = (struct xw_run){100, 512};
	s.memory.pools[0].run[1] = (struct xw_run){612, 1};
	s.memory.pools[1].n = 1;
	s.memory.pools[1].run[0] = (struct xw_run){32767, 1};
	return s;
}

static void seal(uint8_t *buf)
{
	poke32(buf + CSUM, xw_crc32c(~0u, buf, CSUM));
}

static int decode(const uint8_t *buf, struct xw_age_state *s)
{
	unsigned format;

	return xw_age_state_decode(buf, &fs, s, &format);
}

START_TEST(bytes)
{
	const struct xw_age_state s = example();
	uint8_t buf[XW_AGE_STATE_SIZE];

	memset(buf, 0xA5, sizeof(buf));
	xw_age_state_encode(&s, buf);
	ck_assert_mem_eq(buf, "xw-age 3\x88\x77\x66\x55\x44\x33\x22\x11", 16);
	ck_assert_uint_eq(peek64(buf + 16), 32768);
	ck_assert_uint_eq(peek64(buf + 32), 1700000000);
	ck_assert_uint_eq(peek64(buf + 40), 100);
	ck_assert_uint_eq(peek64(buf + 96), 7);
	ck_assert_uint_eq(peek64(buf + 104), 40);
	ck_assert_uint_eq(peek64(buf + 112), 29000);
	ck_assert_uint_eq(peek32(buf + 136), 1024);
	ck_assert_uint_eq(peek32(buf + 140), 1);
	ck_assert_uint_eq(peek32(buf + 152), 2);
	ck_assert_uint_eq(peek32(buf + CPU(0)), 3);
	ck_assert_uint_eq(peek32(buf + CPU(0) + 4), 2);
	ck_assert_uint_eq(peek64(buf + POOL(0, 1)), 612);
	ck_assert_uint_eq(peek16(buf + POOL(1, 0) + 8), 1);
	for (size_t i = CPU(2); i < CSUM; i++)
		ck_assert_uint_eq(buf[i], 0);
	ck_assert_uint_eq(peek32(buf + CSUM), xw_crc32c(~0u, buf, CSUM));
}
END_TEST

START_TEST(round_trip)
{
	const struct xw_age_state s = example();
	uint8_t buf[XW_AGE_STATE_SIZE], again[XW_AGE_STATE_SIZE];
	struct xw_age_state got;

	xw_age_state_encode(&s, buf);
	ck_assert_int_eq(decode(buf, &got), 0);
	ck_assert_uint_eq(got.options, s.options);
	ck_assert_uint_eq(got.base.free, s.base.free);
	ck_assert_int_eq(got.base.now, s.base.now);
	ck_assert_mem_eq(&got.counts, &s.counts, sizeof(s.counts));
	ck_assert_uint_eq(got.writing, 40);
	ck_assert_uint_eq(got.ended, 1);
	ck_assert_uint_eq(got.seen.free_inodes, 8000);
	ck_assert_uint_eq(got.seen.dirs, 4);
	ck_assert_int_eq(got.seen.mtime, 1600000000);
	ck_assert_uint_eq(got.memory.pools[0].run[1].start, 612);
	xw_age_state_encode(&got, again);
	ck_assert_mem_eq(buf, again, sizeof(buf));
}
END_TEST

/* Any byte that was changed is noticed, whatever it says. */
START_TEST(changed_byte)
{
	const struct xw_age_state s = example();
	uint8_t buf[XW_AGE_STATE_SIZE];
	struct xw_age_state got;

	xw_age_state_encode(&s, buf);
	for (size_t i = 0; i < sizeof(buf); i++) {
		buf[i] ^= 0x10;
		ck_assert_int_lt(decode(buf, &got), 0);
		buf[i] ^= 0x10;
	}
	ck_assert_int_eq(decode(buf, &got), 0);
}
END_TEST

static const struct {
	const char *text;
	int code;
	unsigned format;
} heads[] = {
	{"xw-age 2 1024 1700000000 0 99", XW_ERR_UNSUPPORTED, 2},
	{"xw-age 1 1024 1700000000 0 99", XW_ERR_UNSUPPORTED, 1},
	{"xw-age 4", XW_ERR_UNSUPPORTED, 4},
	{"xw-age 0", XW_ERR_INPUT, 0},
	{"xw-age x", XW_ERR_INPUT, 0},
	{"xw-age", XW_ERR_INPUT, 0},
	{"", XW_ERR_INPUT, 0},
	{"xw-age 3", XW_ERR_CHECKSUM, 3},
};

START_TEST(other_formats)
{
	uint8_t buf[XW_AGE_STATE_SIZE] = {0};
	struct xw_age_state got;
	unsigned format = 99;

	memcpy(buf, heads[_i].text, strlen(heads[_i].text));
	ck_assert_int_eq(xw_age_state_decode(buf, &fs, &got, &format), heads[_i].code);
	ck_assert_uint_eq(format, heads[_i].format);
}
END_TEST

/* Numbers that no run has, with a checksum that is right. */
static const struct {
	const char *what;
	unsigned off, size;
	uint64_t value;
	int code;
} numbers[] = {
	{"other blocks", 16, 8, 32767, XW_ERR_STATE},
	{"no blocks", 16, 8, 0, XW_ERR_STATE},
	{"more free blocks than blocks", 24, 8, 32769, XW_ERR_CORRUPT},
	{"all blocks free", 24, 8, 32768, 0},
	{"time before 1970", 32, 8, UINT64_MAX, XW_ERR_CORRUPT},
	{"an operation too many", 40, 8, 101, XW_ERR_CORRUPT},
	{"10^13 operations", 40, 8, UINT64_C(10000000000000), XW_ERR_CORRUPT},
	{"created wraps around", 48, 8, UINT64_MAX - 39, XW_ERR_CORRUPT},
	{"removed wraps around", 56, 8, UINT64_MAX, XW_ERR_CORRUPT},
	{"shortened", 80, 8, UINT64_MAX, XW_ERR_CORRUPT},
	{"any number of bytes", 88, 8, UINT64_MAX, 0},
	{"steps", 96, 8, UINT64_MAX, XW_ERR_CORRUPT},
	{"writes back all", 104, 8, 100, 0},
	{"writes back more than all", 104, 8, 101, XW_ERR_CORRUPT},
	{"block size", 136, 4, 4096, XW_ERR_STATE},
	{"block size 0", 136, 4, 0, XW_ERR_STATE},
	{"the last reason", 140, 4, 6, 0},
	{"no reason", 140, 4, 7, XW_ERR_CORRUPT},
	{"reason -1", 140, 4, UINT32_MAX, XW_ERR_CORRUPT},
	{"the last group", CPU(1), 4, 3, 0},
	{"no group", CPU(1), 4, 4, XW_ERR_CORRUPT},
	{"no preallocations", CPU(0) + 4, 4, 0, 0},
	{"an empty preallocation", CPU(0) + 4, 4, 3, XW_ERR_CORRUPT},
	{"too many preallocations", CPU(0) + 4, 4, 17, XW_ERR_CORRUPT},
	{"-1 preallocations", CPU(1) + 4, 4, UINT32_MAX, XW_ERR_CORRUPT},
	{"before the first block", POOL(0, 0), 8, 0, XW_ERR_CORRUPT},
	{"at the first block", POOL(0, 0), 8, 1, 0},
	{"behind the end", POOL(1, 0), 8, 32768, XW_ERR_CORRUPT},
	{"far behind the end", POOL(1, 0), 8, UINT64_MAX, XW_ERR_CORRUPT},
	{"beyond the end", POOL(1, 0) + 8, 2, 2, XW_ERR_CORRUPT},
	{"length 0", POOL(0, 1) + 8, 2, 0, XW_ERR_CORRUPT},
	{"into the next one", POOL(0, 0) + 8, 2, 513, XW_ERR_CORRUPT},
	{"the same block for another CPU", POOL(1, 0), 8, 611, XW_ERR_CORRUPT},
	{"the block after it", POOL(1, 0), 8, 613, 0},
};

START_TEST(number)
{
	const struct xw_age_state s = example();
	uint8_t buf[XW_AGE_STATE_SIZE];
	struct xw_age_state got;

	xw_age_state_encode(&s, buf);
	for (unsigned i = 0; i < numbers[_i].size; i++)
		buf[numbers[_i].off + i] = (uint8_t)(numbers[_i].value >> 8 * i);
	seal(buf);
	ck_assert_int_eq(decode(buf, &got), numbers[_i].code);
}
END_TEST

/* As many operations as there can be, and one more; more files than inodes. */
START_TEST(limits)
{
	struct xw_age_state s = example(), got;
	uint8_t buf[XW_AGE_STATE_SIZE];

	s.counts.skipped = XW_AGE_OPS_MAX - 95;
	s.counts.ops = XW_AGE_OPS_MAX;
	s.writing = XW_AGE_STEP_MAX;
	xw_age_state_encode(&s, buf);
	ck_assert_int_eq(decode(buf, &got), 0);
	s.writing++;
	xw_age_state_encode(&s, buf);
	ck_assert_int_eq(decode(buf, &got), XW_ERR_CORRUPT);
	s.writing--;
	s.counts.skipped++;
	s.counts.ops++;
	xw_age_state_encode(&s, buf);
	ck_assert_int_eq(decode(buf, &got), XW_ERR_CORRUPT);
	s = example();
	s.counts.created = 8192 + 20 + 15;
	s.counts.ops = s.counts.created + 40;
	xw_age_state_encode(&s, buf);
	ck_assert_int_eq(decode(buf, &got), 0);
	s.counts.created++;
	s.counts.ops++;
	xw_age_state_encode(&s, buf);
	ck_assert_int_eq(decode(buf, &got), XW_ERR_CORRUPT);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("age_state");
	TCase *tc = tcase_create("age_state");

	tcase_add_test(tc, bytes);
	tcase_add_test(tc, round_trip);
	tcase_add_test(tc, changed_byte);
	unit_add_rows(tc, other_formats, heads, text);
	unit_add_rows(tc, number, numbers, what);
	tcase_add_test(tc, limits);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
