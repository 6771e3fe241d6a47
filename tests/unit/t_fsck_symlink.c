// SPDX-License-Identifier: MIT
/*
 * Where xw-fsck looks for the target of a symbolic link, and what it makes of its length: records
 * in, judgments and findings out.
 */
#include "config.h"

#include <check.h>
#include <stdlib.h>

#include "base/endian.h"
#include "disk_fix.h"
#include "phases/dirs.h"
#include "phases/inodes.h"
#include "unit.h"

enum { BLOCK = 300, METADATA = 20, TARGET = 150, BS = 1024, SECTORS = BS / 512 };

/* ---- what is not under test ---- */

static unsigned found[FSCK_IDS];
static bool agreed;
static uint8_t value[128];
static uint32_t value_len; /* of system.data; UINT32_MAX: there is none */

bool fsck_found(struct fsck *f, const struct fsck_about *a)
{
	(void)f;
	found[a->id]++;
	return agreed;
}

/* The block has a target of TARGET bytes, every other one zeros. */
int fsck_read(struct fsck *f, xw_blk blk, uint64_t n, void *buf)
{
	(void)f;
	memset(buf, 0, n * BS);
	if (blk == BLOCK || blk == METADATA)
		memset(buf, 'L', TARGET);
	return 0;
}

bool fsck_is_metadata(const struct fsck *f, xw_blk blk, uint64_t len)
{
	(void)f;
	return blk <= METADATA && blk + len > METADATA;
}

size_t fsck_inline_value(const struct fsck *f, const struct xw_inode *in, const uint8_t *raw,
			 uint32_t *len)
{
	(void)f;
	(void)in;
	(void)raw;
	*len = value_len == UINT32_MAX ? 0 : value_len;
	return value_len == UINT32_MAX ? 0 : 8;
}

int fsck_look_rebuild(struct fsck_look *l)
{
	(void)l;
	return 0;
}

/* ---- links ---- */

static struct xw_image img;
static struct fsck f;
static struct fsck_look l;

static void load(const char *text, uint64_t size, uint64_t sectors)
{
	uint8_t super[XW_SUPER_SIZE];

	FIX(super_csum, super);
	ck_assert_int_eq(xw_super_decode(super, &img.sb), 0);
	img.block_size = BS;
	img.sb.blocks_count = 8192;
	f = (struct fsck){.ses.img = &img};
	l = (struct fsck_look){.f = &f, .ino = 12, .type = XW_S_IFLNK, .raw = value};
	l.in = (struct xw_inode){.mode = XW_S_IFLNK | 0777, .links = 1};
	l.in.size = size;
	l.in.blocks = sectors;
	memcpy(l.in.block, text, strlen(text));
	memset(found, 0, sizeof(found));
	agreed = true;
}

static void load_slow(xw_blk blk, uint64_t size, uint64_t sectors)
{
	load("", size, sectors);
	poke32(l.in.block, (uint32_t)blk);
}

START_TEST(in_the_inode)
{
	load("target", 6, 0);
	ck_assert(fsck_look_is_fast(&l));
	l.in.size = 7; /* the text is trusted more */
	ck_assert(fsck_look_is_fast(&l));
	load("target", 6, SECTORS); /* also more than i_blocks, when i_size agrees */
	ck_assert(fsck_look_is_fast(&l));
	l.in.size = 7;
	ck_assert(!fsck_look_is_fast(&l));
	l.in.file_acl = 50; /* the block is of attributes */
	ck_assert(fsck_look_is_fast(&l));
	l.in.flags = XW_FL_EXTENTS;
	ck_assert(!fsck_look_is_fast(&l));
	l.in.flags = XW_FL_INLINE_DATA;
	ck_assert(!fsck_look_is_fast(&l));
}
END_TEST

/* Wrong i_blocks, or an i_file_acl that seems to account for them. */
static const struct {
	xw_blk blk;
	uint64_t size, sectors;
	uint32_t acl;
	bool fast;
} slow[] = {
	{BLOCK, TARGET, SECTORS, 0, false},
	{BLOCK, TARGET, SECTORS, 0xFFFF, false},
	{BLOCK, TARGET, 0, 0, false},
	{BLOCK, TARGET - 1, 0, 0, true}, /* another text, or none */
	{BLOCK, TARGET + 1, 0, 0, true},
	{BLOCK + 1, TARGET, 0, 0, true},
	{METADATA, TARGET, 0, 0, true},
	{8192, TARGET, 0, 0, true},
};

START_TEST(in_a_block)
{
	load_slow(slow[_i].blk, slow[_i].size, slow[_i].sectors);
	l.in.file_acl = slow[_i].acl;
	ck_assert_int_eq(fsck_look_is_fast(&l), slow[_i].fast);
	poke32(l.in.block + 56, 77); /* no single pointer */
	ck_assert_int_eq(fsck_look_is_fast(&l), !slow[_i].sectors || slow[_i].acl);
}
END_TEST

START_TEST(text_with_the_extents_flag)
{
	load("target", 6, 0);
	ck_assert(!fsck_look_is_flagged_text(&l));
	l.in.flags = XW_FL_EXTENTS;
	ck_assert(fsck_look_is_flagged_text(&l));
	l.in.blocks = SECTORS;
	ck_assert(fsck_look_is_flagged_text(&l));
	l.in.size = 7;
	ck_assert(!fsck_look_is_flagged_text(&l));
	l.in.blocks = 0;
	ck_assert(fsck_look_is_flagged_text(&l));
	poke16(l.in.block, XW_EXT_MAGIC);
	ck_assert(!fsck_look_is_flagged_text(&l));
	load("", 0, 0);
	l.in.flags = XW_FL_EXTENTS;
	ck_assert(!fsck_look_is_flagged_text(&l));
}
END_TEST

/* An inline target of 60 bytes and a value: i_size is the sum. */
static const struct {
	uint32_t value; /* its length; UINT32_MAX: none */
	uint64_t size, want;
	enum fsck_id id;
} inlined[] = {
	{40, 100, 100, FSCK_IDS},
	{40, 99, 100, FSCK_SYMLINK_SIZE},
	{40, 7, 100, FSCK_SYMLINK_SIZE},
	{0, 60, 60, FSCK_IDS},
	{0, 61, 60, FSCK_SYMLINK_SIZE},
	{UINT32_MAX, 100, 100, FSCK_SYMLINK}, /* cleared: the rest of it is lost */
};

START_TEST(inline_target)
{
	load("", inlined[_i].size, 0);
	memset(l.in.block, 'L', sizeof(l.in.block));
	memset(value, 'L', sizeof(value));
	value_len = inlined[_i].value;
	l.in.flags = XW_FL_INLINE_DATA;
	ck_assert_int_eq(fsck_look_symlink(&l), 0);
	ck_assert_uint_eq(l.in.size, inlined[_i].want);
	for (int id = 0; id < FSCK_IDS; id++)
		ck_assert_uint_eq(found[id], id == (int)inlined[_i].id);
	ck_assert_int_eq(l.clear, inlined[_i].id == FSCK_SYMLINK);
	ck_assert_int_eq(l.dirty, inlined[_i].id == FSCK_SYMLINK_SIZE);
}
END_TEST

/* A short one is moved to i_block, where Linux expects it. */
START_TEST(short_inline_target)
{
	load("target", 6, 0);
	value_len = 0;
	l.in.flags = XW_FL_INLINE_DATA;
	ck_assert_int_eq(fsck_look_symlink(&l), 0);
	ck_assert_uint_eq(found[FSCK_SYMLINK_SHORT], 1);
	ck_assert_uint_eq(l.in.flags, 0);
	ck_assert_uint_eq(l.in.size, 6);
	ck_assert_str_eq((const char *)l.in.block, "target");
}
END_TEST

START_TEST(length)
{
	load("target", 7, 0);
	ck_assert_int_eq(fsck_look_symlink(&l), 0);
	ck_assert_uint_eq(found[FSCK_SYMLINK_SIZE], 1);
	ck_assert_uint_eq(l.in.size, 6);
	load("target", 7, 0);
	agreed = false;
	ck_assert_int_eq(fsck_look_symlink(&l), 0);
	ck_assert_uint_eq(found[FSCK_SYMLINK_SIZE], 1);
	ck_assert_uint_eq(l.in.size, 7);
	load("", 7, 0);
	ck_assert_int_eq(fsck_look_symlink(&l), 0);
	ck_assert(l.clear);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fsck_symlink");
	TCase *t = tcase_create("fsck_symlink");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, in_the_inode);
	unit_add_table(t, in_a_block, slow);
	tcase_add_test(t, text_with_the_extents_flag);
	unit_add_table(t, inline_target, inlined);
	tcase_add_test(t, short_inline_target);
	tcase_add_test(t, length);
	suite_add_tcase(s, t);
	return unit_main(s);
}
