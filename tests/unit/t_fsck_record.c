// SPDX-License-Identifier: MIT
/*
 * The fields of an inode record that xw-fsck judges one by one: records in, findings and corrected
 * fields out.
 */
#include "config.h"

#include "disk/dirent.h"
#include "disk/quota.h"
#include "disk/xattrblk.h"
#include "fsck_bytes.h"
#include "phases/inodes.h"

enum { EXTRA = 128, OTHER = 40, QUOTA_USER = XW_INO_USR_QUOTA };

/* ---- one record ---- */

static struct fsck_look l;
static uint8_t raw[SIZE + 4]; /* attributes must not begin behind it */

static void load(xw_ino ino, uint16_t mode)
{
	xw_walk_map_free(&l.walk);
	memset(&l, 0, sizeof(l));
	memset(raw, 0, sizeof(raw));
	l.f = &f;
	l.ino = ino;
	l.raw = raw;
	l.in = (struct xw_inode){
		.mode = mode, .links = (mode & XW_S_IFMT) == XW_S_IFDIR ? 2 : 1, .extra_isize = 32};
	xw_walk_map_init(&l.walk, f.ses.dev, &f.ses.img->sb);
}

/* A record in agreement with f: changed if there is a finding; cleared if clear. */
static void judge(enum fsck_id id, bool clear)
{
	fsck_look_record(&l);
	expect(id);
	ck_assert_int_eq(l.dirty, agreed && id != FSCK_IDS && !clear);
	ck_assert_int_eq(l.clear, agreed && clear);
	ck_assert_uint_eq(l.type, l.in.mode & XW_S_IFMT);
	l.dirty = l.clear = false;
}

static void begin(bool agree)
{
	open_bytes();
	agreed = agree;
	f.opts.mode = FSCK_ASK;
}

static void end(void)
{
	xw_walk_map_free(&l.walk);
	close_bytes();
}

/* ---- extra size ---- */

static const struct {
	uint16_t size, extra, magic; /* of the record; stored; where attributes start, 0: none */
	bool is_inline;
	uint16_t want; /* 0: as it is */
} extras[] = {
	{256, 32, 0, false, 0},  {256, 0, 0, false, 0},       {256, 28, 0, false, 0},
	{256, 128, 0, false, 0}, {256, 132, 0, false, 32},    {256, 30, 0, false, 32},
	{256, 33, 0, false, 32}, {256, 65535, 0, false, 32},  {256, 132, 24, false, 24},
	{256, 132, 4, false, 4}, {256, 132, 124, false, 124}, {256, 32, 28, false, 0},
	{256, 32, 32, true, 0},  {256, 32, 28, true, 28},     {256, 32, 0, true, 0},
	{256, 0, 32, true, 32},  {256, 128, 32, true, 32},    {144, 20, 0, false, 16},
	{144, 16, 0, false, 0},  {128, 77, 0, false, 0},
};

START_TEST(extra_size)
{
	begin(_i);
	for (size_t i = 0; i < XW_ARRAY_SIZE(extras); i++) {
		f.ses.img->sb.inode_size = extras[i].size;
		load(INO, XW_S_IFREG | 0644);
		l.in.flags = extras[i].is_inline ? XW_FL_INLINE_DATA : 0;
		xw_inode_encode(&l.in, &f.ses.img->sb, raw);
		poke16(raw + EXTRA, extras[i].extra);
		poke32(raw + SIZE, XW_XATTR_MAGIC);
		if (extras[i].magic)
			poke32(raw + EXTRA + extras[i].magic, XW_XATTR_MAGIC);
		judge(extras[i].want ? FSCK_EXTRA_ISIZE : FSCK_IDS, false);
		ck_assert_uint_eq(peek16(raw + EXTRA),
				  agreed && extras[i].want ? extras[i].want : extras[i].extra);
		if (!extras[i].want)
			continue;
		ck_assert_uint_eq(last.num, extras[i].extra);
		ck_assert_uint_eq(last.num2, extras[i].want);
		ck_assert(!agreed || l.in.extra_isize == extras[i].want); /* read again */
	}
	end();
}
END_TEST

/* ---- times, checksum, high halves ---- */

START_TEST(late_times)
{
	begin(_i);
	for (int k = 0; k < 4; k++) {
		struct xw_time *const times[] = {&l.in.atime, &l.in.ctime, &l.in.mtime,
						 &l.in.crtime};

		load(INO, XW_S_IFREG | 0644);
		times[k]->sec = XW_TIME_LATE - 1;
		judge(FSCK_IDS, false);
		times[k]->sec = XW_TIME_LATE_END; /* until 2446, as Linux writes them */
		judge(FSCK_IDS, false);
		ck_assert_int_eq(times[k]->sec, XW_TIME_LATE_END);
		times[k]->sec = XW_TIME_LATE_END - 1;
		judge(FSCK_TIME_RANGE, false);
		ck_assert_int_eq(times[k]->sec, agreed ? -1 : XW_TIME_LATE_END - 1);
		times[k]->sec = XW_TIME_LATE;
		times[(k + 1) % 4]->sec = INT64_C(3) << 31;
		judge(FSCK_TIME_RANGE, false);
		ck_assert_int_eq(times[k]->sec, agreed ? INT32_MIN : XW_TIME_LATE);
		ck_assert_int_eq(times[(k + 1) % 4]->sec, INT64_C(3) << 31);
		times[k]->sec = XW_TIME_LATE;
		l.in.flags = XW_FL_EA_INODE; /* a hash and a count instead of times */
		judge(FSCK_IDS, false);
	}
	end();
}
END_TEST

START_TEST(checksum)
{
	begin(_i);
	load(INO, XW_S_IFREG | 0644);
	judge(FSCK_IDS, false);
	l.wrong_sum = true;
	judge(FSCK_INODE_CSUM, false);
	end();
}
END_TEST

START_TEST(high_halves)
{
	static const enum fsck_id ids[] = {FSCK_FADDR, FSCK_ACL_HIGH, FSCK_BLOCKS_HIGH,
					   FSCK_SIZE_HIGH};

	begin(_i);
	for (unsigned k = 0; k < XW_ARRAY_SIZE(ids); k++) {
		load(INO, XW_S_IFREG | 0644);
		l.in.faddr = k == 0 ? 7 : 0;
		l.in.stray_acl_hi = k == 1 ? 7 : 0;
		l.in.stray_blocks_hi = k == 2 ? 7 : 0;
		l.in.stray_size_hi = k == 3 ? 7 : 0;
		f.ses.img->sb.creator_os = 1; /* the Hurd's fields */
		judge(FSCK_IDS, false);
		f.ses.img->sb.creator_os = 0;
		judge(ids[k], false);
		ck_assert_uint_eq(last.num, 7);
		ck_assert_uint_eq(l.in.faddr + l.in.stray_acl_hi + l.in.stray_blocks_hi +
					  l.in.stray_size_hi,
				  agreed ? 0 : 7);
	}
	/* i_size of a reserved inode is judged elsewhere */
	load(10, 0);
	l.in.stray_size_hi = 7;
	judge(FSCK_IDS, false);
	load(XW_INO_ROOT, XW_S_IFDIR | 0755);
	l.in.stray_size_hi = 7;
	judge(FSCK_SIZE_HIGH, false);
	load(11, XW_S_IFDIR | 0755);
	l.in.stray_size_hi = 7;
	judge(FSCK_SIZE_HIGH, false);
	end();
}
END_TEST

START_TEST(deletion_time)
{
	begin(_i);
	load(INO, XW_S_IFREG | 0644);
	l.in.dtime = 5;
	judge(FSCK_DTIME_SET, false);
	ck_assert_uint_eq(l.in.dtime, agreed ? 0 : 5);
	l.in.dtime = 5;
	l.in.links = 0; /* deleted, or an orphan */
	judge(FSCK_IDS, false);
	ck_assert_uint_eq(l.in.dtime, 5);
	l.ino = 10; /* cannot be an orphan */
	l.in.mode = 0;
	judge(FSCK_ORPHAN_LINK, false);
	ck_assert_uint_eq(l.in.dtime, agreed ? 0 : 5);
	l.in.dtime = 1700000000;
	judge(FSCK_IDS, false);
	l.ino = 11;
	l.in.mode = XW_S_IFDIR;
	l.in.dtime = 5;
	judge(FSCK_IDS, false);
	end();
}
END_TEST

/* ---- mode ---- */

static void put_dot(xw_blk blk, xw_ino ino, uint16_t rec_len, uint8_t name_len, char name)
{
	uint8_t dot[12] = {0};

	poke32(dot, ino);
	poke16(dot + 4, rec_len);
	dot[6] = name_len;
	dot[8] = (uint8_t)name;
	put(blk, dot, sizeof(dot));
}

static const struct {
	uint16_t mode;
	xw_ino dot;
	uint64_t size, blocks;
	enum fsck_id id;
} modes[] = {
	{XW_S_IFREG | 0600, INO, BS, 2, FSCK_IDS},
	{XW_S_IFDIR | 0700, INO, BS, 2, FSCK_IDS},
	{XW_S_IFDIR | 0700, OTHER, BS, 2, FSCK_IDS},
	{0600, INO, BS, 2, FSCK_MODE_DIR},
	{0600, INO, 0, 0, FSCK_MODE_DIR},
	{0600, OTHER, BS, 2, FSCK_MODE_DATA},
	{0600, OTHER, 0, 0, FSCK_MODE},
	{XW_S_IFMT | 07712, INO, BS, 2, FSCK_MODE_DIR},
	{XW_S_IFMT | 0712, OTHER, BS, 2, FSCK_MODE_DATA},
	{XW_S_IFCHR | 0600, INO, BS, 2, FSCK_MODE_DIR},
	{XW_S_IFCHR | 0600, INO, 0, 2, FSCK_IDS},
	{XW_S_IFCHR | 0600, INO, BS, 0, FSCK_IDS},
	{XW_S_IFCHR | 0600, OTHER, BS, 2, FSCK_MODE_DATA},
	{XW_S_IFBLK | 0600, INO, BS, 2, FSCK_MODE_DIR},
	{XW_S_IFIFO | 0600, INO, BS, 2, FSCK_MODE_DIR},
	{XW_S_IFSOCK | 0600, INO, BS, 2, FSCK_MODE_DIR},
	{XW_S_IFLNK | 0777, INO, BS, 2, FSCK_MODE_DIR},
	{XW_S_IFLNK | 0777, OTHER, BS, 2, FSCK_IDS},
};

static void load_mode(xw_ino ino, uint16_t mode, xw_blk blk)
{
	load(ino, mode);
	l.in.size = BS;
	l.in.blocks = 2;
	poke32(l.in.block, (uint32_t)blk);
}

START_TEST(types)
{
	begin(_i);
	for (size_t i = 0; i < XW_ARRAY_SIZE(modes); i++) {
		load_mode(INO, modes[i].mode, BLOCK);
		l.in.size = modes[i].size;
		l.in.blocks = modes[i].blocks;
		put_dot(BLOCK, modes[i].dot, 12, 1, '.');
		judge(modes[i].id, modes[i].id == FSCK_MODE);
		if (agreed && modes[i].id == FSCK_MODE_DIR)
			ck_assert_uint_eq(l.in.mode, XW_S_IFDIR | (modes[i].mode & 07777));
		else if (agreed && modes[i].id == FSCK_MODE_DATA)
			ck_assert_uint_eq(l.in.mode, XW_S_IFREG | (modes[i].mode & 0777));
		else
			ck_assert_uint_eq(l.in.mode, modes[i].mode);
	}
	end();
}
END_TEST

/* What is not the beginning of a directory. */
START_TEST(no_directory)
{
	begin(true);
	load_mode(INO, 0644, BLOCK);
	put_dot(BLOCK, INO, 12, 1, '.');
	judge(FSCK_MODE_DIR, false);
	load_mode(INO, 0644, BLOCK);
	put_dot(BLOCK, INO, 16, 1, '.');
	judge(FSCK_MODE_DATA, false);
	l.in.mode = 0644;
	put_dot(BLOCK, INO, 12, 2, '.');
	judge(FSCK_MODE_DATA, false);
	l.in.mode = 0644;
	put_dot(BLOCK, INO, 12, 1, ',');
	judge(FSCK_MODE_DATA, false);
	l.in.mode = 0644;
	put_dot(BLOCK, INO, 12, 1, '.');
	poke32(l.in.block, 0); /* not the first block */
	poke32(l.in.block + 4, BLOCK);
	judge(FSCK_MODE, true);
	poke32(l.in.block, BLOCKS + 5); /* damage in front of it */
	judge(FSCK_MODE, true);
	end();
}
END_TEST

/* Behind a node. */
START_TEST(directory_in_a_tree)
{
	const struct xw_extent e = {0, 1, BLOCK, false};
	const struct xw_extent_idx up = {0, BLOCK + 1};
	struct xw_extent_hdr h = {.entries = 1, .max = 84};
	uint8_t node[BS] = {0};

	begin(_i);
	put_dot(BLOCK, INO, 12, 1, '.');
	load_mode(INO, 0644, 0);
	l.in.flags = XW_FL_EXTENTS;
	xw_extent_hdr_encode(node, &h);
	xw_extent_leaf_encode(node, 0, &e);
	xw_extent_block_set_csum(node, BS, xw_image_inode_seed(f.ses.img, INO, &l.in));
	put(BLOCK + 1, node, BS);
	h.depth = 1;
	h.max = 4;
	xw_extent_hdr_encode(l.in.block, &h);
	xw_extent_idx_encode(l.in.block, 0, &up);
	judge(FSCK_MODE_DIR, false);
	end();
}
END_TEST

START_TEST(root)
{
	begin(_i);
	put_dot(BLOCK, XW_INO_ROOT, 12, 1, '.');
	load_mode(XW_INO_ROOT, XW_S_IFDIR | 0755, BLOCK + 1);
	judge(FSCK_IDS, false);
	load_mode(XW_INO_ROOT, XW_S_IFREG | 0755, BLOCK);
	judge(FSCK_MODE_DIR, false);
	load_mode(XW_INO_ROOT, XW_S_IFREG | 0755, BLOCK + 1);
	judge(FSCK_MODE, true);
	end();
}
END_TEST

/* A parent, and entries that fill i_block. */
static const struct {
	xw_ino parent, ino;
	uint16_t len;
	uint8_t name_len;
	uint16_t rest; /* length of a second, unused entry; 0: none */
	bool is;
} inlined[] = {
	{2, 13, 56, 48, 0, true},   {2, 13, 56, 49, 0, false}, {2, 0, 56, 200, 0, true},
	{11, 13, 56, 3, 0, true},   {10, 13, 56, 3, 0, false}, {128, 13, 56, 3, 0, true},
	{129, 13, 56, 3, 0, false}, {2, 128, 56, 3, 0, true},  {2, 129, 56, 3, 0, false},
	{2, 13, 12, 3, 44, true},   {2, 13, 12, 3, 40, false}, {2, 13, 12, 3, 48, false},
	{2, 13, 14, 3, 42, false},  {2, 13, 52, 3, 0, false},  {2, 0, 4, 0, 0, false},
	{2, 0, 48, 0, 8, true},
};

START_TEST(inline_directory)
{
	begin(true);
	for (size_t i = 0; i < XW_ARRAY_SIZE(inlined); i++) {
		load(INO, 0644);
		l.in.flags = XW_FL_INLINE_DATA;
		poke32(l.in.block, inlined[i].parent);
		poke32(l.in.block + 4, inlined[i].ino);
		poke16(l.in.block + 8, inlined[i].len);
		l.in.block[10] = inlined[i].name_len;
		if (inlined[i].rest)
			poke16(l.in.block + 4 + inlined[i].len + 4, inlined[i].rest);
		judge(inlined[i].is ? FSCK_MODE_DIR : FSCK_MODE, !inlined[i].is);
	}
	/* a device with a size need not have blocks, if it is one */
	load(INO, XW_S_IFCHR);
	l.in.flags = XW_FL_INLINE_DATA;
	l.in.size = 60;
	poke32(l.in.block, 2);
	poke16(l.in.block + 8, 56);
	judge(FSCK_MODE_DIR, false);
	end();
}
END_TEST

/* ---- numbers with a meaning ---- */

START_TEST(reserved)
{
	static const xw_ino unused[] = {6, 9, 10};

	begin(_i);
	for (size_t i = 0; i < XW_ARRAY_SIZE(unused); i++) {
		load(unused[i], XW_S_IFREG);
		judge(FSCK_RESERVED_MODE, true);
		load(unused[i], 0);
		judge(FSCK_IDS, false);
	}
	for (xw_ino ino = 5; ino <= 8; ino++) {
		load(ino, XW_S_IFREG);
		judge(ino == 6 ? FSCK_RESERVED_MODE : FSCK_IDS, ino == 6);
		load(ino, XW_S_IFDIR);
		judge(FSCK_RESERVED_MODE, true);
	}
	end();
}
END_TEST

START_TEST(quota_files)
{
	uint8_t header[8];

	begin(_i);
	for (xw_ino ino = 3; ino <= 5; ino++) { /* without the feature nothing is to be there */
		load(ino, XW_S_IFREG);
		l.in.links = 0;
		judge(FSCK_IDS, false);
		l.in.links = 1;
		judge(ino < 5 ? FSCK_QUOTA_STRAY : FSCK_IDS, ino < 5);
		l.in.links = 0;
		l.in.blocks = 2;
		judge(ino < 5 ? FSCK_QUOTA_STRAY : FSCK_IDS, ino < 5);
		l.in.blocks = 0;
		poke32(l.in.block, 77);
		judge(ino < 5 ? FSCK_QUOTA_STRAY : FSCK_IDS, ino < 5);
	}
	f.ses.img->sb.feature_ro_compat |= XW_RO_QUOTA;
	f.ses.img->sb.usr_quota_inum = QUOTA_USER;
	poke32(header, 0xd9c01f11); /* of users, version 1 */
	poke32(header + 4, 1);
	put(BLOCK, header, sizeof(header));
	load_mode(QUOTA_USER, XW_S_IFREG | 0600, BLOCK);
	judge(FSCK_IDS, false);
	load_mode(QUOTA_USER, XW_S_IFLNK | 0777, BLOCK);
	judge(FSCK_QUOTA_MODE, false);
	ck_assert_uint_eq(l.in.mode, agreed ? XW_S_IFREG | 0600 : XW_S_IFLNK | 0777);
	f.opts.mode = FSCK_NO; /* what follows from the mode is not to be reported */
	load_mode(QUOTA_USER, XW_S_IFLNK | 0777, BLOCK);
	judge(FSCK_QUOTA_MODE, false);
	ck_assert_uint_eq(l.in.mode, XW_S_IFREG | 0600);
	l.in.mode = XW_S_IFLNK | 0777;
	l.wrong_sum = true; /* is to be written in any case */
	refused = FSCK_QUOTA_MODE;
	fsck_look_record(&l);
	ck_assert_int_eq(l.dirty, agreed);
	forget_findings();
	load_mode(QUOTA_USER, XW_S_IFLNK | 0777, BLOCK + 1);
	judge(FSCK_RESERVED_MODE, true);
	end();
}
END_TEST

/* The hash of its value proves an EA inode. */
START_TEST(ea_inodes)
{
	static const char text[] = "a value";

	begin(_i);
	put(BLOCK, text, sizeof(text));
	for (int k = 0; k < 4; k++) {
		const bool is = k == 0 || k == 3;

		load_mode(k == 2 ? 10 : k == 3 ? 11 : INO, XW_S_IFDIR | 0755, BLOCK);
		l.in.flags = XW_FL_EA_INODE;
		l.in.size = k == 1 ? BS : sizeof(text); /* as of a directory, which k == 1 is */
		xw_inode_set_ea_hash(&l.in,
				     xw_xattr_value_hash(f.ses.img->csum_seed, text, sizeof(text)) ^
					     (k == 1));
		judge(is ? FSCK_EA_INODE_MODE : k == 1 ? FSCK_IDS : FSCK_RESERVED_MODE, k == 2);
		ck_assert_uint_eq(l.in.mode, is && agreed ? XW_S_IFREG | 0600 : XW_S_IFDIR | 0755);
		l.wrong_sum = is;
		refused = FSCK_EA_INODE_MODE;
		l.in.mode = XW_S_IFDIR | 0755;
		fsck_look_record(&l);
		ck_assert_int_eq(l.dirty, agreed && is);
		refused = FSCK_IDS;
		forget_findings();
		l.dirty = l.clear = l.wrong_sum = false;
		l.in.mode = XW_S_IFREG | 0644;
		judge(k == 2 ? FSCK_RESERVED_MODE : FSCK_IDS, k == 2);
	}
	end();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fsck_record");
	TCase *t = tcase_create("fsck_record");

	tcase_set_timeout(t, 60);
	unit_add_cases(t, extra_size, "declined", "agreed");
	unit_add_cases(t, late_times, "declined", "agreed");
	unit_add_cases(t, checksum, "declined", "agreed");
	unit_add_cases(t, high_halves, "declined", "agreed");
	unit_add_cases(t, deletion_time, "declined", "agreed");
	unit_add_cases(t, types, "declined", "agreed");
	tcase_add_test(t, no_directory);
	unit_add_cases(t, directory_in_a_tree, "declined", "agreed");
	unit_add_cases(t, root, "declined", "agreed");
	tcase_add_test(t, inline_directory);
	unit_add_cases(t, reserved, "declined", "agreed");
	unit_add_cases(t, quota_files, "declined", "agreed");
	unit_add_cases(t, ea_inodes, "declined", "agreed");
	suite_add_tcase(s, t);
	return unit_main(s);
}
