// SPDX-License-Identifier: MIT
/*
 * How well a superblock fits its device: superblocks and blocks in, judgments out. What is chosen
 * by that is in t_fsck_choose.c.
 */
#include "config.h"

#include <stddef.h>

#include "fsck_bytes.h"
#include "open/open.h"

enum { UNKNOWN = 0x80000 /* an incompat feature */ };

static struct xw_group_desc last_group;

static void put_bits(xw_blk blk, uint32_t used, uint32_t n)
{
	uint8_t bits[BS];

	memset(bits, 0xFF, sizeof(bits));
	for (uint32_t i = used; i < n; i++)
		bits[i / 8] &= (uint8_t) ~(1u << i % 8);
	put(blk, bits, sizeof(bits));
}

static void put_root(uint16_t mode, xw_blk blk)
{
	struct xw_inode in = {.mode = mode, .links = 3, .size = BS, .blocks = 2};
	const uint8_t dot[12] = {2, 0, 0, 0, 12, 0, 1, 2, '.'};

	put(BLOCK, dot, sizeof(dot));
	poke32(in.block, (uint32_t)blk);
	put_inode(XW_INO_ROOT, &in);
}

/* Bitmaps and counts are right: 600 blocks of group 1 are in use. */
static void start(void)
{
	open_bytes();
	put_root(XW_S_IFDIR | 0755, BLOCK);
	last_group = group_of_bytes(1);
	last_group.free_blocks = 7591;
	put_bits(last_group.block_bitmap, 600, 8191);
	last_group.block_bitmap_csum = xw_bitmap_csum(&f.ses.img->sb, f.ses.img->csum_seed,
						      at(last_group.block_bitmap), BS);
	put_group(1, &last_group);
	put_bits(group_of_bytes(0).inode_bitmap, 14, 64);
}

/* ---- the penalty ---- */

#define FIELD(name) offsetof(struct xw_super, name), sizeof(((struct xw_super *)0)->name)

static const struct {
	const char *name;
	size_t off, len;
	uint64_t value;
	bool usable, fits;
} fields[] = {
	{"nothing", FIELD(creator_os), 0, true, true},
	{"journal_inum", FIELD(journal_inum), 0, true, true},
	{"journal_inum", FIELD(journal_inum), 11, true, true},
	{"journal_inum", FIELD(journal_inum), 10, true, false},
	{"journal_inum", FIELD(journal_inum), 128, true, true},
	{"journal_inum", FIELD(journal_inum), 129, true, false},
	{"inodes_count", FIELD(inodes_count), 192, true, false},
	{"blocks_count", FIELD(blocks_count), BLOCKS + 1, true, false},
	{"blocks_count", FIELD(blocks_count), BLOCKS - 1, true, true},
	{"blocks_count", FIELD(blocks_count), 1, false, false},
	{"first_data_block", FIELD(first_data_block), 0, false, false},
	{"log_block_size", FIELD(log_block_size), 7, false, false},
	{"log_cluster_size", FIELD(log_cluster_size), 1, true, false},
	{"clusters_per_group", FIELD(clusters_per_group), 8184, true, false},
	{"blocks_per_group", FIELD(blocks_per_group), 4, false, false},
	{"inodes_per_group", FIELD(inodes_per_group), 4, false, false},
	{"rev_level", FIELD(rev_level), 2, false, false},
	{"first_ino", FIELD(first_ino), 12, true, false},
	{"log_groups_per_flex", FIELD(log_groups_per_flex), 31, true, true},
	{"log_groups_per_flex", FIELD(log_groups_per_flex), 32, true, false},
	{"reserved_gdt_blocks", FIELD(reserved_gdt_blocks), 126, true, true},
	{"reserved_gdt_blocks", FIELD(reserved_gdt_blocks), 257, true, false},
	{"checksum_type", FIELD(checksum_type), 2, true, false},
	{"feature_incompat", FIELD(feature_incompat), 0x6C2 | UNKNOWN, true, false},
	{"feature_incompat", FIELD(feature_incompat), 0x6CA, false, false},
	{"uuid", FIELD(uuid), 0, true, false}, /* the seed of all checksums */
};

START_TEST(penalty)
{
	start();
	for (size_t i = 0; i < XW_ARRAY_SIZE(fields); i++) {
		struct xw_super sb = f.ses.img->sb;

		memset((uint8_t *)&sb + fields[i].off, 0, fields[i].len);
		memcpy((uint8_t *)&sb + fields[i].off, &fields[i].value,
		       XW_MIN(fields[i].len, sizeof(fields[i].value)));
		ck_assert_msg(fsck_super_usable(&sb) == fields[i].usable, "%s %llu", fields[i].name,
			      (unsigned long long)fields[i].value);
		ck_assert_msg((fsck_super_penalty(f.ses.dev, &sb) <= fsck_super_ideal(&sb)) ==
				      fields[i].fits,
			      "%s %llu", fields[i].name, (unsigned long long)fields[i].value);
	}
	ck_assert_int_eq(fsck_super_penalty(f.ses.dev, &f.ses.img->sb), -4);
	close_bytes();
}
END_TEST

START_TEST(ideal)
{
	struct xw_super sb = {.feature_ro_compat = XW_RO_METADATA_CSUM};

	ck_assert_int_eq(fsck_super_ideal(&sb), -4);
	sb.feature_ro_compat = XW_RO_GDT_CSUM;
	ck_assert_int_eq(fsck_super_ideal(&sb), -2);
	sb.feature_ro_compat = 0;
	ck_assert_int_eq(fsck_super_ideal(&sb), 0);
}
END_TEST

/* Descriptors of a group that contradict it. */
START_TEST(groups)
{
	for (int k = 0; k < 5; k++) {
		struct xw_group_desc gd = (start(), group_of_bytes(1));
		struct xw_super sb = f.ses.img->sb;

		if (k == 1)
			gd.inode_table = BLOCKS - 5;
		if (k == 2)
			gd.block_bitmap = gd.inode_bitmap = 8200; /* on reserved descriptors */
		if (k == 3)
			gd.inode_table = TABLE + 5; /* on the other table */
		if (k == 4)
			gd = (struct xw_group_desc){.block_bitmap = 0};
		put_group(1, &gd);
		ck_assert_msg((fsck_super_penalty(f.ses.dev, &sb) <= fsck_super_ideal(&sb)) == !k,
			      "case %d: %d", k, fsck_super_penalty(f.ses.dev, &sb));
		close_bytes();
	}
}
END_TEST

/* ---- the root directory ---- */

START_TEST(root_table)
{
	start();
	ck_assert(fsck_is_root_table(f.ses.dev, f.ses.img, TABLE));
	ck_assert(!fsck_is_root_table(f.ses.dev, f.ses.img, TABLE + 1));
	ck_assert(!fsck_is_root_table(f.ses.dev, f.ses.img, TABLE + 16));
	put_root(XW_S_IFREG | 0755, BLOCK);
	ck_assert(!fsck_is_root_table(f.ses.dev, f.ses.img, TABLE));
	put_root(XW_S_IFDIR | 0755, BLOCK + 1);
	ck_assert(fsck_is_root_table(f.ses.dev, f.ses.img, TABLE)); /* by its checksum */
	f.ses.img->sb.feature_ro_compat &= ~XW_RO_METADATA_CSUM;
	ck_assert(!fsck_is_root_table(f.ses.dev, f.ses.img, TABLE));
	put_root(XW_S_IFDIR | 0755, BLOCK);
	ck_assert(fsck_is_root_table(f.ses.dev, f.ses.img, TABLE)); /* by what it leads to */
	put_root(XW_S_IFDIR | 0755, BLOCKS);
	ck_assert(!fsck_is_root_table(f.ses.dev, f.ses.img, TABLE));
	close_bytes();
}
END_TEST

/* Records that do not say where the first block is: by their fields, without checksums. */
static const struct {
	const char *what;
	uint32_t flags, word; /* the first one of the map */
	uint16_t links;
	uint32_t dtime;
	uint64_t size;
	bool feature, root;
} strange_roots[] = {
	{"in the inode", XW_FL_INLINE_DATA, 2, 3, 0, 60, true, true},
	{"without the feature", XW_FL_INLINE_DATA, 2, 3, 0, 60, false, false},
	{"another parent", XW_FL_INLINE_DATA, 12, 3, 0, 60, true, false},
	{"a tree", XW_FL_EXTENTS, 0x0001F30A, 3, 0, 5 * BS, false, true},
	{"a damaged header", XW_FL_EXTENTS, 0x0001F30B, 3, 0, 5 * BS, false, true},
	{"no links", XW_FL_EXTENTS, 0x0001F30B, 0, 0, 5 * BS, false, false},
	{"deleted", XW_FL_EXTENTS, 0x0001F30B, 3, 1, 5 * BS, false, false},
	{"no size", XW_FL_EXTENTS, 0x0001F30B, 3, 0, 0, false, false},
	{"part of a block", XW_FL_EXTENTS, 0x0001F30B, 3, 0, 5 * BS + 1, false, false},
	{"as large as can be", XW_FL_EXTENTS, 0x0001F30B, 3, 0, (uint64_t)BLOCKS *BS, false, true},
	{"too large", XW_FL_EXTENTS, 0x0001F30B, 3, 0, (BLOCKS + UINT64_C(1)) * BS, false, false},
};

START_TEST(strange_root_tables)
{
	for (size_t i = 0; i < XW_ARRAY_SIZE(strange_roots); i++) {
		struct xw_inode in = {.mode = XW_S_IFDIR | 0755,
				      .flags = strange_roots[i].flags,
				      .links = strange_roots[i].links,
				      .dtime = strange_roots[i].dtime,
				      .size = strange_roots[i].size};

		start();
		f.ses.img->sb.feature_ro_compat &= ~XW_RO_METADATA_CSUM;
		if (strange_roots[i].feature)
			f.ses.img->sb.feature_incompat |= XW_INCOMPAT_INLINE_DATA;
		poke32(in.block, strange_roots[i].word);
		poke16(in.block + 6, 1);
		put_inode(XW_INO_ROOT, &in);
		ck_assert_msg(fsck_is_root_table(f.ses.dev, f.ses.img, TABLE) ==
				      strange_roots[i].root,
			      "%s", strange_roots[i].what);
		close_bytes();
	}
}
END_TEST

/* Contents of files: one record in 16 has the type of a directory. */
START_TEST(contents_for_a_table)
{
	uint64_t state = 4711;
	uint8_t record[SIZE];

	start();
	f.ses.img->sb.feature_ro_compat &= ~XW_RO_METADATA_CSUM;
	for (int i = 0; i < 2000; i++) {
		fix_random_bytes(&state, record, sizeof(record));
		record[1] = 0x41;
		ok(xw_dev_pwrite(f.ses.dev, record, sizeof(record), TABLE * BS + SIZE));
		ck_assert_msg(!fsck_is_root_table(f.ses.dev, f.ses.img, TABLE), "contents %d", i);
	}
	close_bytes();
}
END_TEST

START_TEST(root_elsewhere)
{
	struct xw_group_desc gd;
	struct xw_super sb;

	start();
	sb = f.ses.img->sb;
	gd = group_of_bytes(0);
	ck_assert(!fsck_root_is_elsewhere(f.ses.dev, &sb));
	gd.inode_table = BLOCK + 100;
	put_group(0, &gd);
	sb.feature_ro_compat &= ~XW_RO_METADATA_CSUM;
	ck_assert(fsck_root_is_elsewhere(f.ses.dev, &sb));
	put(BLOCK, "nothing....", 12); /* the entries of the root */
	ck_assert(!fsck_root_is_elsewhere(f.ses.dev, &sb));
	close_bytes();
}
END_TEST

/* ---- counts by bitmaps ---- */

START_TEST(counted_blocks)
{
	static const struct {
		uint64_t blocks; /* in the superblock */
		uint32_t inodes;
		int spoiled;
		uint64_t want;
	} cases[] = {
		{BLOCKS, 128, 0, BLOCKS}, {12000, 128, 0, BLOCKS}, {8193, 128, 0, BLOCKS},
		{12000, 64, 0, 12000},    {12000, 100, 0, 12000},  {12000, 0, 0, 12000},
		{12000, 128, 1, 12000},   {12000, 128, 2, 12000},  {12000, 128, 3, 12000},
		{12000, 128, 4, 12000},   {8000, 128, 1, 8000},    {8000, 128, 3, 8000},
		{8000, 128, 2, 8000},     {8000, 128, 4, 8000},    {8000, 128, 0, BLOCKS},
	};

	for (size_t i = 0; i < XW_ARRAY_SIZE(cases); i++) {
		struct xw_super sb = (start(), f.ses.img->sb);

		sb.blocks_count = cases[i].blocks;
		sb.inodes_count = cases[i].inodes;
		last_group.free_blocks += cases[i].spoiled == 1;
		last_group.block_bitmap_csum += cases[i].spoiled == 2;
		last_group.flags = cases[i].spoiled == 3 ? XW_BG_BLOCK_UNINIT : 0;
		last_group.block_bitmap = cases[i].spoiled == 4 ? 0 : last_group.block_bitmap;
		put_group(1, &last_group);
		ck_assert_msg(fsck_counted_blocks(f.ses.dev, &sb) == cases[i].want,
			      "%u blocks, %u inodes, damage %u: %u", (unsigned)cases[i].blocks,
			      (unsigned)cases[i].inodes, (unsigned)cases[i].spoiled,
			      (unsigned)fsck_counted_blocks(f.ses.dev, &sb));
		close_bytes();
	}
}
END_TEST

START_TEST(padding)
{
	struct xw_super sb = (start(), f.ses.img->sb);

	ck_assert(fsck_bitmap_ends(f.ses.dev, &sb) && fsck_clusters_end(f.ses.dev, &sb));
	sb.inodes_per_group = 72;
	ck_assert(!fsck_bitmap_ends(f.ses.dev, &sb));
	sb.inodes_per_group = 56;
	ck_assert(!fsck_bitmap_ends(f.ses.dev, &sb));
	sb.inodes_per_group = 8192; /* no padding */
	ck_assert(!fsck_bitmap_ends(f.ses.dev, &sb));
	sb = f.ses.img->sb;
	sb.blocks_count--;
	ck_assert(!fsck_clusters_end(f.ses.dev, &sb));
	sb.blocks_count = 0;
	ck_assert(!fsck_clusters_end(f.ses.dev, &sb) && !fsck_bitmap_ends(f.ses.dev, &sb));
	close_bytes();
}
END_TEST

/* ---- features ---- */

static const struct {
	uint32_t compat, incompat, ro; /* set or cleared */
	bool odd, newer;
} features[] = {
	{0, 0, 0, false, false},
	{0, UNKNOWN, 0, false, true},
	{0x8000, UNKNOWN, 0, false, true},
	{0x18000, UNKNOWN, 0, true, false},
	{0, UNKNOWN, XW_RO_GDT_CSUM, true, false},
	{0, UNKNOWN, XW_RO_BIGALLOC, false, true},
	{0, UNKNOWN | XW_INCOMPAT_EXTENTS, XW_RO_BIGALLOC, true, false},
	{0, UNKNOWN | XW_INCOMPAT_CSUM_SEED, 0, false, true},
	{0, UNKNOWN, XW_RO_ORPHAN_PRESENT, true, false},
	{0, UNKNOWN | XW_INCOMPAT_META_BG, 0, true, false},
	{0, XW_INCOMPAT_META_BG, 0, false, false}, /* nothing is unknown */
	{XW_COMPAT_EXT_ATTR, UNKNOWN, 0, false, false}, /* something is lost */
	{0, UNKNOWN, XW_RO_LARGE_FILE, false, false},
	{0, UNKNOWN | XW_INCOMPAT_FILETYPE, 0, true, false}, /* in place of it */
};

START_TEST(feature_words)
{
	start();
	for (size_t i = 0; i < XW_ARRAY_SIZE(features); i++) {
		const struct xw_super mended = f.ses.img->sb;
		struct xw_super sb = mended;
		struct fsck_unknown u;
		char name[64];

		sb.feature_compat ^= features[i].compat;
		sb.feature_incompat ^= features[i].incompat;
		sb.feature_ro_compat ^= features[i].ro;
		u = fsck_unknown_features(&sb);
		ck_assert_uint_eq(u.incompat, features[i].incompat & UNKNOWN);
		ck_assert_uint_eq(u.compat, features[i].compat & 0x18000);
		ck_assert_uint_eq(u.ro, 0);
		snprintf(name, sizeof(name), "compat 0x%x, incompat 0x%x, ro_compat 0x%x",
			 features[i].compat, features[i].incompat, features[i].ro);
		ck_assert_msg(fsck_features_are_implausible(&sb) == features[i].odd, "%s", name);
		ck_assert_msg(fsck_super_is_newer(&sb, &mended) == features[i].newer, "%s", name);
		sb.first_ino++; /* and something else */
		ck_assert(!fsck_super_is_newer(&sb, &mended));
	}
	close_bytes();
}
END_TEST

/* ---- places ---- */

START_TEST(places)
{
	const uint32_t len = 16;

	start();
	ck_assert(fsck_group_has(f.ses.img, 1, 130, 1) &&
		  fsck_group_has(f.ses.img, 0, BLOCKS - 1, 1));
	ck_assert(!fsck_group_has(f.ses.img, 0, 1, 1) &&
		  !fsck_group_has(f.ses.img, 0, BLOCKS - 1, 2));
	f.ses.img->sb.feature_incompat &= ~XW_INCOMPAT_FLEX_BG;
	ck_assert(fsck_group_has(f.ses.img, 0, 8192, 1) && !fsck_group_has(f.ses.img, 0, 8192, 2));
	ck_assert(fsck_group_has(f.ses.img, 1, 8193, 1) && !fsck_group_has(f.ses.img, 1, 8192, 1));
	for (int p = 0; p < 4; p++) {
		struct xw_group_desc gd = {
			.block_bitmap = 8200, .inode_bitmap = 8201, .inode_table = BLOCKS - len};

		gd.block_bitmap -= p == 1 ? 10 : 0;
		gd.inode_bitmap -= p == 2 ? 10 : 0;
		gd.inode_table += p == 3;
		ck_assert_int_eq(fsck_group_has_places(f.ses.img, 1, &gd), !p);
	}
	close_bytes();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fsck_evidence");
	TCase *t = tcase_create("fsck_evidence");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, penalty);
	tcase_add_test(t, ideal);
	tcase_add_test(t, groups);
	tcase_add_test(t, root_table);
	tcase_add_test(t, strange_root_tables);
	tcase_add_test(t, contents_for_a_table);
	tcase_add_test(t, root_elsewhere);
	tcase_add_test(t, counted_blocks);
	tcase_add_test(t, padding);
	tcase_add_test(t, feature_words);
	tcase_add_test(t, places);
	suite_add_tcase(s, t);
	return unit_main(s);
}
