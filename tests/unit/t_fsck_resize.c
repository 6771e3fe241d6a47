// SPDX-License-Identifier: MIT
/*
 * The resize inode, which owns the blocks reserved for descriptors, and the inode of bad blocks:
 * records and blocks in, findings and what is written out.
 */
#include "config.h"

#include "disk/indirect.h"
#include "facts/facts.h"
#include "fsck_bytes.h"
#include "phases/super.h"

/*
 * Block 1 is the superblock, 2 the descriptors; 3 to 5 are reserved for more of them, as are those
 * behind the copy in group 1.
 */
enum { RESERVED = 3, FIRST = 3, COPY = 8195, DIND = 600, NOW = 1700000000 };
#define USUAL ((UINT64_C(12) + 256 + 256 * 256) * BS)

static struct xw_inode right(void)
{
	struct xw_inode in = {
		.mode = XW_S_IFREG | 0600, .links = 1, .size = USUAL, .blocks = 7 * 2};

	poke32(in.block + 4 * XW_DIND_SLOT, DIND);
	return in;
}

static void put_word(xw_blk blk, unsigned slot, uint32_t value)
{
	uint8_t raw[4];

	poke32(raw, value);
	ok(xw_dev_pwrite(f.ses.dev, raw, sizeof(raw), blk * BS + slot * 4));
}

static void check_blocks(xw_blk dind)
{
	uint8_t want[BS] = {0};

	for (unsigned i = 0; i < RESERVED; i++)
		poke32(want + 4 * (1 + i), FIRST + i);
	ck_assert_mem_eq(at(dind), want, BS);
	for (unsigned i = 0; i < RESERVED; i++) {
		memset(want, 0, sizeof(want));
		poke32(want, COPY + i);
		ck_assert_mem_eq(at(FIRST + i), want, BS);
	}
}

static void claim(enum fsck_owner owner, xw_blk blk, uint64_t n)
{
	ok(fsck_claim(&f, owner, blk, n, NULL));
}

/* A sound one; its block is not claimed yet. */
static void start(bool agree)
{
	const struct xw_inode in = right();

	open_bytes();
	f.opts.now = NOW;
	f.ses.img->sb.feature_compat |= XW_COMPAT_RESIZE_INODE;
	f.ses.img->sb.reserved_gdt_blocks = RESERVED;
	agreed = agree;
	for (unsigned i = 0; i < RESERVED; i++) {
		put_word(DIND, 1 + i, FIRST + i);
		put_word(FIRST + i, 0, COPY + i);
	}
	put_inode(XW_INO_RESIZE, &in);
	xw_image_drop_cache(f.ses.img);
	ok(fsck_claim_metadata(&f));
}

static void stop(void)
{
	close_bytes();
}

static void check(enum fsck_id id)
{
	ok(fsck_check_resize(&f));
	expect(id);
}

static struct xw_inode record(xw_ino ino)
{
	struct xw_inode in;

	ok(fsck_inode_read(&f, ino, &in, NULL));
	return in;
}

START_TEST(sound)
{
	start(true);
	claim(FSCK_O_RESIZE, DIND, 1);
	ok(fsck_finish_claims(&f));
	check(FSCK_IDS);
	stop();
}
END_TEST

/* ---- the record ---- */

static const struct {
	const char *what;
	uint16_t mode, links;
	uint32_t flags;
	int slot; /* of the map: set to `value`; -1: none */
	uint32_t value;
} records[] = {
	{"not in use", 0, 0, 0, -1, 0},
	{"directory", XW_S_IFDIR | 0600, 1, 0, -1, 0},
	{"no link", XW_S_IFREG | 0600, 0, 0, -1, 0},
	{"two links", XW_S_IFREG | 0600, 2, 0, -1, 0},
	{"extents", XW_S_IFREG | 0600, 1, XW_FL_EXTENTS, -1, 0},
	{"inline", XW_S_IFREG | 0600, 1, XW_FL_INLINE_DATA, -1, 0},
	{"first block", XW_S_IFREG | 0600, 1, 0, 0, 700},
	{"indirect block", XW_S_IFREG | 0600, 1, 0, XW_DIND_SLOT - 1, 700},
	{"triple-indirect block", XW_S_IFREG | 0600, 1, 0, XW_DIND_SLOT + 1, 1},
};

START_TEST(bad_records)
{
	for (row = 0; row < 2 * XW_ARRAY_SIZE(records); row++) {
		const bool agree = row & 1;
		struct xw_inode in = right(), was;

		start(agree);
		claim(FSCK_O_RESIZE, DIND, 1);
		ok(fsck_finish_claims(&f));
		in.mode = records[row / 2].mode;
		in.links = records[row / 2].links;
		in.flags = records[row / 2].flags;
		in.generation = 4711;
		in.extra_isize = 32;
		in.uid = 1000;
		if (records[row / 2].slot >= 0)
			poke32(in.block + (size_t)4 * (unsigned)records[row / 2].slot,
			       records[row / 2].value);
		put_inode(XW_INO_RESIZE, &in);
		was = record(XW_INO_RESIZE);
		check(FSCK_RESIZE_INODE);
		in = record(XW_INO_RESIZE);
		if (!agree) {
			ck_assert_mem_eq(&in, &was, sizeof(in));
		} else {
			const struct xw_inode want = right();

			ck_assert_uint_eq(in.mode, want.mode);
			ck_assert_uint_eq(in.links, 1);
			ck_assert_uint_eq(in.flags, 0);
			ck_assert_uint_eq(in.uid, 0);
			ck_assert_uint_eq(in.generation, 4711);
			ck_assert_uint_eq(in.extra_isize, 32);
			ck_assert_uint_eq(in.size, USUAL);
			ck_assert_uint_eq(in.blocks, 14);
			ck_assert_int_eq(in.mtime.sec, NOW);
			ck_assert_mem_eq(in.block, want.block, sizeof(in.block));
			check(FSCK_IDS);
		}
		stop();
	}
}
END_TEST

/* ---- its blocks ---- */

static const struct {
	xw_blk blk;
	unsigned slot;
	uint32_t value;
} words[] = {
	{DIND, 0, 3},         {DIND, 1, 4},     {DIND, 3, 0},
	{DIND, 4, 6},         {DIND, 255, 1},   {FIRST, 0, 0},
	{FIRST, 0, COPY + 1}, {FIRST, 1, COPY}, {FIRST + 2, 0, COPY + 1},
	{FIRST + 2, 255, 9},
};

START_TEST(bad_blocks)
{
	for (row = 0; row < XW_ARRAY_SIZE(words); row++) {
		uint8_t was[BS];

		start(false);
		claim(FSCK_O_RESIZE, DIND, 1);
		ok(fsck_finish_claims(&f));
		put_word(words[row].blk, words[row].slot, words[row].value);
		memcpy(was, at(words[row].blk), BS);
		check(FSCK_RESIZE_INODE);
		ck_assert_mem_eq(at(words[row].blk), was, BS);
		agreed = true;
		check(FSCK_RESIZE_INODE);
		check_blocks(DIND);
		check(FSCK_IDS);
		stop();
	}
}
END_TEST

/* A block that is somebody else's, or none: another one behind the reserved descriptors. */
START_TEST(no_block_of_its_own)
{
	static const uint32_t blocks[] = {0, BLOCKS, 130, 700};

	for (row = 0; row < XW_ARRAY_SIZE(blocks); row++) {
		struct xw_inode in = right();
		uint32_t now;

		start(true);
		poke32(in.block + 4 * XW_DIND_SLOT, blocks[row]);
		put_inode(XW_INO_RESIZE, &in);
		claim(FSCK_O_DATA, 700, 1);
		claim(FSCK_O_DATA, 6, 4);
		ok(fsck_finish_claims(&f));
		check(FSCK_RESIZE_INODE);
		in = record(XW_INO_RESIZE);
		now = peek32(in.block + 4 * XW_DIND_SLOT);
		ck_assert_uint_eq(now, 10); /* 6 to 9 are a file's */
		ck_assert(fsck_owns(&f, FSCK_O_RESIZE, now, 1));
		check_blocks(now);
		stop();
	}
}
END_TEST

/* No block is free: the feature goes, and the inode. */
START_TEST(no_space)
{
	struct xw_inode in = right();

	start(true);
	poke32(in.block + 4 * XW_DIND_SLOT, 0);
	put_inode(XW_INO_RESIZE, &in);
	for (xw_blk blk = 1; blk < BLOCKS; blk++)
		if (!fsck_is_claimed(&f, blk))
			claim(FSCK_O_DATA, blk, 1);
	ok(fsck_finish_claims(&f));
	check(FSCK_RESIZE_INODE);
	ck_assert_uint_eq(record(XW_INO_RESIZE).mode, 0);
	ck_assert(!(f.ses.img->sb.feature_compat & XW_COMPAT_RESIZE_INODE));
	ck_assert_uint_eq(f.ses.img->sb.reserved_gdt_blocks, 0);
	ck_assert(f.ses.renew_backups);
	ck_assert(f.round.again);
	stop();
}
END_TEST

/* A reserved block that is a file's as well is left until that file has a copy. */
START_TEST(reserved_block_of_a_file)
{
	for (xw_blk blk = FIRST; blk <= FIRST + RESERVED; blk++) {
		start(true);
		claim(FSCK_O_RESIZE, DIND, 1);
		claim(FSCK_O_DATA, blk, 1);
		ok(fsck_finish_claims(&f));
		put_word(DIND, 1, 77);
		row = blk;
		check(blk < FIRST + RESERVED ? FSCK_IDS : FSCK_RESIZE_INODE);
		stop();
	}
}
END_TEST

/* ---- numbers of a sound one ---- */

/* The last block mapped is that of slot 3, in it the one copy: 12 + 256 + 3 * 256. */
#define LAST ((UINT64_C(12) + 256 + 3 * 256) * BS)

static const struct {
	uint64_t size, blocks;
	enum fsck_id id;
} numbers[] = {
	{USUAL, 14, FSCK_IDS},
	{LAST, 14, FSCK_IDS},
	{LAST - 1, 14, FSCK_SIZE},
	{0, 14, FSCK_SIZE},
	{UINT64_C(16843020) * BS, 14, FSCK_IDS}, /* the largest file */
	{UINT64_C(16843020) * BS + 1, 14, FSCK_SIZE},
	{USUAL, 0, FSCK_BLOCKS},
	{USUAL, 12, FSCK_BLOCKS},
	{USUAL, 16, FSCK_BLOCKS},
};

START_TEST(sizes)
{
	for (row = 0; row < 2 * XW_ARRAY_SIZE(numbers); row++) {
		const bool agree = row & 1;
		const enum fsck_id id = numbers[row / 2].id;
		struct xw_inode in = right();

		start(agree);
		claim(FSCK_O_RESIZE, DIND, 1);
		ok(fsck_finish_claims(&f));
		in.size = numbers[row / 2].size;
		in.blocks = numbers[row / 2].blocks;
		put_inode(XW_INO_RESIZE, &in);
		check(id);
		if (id == FSCK_SIZE) {
			ck_assert_uint_eq(last.num, in.size);
			ck_assert_uint_eq(last.num2, USUAL);
		} else if (id == FSCK_BLOCKS) {
			ck_assert_uint_eq(last.num, in.blocks);
			ck_assert_uint_eq(last.num2, 14);
		}
		ck_assert_uint_eq(record(XW_INO_RESIZE).size,
				  agree && id == FSCK_SIZE ? USUAL : in.size);
		ck_assert_uint_eq(record(XW_INO_RESIZE).blocks,
				  agree && id == FSCK_BLOCKS ? 14 : in.blocks);
		stop();
	}
}
END_TEST

/* i_blocks counts an attribute block, also of an inode that is made again. */
START_TEST(attributes)
{
	static const struct {
		uint32_t blocks;
		bool map;
		enum fsck_id id;
	} rows[] = {{16, true, FSCK_IDS}, {14, true, FSCK_BLOCKS}, {16, false, FSCK_RESIZE_INODE}};

	for (row = 0; row < XW_ARRAY_SIZE(rows); row++) {
		struct xw_inode in = right();

		start(true);
		claim(FSCK_O_RESIZE, DIND, 1);
		claim(FSCK_O_XATTR, 700, 1);
		ok(fsck_finish_claims(&f));
		in.blocks = rows[row].blocks;
		in.file_acl = 700;
		in.links = rows[row].map;
		put_inode(XW_INO_RESIZE, &in);
		check(rows[row].id);
		ck_assert_uint_eq(record(XW_INO_RESIZE).blocks, 16);
		ck_assert_uint_eq(record(XW_INO_RESIZE).file_acl, 700);
		stop();
	}
}
END_TEST

/* ---- without the feature ---- */

START_TEST(stray)
{
	for (row = 0; row < 6; row++) {
		struct xw_inode in = {.mode = row < 2 ? XW_S_IFREG : 0};

		start(row & 1);
		f.ses.img->sb.feature_compat &= ~XW_COMPAT_RESIZE_INODE;
		if (row == 2 || row == 3)
			in.block[59] = 1;
		put_inode(XW_INO_RESIZE, &in);
		ok(fsck_finish_claims(&f));
		check(row < 4 ? FSCK_RESIZE_STRAY : FSCK_IDS);
		in = record(XW_INO_RESIZE);
		ck_assert_int_eq(in.mode || in.block[59], row == 0 || row == 2);
		stop();
	}
}
END_TEST

/* ---- the inode of bad blocks ---- */

static const struct {
	struct xw_inode in;
	uint32_t list[3];
	bool good;
} lists[] = {
	{{0}, {0}, true},
	{{0}, {700, 701, BLOCKS - 1}, true},
	{{.size = 3 * BS, .blocks = 6}, {700}, true},
	{{.mode = XW_S_IFREG}, {0}, false},
	{{.uid = 1}, {0}, false},
	{{.gid = 1}, {0}, false},
	{{.links = 1}, {0}, false},
	{{.flags = XW_FL_IMMUTABLE}, {0}, false},
	{{.file_acl = 700}, {0}, false},
	{{0}, {BLOCKS}, false},
	{{0}, {700, BLOCKS}, false},
	{{0}, {1}, false}, /* the superblock */
	{{0}, {700, 130}, false}, /* a bitmap */
	{{0}, {700, 701, TABLE}, false},
	{{0}, {700, 8193}, true}, /* the copy, which its group then does not have */
};

START_TEST(bad_block_lists)
{
	for (row = 0; row < 2 * XW_ARRAY_SIZE(lists); row++) {
		const bool agree = row & 1, good = lists[row / 2].good;
		struct xw_inode in = lists[row / 2].in, now;

		start(agree);
		for (unsigned i = 0; i < 3; i++)
			poke32(in.block + 4 * i, lists[row / 2].list[i]);
		put_inode(XW_INO_BAD, &in);
		ok(fsck_finish_claims(&f));
		in = record(XW_INO_BAD);
		ok(fsck_check_bad_inode(&f));
		expect(good ? FSCK_IDS : FSCK_BAD_INODE);
		now = record(XW_INO_BAD);
		if (good || !agree)
			ck_assert_mem_eq(&now, &in, sizeof(in));
		else
			ck_assert(!now.mode && !now.uid && !now.gid && !now.links && !now.flags &&
				  !now.file_acl && !peek32(now.block));
		stop();
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fsck_resize");
	TCase *t = tcase_create("fsck_resize");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, sound);
	tcase_add_test(t, bad_records);
	tcase_add_test(t, bad_blocks);
	tcase_add_test(t, no_block_of_its_own);
	tcase_add_test(t, no_space);
	tcase_add_test(t, reserved_block_of_a_file);
	tcase_add_test(t, sizes);
	tcase_add_test(t, attributes);
	tcase_add_test(t, stray);
	tcase_add_test(t, bad_block_lists);
	suite_add_tcase(s, t);
	return unit_main(s);
}
