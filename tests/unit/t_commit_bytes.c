/* SPDX-License-Identifier: MIT */
/* Pure functions of lib/commit: places of redo files, superblock bytes, headers of undo files. */
#include "config.h"

#include <string.h>

#include "base/crc.h"
#include "base/types.h"
#include "commit/location.h"
#include "commit/super.h"
#include "commit/undo_file.h"
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

/* ---- undo files ---- */

START_TEST(undo_header)
{
	static const struct {
		const char *name;
		uint32_t unit, fs_unit;
		uint64_t super_at, keys_at, keys;
		bool want;
	} rows[] = {
		{"smallest unit", 1024, 1024, 1, 2, 1, true},
		{"largest unit", 1 << 20, 4096, 0, 0, 0, false}, /* larger than the file */
		{"unit too small", 512, 1024, 1, 2, 1, false},
		{"unit too large", 1 << 21, 1024, 0, 0, 0, false},
		{"unit not a power of two", 3072, 1024, 1, 2, 1, false},
		{"no unit", 0, 1024, 1, 2, 1, false},
		{"no unit of the filesystem", 1024, 0, 1, 2, 1, false},
		{"superblock in the last block", 1024, 1024, 63, 2, 1, true},
		{"superblock after the end", 1024, 1024, 64, 2, 1, false},
		{"keys at the end", 1024, 1024, 1, 64, 0, true},
		{"keys after the end", 1024, 1024, 1, 65, 0, false},
		{"as many keys as blocks", 1024, 1024, 1, 2, 64, true},
		{"more keys than blocks", 1024, 1024, 1, 2, 65, false},
	};

	for (unsigned i = 0; i < XW_ARRAY_SIZE(rows); i++) {
		struct xw_undo_file f = {0};
		const struct xw_disk_undo d = {
			.block_size = put32(rows[i].unit),
			.fs_block_size = put32(rows[i].fs_unit),
			.super_at = put64(rows[i].super_at),
			.keys_at = put64(rows[i].keys_at),
			.keys = put64(rows[i].keys),
		};

		ck_assert_msg(xw_undo_file_decode(&f, &d, 64 << 10) == rows[i].want, "%s",
			      rows[i].name);
		ck_assert_msg(f.keys_at == rows[i].keys_at && f.n_keys == rows[i].keys, "%s: keys",
			      rows[i].name);
	}
}
END_TEST

START_TEST(undo_features)
{
	static const struct {
		const char *name;
		uint32_t compat, incompat, ro_compat;
		bool want;
	} rows[] = {
		{"none", 0, 0, 0, true},
		{"offset", XW_UNDO_COMPAT_OFFSET, 0, 0, true},
		{"unknown compat", 2, 0, 0, false},
		{"unknown incompat", 0, 1, 0, false},
		{"unknown ro_compat", 0, 0, 1, false},
	};

	for (unsigned i = 0; i < XW_ARRAY_SIZE(rows); i++) {
		const struct xw_disk_undo d = {.compat = put32(rows[i].compat),
					       .incompat = put32(rows[i].incompat),
					       .ro_compat = put32(rows[i].ro_compat)};

		ck_assert_msg(xw_undo_file_is_known(&d) == rows[i].want, "%s", rows[i].name);
	}
}
END_TEST

START_TEST(undo_keys)
{
	static const unsigned at[] = {0, 3, 4, 7, 8, 15, 16, 24, 28, 1023};
	struct xw_undo_file f = {.unit = 1024};
	uint8_t *bytes;

	ck_assert_int_eq(xw_undo_file_new_keys(&f), 0);
	ck_assert(!xw_undo_file_keys_valid(&f));
	f.keys->magic = put32(XW_UNDO_KEYS_MAGIC);
	f.keys->csum = put32(xw_undo_file_keys_csum(&f, f.keys));
	ck_assert(xw_undo_file_keys_valid(&f));
	ck_assert_uint_eq(xw_undo_file_keys_max(&f), 63);
	bytes = (uint8_t *)f.keys;
	for (unsigned i = 0; i < XW_ARRAY_SIZE(at); i++) {
		bytes[at[i]] ^= 1;
		ck_assert_msg(!xw_undo_file_keys_valid(&f), "byte %u changed", at[i]);
		bytes[at[i]] ^= 1;
	}
	free(f.keys);
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
	tcase_add_test(tc, undo_header);
	tcase_add_test(tc, undo_features);
	tcase_add_test(tc, undo_keys);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
