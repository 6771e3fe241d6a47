// SPDX-License-Identifier: MIT
/*
 * Flags of an inode that contradict its type, its contents or the features: records in, findings
 * and flags out.
 */
#include "config.h"

#include "disk/xattrblk.h"
#include "fsck_bytes.h"
#include "phases/inodes.h"

enum {
	IMAGIC = 0x2000,
	COMPRBLK = 0x200,
	INCOMPAT_AT = 0x60, /* in the superblock, which is in block 1 */
	DATA_AT = 128 + 32 + 4,
};

static struct fsck_look l;
static uint8_t raw[SIZE];

static void load(xw_ino ino, uint16_t mode, uint32_t flags)
{
	memset(&l, 0, sizeof(l));
	memset(raw, 0, sizeof(raw));
	l.f = &f;
	l.ino = ino;
	l.raw = raw;
	l.in = (struct xw_inode){.mode = mode, .links = 1, .extra_isize = 32, .flags = flags};
	l.type = mode;
}

/* system.data without a value */
static void put_data(void)
{
	const struct xw_xattr_entry e = {
		.name_len = 4, .name_index = XW_XI_SYSTEM, .value_offs = 32, .name = "data"};

	poke32(raw + DATA_AT - 4, XW_XATTR_MAGIC);
	xw_xattr_entry_encode(raw + DATA_AT, 0, &e);
	poke32(raw + DATA_AT + 20, 0);
}

static void put_header(uint16_t max, uint16_t entries)
{
	const struct xw_extent_hdr h = {.max = max, .entries = entries};

	xw_extent_hdr_encode(l.in.block, &h);
}

static void judge(enum fsck_id id, uint32_t flags)
{
	const uint32_t was = l.in.flags;

	ok(fsck_look_flags(&l));
	expect(id);
	ck_assert_uint_eq(l.in.flags, agreed ? flags : was);
	ck_assert_int_eq(l.dirty, agreed && l.in.flags != was);
}

static uint32_t incompat; /* as in the superblock at the beginning */

/* The features by which the superblock on the device differs. */
static uint32_t added(void)
{
	return peek32(at(1) + INCOMPAT_AT) ^ incompat;
}

static void begin(bool agree)
{
	open_bytes();
	f.ses.img->sb.feature_incompat &= ~XW_INCOMPAT_EA_INODE; /* its values count in i_blocks */
	ok(fsck_super_write(&f));
	incompat = peek32(at(1) + INCOMPAT_AT);
	agreed = agree;
}

/* ---- flags that need a type or a feature ---- */

static const struct {
	uint16_t type;
	xw_ino ino;
	uint32_t flag, compat, incompat, ro; /* features that are there or not: changed */
	bool stays;
} plain[] = {
	{XW_S_IFREG, INO, IMAGIC, 0, 0, 0, false},
	{XW_S_IFREG, INO, IMAGIC, 2, 0, 0, true},
	{XW_S_IFDIR, INO, IMAGIC, 0, 0, 0, false},
	{XW_S_IFREG, INO, COMPRBLK, 0, 0, 0, false},
	{XW_S_IFREG, INO, COMPRBLK, 0, 1, 0, true},
	{XW_S_IFREG, INO, XW_FL_VERITY, 0, 0, 0, false},
	{XW_S_IFREG, INO, XW_FL_VERITY, 0, 0, XW_RO_VERITY, true},
	{XW_S_IFREG, INO, XW_FL_INDEX, 0, 0, 0, false},
	{XW_S_IFDIR, INO, XW_FL_INDEX, 0, 0, 0, true},
	{XW_S_IFDIR, INO, XW_FL_INDEX, XW_COMPAT_DIR_INDEX, 0, 0, false},
	{XW_S_IFREG, INO, XW_FL_EA_INODE, 0, 0, 0, true},
	{XW_S_IFREG, 11, XW_FL_EA_INODE, 0, 0, 0, true},
	{XW_S_IFREG, 10, XW_FL_EA_INODE, 0, 0, 0, false},
	{XW_S_IFDIR, INO, XW_FL_EA_INODE, 0, 0, 0, false},
	{XW_S_IFLNK, INO, XW_FL_EA_INODE, 0, 0, 0, false},
	{XW_S_IFREG, INO + 1, XW_FL_EA_INODE, XW_COMPAT_ORPHAN_FILE, 0, 0, false},
	{XW_S_IFREG, INO + 1, XW_FL_EA_INODE, 0, 0, 0, true},
	{XW_S_IFREG, INO, XW_FL_CASEFOLD, 0, 0, 0, false},
	{XW_S_IFREG, INO, XW_FL_CASEFOLD, 0, XW_INCOMPAT_CASEFOLD, 0, false},
	{XW_S_IFDIR, INO, XW_FL_CASEFOLD, 0, XW_INCOMPAT_CASEFOLD, 0, true},
	{XW_S_IFDIR, INO, XW_FL_CASEFOLD, 0, 0, 0, false},
	{XW_S_IFREG, INO, XW_FL_IMMUTABLE | XW_FL_APPEND, 0, 0, 0, true},
	{XW_S_IFDIR, INO, XW_FL_IMMUTABLE | XW_FL_APPEND, 0, 0, 0, true},
	{XW_S_IFREG, INO, XW_FL_EXTENTS, 0, 0, 0, true},
	{XW_S_IFCHR, INO, XW_FL_EXTENTS | XW_FL_INLINE_DATA, 0, 0, 0, false},
	{XW_S_IFREG, INO, XW_FL_EXTENTS, 0, XW_INCOMPAT_EXTENTS, 0, false},
};

START_TEST(plain_flags)
{
	begin(_i);
	f.ses.img->sb.orphan_file_inum = INO + 1;
	for (size_t i = 0; i < XW_ARRAY_SIZE(plain); i++) {
		const struct xw_super was = f.ses.img->sb;
		const uint32_t flag = plain[i].flag;

		f.ses.img->sb.feature_compat ^= plain[i].compat;
		f.ses.img->sb.feature_incompat ^= plain[i].incompat;
		f.ses.img->sb.feature_ro_compat ^= plain[i].ro;
		load(plain[i].ino, plain[i].type, flag | XW_FL_NOATIME);
		judge(plain[i].stays        ? FSCK_IDS
		      : flag == XW_FL_INDEX ? FSCK_INDEX_FLAG
					    : FSCK_FLAGS,
		      XW_FL_NOATIME | (plain[i].stays ? flag : 0));
		ck_assert(plain[i].stays || flag == XW_FL_INDEX || last.num == flag);
		f.ses.img->sb = was;
	}
	close_bytes();
}
END_TEST

START_TEST(casefold_feature)
{
	begin(_i);
	f.ses.img->sb.encoding = 1;
	load(INO, XW_S_IFREG, XW_FL_CASEFOLD);
	judge(FSCK_FLAGS, 0);
	load(INO, XW_S_IFDIR, 0);
	judge(FSCK_IDS, 0);
	ck_assert_uint_eq(added(), 0);
	load(INO, XW_S_IFDIR, XW_FL_CASEFOLD);
	judge(FSCK_CASEFOLD_FEATURE, XW_FL_CASEFOLD);
	ck_assert_uint_eq(added(), agreed ? XW_INCOMPAT_CASEFOLD : 0);
	ck_assert_int_eq(f.ses.renew_backups, agreed);
	close_bytes();
}
END_TEST

/* ---- devices, fifos, sockets ---- */

START_TEST(special)
{
	static const uint16_t types[] = {XW_S_IFCHR, XW_S_IFBLK, XW_S_IFIFO, XW_S_IFSOCK,
					 XW_S_IFLNK};

	begin(_i);
	for (size_t i = 0; i < XW_ARRAY_SIZE(types); i++) {
		const bool is_link = types[i] == XW_S_IFLNK;

		load(INO, types[i], XW_FL_IMMUTABLE);
		judge(FSCK_SPECIAL_IMMUTABLE, 0);
		load(INO, types[i], XW_FL_APPEND | XW_FL_SYNC);
		judge(FSCK_SPECIAL_IMMUTABLE, XW_FL_SYNC);
		load(INO, types[i], 0);
		l.in.size = 9;
		ok(fsck_look_flags(&l));
		expect(is_link ? FSCK_IDS : FSCK_SPECIAL_SIZE);
		ck_assert_uint_eq(l.in.size, is_link || !agreed ? 9 : 0);
		ck_assert_int_eq(l.dirty, agreed && !is_link);
		for (int k = 14; k < 60; k++) {
			const bool wrong = !is_link && k >= 16;

			load(INO, types[i], 0);
			l.in.block[k] = 7;
			ok(fsck_look_flags(&l));
			expect(wrong ? FSCK_SPECIAL_BLOCKS : FSCK_IDS);
			ck_assert_uint_eq(l.in.block[k], wrong && agreed ? 0 : 7);
			ck_assert_int_eq(l.dirty, wrong && agreed);
		}
	}
	close_bytes();
}
END_TEST

START_TEST(text_of_a_symlink)
{
	begin(_i);
	load(INO, XW_S_IFLNK, XW_FL_EXTENTS);
	memcpy(l.in.block, "target", 6);
	l.in.size = 6;
	judge(FSCK_FLAGS, 0);
	load(INO, XW_S_IFLNK, XW_FL_EXTENTS);
	put_header(4, 0);
	judge(FSCK_IDS, XW_FL_EXTENTS);
	load(INO, XW_S_IFLNK, 0); /* a text may look like a header */
	put_header(4, 1);
	judge(FSCK_IDS, 0);
	close_bytes();
}
END_TEST

/* ---- inline contents ---- */

static const struct {
	uint64_t blocks;
	xw_blk acl;
	bool data, feature, ea_feature;
	enum fsck_id id;
} inlined[] = {
	{0, 0, false, true, false, FSCK_IDS},
	{2, 0, false, true, false, FSCK_FLAGS},
	{1, 0, false, true, false, FSCK_FLAGS},
	{2, 0, true, true, false, FSCK_IDS},
	{2, BLOCK, false, true, false, FSCK_IDS},
	{3, BLOCK, false, true, false, FSCK_FLAGS},
	{4, BLOCK, true, true, false, FSCK_IDS},
	{2, 0, false, true, true, FSCK_IDS}, /* i_blocks may be of values */
	{0, 0, false, false, false, FSCK_INLINE_FEATURE},
	{2, 0, true, false, false, FSCK_INLINE_FEATURE},
	{2, 0, false, false, false, FSCK_FLAGS},
};

START_TEST(inline_contents)
{
	for (size_t i = 0; i < XW_ARRAY_SIZE(inlined); i++) {
		const bool drop = inlined[i].id == FSCK_FLAGS;

		begin(_i);
		f.ses.img->sb.feature_incompat |=
			(inlined[i].feature ? XW_INCOMPAT_INLINE_DATA : 0) |
			(inlined[i].ea_feature ? XW_INCOMPAT_EA_INODE : 0);
		load(INO, XW_S_IFREG, XW_FL_INLINE_DATA);
		l.in.blocks = inlined[i].blocks;
		l.in.file_acl = inlined[i].acl;
		if (inlined[i].data)
			put_data();
		ok(fsck_look_flags(&l));
		if (drop && !agreed && !inlined[i].feature) { /* then the feature is missing */
			ck_assert_uint_eq(found[FSCK_INLINE_FEATURE], 1);
			found[FSCK_INLINE_FEATURE] = 0;
		}
		expect(inlined[i].id);
		ck_assert_uint_eq(l.in.flags, drop && agreed ? 0 : XW_FL_INLINE_DATA);
		ck_assert_uint_eq(added(), agreed && inlined[i].id == FSCK_INLINE_FEATURE
						   ? XW_INCOMPAT_INLINE_DATA
						   : 0);
		close_bytes();
	}
}
END_TEST

START_TEST(inline_and_more)
{
	begin(_i);
	f.ses.img->sb.feature_incompat |= XW_INCOMPAT_INLINE_DATA;
	load(INO, XW_S_IFREG, XW_FL_INLINE_DATA | XW_FL_EXTENTS); /* i_block tells */
	judge(FSCK_FLAGS, XW_FL_INLINE_DATA);
	load(INO, XW_S_IFREG, XW_FL_INLINE_DATA | XW_FL_EXTENTS);
	put_header(4, 1);
	judge(FSCK_FLAGS, XW_FL_EXTENTS);
	load(INO, XW_S_IFREG, XW_FL_INLINE_DATA | XW_FL_EXTENTS);
	put_header(1, 1);
	judge(FSCK_FLAGS, XW_FL_INLINE_DATA);
	load(INO, XW_S_IFDIR, XW_FL_INLINE_DATA | XW_FL_INDEX);
	judge(FSCK_INDEX_FLAG, XW_FL_INLINE_DATA);
	close_bytes();
}
END_TEST

/* ---- extents ---- */

static const struct {
	xw_ino ino;
	uint16_t max, len; /* of the header; of the first extent */
	bool feature, is_inline;
	enum fsck_id id;
} hidden[] = {
	{INO, 4, 0, true, false, FSCK_EXTENTS_FLAG},
	{INO, 4, 0, true, true, FSCK_EXTENTS_FLAG},
	{INO, 2, 0, true, false, FSCK_EXTENTS_FLAG},
	{INO, 1, 5, true, false, FSCK_IDS},
	{INO, 0, 5, true, false, FSCK_IDS},
	{INO, 4, 1, false, false, FSCK_EXTENTS_FLAG},
	{INO, 4, 0x101, false, false, FSCK_EXTENTS_FLAG},
	{INO, 4, 0x100, false, false, FSCK_EXTENTS_FLAG},
	{INO, 4, 0, false, false, FSCK_IDS},
	{INO, 3, 1, false, false, FSCK_IDS},
	{INO, 4, 1, false, true, FSCK_IDS},
	{XW_INO_RESIZE, 4, 1, true, false, FSCK_IDS},
	{XW_INO_BAD, 4, 1, true, false, FSCK_IDS},
	{XW_INO_JOURNAL, 4, 1, true, false, FSCK_EXTENTS_FLAG},
};

START_TEST(lost_extents_flag)
{
	begin(_i);
	f.ses.img->sb.feature_incompat |= XW_INCOMPAT_INLINE_DATA;
	for (size_t i = 0; i < XW_ARRAY_SIZE(hidden); i++) {
		const uint32_t was = hidden[i].is_inline ? XW_FL_INLINE_DATA : 0;

		f.ses.img->sb.feature_incompat &= ~XW_INCOMPAT_EXTENTS;
		if (hidden[i].feature)
			f.ses.img->sb.feature_incompat |= XW_INCOMPAT_EXTENTS;
		load(hidden[i].ino, XW_S_IFREG, was | XW_FL_NOATIME);
		if (hidden[i].max)
			put_header(hidden[i].max, 1);
		poke16(l.in.block + 16, hidden[i].len);
		judge(hidden[i].id,
		      (hidden[i].id == FSCK_IDS ? was : XW_FL_EXTENTS) | XW_FL_NOATIME);
	}
	close_bytes();
}
END_TEST

START_TEST(extents_feature)
{
	begin(_i);
	f.ses.img->sb.feature_incompat &= ~XW_INCOMPAT_EXTENTS;
	ok(fsck_super_write(&f));
	load(INO, XW_S_IFREG, XW_FL_EXTENTS);
	put_header(3, 1); /* no root */
	judge(FSCK_FLAGS, 0);
	load(INO, XW_S_IFREG, XW_FL_EXTENTS);
	put_header(4, 1);
	judge(FSCK_EXTENTS_FEATURE, XW_FL_EXTENTS);
	ck_assert_uint_eq(added(), agreed ? 0 : XW_INCOMPAT_EXTENTS);
	close_bytes();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fsck_flags");
	TCase *t = tcase_create("fsck_flags");

	tcase_set_timeout(t, 60);
	unit_add_cases(t, plain_flags, "declined", "agreed");
	unit_add_cases(t, casefold_feature, "declined", "agreed");
	unit_add_cases(t, special, "declined", "agreed");
	unit_add_cases(t, text_of_a_symlink, "declined", "agreed");
	unit_add_cases(t, inline_contents, "declined", "agreed");
	unit_add_cases(t, inline_and_more, "declined", "agreed");
	unit_add_cases(t, lost_extents_flag, "declined", "agreed");
	unit_add_cases(t, extents_feature, "declined", "agreed");
	suite_add_tcase(s, t);
	return unit_main(s);
}
