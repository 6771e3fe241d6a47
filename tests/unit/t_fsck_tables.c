// SPDX-License-Identifier: MIT
/*
 * Bitmaps and inode tables that are not where their descriptors point to: with and without
 * checksums, copies and usual places, and beside a journal that has copies of the tables. And the
 * evidence by which they are found.
 */
#include "config.h"

#include "disk/dirent.h"
#include "fsck_bytes.h"
#include "phases/super.h"

enum {
	PER_GROUP = 64,
	SECOND = 8193, /* the first block of group 1, with copies */
	LOG = 600, /* 12 blocks of the journal, of which each half begins as a table */
	TABLE_BLOCKS = 16,
};

enum part { BLOCK_BITMAP, INODE_BITMAP, INODE_TABLE };

static const enum fsck_id ids[] = {FSCK_GROUP_BLOCK_BITMAP, FSCK_GROUP_INODE_BITMAP,
				   FSCK_GROUP_INODE_TABLE};

/* Bitmaps and table of each group: as mke2fs places them without flex_bg, and scattered. */
static const xw_blk standard[2][3] = {{130, 131, 132}, {8322, 8323, 8324}};
static const xw_blk scattered[2][3] = {{700, 720, 740}, {800, 850, 900}};

static struct world {
	const xw_blk (*where)[3];
	bool csum, copies, journal;
} w;

static xw_blk *place(struct xw_group_desc *gd, enum part p)
{
	return p == BLOCK_BITMAP   ? &gd->block_bitmap
	       : p == INODE_BITMAP ? &gd->inode_bitmap
				   : &gd->inode_table;
}

/* ---- worlds ---- */

static void put_bits(xw_blk blk, uint32_t used, uint32_t n)
{
	uint8_t bits[BS];

	memset(bits, 0xFF, sizeof(bits));
	for (uint32_t i = used; i < n; i++)
		bits[i / 8] &= (uint8_t) ~(1u << i % 8);
	put(blk, bits, sizeof(bits));
}

/* Group 0 has the inodes to 14, group 1 the first 6. */
static void put_records(void)
{
	uint8_t dot[12] = {2, 0, 0, 0, 12, 0, 1, 2, '.'};
	struct xw_inode in = {.mode = XW_S_IFDIR | 0755, .links = 3, .size = BS, .blocks = 2};

	put(BLOCK, dot, sizeof(dot));
	poke32(in.block, BLOCK);
	put_inode(XW_INO_ROOT, &in);
	dot[0] = 11; /* lost+found */
	put(BLOCK + 1, dot, sizeof(dot));
	poke32(in.block, BLOCK + 1);
	put_inode(11, &in);
	in.mode = XW_S_IFREG | 0644;
	in.links = 1;
	for (xw_ino ino = 12; ino < 15; ino++)
		put_inode(ino, &in);
	for (xw_ino ino = PER_GROUP + 1; ino < PER_GROUP + 7; ino++)
		put_inode(ino, &in);
}

static struct xw_group_desc desc_of(uint64_t g)
{
	struct xw_group_desc gd = {.free_blocks = g ? 7591 : 7592, .free_inodes = g ? 58 : 50};

	for (int p = 0; p < 3; p++)
		*place(&gd, p) = w.where[g][p];
	return gd;
}

static void start(struct world world, bool yes)
{
	uint8_t raw[2 * 64] = {0};

	w = world;
	open_bytes();
	agreed = yes;
	if (w.where == standard)
		f.ses.img->sb.feature_incompat &= ~XW_INCOMPAT_FLEX_BG;
	if (!w.csum)
		f.ses.img->sb.feature_ro_compat &= ~XW_RO_METADATA_CSUM;
	f.ses.img->sb.jnl_backup_type = w.journal;
	for (uint32_t i = 0; i < 12; i++)
		f.ses.img->sb.jnl_blocks[i] = LOG + i;
	for (uint64_t g = 0; g < 2; g++) {
		const struct xw_group_desc gd = desc_of(g);

		put_group(g, &gd);
	}
	put_records();
	for (uint64_t g = 0; g < 2; g++) {
		struct xw_group_desc gd = desc_of(g);

		put_bits(gd.block_bitmap, 600, g ? 8191 : 8192);
		put_bits(gd.inode_bitmap, g ? 6 : 14, PER_GROUP);
		gd.block_bitmap_csum = xw_bitmap_csum(&f.ses.img->sb, f.ses.img->csum_seed,
						      at(gd.block_bitmap), BS);
		gd.inode_bitmap_csum = xw_bitmap_csum(&f.ses.img->sb, f.ses.img->csum_seed,
						      at(gd.inode_bitmap), PER_GROUP / 8);
		put_group(g, &gd);
		xw_group_encode(&gd, &f.ses.img->sb, f.ses.img->csum_seed, (uint32_t)g,
				raw + 64 * g);
	}
	if (w.copies)
		put(SECOND + 1, raw, sizeof(raw));
	for (xw_blk b = 0; w.journal && b < 12; b++) {
		uint8_t block[BS];

		memcpy(block, at(w.where[b / 6][INODE_TABLE] + b % 6), BS);
		put(LOG + b, block, BS);
	}
}

/* ---- one pointer ---- */

/* Without a usual place or a copy a bitmap is made anew. */
static xw_blk found_at(uint64_t g, enum part p)
{
	return p != INODE_TABLE && w.where == scattered && !w.copies ? 0 : w.where[g][p];
}

static void try_pointer(struct world world, uint64_t g, enum part p, xw_blk to, bool yes)
{
	struct xw_group_desc gd;
	xw_blk want;

	start(world, yes);
	want = found_at(g, p);
	ok(xw_image_group(f.ses.img, g, &gd));
	*place(&gd, p) = to;
	put_group(g, &gd);
	ok(fsck_check_groups(&f));
	ck_assert_msg(found[ids[p]] == 1 && n_found == 1 && last.group == g && last.blk == to &&
			      last.num == want,
		      "%s%s%s%s, group %u, part %d to %u: %u findings, to %u",
		      w.where == standard ? "standard" : "scattered", w.csum ? ", csum" : "",
		      w.copies ? ", copies" : "", w.journal ? ", journal" : "", (unsigned)g, p,
		      (unsigned)to, n_found, (unsigned)last.num);
	ok(xw_image_group(f.ses.img, g, &gd));
	ck_assert_uint_eq(*place(&gd, p), yes ? want : to);
	ck_assert_int_eq(f.ses.relocate, yes && !want);
	ck_assert_int_eq(f.round.changed, yes);
	ok(xw_image_group(f.ses.img, !g, &gd));
	for (int k = 0; k < 3; k++) /* the others stay */
		ck_assert_uint_eq(*place(&gd, k), w.where[!g][k]);
	close_bytes();
}

static struct world world_of(int i)
{
	return (struct world){.where = i & 1 ? scattered : standard,
			      .csum = i & 2,
			      .copies = i & 4,
			      .journal = i & 8};
}

START_TEST(wrong_pointer)
{
	static const xw_blk wrong[] = {0, 1, 2, BLOCKS, BLOCK, BLOCK + 50, SECOND};

	for (uint64_t g = 0; g < 2; g++)
		for (int p = 0; p < 3; p++)
			for (size_t i = 0; i < XW_ARRAY_SIZE(wrong); i++)
				try_pointer(world_of(_i), g, p, wrong[i], i % 3);
}
END_TEST

/* Into another part, of its own group or the other one; and into the journal. */
START_TEST(pointer_to_another_part)
{
	for (uint64_t g = 0; g < 2; g++)
		for (int p = 0; p < 3; p++)
			for (int k = 0; k < 6; k++) {
				const xw_blk to = world_of(_i).where[k / 3][k % 3];

				if (k / 3 == (int)g && k % 3 == p)
					continue;
				try_pointer(world_of(_i), g, p, to, true);
			}
}
END_TEST

/* The first record of the lost table, that of the root or of a file, is damaged as well. */
START_TEST(pointer_and_record)
{
	static const uint16_t wrong[] = {0x5000, 0x81A4, 0};

	for (uint64_t g = 0; g < 2; g++)
		for (size_t i = 0; i < XW_ARRAY_SIZE(wrong); i++) {
			struct xw_group_desc gd;
			uint8_t mode[2];

			start(world_of(_i), true);
			ok(xw_image_group(f.ses.img, g, &gd));
			poke16(mode, wrong[i]);
			ok(xw_dev_pwrite(f.ses.dev, mode, sizeof(mode),
					 gd.inode_table * BS + (g ? 0 : SIZE)));
			gd.inode_table = 0;
			put_group(g, &gd);
			ok(fsck_check_groups(&f));
			expect(FSCK_GROUP_INODE_TABLE);
			ok(xw_image_group(f.ses.img, g, &gd));
			ck_assert_uint_eq(gd.inode_table, w.where[g][INODE_TABLE]);
			close_bytes();
		}
}
END_TEST

START_TEST(sound)
{
	for (uint64_t g = 0; g < 2; g++) {
		struct xw_group_desc gd;

		start(world_of(_i), true);
		ok(fsck_check_groups(&f));
		expect(FSCK_IDS);
		ck_assert(!f.round.changed && !f.ses.relocate);
		ok(xw_image_group(f.ses.img, g, &gd));
		for (int p = 0; p < 3; p++)
			ck_assert_uint_eq(*place(&gd, p), w.where[g][p]);
		close_bytes();
	}
}
END_TEST

/* The log's copy of a table is none, although it has the root directory. */
/*
 * A wrong count, or a wrong bit, does not make a place impossible. Bitmaps without their padding,
 * of a group whose metadata would be free, or without any free bit are none.
 */
START_TEST(unusual_place)
{
	static const struct {
		int p;
		uint32_t used, n;
		bool legal;
	} rows[] = {
		{BLOCK_BITMAP, 1000, 8192, true},         {BLOCK_BITMAP, 750, 8192, false},
		{BLOCK_BITMAP, 8192, 8192, false},        {INODE_BITMAP, 13, PER_GROUP, true},
		{INODE_BITMAP, 16, PER_GROUP, true},      {INODE_BITMAP, 40, PER_GROUP, false},
		{INODE_BITMAP, 13, PER_GROUP + 8, false},
	};

	for (size_t i = 0; i < XW_ARRAY_SIZE(rows); i++) {
		start((struct world){scattered, _i, false, false}, true);
		put_bits(w.where[0][BLOCK_BITMAP], 1000, 8192);
		put_bits(w.where[0][rows[i].p], rows[i].used, rows[i].n);
		ok(fsck_check_groups(&f));
		ck_assert_msg(found[ids[rows[i].p]] == !rows[i].legal, "row %zu: %u findings", i,
			      n_found);
		close_bytes();
	}
}
END_TEST

START_TEST(table_in_the_journal)
{
	for (int copies = 0; copies < 2; copies++)
		for (int csum = 0; csum < 2; csum++)
			for (uint64_t g = 0; g < 2; g++)
				try_pointer((struct world){scattered, csum, copies, true}, g,
					    INODE_TABLE, LOG + (g ? 6 : 0), true);
}
END_TEST

/* What else is in a descriptor of a wrong checksum is not certain. */
START_TEST(wrong_checksum_too)
{
	struct xw_group_desc gd;
	uint8_t byte = 0x55;

	start((struct world){standard, true, true, false}, true);
	ok(xw_image_group(f.ses.img, 1, &gd));
	gd.inode_bitmap = BLOCKS;
	gd.flags = XW_BG_INODE_UNINIT | XW_BG_BLOCK_UNINIT;
	gd.itable_unused = 60;
	put_group(1, &gd);
	ok(xw_dev_pwrite(f.ses.dev, &byte, 1, 2 * BS + 64 + 0x1E));
	xw_image_drop_cache(f.ses.img);
	ok(fsck_check_groups(&f));
	expect(FSCK_GROUP_INODE_BITMAP);
	ok(xw_image_group(f.ses.img, 1, &gd));
	ck_assert(!gd.flags && !gd.itable_unused);
	ck_assert(!fsck_group_sum_is_wrong(&f, 1));
	close_bytes();
}
END_TEST

/* ---- evidence ---- */

static const struct {
	struct fsck_evidence e;
	bool likely, unlikely, foreign;
	int64_t score;
} verdicts[] = {
	{{.good = 0}, false, false, false, 0},
	{{.good = 5}, true, false, false, 5},
	{{.good = 5, .bad = 4}, true, false, false, -11},
	{{.good = 5, .bad = 5}, false, false, false, -15},
	{{.good = 5, .bad = 6}, false, true, false, -19},
	{{.good = 5, .hits = 3, .misses = 3}, true, false, false, -4},
	{{.good = 5, .hits = 3, .misses = 4}, false, true, false, -8},
	{{.good = 1, .hits = 4, .misses = 0}, true, false, false, 5},
	{{.bad = 6, .foreign = 3}, false, true, false, -24},
	{{.bad = 6, .foreign = 4}, false, true, true, -24},
	{{.good = 1, .bad = 6, .foreign = 6}, false, true, false, -23},
	{{.good = 1, .proven = 1, .bad = 1}, true, false, false, 5},
	{{.good = 1, .proven = 1, .bad = 2}, false, true, false, 1},
};

START_TEST(verdict)
{
	for (size_t i = 0; i < XW_ARRAY_SIZE(verdicts); i++) {
		const struct fsck_evidence *e = &verdicts[i].e;

		ck_assert_msg(fsck_table_is_plausible(e) == verdicts[i].likely, "row %zu", i);
		ck_assert_msg(fsck_table_is_unlikely(e) == verdicts[i].unlikely, "row %zu", i);
		ck_assert_msg(fsck_table_is_foreign(e) == verdicts[i].foreign, "row %zu", i);
		ck_assert_int_eq(fsck_table_score(e), verdicts[i].score);
	}
}
END_TEST

/* Records without checksums: fields that no inode has. */
static const struct {
	uint16_t mode, links;
	uint64_t size;
	uint32_t flags, first, second; /* of i_block */
	bool good, bad;
} records[] = {
	{XW_S_IFREG, 1, 5, 0, BLOCK, 0, true, false},
	{XW_S_IFREG, 60000, 5, 0, BLOCK, 0, true, false},
	{XW_S_IFREG, 60001, 5, 0, BLOCK, 0, false, true},
	{XW_S_IFREG, 1, 5, 0, BLOCKS, 0, false, true},
	{XW_S_IFREG, 1, 5, 0, 0, BLOCKS - 1, true, false},
	{XW_S_IFREG, 1, 5, 0, 0, BLOCKS, false, true},
	{XW_S_IFREG, 1, 5, XW_FL_INLINE_DATA, BLOCKS, 0, true, false},
	{XW_S_IFREG, 1, 5, XW_FL_EXTENTS, 0x0002F30A, 4, true, false}, /* 2 entries of 4 */
	{XW_S_IFREG, 1, 5, XW_FL_EXTENTS, 0x0005F30A, 4, false, true},
	{XW_S_IFREG, 1, 5, XW_FL_EXTENTS, 0x0002F30B, 4, false, true},
	{XW_S_IFLNK, 1, 59, 0, 0x70707070, 0x70707070, true, false},
	{XW_S_IFLNK, 1, 60, 0, 0x70707070, 0x70707070, false, true},
	{XW_S_IFCHR, 1, 0, 0, 0x70707070, 0, true, false},
	{XW_S_IFCHR, 1, 5, 0, 0, 0, false, true},
	{XW_S_IFIFO, 1, 0, XW_FL_EXTENTS, 0, 0, false, true},
	{XW_S_IFSOCK, 1, 0, XW_FL_INLINE_DATA, 0, 0, false, true},
	{0, 0, 0, 0, 0, 0, false, false},
	{0, 0, 0, 0, 5, 0, false, false}, /* a deleted one */
	{0, 1, 0, 0, 5, 0, false, true},
	{0x3000, 1, 5, 0, 5, 0, false, true},
	{0xF000, 1, 5, 0, 5, 0, false, true},
};

START_TEST(plausible)
{
	start((struct world){standard, false, false, false}, true);
	for (size_t i = 0; i < XW_ARRAY_SIZE(records); i++) {
		struct xw_inode in = {.mode = records[i].mode,
				      .links = records[i].links,
				      .size = records[i].size,
				      .flags = records[i].flags};
		const bool used = records[i].links && !records[i].bad;
		struct fsck_evidence e = {0};
		uint8_t buf[BS] = {0}, bits[8] = {0x80};

		poke32(in.block, records[i].first);
		poke32(in.block + 4, records[i].second);
		xw_inode_encode(&in, &f.ses.img->sb, buf + 3 * SIZE);
		for (int set = 0; set < 2; set++) {
			e = (struct fsck_evidence){.bits = bits};
			bits[1] = set ? 8 : 0; /* inode 12 */
			fsck_table_block(&f, 0, 8, buf, &e);
			ck_assert_msg(e.good == records[i].good, "row %zu", i);
			ck_assert_msg(e.bad == records[i].bad, "row %zu", i);
			ck_assert_uint_eq(e.foreign, records[i].bad);
			ck_assert_msg(e.hits == (set && used), "row %zu", i);
			ck_assert_msg(e.misses == (!records[i].bad && set != used), "row %zu", i);
		}
	}
	close_bytes();
}
END_TEST

/* Which block of a table is it? By checksums, which depend on the number. */
START_TEST(index_of_a_block)
{
	uint8_t buf[BS];
	uint64_t k = 99;

	start((struct world){standard, true, false, false}, true);
	for (uint64_t b = 0; b < TABLE_BLOCKS; b++) {
		const bool used = b <= 1; /* inodes 65 to 70 */

		memcpy(buf, at(standard[1][INODE_TABLE] + b), BS);
		ck_assert_int_eq(fsck_table_index(&f, 1, buf, &k), used);
		ck_assert_uint_eq(k, used ? b : 0);
		ck_assert(!fsck_table_index(&f, 0, buf, &k));
	}
	memcpy(buf, at(standard[0][INODE_TABLE] + 2), BS); /* 9 to 12; 9 and 10 are zeros */
	ck_assert(fsck_table_index(&f, 0, buf, &k) && k == 2);
	poke16(buf, 0xF123); /* no inode */
	ck_assert(!fsck_table_index(&f, 0, buf, &k));
	close_bytes();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fsck_tables");
	TCase *t = tcase_create("fsck_tables");

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, wrong_pointer, 0, 16);
	tcase_add_loop_test(t, pointer_to_another_part, 0, 16);
	tcase_add_loop_test(t, pointer_and_record, 0, 16);
	tcase_add_loop_test(t, sound, 0, 16);
	tcase_add_loop_test(t, unusual_place, 0, 2);
	tcase_add_test(t, table_in_the_journal);
	tcase_add_test(t, wrong_checksum_too);
	tcase_add_test(t, verdict);
	tcase_add_test(t, plausible);
	tcase_add_test(t, index_of_a_block);
	suite_add_tcase(s, t);
	return unit_main(s);
}
