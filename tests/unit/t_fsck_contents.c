// SPDX-License-Identifier: MIT
/* What an inode is by its contents, where its mode says something else: a record in, a mode out. */
#include "config.h"

#include "fsck_look.h"

static const char path[] = "a/target/of/a/symlink/that/does/not/fit/into/the/inode/0123456789/0123";
static const char text[] =
	"a file with as much text as a target could have, and a newline behind\n";

enum what { NOTHING, EXTENT, OUTSIDE, META, SHORT, INDIRECT, BINARY, PATH, TEXT, TARGET, DIRTY };

static void extent(uint64_t len, xw_blk blk)
{
	const struct xw_extent_hdr h = {.entries = len != 0, .max = 4};
	const struct xw_extent e = {.len = (uint32_t)len, .pblk = blk};

	memset(l.in.block, 0, sizeof(l.in.block));
	xw_extent_hdr_encode(l.in.block, &h);
	if (len)
		xw_extent_leaf_encode(l.in.block, 0, &e);
	l.in.flags = XW_FL_EXTENTS;
	l.in.blocks = len * (BS / 512);
}

static void fill(enum what what)
{
	uint8_t block[BS] = {0};

	extent(1, BLOCK);
	switch (what) {
	case EXTENT:
		extent(3, BLOCK);
		break;
	case OUTSIDE:
		extent(3, BLOCKS - 1);
		break;
	case META:
		extent(3, TABLE);
		break;
	case SHORT:
		l.in.blocks--;
		break;
	case INDIRECT:
		memset(l.in.block, 0, sizeof(l.in.block));
		poke32(l.in.block, BLOCK);
		l.in.flags = 0;
		break;
	case BINARY:
		break;
	case PATH:
		memcpy(block, path, sizeof(path));
		break;
	case TEXT:
		memcpy(block, text, sizeof(text));
		break;
	case TARGET:
	case DIRTY:
		l.in.flags = 0;
		l.in.blocks = 0;
		memset(l.in.block, 0, sizeof(l.in.block));
		memcpy(l.in.block, "target", 6);
		l.in.block[50] = what == DIRTY;
		break;
	default:
		extent(0, 0);
		break;
	}
	put(BLOCK, block, BS);
}

static const struct {
	uint16_t mode;
	uint64_t size;
	enum what what;
	uint16_t want; /* 0: as it is */
} rows[] = {
	/* impossible types: the permissions are those of the mode, without set-ID bits */
	{0x0000 | 0644, 3 * BS, EXTENT, XW_S_IFREG | 0644},
	{0xF000 | 0644, 3 * BS, EXTENT, XW_S_IFREG | 0644},
	{0x9000 | 06755, 3 * BS, EXTENT, XW_S_IFREG | 0755},
	{0xFFFF, 3 * BS, EXTENT, XW_S_IFREG | 0600},
	{0, 3 * BS, EXTENT, XW_S_IFREG | 0600},
	/* devices and the like */
	{XW_S_IFCHR | 04600, 3 * BS, EXTENT, XW_S_IFREG | 0600},
	{XW_S_IFBLK | 0600, 3 * BS, EXTENT, XW_S_IFREG | 0600},
	{XW_S_IFIFO | 0600, 3 * BS, EXTENT, XW_S_IFREG | 0600},
	{XW_S_IFSOCK | 0600, 3 * BS, EXTENT, XW_S_IFREG | 0600},
	{XW_S_IFSOCK | 0600, 0, NOTHING, XW_S_IFREG | 0600}, /* no socket has extents */
	/* others are what they say */
	{XW_S_IFREG | 0600, 3 * BS, EXTENT, 0},
	{XW_S_IFDIR | 0600, 3 * BS, EXTENT, 0},
	{XW_S_IFLNK | 0777, 3 * BS, EXTENT, 0},
	/* flaws */
	{0xF000 | 0644, 2 * BS + 1, EXTENT, XW_S_IFREG | 0644},
	{0xF000 | 0644, 2 * BS, EXTENT, 0}, /* the last block is past the size */
	{0xF000 | 0644, 3 * BS, OUTSIDE, 0},
	{0xF000 | 0644, 3 * BS, META, 0},
	{0xF000 | 0644, BS, SHORT, 0},
	{0xF000 | 0644, BS, INDIRECT, XW_S_IFREG | 0644},
	/* symlinks */
	{0xF000 | 0644, 6, TARGET, XW_S_IFLNK | 0777},
	{XW_S_IFREG | 0644, 6, TARGET, XW_S_IFLNK | 0777},
	{XW_S_IFDIR | 0644, 6, TARGET, XW_S_IFLNK | 0777},
	{XW_S_IFCHR | 0644, 6, TARGET, XW_S_IFLNK | 0777},
	{XW_S_IFREG | 0644, 5, TARGET, 0},
	{XW_S_IFREG | 0644, 7, TARGET, 0},
	{XW_S_IFREG | 0644, 0, TARGET, 0},
	{XW_S_IFREG | 0644, 6, DIRTY, 0},
	{0xF000 | 0777, sizeof(path) - 1, PATH, XW_S_IFLNK | 0777},
	{0xFFFF, sizeof(path) - 1, PATH, XW_S_IFLNK | 0777},
	{0xF000 | 0755, sizeof(path) - 1, PATH, XW_S_IFREG | 0755},
	{0xF000 | 0777, sizeof(path) - 2, PATH, XW_S_IFREG | 0777},
	{0xF000 | 0777, sizeof(text) - 1, TEXT, XW_S_IFREG | 0777},
	{0xF000 | 0777, BS, BINARY, XW_S_IFREG | 0777},
};

START_TEST(contents)
{
	begin(true);
	for (row = 0; row < XW_ARRAY_SIZE(rows); row++) {
		uint16_t mode = 0;
		bool other;

		load(rows[row].mode, 0, rows[row].size);
		fill(rows[row].what);
		other = fsck_look_contents(&l, &mode);
		ck_assert_msg(other == (rows[row].want != 0), "row %zu", row);
		ck_assert_msg(!other || mode == rows[row].want, "row %zu: %o", row, mode);
	}
	/* reserved inodes have no other contents */
	load(0xF000, 0, 3 * BS);
	fill(EXTENT);
	l.ino = XW_INO_JOURNAL;
	ck_assert(!fsck_look_contents(&l, &(uint16_t){0}));
	expect(FSCK_IDS);
	end();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fsck_contents");
	TCase *t = tcase_create("fsck_contents");

	tcase_add_test(t, contents);
	suite_add_tcase(s, t);
	return unit_main(s);
}
