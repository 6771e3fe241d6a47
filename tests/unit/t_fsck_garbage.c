// SPDX-License-Identifier: MIT
/* Which records xw-fsck takes for garbage: noise is, an inode with a few wrong fields is not. */
#include "config.h"

#include <check.h>

#include "base/endian.h"
#include "disk_fix.h"
#include "phases/inode_slice.h"
#include "phases/inodes.h"
#include "unit.h"

enum { INO = 12, SIZE = 256, LESS_IN_NOISE = 3 };

/* ---- what is not under test ---- */

bool fsck_found(struct fsck *f, const struct fsck_about *a)
{
	(void)f;
	(void)a;
	return true;
}

bool fsck_is_hidden(const struct xw_super *sb, xw_ino ino)
{
	(void)sb;
	(void)ino;
	return false;
}

int fsck_read(struct fsck *f, xw_blk blk, uint64_t n, void *buf)
{
	(void)f;
	(void)blk;
	(void)n;
	(void)buf;
	return -1;
}

/* ---- records ---- */

static struct xw_image img;
static uint8_t raw[SIZE];

static void load(void)
{
	uint8_t super[XW_SUPER_SIZE];

	FIX(super_csum, super);
	FIX(inode_a, raw);
	ck_assert_int_eq(xw_super_decode(super, &img.sb), 0);
	img.block_size = xw_super_block_size(&img.sb);
	img.inode_size = SIZE;
	img.csum_seed = FIX_SEED;
}

/* Without a checksum there is one contradiction less. */
static void without_csum(void)
{
	img.sb.feature_ro_compat &= ~XW_RO_METADATA_CSUM;
}

static bool is_garbage(unsigned less)
{
	return fsck_is_garbage(&img, INO, raw, less);
}

/* Offset and size of fields that repairs can restore, or that mean nothing. */
static const struct {
	unsigned off, size;
} fields[] = {
	{0, 2},   {2, 2},   {4, 4},   {8, 4},   {12, 4},  {16, 4},  {20, 4},  {24, 2},  {26, 2},
	{28, 4},  {32, 4},  {36, 4},  {40, 12}, {52, 12}, {100, 4}, {104, 4}, {108, 4}, {112, 4},
	{116, 2}, {118, 2}, {120, 4}, {124, 4}, {128, 2}, {130, 2}, {132, 4}, {152, 4}, {156, 4},
};

START_TEST(an_inode)
{
	load();
	ck_assert(!is_garbage(0));
	ck_assert(!is_garbage(LESS_IN_NOISE));
}
END_TEST

/* Any one field, also among garbage; any two of them elsewhere. */
START_TEST(few_wrong_fields)
{
	uint64_t seed = (uint64_t)_i + 1;

	for (unsigned k = 0; k < XW_ARRAY_SIZE(fields); k++) {
		load();
		fix_random_bytes(&seed, raw + fields[_i].off, fields[_i].size);
		ck_assert(!is_garbage(LESS_IN_NOISE - 1));
		fix_random_bytes(&seed, raw + fields[k].off, fields[k].size);
		ck_assert(!is_garbage(0));
		memset(raw + fields[_i].off, 0xFF, fields[_i].size);
		memset(raw + fields[k].off, 0xFF, fields[k].size);
		ck_assert(!is_garbage(0));
	}
}
END_TEST

START_TEST(noise)
{
	uint64_t seed = (uint64_t)_i + 1;

	load();
	if (_i % 2)
		without_csum();
	fix_random_bytes(&seed, raw, SIZE);
	ck_assert(is_garbage(0));
	memset(raw, 'a' + _i % 26, SIZE); /* a text */
	ck_assert(is_garbage(0));
}
END_TEST

/* A good map speaks for the record as long as not all else is against it. */
START_TEST(good_map)
{
	load();
	poke32(raw + 20, 77);
	poke32(raw + 28, 0x7FFFFFFF);
	poke32(raw + 32, XW_FL_EXTENTS | 0x80001000);
	poke32(raw + 104, 0x0FFFFFFF);
	poke32(raw + 112, 9);
	ck_assert(!is_garbage(0));
	poke16(raw + 40, 0);
	ck_assert(is_garbage(0));
	load();
	memset(raw, 0xFF, 40);
	memset(raw + 100, 0xFF, SIZE - 100);
	ck_assert(is_garbage(0));
}
END_TEST

/* The beginning of a record is not enough to judge it alone, but it is among garbage. */
START_TEST(cut_off)
{
	load();
	without_csum();
	memset(raw, 0, SIZE);
	memset(raw, 'x', 32);
	ck_assert(!is_garbage(0));
	ck_assert(is_garbage(LESS_IN_NOISE));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fsck_garbage");
	TCase *t = tcase_create("fsck_garbage");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, an_inode);
	unit_add_table(t, few_wrong_fields, fields);
	tcase_add_loop_test(t, noise, 0, 200);
	tcase_add_test(t, good_map);
	tcase_add_test(t, cut_off);
	suite_add_tcase(s, t);
	return unit_main(s);
}
