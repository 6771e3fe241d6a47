// SPDX-License-Identifier: MIT
/* Which inode is an orphan file, and whether it is in use: records in, the answer out. */
#include "config.h"

#include "disk/orphan.h"
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
	const uint32_t seed = xw_inode_seed(f.img->csum_seed, FILE_INO, GENERATION);

	memset(block, 0, BS);
	poke32(block + 4 * slot, entry);
	xw_orphan_seal(block, BS, true, seed, BLOCK + i);
	put(BLOCK + i, block, BS);
}

static void start(void)
{
	const struct xw_inode in = right();

	open_bytes();
	f.img->sb.feature_compat |= XW_COMPAT_ORPHAN_FILE;
	f.img->sb.orphan_file_inum = FILE_INO;
	put_inode(FILE_INO, &in);
	for (unsigned i = 0; i < BLOCKS_OF_IT; i++)
		put_orphans(i, 0, 0);
}

/* ---- the record ---- */

static const struct {
	const char *what;
	struct xw_inode in; /* what is not 0 replaces that of a right one */
	bool no_links, no_size, hole;
	bool valid;
} records[] = {
	{"right", {0}, false, false, false, true},
	{"a directory", {.mode = XW_S_IFDIR}, false, false, false, false},
	{"no links", {0}, true, false, false, false},
	{"no size", {0}, false, true, false, false},
	{"part of a block", {.size = 3 * BS - 1}, false, false, false, false},
	{"shorter than its map", {.size = 2 * BS}, false, false, false, false},
	{"longer than its map", {.size = 4 * BS}, false, false, false, false},
	{"a hole", {0}, false, false, true, false},
	{"in the inode", {.flags = XW_FL_INLINE_DATA}, false, false, false, false},
	{"no extents", {.flags = XW_FL_EXTENTS}, false, false, false, false},
};

START_TEST(inodes)
{
	for (size_t i = 0; i < XW_ARRAY_SIZE(records); i++) {
		struct fsck_orphan_blocks b = {0};
		struct xw_inode in = right();
		bool valid, sound;

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
		ok(fsck_orphan_blocks(&f, FILE_INO, &b, &valid));
		ck_assert_msg(valid == records[i].valid, "%s", records[i].what);
		if (valid) {
			ck_assert_uint_eq(b.runs.v[0].pblk, BLOCK);
			ck_assert_uint_eq(b.seed,
					  xw_inode_seed(f.img->csum_seed, FILE_INO, GENERATION));
		}
		xw_vec_free(&b.runs);
		ok(fsck_orphans_sound(&f, &sound));
		ck_assert_msg(sound == records[i].valid, "%s", records[i].what);
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
		struct fsck_orphan_blocks b = {0};
		bool valid;

		start();
		if (rows[i].ino && rows[i].ino <= 128)
			put_inode(rows[i].ino, &in);
		ok(fsck_orphan_blocks(&f, rows[i].ino, &b, &valid));
		ck_assert_msg(valid == rows[i].valid, "inode %u", rows[i].ino);
		xw_vec_free(&b.runs);
		close_bytes();
	}
}
END_TEST

/* ---- its blocks ---- */

START_TEST(blocks)
{
	for (unsigned k = 0; k <= BLOCKS_OF_IT; k++) {
		struct fsck_orphan_blocks b = {0};
		uint64_t good, all;
		bool valid, sound;

		start();
		for (unsigned i = 0; i < k; i++) /* a wrong checksum, with a right magic */
			ok(xw_dev_pwrite(f.dev, "\x01", 1, (BLOCK + i) * BS + 40));
		xw_image_forget(f.img);
		ok(fsck_orphan_blocks(&f, FILE_INO, &b, &valid));
		ok(fsck_orphan_count(&f, &b, true, &good, &all));
		ck_assert_uint_eq(all, BLOCKS_OF_IT);
		ck_assert_uint_eq(good, BLOCKS_OF_IT - k);
		ok(fsck_orphan_count(&f, &b, false, &good, &all));
		ck_assert_uint_eq(all, BLOCKS_OF_IT);
		ck_assert_uint_eq(good, BLOCKS_OF_IT);
		ok(fsck_orphans_sound(&f, &sound));
		ck_assert_int_eq(sound, !k);
		f.img->sb.feature_ro_compat &= ~XW_RO_METADATA_CSUM;
		ok(fsck_orphans_sound(&f, &sound));
		ck_assert(sound);
		memset(block, 0, BS);
		put(BLOCK + 1, block, BS);
		ok(fsck_orphan_count(&f, &b, false, &good, &all));
		ck_assert_uint_eq(good, BLOCKS_OF_IT - 1);
		xw_vec_free(&b.runs);
		close_bytes();
	}
}
END_TEST

/* The first block with an entry; the last slot counts, what is behind it does not. */
START_TEST(first_in_use)
{
	const uint32_t slots = xw_orphan_slots(BS);

	start();
	f.img->sb.feature_ro_compat |= XW_RO_ORPHAN_PRESENT;
	ck_assert_uint_eq(fsck_orphans_first(&f), UINT64_MAX);
	put_orphans(2, slots - 1, INO);
	ck_assert_uint_eq(fsck_orphans_first(&f), 2);
	put_orphans(1, 5, INO);
	ck_assert_uint_eq(fsck_orphans_first(&f), 1);
	put_orphans(0, 0, INO);
	ck_assert_uint_eq(fsck_orphans_first(&f), 0);
	f.img->sb.feature_ro_compat &= ~XW_RO_ORPHAN_PRESENT; /* it is said to be empty */
	ck_assert_uint_eq(fsck_orphans_first(&f), UINT64_MAX);
	ck_assert(!fsck_orphan_is_clean(at(BLOCK + 2), slots));
	ck_assert(fsck_orphan_is_clean(at(BLOCK + 2), slots - 1));
	close_bytes();
}
END_TEST

START_TEST(listed)
{
	start();
	ck_assert(!fsck_orphans_listed(&f.img->sb));
	f.img->sb.last_orphan = INO;
	ck_assert(fsck_orphans_listed(&f.img->sb));
	f.img->sb.last_orphan = 0;
	f.img->sb.feature_ro_compat |= XW_RO_ORPHAN_PRESENT;
	ck_assert(fsck_orphans_listed(&f.img->sb));
	f.img->sb.feature_compat &= ~XW_COMPAT_ORPHAN_FILE;
	ck_assert(!fsck_orphans_listed(&f.img->sb));
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
	tcase_add_test(t, first_in_use);
	tcase_add_test(t, listed);
	suite_add_tcase(s, t);
	return unit_main(s);
}
