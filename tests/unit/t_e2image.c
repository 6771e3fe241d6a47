/* SPDX-License-Identifier: MIT */
/*
 * e2image files, put together here from an image: what they hold reads as the image does, the rest
 * is an error or comes from the image; and headers, superblocks and descriptors that lie.
 */
#include "config.h"

#include "base/endian.h"
#include "disk/group.h"
#include "memdev.h"
#include "steps_world.h"
#include "show/show.h"

#define HEADER_SUPER 0x11C /* offsets in the header, as in show/e2image.c */
#define HEADER_BLOCK_SIZE 0xCC

struct e2i {
	uint8_t *image, *file;
	size_t size, len;
	uint32_t bs, super, inodes, inode_bitmaps, block_bitmaps;
	struct xw_super sb;
};

static void put(struct e2i *e, const void *data, size_t n)
{
	e->file = realloc(e->file, e->len + n);
	memcpy(e->file + e->len, data, n);
	e->len += n;
}

static uint8_t *desc_of(struct e2i *e, uint64_t g)
{
	return e->image + (e->sb.first_data_block + 1) * e->bs + g * xw_super_desc_size(&e->sb);
}

static void read_image(struct e2i *e)
{
	FILE *f = fopen(path, "rb");

	*e = (struct e2i){0};
	fseek(f, 0, SEEK_END);
	e->size = (size_t)ftell(f);
	rewind(f);
	e->image = malloc(e->size);
	ck_assert_uint_eq(fread(e->image, 1, e->size, f), e->size);
	fclose(f);
	ck_assert_int_eq(xw_super_decode(e->image + XW_SUPER_OFFSET, &e->sb), 0);
	e->bs = xw_super_block_size(&e->sb);
}

static void write_file(struct e2i *e)
{
	const uint64_t groups = xw_super_groups(&e->sb);
	const size_t table = (size_t)e->sb.inodes_per_group * e->sb.inode_size;
	static const uint8_t header[4096] = {0x10, 0xB7, 0x2B, 0x7F};
	struct xw_group_desc gd;

	/* what an unused bitmap has behind its end the file does not hold: ones */
	for (uint64_t g = 0; g < groups; g++) {
		xw_group_decode(desc_of(e, g), xw_super_desc_size(&e->sb), &gd);
		memset(e->image + gd.inode_bitmap * e->bs + e->sb.inodes_per_group / 8, 0xff,
		       e->bs - e->sb.inodes_per_group / 8);
	}
	put(e, header, e->bs);
	e->super = (uint32_t)e->len;
	put(e, e->image + XW_SUPER_OFFSET, XW_SUPER_SIZE);
	e->file = realloc(e->file, e->len + e->bs);
	memset(e->file + e->len, 0, e->bs - XW_SUPER_SIZE);
	e->len += e->bs - XW_SUPER_SIZE;
	put(e, desc_of(e, 0), xw_div_up(groups * xw_super_desc_size(&e->sb), e->bs) * e->bs);
	e->inodes = (uint32_t)e->len;
	for (uint64_t g = 0; g < groups; g++) {
		xw_group_decode(desc_of(e, g), xw_super_desc_size(&e->sb), &gd);
		put(e, e->image + gd.inode_table * e->bs, table);
	}
	e->block_bitmaps = (uint32_t)e->len;
	for (uint64_t g = 0; g < groups; g++) {
		xw_group_decode(desc_of(e, g), xw_super_desc_size(&e->sb), &gd);
		put(e, e->image + gd.block_bitmap * e->bs, e->sb.blocks_per_group / 8);
	}
	e->inode_bitmaps = (uint32_t)e->len;
	for (uint64_t g = 0; g < groups; g++) {
		xw_group_decode(desc_of(e, g), xw_super_desc_size(&e->sb), &gd);
		put(e, e->image + gd.inode_bitmap * e->bs, e->sb.inodes_per_group / 8);
	}
	poke32(e->file + HEADER_BLOCK_SIZE, e->bs);
	poke32(e->file + HEADER_SUPER, e->super);
	poke32(e->file + HEADER_SUPER + 4, e->inodes);
	poke32(e->file + HEADER_SUPER + 8, e->inode_bitmaps);
	poke32(e->file + HEADER_SUPER + 12, e->block_bitmaps);
}

static void make_e2i(struct e2i *e, int kind)
{
	make(kind);
	read_image(e);
	write_file(e);
}

static void free_e2i(struct e2i *e)
{
	free(e->image);
	free(e->file);
}

static int open_e2i(const struct e2i *e, const char *data, struct xw_dev **out)
{
	struct xw_dev *mem;
	int rc;

	ok(xw_dev_open_mem(e->len, &diag, &mem));
	ok(xw_dev_pwrite(mem, e->file, e->len, 0));
	rc = xw_show_e2image(mem, data, &diag, out);
	if (rc)
		xw_dev_close(mem);
	return rc;
}

/* Do n bytes at `at` read as in the image; or, with `missing`, fail as one that was not saved? */
static void compare(struct xw_dev *dev, const struct e2i *e, uint64_t at, size_t n, bool missing)
{
	uint8_t *buf = malloc(n);

	ck_assert_int_eq(xw_dev_pread(dev, buf, n, at), missing ? XW_ERR_TRUNCATED : 0);
	if (missing) {
		ck_assert_ptr_nonnull(strstr(diag.text, "of the filesystem is not in this file"));
		xw_diag_clear(&diag);
	} else {
		ck_assert_mem_eq(buf, e->image + at, n);
	}
	free(buf);
}

static uint8_t *written(struct e2i *e)
{
	static uint8_t used[16384];
	const uint64_t groups = xw_super_groups(&e->sb);
	const uint64_t table = (uint64_t)e->sb.inodes_per_group * e->sb.inode_size / e->bs;
	struct xw_group_desc gd;

	memset(used, 0, sizeof(used));
	for (uint64_t g = 0; g < groups; g++) {
		xw_group_decode(desc_of(e, g), xw_super_desc_size(&e->sb), &gd);
		memset(used + gd.inode_table, 1, table);
		used[gd.block_bitmap] = used[gd.inode_bitmap] = 1;
	}
	memset(used + e->sb.first_data_block + 1, 1,
	       xw_div_up(groups * xw_super_desc_size(&e->sb), e->bs));
	return used;
}

START_TEST(reads_as_the_image)
{
	struct xw_dev *dev;
	struct e2i e;
	const uint8_t *used;

	make_e2i(&e, _i);
	used = written(&e);
	ok(open_e2i(&e, NULL, &dev));
	compare(dev, &e, XW_SUPER_OFFSET, XW_SUPER_SIZE, false);
	compare(dev, &e, XW_SUPER_OFFSET, XW_SUPER_SIZE + e.bs, e.bs != 1024);
	compare(dev, &e, XW_SUPER_OFFSET, XW_SUPER_SIZE + e.bs + 1, true);
	compare(dev, &e, XW_SUPER_OFFSET - 1, 2, true);
	for (xw_blk b = e.sb.first_data_block + 1; b < e.sb.blocks_count; b++)
		compare(dev, &e, b * e.bs, e.bs, !used[b]);
	ck_assert_int_eq(xw_dev_pwrite(dev, "x", 1, XW_SUPER_OFFSET), XW_ERR_STATE);
	ck_assert_ptr_nonnull(strstr(diag.text, "an e2image file is read-only"));
	xw_diag_clear(&diag);
	ck_assert_int_eq(xw_dev_zero(dev, 0, 1), XW_ERR_STATE);
	ck_assert_int_eq(xw_dev_set_size(dev, 1), XW_ERR_STATE);
	xw_diag_clear(&diag);
	xw_dev_close(dev);
	/* with the image beside it, all of it, across every border */
	ok(open_e2i(&e, path, &dev));
	compare(dev, &e, 0, e.size, false);
	for (uint64_t at = 0; at + 5000 < e.size; at += 4999)
		compare(dev, &e, at, 5000, false);
	xw_dev_close(dev);
	ck_assert_int_lt(open_e2i(&e, "/nonexistent", &dev), 0);
	free_e2i(&e);
}
END_TEST

/* Two tables that overlap: the first ends where the second starts. */
START_TEST(overlapping_tables)
{
	struct xw_group_desc a, b;
	struct xw_dev *dev;
	struct e2i e;
	uint8_t buf[1024], *raw;
	uint64_t table;

	make_e2i(&e, 1);
	table = (uint64_t)e.sb.inodes_per_group * e.sb.inode_size / e.bs;
	xw_group_decode(desc_of(&e, 0), xw_super_desc_size(&e.sb), &a);
	raw = e.file + e.super + e.bs + xw_super_desc_size(&e.sb);
	xw_group_decode(raw, xw_super_desc_size(&e.sb), &b);
	poke32(raw + 8, (uint32_t)a.inode_table + 3); /* bg_inode_table_lo */
	memset(e.file + e.inodes + (size_t)e.sb.inodes_per_group * e.sb.inode_size, 0x5a, e.bs);
	ok(open_e2i(&e, NULL, &dev));
	compare(dev, &e, (a.inode_table + 2) * e.bs, e.bs, false);
	ok(xw_dev_pread(dev, buf, e.bs, (a.inode_table + 3) * e.bs));
	for (uint32_t i = 0; i < e.bs; i++)
		ck_assert_uint_eq(buf[i], 0x5a);
	compare(dev, &e, (b.inode_table + table - 1) * e.bs, e.bs, true);
	xw_dev_close(dev);
	free_e2i(&e);
}
END_TEST

/* A bitmap shorter than its block: the rest is ones. */
START_TEST(padded_bitmaps)
{
	struct xw_group_desc gd;
	struct xw_dev *dev;
	struct e2i e;
	uint8_t buf[4096];

	make_e2i(&e, 2);
	xw_group_decode(desc_of(&e, 0), xw_super_desc_size(&e.sb), &gd);
	memset(e.file + e.inode_bitmaps, 0x11, e.sb.inodes_per_group / 8);
	ok(open_e2i(&e, NULL, &dev));
	ok(xw_dev_pread(dev, buf, sizeof(buf), gd.inode_bitmap * e.bs));
	for (uint32_t i = 0; i < e.bs; i++)
		ck_assert_uint_eq(buf[i], i < e.sb.inodes_per_group / 8 ? 0x11 : 0xff);
	xw_dev_close(dev);
	free_e2i(&e);
}
END_TEST

static const struct {
	bool super; /* in the superblock; else in the header */
	uint32_t at, value; /* 32 bits */
	uint64_t len; /* of the file; 0: all of it */
	int code;
	const char *why;
} lies[] = {
	{false, 0, 0x7F2BB711, 0, XW_ERR_INPUT, "not an e2image file"},
	{false, 0, 0x7F2BB710, 100, XW_ERR_INPUT, "not an e2image file"},
	{false, HEADER_BLOCK_SIZE, 2048, 0, XW_ERR_CORRUPT,
	 "e2image file: header and superblock contradict each other"},
	{false, HEADER_SUPER, 0x7FFFFFFF, 0, XW_ERR_TRUNCATED, ""},
	{true, 0x38, 0, 0, XW_ERR_CORRUPT, "e2image file: its superblock cannot be read"},
	{true, 0x18, 20, 0, XW_ERR_CORRUPT, ""},
	{true, 0x04, 0xFFFFFFFF, 0, XW_ERR_CORRUPT,
	 "e2image file: too short for the groups of its superblock"},
	{false, 0, 0x7F2BB710, 300000, XW_ERR_CORRUPT,
	 "e2image file: too short for the groups of its superblock"},
};

START_TEST(lie)
{
	struct xw_dev *dev = NULL;
	struct e2i e;
	int rc;

	make_e2i(&e, 1);
	poke32(e.file + (lies[_i].super ? e.super : 0) + lies[_i].at, lies[_i].value);
	if (lies[_i].len)
		e.len = lies[_i].len;
	rc = open_e2i(&e, NULL, &dev);
	ck_assert_int_eq(rc, lies[_i].code);
	ck_assert_msg(strstr(diag.text, lies[_i].why), "%s", diag.text);
	free_e2i(&e);
}
END_TEST

/* Without bitmaps: offset 0 says so. */
START_TEST(no_bitmaps)
{
	struct xw_group_desc gd;
	struct xw_dev *dev;
	struct e2i e;

	make_e2i(&e, 1);
	xw_group_decode(desc_of(&e, 0), xw_super_desc_size(&e.sb), &gd);
	poke32(e.file + HEADER_SUPER + 8, 0);
	poke32(e.file + HEADER_SUPER + 12, 0);
	ok(open_e2i(&e, NULL, &dev));
	compare(dev, &e, gd.inode_table * e.bs, e.bs, false);
	compare(dev, &e, gd.block_bitmap * e.bs, e.bs, true);
	compare(dev, &e, gd.inode_bitmap * e.bs, e.bs, true);
	xw_dev_close(dev);
	free_e2i(&e);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("e2image");
	TCase *t = tcase_create("e2image");

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, reads_as_the_image, 0, 3);
	tcase_add_test(t, overlapping_tables);
	tcase_add_test(t, padded_bitmaps);
	unit_add_rows(t, lie, lies, why);
	tcase_add_test(t, no_bitmaps);
	suite_add_tcase(s, t);
	return unit_main(s);
}
