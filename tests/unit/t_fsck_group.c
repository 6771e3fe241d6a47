// SPDX-License-Identifier: MIT
/*
 * Group descriptors as xw-fsck judges them: flags and counts, and whether bitmaps and tables are
 * where they point to. Descriptors and blocks in, findings and descriptors out.
 */
#include "config.h"

#include "disk/dirent.h"
#include "fsck_bytes.h"
#include "phases/super.h"

enum {
	INODE_UNINIT = XW_BG_INODE_UNINIT,
	BLOCK_UNINIT = XW_BG_BLOCK_UNINIT,
	ZEROED = 4,
	PER_GROUP = 64,
	SECOND = 8193, /* the first block of group 1, with copies */
	OTHER_INO = PER_GROUP + 6, /* a file of group 1 */
};

/* ---- flags and counts ---- */

static const struct {
	bool sums, wrong; /* checksums of descriptors; this one is wrong */
	uint64_t group;
	uint16_t flags;
	uint32_t unused;
	enum fsck_id id;
	uint16_t flags_left;
	uint32_t unused_left;
} rows[] = {
	{true, false, 1, INODE_UNINIT | BLOCK_UNINIT | ZEROED, 64, FSCK_IDS, 7, 64},
	{true, false, 0, BLOCK_UNINIT | ZEROED, 5, FSCK_IDS, BLOCK_UNINIT | ZEROED, 5},
	{true, false, 0, INODE_UNINIT | BLOCK_UNINIT, 5, FSCK_GROUP_UNINIT, BLOCK_UNINIT, 5},
	{true, false, 1, 0, 65, FSCK_GROUP_UNUSED, 0, 0},
	{true, false, 1, INODE_UNINIT, 9999, FSCK_GROUP_UNUSED, INODE_UNINIT, 0},
	{true, true, 1, 7, 5, FSCK_GROUP_CSUM, ZEROED, 0},
	{true, true, 0, 7, 65, FSCK_GROUP_CSUM, ZEROED, 0},
	{false, true, 1, ZEROED, 5, FSCK_IDS, ZEROED, 5},
	{false, true, 1, ZEROED, 65, FSCK_IDS, ZEROED, 65},
	{false, false, 1, INODE_UNINIT | ZEROED, 5, FSCK_GROUP_UNINIT, ZEROED, 5},
	{false, false, 1, BLOCK_UNINIT, 5, FSCK_GROUP_UNINIT, 0, 5},
	{false, false, 0, 7, 5, FSCK_GROUP_UNINIT, ZEROED, 5},
};

static void spoil_sum(uint64_t group)
{
	uint8_t byte = 0x55;

	ok(xw_dev_pwrite(f.ses.dev, &byte, 1, 2 * BS + group * 64 + 0x1E));
	xw_image_drop_cache(f.ses.img);
}

START_TEST(flags)
{
	for (size_t i = 0; i < XW_ARRAY_SIZE(rows); i++) {
		const bool wrong = rows[i].id != FSCK_IDS;
		struct xw_group_desc gd;

		open_bytes();
		agreed = true;
		gd = group_of_bytes(rows[i].group);
		gd.flags = rows[i].flags;
		gd.itable_unused = rows[i].unused;
		put_group(rows[i].group, &gd);
		if (rows[i].wrong)
			spoil_sum(rows[i].group);
		ok(fsck_group_check_flags(&f, rows[i].group, rows[i].sums));
		expect(rows[i].id);
		ok(xw_image_group(f.ses.img, rows[i].group, &gd));
		ck_assert_msg(gd.flags == rows[i].flags_left, "row %zu: flags %u", i, gd.flags);
		ck_assert_uint_eq(gd.itable_unused, rows[i].unused_left);
		ck_assert_uint_eq(gd.inode_table, group_of_bytes(rows[i].group).inode_table);
		ck_assert(f.ses.renew_backups == wrong && f.round.changed == wrong);
		ck_assert_int_eq(fsck_group_sum_is_wrong(&f, rows[i].group),
				 rows[i].wrong && !wrong);
		close_bytes();
	}
}
END_TEST

START_TEST(declined_flags)
{
	for (size_t i = 0; i < XW_ARRAY_SIZE(rows); i++) {
		struct xw_group_desc gd;

		open_bytes();
		agreed = false;
		gd = group_of_bytes(rows[i].group);
		gd.flags = rows[i].flags;
		gd.itable_unused = rows[i].unused;
		put_group(rows[i].group, &gd);
		if (rows[i].wrong)
			spoil_sum(rows[i].group);
		ok(fsck_group_check_flags(&f, rows[i].group, rows[i].sums));
		ck_assert(rows[i].id == FSCK_IDS ? !n_found : found[rows[i].id] == 1);
		ok(xw_image_group(f.ses.img, rows[i].group, &gd));
		ck_assert_uint_eq(gd.flags, rows[i].flags);
		ck_assert_uint_eq(gd.itable_unused, rows[i].unused);
		ck_assert(!f.round.changed && !f.ses.renew_backups);
		close_bytes();
	}
}
END_TEST

/* ---- a name refers into the unused part of a table ---- */

static const struct {
	uint16_t flags;
	uint32_t unused;
	uint16_t mode, links;
	bool sums, bad_record, hidden;
} exposed[] = {
	{0, 59, XW_S_IFREG, 1, true, false, true}, /* 5 are in use, and this is the sixth */
	{0, 58, XW_S_IFREG, 1, true, false, false},
	{0, 9999, XW_S_IFREG, 1, true, false, true},
	{INODE_UNINIT, 0, XW_S_IFREG, 1, true, false, true},
	{BLOCK_UNINIT, 0, XW_S_IFREG, 1, true, false, false},
	{INODE_UNINIT, 0, XW_S_IFREG, 0, true, false, false},
	{INODE_UNINIT, 0, 0, 1, true, false, false},
	{INODE_UNINIT, 0, 0644, 1, true, false, false},
	{INODE_UNINIT, 0, XW_S_IFREG, 1, true, true, false},
	{INODE_UNINIT, 0, XW_S_IFREG, 1, false, false, false},
};

START_TEST(unused_part)
{
	for (size_t i = 0; i < XW_ARRAY_SIZE(exposed); i++) {
		const bool hidden = exposed[i].hidden;
		struct xw_inode in = {.mode = exposed[i].mode, .links = exposed[i].links};
		struct xw_group_desc gd;
		uint8_t byte = 9;

		open_bytes();
		agreed = _i;
		fsck_looked(&f, 3);
		put_inode(OTHER_INO, &in);
		if (exposed[i].bad_record)
			put(TABLE + 16 + 1, &byte, 1);
		gd = group_of_bytes(1);
		if (exposed[i].bad_record)
			ok(xw_dev_pwrite(f.ses.dev, &byte, 1,
					 gd.inode_table * BS + 5 * SIZE + 100));
		gd.flags = exposed[i].flags;
		gd.itable_unused = exposed[i].unused;
		put_group(1, &gd);
		if (!exposed[i].sums)
			f.ses.img->sb.feature_ro_compat &= ~XW_RO_METADATA_CSUM;
		ck_assert_msg(fsck_group_expose(&f, OTHER_INO, "name", 4) == hidden, "row %zu", i);
		expect(hidden ? FSCK_GROUP_UNUSED_REF : FSCK_IDS);
		ok(xw_image_group(f.ses.img, 1, &gd));
		ck_assert_uint_eq(gd.flags, hidden && agreed ? 0 : exposed[i].flags);
		ck_assert_uint_eq(gd.itable_unused, hidden && agreed ? 0 : exposed[i].unused);
		ck_assert_int_eq(f.round.again, hidden && agreed);
		ck_assert_uint_eq(f.ses.looked[3], !(hidden && agreed));
		if (hidden && agreed) { /* others of the same group are no findings any more */
			ck_assert(fsck_group_expose(&f, OTHER_INO, "other", 5));
			expect(FSCK_IDS);
		}
		close_bytes();
	}
}
END_TEST

/* ---- places ---- */

/* A bitmap of so many things, the first of which are in use; the padding is set. */
static void put_bits(xw_blk blk, uint32_t used, uint32_t n, uint32_t hole)
{
	uint8_t bits[BS];

	memset(bits, 0xFF, sizeof(bits));
	for (uint32_t i = used; i < n; i++)
		bits[i / 8] &= (uint8_t) ~(1u << i % 8);
	bits[hole / 8] &= (uint8_t) ~(1u << hole % 8);
	put(blk, bits, sizeof(bits));
}

/* Tables with inodes that their bitmaps tell, and all checksums. */
static void put_groups(bool copies)
{
	struct xw_inode in = {.mode = XW_S_IFDIR | 0755, .links = 3, .size = BS, .blocks = 2};
	uint8_t dot[12] = {2, 0, 0, 0, 12, 0, 1, 2, '.'};
	uint8_t raw[2 * 64] = {0};

	put(BLOCK, dot, sizeof(dot));
	poke32(in.block, BLOCK);
	put_inode(XW_INO_ROOT, &in);
	in.mode = XW_S_IFREG | 0644;
	in.links = 1;
	for (xw_ino ino = 11; ino < 15; ino++)
		put_inode(ino, &in);
	for (xw_ino ino = PER_GROUP + 1; ino <= OTHER_INO; ino++)
		put_inode(ino, &in);
	for (uint64_t g = 0; g < 2; g++) {
		struct xw_group_desc gd = group_of_bytes(g);

		put_bits(gd.block_bitmap, 600, 8192 - (g ? 1 : 0), 5 + (uint32_t)g);
		put_bits(gd.inode_bitmap, g ? 6 : 14, PER_GROUP, PER_GROUP - 1);
		gd.block_bitmap_csum = xw_bitmap_csum(&f.ses.img->sb, f.ses.img->csum_seed,
						      at(gd.block_bitmap), BS);
		gd.inode_bitmap_csum = xw_bitmap_csum(&f.ses.img->sb, f.ses.img->csum_seed,
						      at(gd.inode_bitmap), PER_GROUP / 8);
		put_group(g, &gd);
		xw_group_encode(&gd, &f.ses.img->sb, f.ses.img->csum_seed, (uint32_t)g,
				raw + 64 * g);
	}
	if (copies)
		put(SECOND + 1, raw, sizeof(raw));
}

enum part { BLOCK_BITMAP, INODE_BITMAP, INODE_TABLE };

static xw_blk *place(struct xw_group_desc *gd, enum part p)
{
	return p == BLOCK_BITMAP   ? &gd->block_bitmap
	       : p == INODE_BITMAP ? &gd->inode_bitmap
				   : &gd->inode_table;
}

static const enum fsck_id ids[] = {FSCK_GROUP_BLOCK_BITMAP, FSCK_GROUP_INODE_BITMAP,
				   FSCK_GROUP_INODE_TABLE};

static const xw_blk wrong_places[] = {
	0, 1, 2, BLOCKS, BLOCKS + 5, 131, 141, 150, 158, 166, 175, BLOCK, BLOCK + 50, SECOND,
};

/* Each pointer of both groups is made wrong in each way, and found again. */
START_TEST(places)
{
	const bool copies = _i & 1;
	const bool yes = _i & 2;

	for (uint64_t g = 0; g < 2; g++)
		for (int p = 0; p <= INODE_TABLE; p++)
			for (size_t i = 0; i < XW_ARRAY_SIZE(wrong_places); i++) {
				const xw_blk to = wrong_places[i];
				struct xw_group_desc gd;
				xw_blk right;

				open_bytes();
				agreed = yes;
				put_groups(copies);
				ok(xw_image_group(f.ses.img, g, &gd));
				right = *place(&gd, p);
				*place(&gd, p) = to;
				put_group(g, &gd);
				ok(fsck_check_groups(&f));
				if (to == right) {
					expect(FSCK_IDS);
					close_bytes();
					continue;
				}
				ck_assert_msg(found[ids[p]] == 1 && n_found == 1,
					      "group %d, part %d to %u: %u findings", (int)g, p,
					      (unsigned)to, n_found);
				ck_assert_uint_eq(last.blk, to);
				ck_assert_msg(last.num == right, "group %d, part %d to %u: %u",
					      (int)g, p, (unsigned)to, (unsigned)last.num);
				ok(xw_image_group(f.ses.img, g, &gd));
				ck_assert_uint_eq(*place(&gd, p), yes ? right : to);
				ck_assert(f.round.changed == yes && !f.ses.relocate);
				close_bytes();
			}
}
END_TEST

START_TEST(sound_places)
{
	for (int k = 0; k < 4; k++) {
		open_bytes();
		put_groups(k & 1);
		if (k & 2)
			f.ses.img->sb.feature_incompat &= ~XW_INCOMPAT_FLEX_BG;
		if (k & 2) { /* then those of group 1 are outside of it */
			ok(fsck_check_groups(&f));
			for (int p = 0; p <= INODE_TABLE; p++)
				ck_assert_uint_ge(found[ids[p]], 1);
		} else {
			ok(fsck_check_groups(&f));
			expect(FSCK_IDS);
			ck_assert(!f.round.changed);
		}
		close_bytes();
	}
}
END_TEST

/* ---- bitmaps without checksums ---- */

static const struct {
	uint32_t used, n, hole; /* as put_bits() has it */
	uint32_t free;
	uint16_t flags;
	bool sound;
} bitmaps[] = {
	{14, 64, 63, 50, 0, true},  {14, 64, 5, 51, 0, true},   {14, 64, 63, 51, 0, false},
	{14, 64, 63, 49, 0, false}, {14, 65, 63, 50, 0, false}, {14, 64, 8191, 50, 0, false},
	{14, 64, 64, 50, 0, false}, {64, 64, 63, 1, 0, true},   {14, 64, 63, 50, 3, false},
};

START_TEST(bits)
{
	uint8_t buf[BS];

	open_bytes();
	f.ses.img->sb.feature_ro_compat &= ~XW_RO_METADATA_CSUM;
	for (size_t i = 0; i < XW_ARRAY_SIZE(bitmaps); i++) {
		struct xw_group_desc gd = {.flags = bitmaps[i].flags,
					   .free_inodes = bitmaps[i].free,
					   .free_blocks = bitmaps[i].free};

		put_bits(BLOCK, bitmaps[i].used, bitmaps[i].n, bitmaps[i].hole);
		ck_assert_msg(fsck_inode_bitmap_is_valid(&f, &gd, BLOCK, buf) == bitmaps[i].sound,
			      "row %zu", i);
		if (bitmaps[i].n != 64 || bitmaps[i].used == 64)
			continue;
		/* the last group has 8191 blocks, the first one 8192 */
		put_bits(BLOCK, 8192 - 64 + bitmaps[i].used, 8192, 8192 - 64);
		gd.free_blocks = 64 - bitmaps[i].used + 1;
		ck_assert_int_eq(fsck_block_bitmap_is_valid(&f, 0, &gd, BLOCK), !bitmaps[i].flags);
	}
	put_bits(BLOCK, 100, 8191, 0);
	ck_assert(fsck_block_bitmap_is_valid(&f, 1, &(struct xw_group_desc){.free_blocks = 8092},
					     BLOCK));
	ck_assert(!fsck_block_bitmap_is_valid(
		&f, 0, &(struct xw_group_desc){.free_blocks = 8092 + 1}, BLOCK));
	ck_assert(!fsck_block_bitmap_is_valid(&f, 1, &(struct xw_group_desc){.free_blocks = 8091},
					      BLOCK));
	ck_assert(!fsck_block_bitmap_is_valid(&f, 1, &(struct xw_group_desc){.free_blocks = 8092},
					      BLOCKS));
	close_bytes();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fsck_group");
	TCase *t = tcase_create("fsck_group");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, flags);
	tcase_add_test(t, declined_flags);
	unit_add_cases(t, unused_part, "declined", "agreed");
	tcase_add_loop_test(t, places, 0, 4);
	tcase_add_test(t, sound_places);
	tcase_add_test(t, bits);
	suite_add_tcase(s, t);
	return unit_main(s);
}
