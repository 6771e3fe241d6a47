// SPDX-License-Identifier: MIT
/* i_size and i_blocks of an inode, compared with its map: runs in, findings and numbers out. */
#include "config.h"

#include "disk/xattrblk.h"
#include "fsck_bytes.h"
#include "phases/inodes.h"

#define EXTENTS_MAX ((uint64_t)BS << 32) /* the first size that extents cannot hold */
/* bytes that a block map can hold: 12 + 256 + 256^2 + 256^3 blocks */
#define MAP_MAX ((UINT64_C(12) + 256 + 65536 + 16777216) * BS)
#define RESIZE_SIZE ((UINT64_C(12) + 256 + 65536) * BS)

enum { DATA_AT = 128 + 32 + 4, WRITTEN = 10, ALL = 20 /* blocks of the map */ };

static struct fsck_look l;
static uint8_t raw[SIZE];

static void load(xw_ino ino, uint16_t type, uint32_t flags, uint64_t size)
{
	xw_vec_free(&l.map.runs);
	memset(&l, 0, sizeof(l));
	memset(raw, 0, sizeof(raw));
	l.f = &f;
	l.ino = ino;
	l.type = type;
	l.raw = raw;
	l.in = (struct xw_inode){
		.mode = type, .links = 1, .extra_isize = 32, .flags = flags, .size = size};
}

/* Blocks 0 to 3 and 5 to 9 are written, 10 to 19 unwritten. */
static void map(void)
{
	static const struct xw_map_run runs[] = {
		{0, 4, BLOCK, false}, {5, 5, BLOCK + 50, false}, {WRITTEN, 10, BLOCK + 70, true}};

	for (size_t i = 0; i < XW_ARRAY_SIZE(runs); i++)
		ck_assert_int_eq(xw_vec_push(&l.map.runs, runs[i]), 0);
	l.has_map = true;
}

static void put_data(uint32_t len)
{
	const struct xw_xattr_entry e = {.name_len = 4,
					 .name_index = XW_XI_SYSTEM,
					 .value_offs = 32,
					 .value_size = len,
					 .name = "data"};

	poke32(raw + DATA_AT - 4, XW_XATTR_MAGIC);
	xw_xattr_entry_encode(raw + DATA_AT, 0, &e);
}

/* want: the size that it should have */
static void judge(uint64_t want)
{
	const uint64_t was = l.in.size;

	fsck_look_size(&l);
	expect(want == was ? FSCK_IDS : FSCK_SIZE);
	ck_assert_uint_eq(l.in.size, agreed ? want : was);
	ck_assert_int_eq(l.dirty, agreed && want != was);
	if (want == was)
		return;
	ck_assert_uint_eq(last.num, was);
	ck_assert_uint_eq(last.num2, want);
}

static void begin(bool agree)
{
	open_bytes();
	agreed = agree;
}

static void end(void)
{
	xw_vec_free(&l.map.runs);
	close_bytes();
}

/* ---- i_size ---- */

static const struct {
	xw_ino ino;
	uint16_t type;
	uint32_t flags;
	bool mapped;
	uint64_t size, want;
} sizes[] = {
	/* files: the last written block but one must be inside */
	{INO, XW_S_IFREG, 0, true, WRITTEN *BS, WRITTEN *BS},
	{INO, XW_S_IFREG, 0, true, (WRITTEN - 1) * BS, (WRITTEN - 1) * BS},
	{INO, XW_S_IFREG, 0, true, (WRITTEN - 1) * BS - 1, ALL *BS},
	{INO, XW_S_IFREG, 0, true, 0, ALL *BS},
	{INO, XW_S_IFREG, 0, true, 99 * BS, 99 * BS},
	{INO, XW_S_IFREG, 0, true, MAP_MAX, MAP_MAX},
	{INO, XW_S_IFREG, 0, true, MAP_MAX + 1, ALL *BS},
	{INO, XW_S_IFREG, XW_FL_EXTENTS, true, MAP_MAX + 1, MAP_MAX + 1},
	{INO, XW_S_IFREG, XW_FL_EXTENTS, true, EXTENTS_MAX - 1, EXTENTS_MAX - 1},
	{INO, XW_S_IFREG, XW_FL_EXTENTS, true, EXTENTS_MAX, ALL *BS},
	{INO, XW_S_IFREG, XW_FL_VERITY, true, 5, 5},
	{INO, XW_S_IFREG, XW_FL_VERITY, true, MAP_MAX + 1, ALL *BS},
	{INO, XW_S_IFREG, 0, false, 5, 5},
	{INO, XW_S_IFREG, 0, false, MAP_MAX + 1, MAP_MAX + 1},
	{11, XW_S_IFREG, 0, true, 0, ALL *BS},
	/* others */
	{INO, XW_S_IFLNK, 0, true, 5, 5},
	{INO, XW_S_IFDIR, 0, true, ALL *BS, ALL *BS},
	{INO, XW_S_IFDIR, 0, true, ALL *BS - 1, ALL *BS},
	{INO, XW_S_IFDIR, 0, true, ALL *BS + BS, ALL *BS},
	{INO, XW_S_IFDIR, 0, false, BS, 0},
	{XW_INO_ROOT, XW_S_IFDIR, 0, true, WRITTEN *BS, ALL *BS},
	/* reserved */
	{XW_INO_BAD, XW_S_IFREG, 0, true, MAP_MAX + 1, MAP_MAX + 1},
	{XW_INO_JOURNAL, XW_S_IFREG, 0, true, ALL *BS, ALL *BS},
	{XW_INO_JOURNAL, XW_S_IFREG, 0, true, ALL *BS + 1, ALL *BS},
	{XW_INO_JOURNAL, XW_S_IFREG, 0, true, BS, ALL *BS},
	{XW_INO_JOURNAL, XW_S_IFREG, 0, false, BS, BS},
	{9, XW_S_IFREG, 0, true, BS, ALL *BS},
	{9, XW_S_IFREG, 0, true, (ALL - 1) * BS, (ALL - 1) * BS},
	{9, XW_S_IFREG, 0, true, MAP_MAX, MAP_MAX},
	{9, XW_S_IFREG, 0, true, MAP_MAX + 1, ALL *BS},
	{XW_INO_RESIZE, XW_S_IFREG, 0, true, BS, BS},
	{XW_INO_RESIZE, XW_S_IFREG, 0, true, MAP_MAX + 1, RESIZE_SIZE},
};

START_TEST(size)
{
	begin(_i);
	for (size_t i = 0; i < XW_ARRAY_SIZE(sizes); i++) {
		load(sizes[i].ino, sizes[i].type, sizes[i].flags, sizes[i].size);
		if (sizes[i].mapped)
			map();
		judge(sizes[i].want);
	}
	f.ses.img->sb.journal_inum = 0;
	load(XW_INO_JOURNAL, XW_S_IFREG, 0, 5);
	map();
	judge(ALL * BS);
	f.ses.img->sb.feature_compat &= ~XW_COMPAT_RESIZE_INODE;
	load(XW_INO_RESIZE, XW_S_IFREG, 0, MAP_MAX + 1);
	map();
	judge(ALL * BS);
	load(XW_INO_JOURNAL, XW_S_IFREG, 0, MAP_MAX + 1); /* the feature is of another inode */
	map();
	judge(ALL * BS);
	end();
}
END_TEST

static const struct {
	uint16_t type;
	int data; /* bytes of system.data; -1: none */
	uint64_t size, want;
} inlined[] = {
	{XW_S_IFREG, -1, 60, 60},
	{XW_S_IFREG, -1, 3, 3},
	{XW_S_IFREG, -1, 61, 60},
	{XW_S_IFREG, 0, 61, 60},
	{XW_S_IFREG, 10, 61, 61},
	{XW_S_IFREG, 10, 70, 70},
	{XW_S_IFREG, 10, 71, 70},
	{XW_S_IFREG, 10, (UINT64_C(7) << 32) + 66, 66}, /* the low half is right */
	{XW_S_IFREG, 10, (UINT64_C(7) << 32) + 71, 70},
	{XW_S_IFDIR, -1, 60, 60},
	{XW_S_IFDIR, -1, 59, 60},
	{XW_S_IFDIR, 12, 60, 72},
	{XW_S_IFDIR, 12, 72, 72},
	{XW_S_IFDIR, 12, BS, 72},
	{XW_S_IFLNK, 12, BS, BS}, /* inode_symlink.c */
};

START_TEST(inline_size)
{
	begin(_i);
	for (size_t i = 0; i < XW_ARRAY_SIZE(inlined); i++) {
		load(INO, inlined[i].type, XW_FL_INLINE_DATA, inlined[i].size);
		if (inlined[i].data >= 0)
			put_data((uint32_t)inlined[i].data);
		judge(inlined[i].want);
	}
	end();
}
END_TEST

/* ---- i_blocks ---- */

static const struct {
	xw_ino ino;
	uint16_t type;
	uint32_t flags;
	uint64_t blocks, have; /* stored; blocks of the filesystem that it has */
	bool wrong;
} counts[] = {
	{INO, XW_S_IFREG, 0, 10, 5, false},
	{INO, XW_S_IFREG, 0, 9, 5, true},
	{INO, XW_S_IFREG, 0, 11, 5, true},
	{INO, XW_S_IFREG, 0, 0, 5, true},
	{INO, XW_S_IFREG, 0, 2, 0, true},
	{INO, XW_S_IFREG, XW_FL_HUGE_FILE, 5, 5, false},
	{INO, XW_S_IFREG, XW_FL_HUGE_FILE, 10, 5, true},
	{INO, XW_S_IFLNK, 0, 4, 1, true},
	{INO, XW_S_IFIFO, 0, 4, 0, true},
	{INO, XW_S_IFREG, XW_FL_ITREE, 4, 1, true},
	{INO, XW_S_IFDIR, XW_FL_ITREE, 4, 0, true},
	{XW_INO_JOURNAL, XW_S_IFREG, 0, 4, 1, true},
	{XW_INO_RESIZE, XW_S_IFREG, 0, 4, 1, false}, /* resize.c counts them */
	{XW_INO_BAD, XW_S_IFREG, 0, 4, 1, false},
};

START_TEST(blocks)
{
	begin(_i);
	for (size_t i = 0; i < XW_ARRAY_SIZE(counts); i++) {
		const bool fixed = agreed && counts[i].wrong;

		load(counts[i].ino, counts[i].type, counts[i].flags, 0);
		l.in.blocks = counts[i].blocks;
		l.blocks = counts[i].have;
		fsck_look_size(&l);
		expect(counts[i].wrong ? FSCK_BLOCKS : FSCK_IDS);
		ck_assert_int_eq(l.dirty, fixed);
		ck_assert_uint_eq(l.in.blocks, fixed ? 2 * counts[i].have : counts[i].blocks);
		ck_assert_uint_eq(l.in.flags,
				  fixed ? counts[i].flags & ~XW_FL_HUGE_FILE : counts[i].flags);
		ck_assert(!counts[i].wrong || last.num2 == 2 * counts[i].have);
	}
	/* with the feature the nodes of its itree are included */
	f.ses.img->sb.feature_ro_compat |= XW_RO_ITREE;
	load(INO, XW_S_IFDIR, XW_FL_ITREE, 0);
	l.in.blocks = 4;
	fsck_look_size(&l);
	expect(FSCK_IDS);
	f.ses.img->sb.feature_compat &= ~XW_COMPAT_RESIZE_INODE;
	load(XW_INO_RESIZE, XW_S_IFREG, 0, 0);
	l.in.blocks = 4;
	fsck_look_size(&l);
	expect(FSCK_BLOCKS);
	end();
}
END_TEST

/* More than the field can hold: reported, and left. */
START_TEST(too_many_blocks)
{
	begin(true);
	load(INO, XW_S_IFREG, 0, 0);
	l.in.blocks = 10;
	l.blocks = UINT64_C(1) << 48;
	fsck_look_size(&l);
	expect(FSCK_BLOCKS);
	ck_assert(!l.dirty);
	ck_assert_uint_eq(l.in.blocks, 10);
	end();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fsck_size");
	TCase *t = tcase_create("fsck_size");

	tcase_set_timeout(t, 60);
	unit_add_cases(t, size, "declined", "agreed");
	unit_add_cases(t, inline_size, "declined", "agreed");
	unit_add_cases(t, blocks, "declined", "agreed");
	tcase_add_test(t, too_many_blocks);
	suite_add_tcase(s, t);
	return unit_main(s);
}
