// SPDX-License-Identifier: MIT
/* Which inode is an orphan file, and whether it is in use: records in, the answer out. */
#include "config.h"

#include "disk/orphan.h"
#include "facts/orphan_blocks.h"
#include "fsck_bytes.h"
#include "open/orphans.h"

enum { FILE_INO = 20, BLOCKS_OF_IT = 3, GENERATION = 7 };

static uint8_t block[BS];

static struct xw_inode right(void)
{
	struct xw_inode in = {.mode = XW_S_IFREG | 0600,
			      .links = 1,
			      .size = BLOCKS_OF_IT * BS,
			      .blocks = BLOCKS_OF_IT * 2,
			      .generation = GENERATION};

	for (unsigned i = 0; i < BLOCKS_OF_IT; i++)
		poke32(in.block + 4 * i, BLOCK + i);
	return in;
}

/* Block i of it; entry: in its slot of that number. */
static void put_orphans(unsigned i, unsigned slot, uint32_t entry)
{
	const uint32_t seed = xw_inode_seed(f.ses.img->csum_seed, FILE_INO, GENERATION);

	memset(block, 0, BS);
	poke32(block + 4 * slot, entry);
	xw_orphan_seal(block, BS, true, seed, BLOCK + i);
	put(BLOCK + i, block, BS);
}

static void start(void)
{
	const struct xw_inode in = right();

	open_bytes();
	f.ses.img->sb.feature_compat |= XW_COMPAT_ORPHAN_FILE;
	f.ses.img->sb.orphan_file_inum = FILE_INO;
	put_inode(FILE_INO, &in);
	for (unsigned i = 0; i < BLOCKS_OF_IT; i++)
		put_orphans(i, 0, 0);
}

/* ---- the record ---- */

static const struct {
	const char *what;
	struct xw_inode in; /* what is not 0 replaces that of a right one */
	bool no_links, no_size, hole;
	bool valid, no_blocks;
} records[] = {
	{"right", {0}, false, false, false, true},
	{"a directory", {.mode = XW_S_IFDIR}, false, false, false, false},
	{"no links", {0}, true, false, false, false},
	{"no size", {0}, false, true, false, false},
	{"part of a block", {.size = 3 * BS - 1}, false, false, false, false},
	{"shorter than its map", {.size = 2 * BS}, false, false, false, false},
	{"longer than its map", {.size = 4 * BS}, false, false, false, false},
	{"a hole", {0}, false, false, true, false},
	{"in the inode", {.flags = XW_FL_INLINE_DATA}, false, false, false, false, true},
	{"no extents", {.flags = XW_FL_EXTENTS}, false, false, false, false, true},
};

START_TEST(inodes)
{
	for (size_t i = 0; i < XW_ARRAY_SIZE(records); i++) {
		struct xw_inode in = right();
		struct fsck_orphan_file o;

		start();
		in.mode = records[i].in.mode ? records[i].in.mode : in.mode;
		in.size = records[i].in.size ? records[i].in.size : in.size;
		in.flags = records[i].in.flags;
		in.links = !records[i].no_links;
		if (records[i].no_size)
			in.size = 0;
		if (records[i].hole)
			poke32(in.block + 4, 0);
		put_inode(FILE_INO, &in);
		ok(fsck_orphan_file_read(&f, FILE_INO, NULL, &o));
		ck_assert_msg(o.valid == records[i].valid, "%s", records[i].what);
		if (o.valid) {
			ck_assert_uint_eq(o.runs.v[0].pblk, BLOCK);
			ck_assert_uint_eq(
				o.seed, xw_inode_seed(f.ses.img->csum_seed, FILE_INO, GENERATION));
		}
		xw_vec_free(&o.runs);
		ck_assert_msg(fsck_orphan_file_is_valid(&o) == records[i].valid, "%s",
			      records[i].what);
		ck_assert_msg(fsck_orphan_file_is(&o) == !records[i].no_blocks, "%s",
			      records[i].what);
		close_bytes();
	}
}
END_TEST

/* Not one of the reserved inodes, nor one that there is not. */
START_TEST(numbers)
{
	static const struct {
		xw_ino ino;
		bool valid;
	} rows[] = {{0, false},  {10, false},  {11, true},
		    {128, true}, {129, false}, {UINT32_MAX, false}};

	for (size_t i = 0; i < XW_ARRAY_SIZE(rows); i++) {
		const struct xw_inode in = right();
		struct fsck_orphan_file o;

		start();
		if (rows[i].ino && rows[i].ino <= 128)
			put_inode(rows[i].ino, &in);
		ok(fsck_orphan_file_read(&f, rows[i].ino, NULL, &o));
		ck_assert_msg(o.valid == rows[i].valid, "inode %u", rows[i].ino);
		xw_vec_free(&o.runs);
		close_bytes();
	}
}
END_TEST

/* ---- its blocks ---- */

static struct fsck_orphan_file look(void)
{
	struct fsck_orphan_file o;

	ok(fsck_orphan_file_read(&f, FILE_INO, NULL, &o));
	xw_vec_free(&o.runs);
	return o;
}

START_TEST(blocks)
{
	for (unsigned k = 0; k <= BLOCKS_OF_IT; k++) {
		struct fsck_orphan_file o;

		start();
		for (unsigned i = 0; i < k; i++) /* a wrong checksum, with a right magic */
			ok(xw_dev_pwrite(f.ses.dev, "\x01", 1, (BLOCK + i) * BS + 40));
		xw_image_drop_cache(f.ses.img);
		o = look();
		ck_assert_uint_eq(o.blocks, BLOCKS_OF_IT);
		ck_assert_uint_eq(o.known, BLOCKS_OF_IT);
		ck_assert_uint_eq(o.good, BLOCKS_OF_IT - k);
		ck_assert_int_eq(fsck_orphan_file_is_valid(&o), !k);
		ck_assert(fsck_orphan_file_is(&o));
		f.ses.img->sb.feature_ro_compat &= ~XW_RO_METADATA_CSUM;
		o = look();
		ck_assert_uint_eq(o.good, BLOCKS_OF_IT);
		ck_assert(fsck_orphan_file_is_valid(&o));
		memset(block, 0, BS);
		put(BLOCK + 1, block, BS);
		o = look();
		ck_assert_uint_eq(o.known, BLOCKS_OF_IT - 1);
		ck_assert(!fsck_orphan_file_is_valid(&o));
		close_bytes();
	}
}
END_TEST

/* One right checksum, or the magic of most blocks, and it is the orphan file. */
START_TEST(damaged)
{
	for (unsigned k = 0; k <= BLOCKS_OF_IT; k++)
		for (int csum = 0; csum < 2; csum++) {
			struct fsck_orphan_file o;

			start();
			if (!csum)
				f.ses.img->sb.feature_ro_compat &= ~XW_RO_METADATA_CSUM;
			memset(block, 0, BS);
			for (unsigned i = 0; i < k; i++)
				put(BLOCK + i, block, BS);
			o = look();
			ck_assert(o.valid);
			ck_assert_int_eq(fsck_orphan_file_is(&o),
					 k < (csum ? BLOCKS_OF_IT : BLOCKS_OF_IT - 1));
			close_bytes();
		}
}
END_TEST

/* The first block with an entry; the last slot counts, what is behind it does not. */
START_TEST(first_in_use)
{
	const uint32_t slots = xw_orphan_slots(BS);

	start();
	ck_assert_uint_eq(look().in_use, UINT64_MAX);
	put_orphans(2, slots - 1, INO);
	ck_assert_uint_eq(look().in_use, 2);
	put_orphans(1, 5, INO);
	ck_assert_uint_eq(look().in_use, 1);
	put_orphans(0, 0, INO);
	ck_assert_uint_eq(look().in_use, 0);
	ck_assert(!fsck_orphan_is_clean(at(BLOCK + 2), slots));
	ck_assert(fsck_orphan_is_clean(at(BLOCK + 2), slots - 1));
	close_bytes();
}
END_TEST

START_TEST(listed)
{
	start();
	ck_assert(!fsck_orphans_listed(&f.ses.img->sb));
	f.ses.img->sb.last_orphan = INO;
	ck_assert(fsck_orphans_listed(&f.ses.img->sb));
	f.ses.img->sb.last_orphan = 0;
	f.ses.img->sb.feature_ro_compat |= XW_RO_ORPHAN_PRESENT;
	ck_assert(fsck_orphans_listed(&f.ses.img->sb));
	f.ses.img->sb.feature_compat &= ~XW_COMPAT_ORPHAN_FILE;
	ck_assert(!fsck_orphans_listed(&f.ses.img->sb));
	close_bytes();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fsck_orphans");
	TCase *t = tcase_create("fsck_orphans");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, inodes);
	tcase_add_test(t, numbers);
	tcase_add_test(t, blocks);
	tcase_add_test(t, damaged);
	tcase_add_test(t, first_in_use);
	tcase_add_test(t, listed);
	suite_add_tcase(s, t);
	return unit_main(s);
}
