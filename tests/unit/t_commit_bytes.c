/* SPDX-License-Identifier: MIT */
/* Pure functions of lib/commit: places of redo files, superblock bytes. */
#include "config.h"

#include <string.h>

#include "base/crc.h"
#include "base/endian.h"
#include "base/types.h"
#include "commit/location.h"
#include "commit/super.h"
#include "unit.h"

#define PLACE(boot, device, number, born, offset)                                                  \
	{                                                                                          \
		{boot}, device, number, born, offset                                               \
	}
#define HERE PLACE(1, 8, 9, 10, 512)

START_TEST(places)
{
	static const struct {
		const char *name;
		struct xw_redo_location a, b;
		bool same, differs;
	} rows[] = {
		{"equal", HERE, HERE, true, false},
		{"unknown", PLACE(0, 8, 9, 10, 512), HERE, false, false},
		{"both unknown", PLACE(0, 8, 9, 10, 512), PLACE(0, 8, 9, 10, 512), false, false},
		{"another device", HERE, PLACE(1, 7, 9, 10, 512), false, true},
		{"another inode or disk", HERE, PLACE(1, 8, 7, 10, 512), false, true},
		{"another creation time", HERE, PLACE(1, 8, 9, 7, 512), false, true},
		{"another offset", HERE, PLACE(1, 8, 9, 10, 0), false, true},
		{"another boot", HERE, PLACE(2, 8, 9, 10, 512), false, false},
		{"another boot and file", HERE, PLACE(2, 8, 9, 7, 512), false, true},
		{"another boot and offset", HERE, PLACE(2, 8, 9, 10, 0), false, true},
		{"devices after a boot", PLACE(1, 8, 9, 0, 0), PLACE(2, 8, 1, 0, 0), false, false},
		{"file and device after a boot", HERE, PLACE(2, 8, 9, 0, 512), false, false},
	};

	for (unsigned i = 0; i < XW_ARRAY_SIZE(rows); i++) {
		ck_assert_msg(xw_redo_location_same(&rows[i].a, &rows[i].b) == rows[i].same,
			      "%s: same", rows[i].name);
		ck_assert_msg(xw_redo_location_same(&rows[i].b, &rows[i].a) == rows[i].same,
			      "%s: same, exchanged", rows[i].name);
		ck_assert_msg(xw_redo_location_differs(&rows[i].a, &rows[i].b) == rows[i].differs,
			      "%s: differs", rows[i].name);
		ck_assert_msg(xw_redo_location_differs(&rows[i].b, &rows[i].a) == rows[i].differs,
			      "%s: differs, exchanged", rows[i].name);
	}
}
END_TEST

/* ---- superblocks ---- */

/* A superblock with or without a checksum; the fields of a pending change are zero. */
static void fill(uint8_t super[XW_SUPER_SIZE], bool csum)
{
	for (unsigned i = 0; i < XW_SUPER_SIZE; i++)
		super[i] = (uint8_t)(i * 7 + 1);
	poke32(super + 0x64, csum ? XW_RO_METADATA_CSUM : 0);
	xw_super_bytes_unpend(super);
}

static bool csum_valid(const uint8_t super[XW_SUPER_SIZE])
{
	return peek32(super + 0x3FC) == xw_crc32c(~0u, super, 0x3FC);
}

START_TEST(pending)
{
	static const struct {
		const char *name;
		bool csum;
		uint64_t number;
	} rows[] = {
		{"record in a file", false, 0},
		{"record in the image", false, 77},
		{"record in a file, checksum", true, 0},
		{"record in the image, checksum", true, 77},
	};
	uint8_t super[XW_SUPER_SIZE], out[XW_SUPER_SIZE];

	for (unsigned i = 0; i < XW_ARRAY_SIZE(rows); i++) {
		fill(super, rows[i].csum);
		xw_super_bytes_pend(super, 5, rows[i].number, out);
		ck_assert_msg(xw_super_bytes_has(out, XW_INCOMPAT_PENDING), "%s: bit",
			      rows[i].name);
		ck_assert_msg(xw_super_bytes_nonce(out) == 5, "%s: nonce", rows[i].name);
		for (int half = 0; half < 2; half++)
			ck_assert_msg(xw_super_bytes_number(out, half) == rows[i].number,
				      "%s: number %d", rows[i].name, half);
		ck_assert_msg(xw_super_bytes_plain(out) == !rows[i].number, "%s: plain",
			      rows[i].name);
		ck_assert_msg(!rows[i].csum || csum_valid(out), "%s: checksum", rows[i].name);
		xw_super_bytes_unpend(out);
		ck_assert_msg(!memcmp(out, super, sizeof(out)), "%s: removed", rows[i].name);
		xw_super_bytes_done(super, 5, rows[i].number, out);
		ck_assert_msg(xw_super_bytes_number(out, 0) ==
				      (rows[i].number | XW_SUPER_NUMBER_DONE),
			      "%s: done", rows[i].name);
	}
}
END_TEST

/* What a torn write of a pending superblock leaves is removed; other uses of the fields are not. */
START_TEST(torn)
{
	static const struct {
		const char *name;
		uint64_t nonce;
		bool pending;
		uint64_t number[2];
		bool want;
		uint64_t after[2];
	} rows[] = {
		{"nothing", 0, false, {0, 0}, false, {0, 0}},
		{"pending", 5, true, {7, 7}, false, {7, 7}},
		{"nonce", 5, false, {0, 0}, true, {0, 0}},
		{"both numbers", 5, false, {7, 7}, true, {0, 0}},
		{"second number", 5, false, {0, 7}, true, {0, 0}},
		{"foreign first number", 5, false, {3, 7}, true, {3, 0}},
		{"numbers without nonce", 0, false, {3, 7}, false, {3, 7}},
	};
	uint8_t super[XW_SUPER_SIZE];

	for (unsigned i = 0; i < XW_ARRAY_SIZE(rows); i++) {
		fill(super, true);
		poke64(super + 0x3F0, rows[i].nonce);
		poke64(super + 0x188, rows[i].number[0]);
		poke64(super + 0x3E8, rows[i].number[1]);
		xw_super_bytes_incompat(super, rows[i].pending ? XW_INCOMPAT_PENDING : 0, 0);
		ck_assert_msg(xw_super_bytes_forget(super) == rows[i].want, "%s", rows[i].name);
		for (int half = 0; half < 2; half++)
			ck_assert_msg(xw_super_bytes_number(super, half) == rows[i].after[half],
				      "%s: number %d", rows[i].name, half);
		ck_assert_msg(xw_super_bytes_nonce(super) == (rows[i].want ? 0 : rows[i].nonce),
			      "%s: nonce", rows[i].name);
		ck_assert_msg(csum_valid(super), "%s: checksum", rows[i].name);
	}
}
END_TEST

START_TEST(mixed)
{
	static const struct {
		const char *name;
		unsigned at; /* byte to be changed in a mixture of both; XW_SUPER_SIZE: none */
		size_t n;
		bool want;
	} rows[] = {
		{"two halves", XW_SUPER_SIZE, 2, true},
		{"one candidate", XW_SUPER_SIZE, 1, false},
		{"first byte", 0, 2, false},
		{"last byte", XW_SUPER_SIZE - 1, 2, false},
	};
	uint8_t a[XW_SUPER_SIZE], b[XW_SUPER_SIZE], super[XW_SUPER_SIZE];
	const uint8_t *const candidates[] = {a, b};

	memset(a, 1, sizeof(a));
	memset(b, 2, sizeof(b));
	for (unsigned i = 0; i < XW_ARRAY_SIZE(rows); i++) {
		memcpy(super, a, 512);
		memcpy(super + 512, b + 512, 512);
		if (rows[i].at < XW_SUPER_SIZE)
			super[rows[i].at] = 3;
		ck_assert_msg(xw_super_bytes_mixed(super, candidates, rows[i].n) == rows[i].want,
			      "%s", rows[i].name);
	}
}
END_TEST

#define AT_KBYTES 0x178

/* A change that leaves the number of KiB written is counted: its superblock is a new one. */
START_TEST(counted)
{
	static const struct {
		const char *name;
		uint64_t was, is, kib, want;
		bool edited;
	} rows[] = {
		{"left", 100, 100, 8, 108, false},
		{"nothing counts as one", 100, 100, 0, 101, false},
		{"counted already", 100, 101, 8, 101, false},
		{"an older number", 100, 20, 8, 108, false},
		{"set to less by hand", 100, 20, 8, 20, true},
		{"left by hand", 100, 100, 8, 108, true},
	};
	struct xw_super sb = {.magic = XW_SUPER_MAGIC,
			      .log_block_size = 2,
			      .log_cluster_size = 2,
			      .blocks_count = 1000,
			      .blocks_per_group = 32768,
			      .clusters_per_group = 32768,
			      .inodes_per_group = 1024,
			      .inodes_count = 1024,
			      .inode_size = 256,
			      .rev_level = 1,
			      .first_ino = 11,
			      .feature_ro_compat = XW_RO_METADATA_CSUM,
			      .checksum_type = 1};
	uint8_t was[XW_SUPER_SIZE] = {0}, is[XW_SUPER_SIZE] = {0}, copy[XW_SUPER_SIZE];

	for (unsigned i = 0; i < XW_ARRAY_SIZE(rows); i++) {
		sb.kbytes_written = rows[i].was;
		xw_super_encode(&sb, was);
		sb.kbytes_written = rows[i].is;
		xw_super_encode(&sb, is);
		ck_assert(xw_super_bytes_valid(was) && xw_super_bytes_valid(is));
		xw_super_bytes_count(is, was, rows[i].kib, rows[i].edited);
		ck_assert_msg(peek64(is + AT_KBYTES) == rows[i].want, "%s", rows[i].name);
		ck_assert_msg(xw_super_bytes_valid(is), "%s: checksum", rows[i].name);
	}
	/* bytes that are no superblock stay */
	is[0x38] ^= 1;
	memcpy(copy, is, sizeof(copy));
	xw_super_bytes_count(is, is, 8, false);
	ck_assert(!memcmp(copy, is, sizeof(copy)));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("commit_bytes");
	TCase *tc = tcase_create("commit_bytes");

	tcase_add_test(tc, places);
	tcase_add_test(tc, pending);
	tcase_add_test(tc, torn);
	tcase_add_test(tc, mixed);
	tcase_add_test(tc, counted);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
