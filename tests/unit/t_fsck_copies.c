// SPDX-License-Identifier: MIT
/* Where copies of the superblock are looked for, and which ones count: places in, copies out. */
#include "config.h"

#include "fsck_bytes.h"
#include "memdev.h"
#include "open/open.h"

/* With blocks of 1 KiB and 256 per group the copies of 125 groups are within 32 MiB. */
enum { MIB = 1 << 20, PER_GROUP = 256 };

static struct xw_dev *dev;
static struct xw_diag diag;
static struct fsck_copies all;
static uint8_t raw[XW_SUPER_SIZE];

/* A superblock of this geometry; its device has the size of the filesystem, but at most this. */
static struct xw_super geometry(uint32_t log_size, uint32_t per_group, uint64_t blocks)
{
	struct xw_super sb;

	FIX(super_csum, raw);
	(void)xw_super_decode(raw, &sb);
	sb.log_block_size = sb.log_cluster_size = log_size;
	sb.first_data_block = log_size == 0;
	sb.blocks_per_group = sb.clusters_per_group = per_group;
	sb.blocks_count = blocks;
	sb.free_blocks_count = sb.r_blocks_count = 0;
	sb.inodes_per_group = 64;
	sb.inodes_count = (uint32_t)(64 * xw_super_groups(&sb));
	sb.reserved_gdt_blocks = 0;
	sb.feature_compat &= ~XW_COMPAT_RESIZE_INODE;
	return sb;
}

static void start(uint64_t size)
{
	ok(xw_dev_open_mem(size, &diag, &dev));
	all.n = 0;
}

static void stop(void)
{
	xw_dev_close(dev);
}

static void put_copy(struct xw_super sb, uint16_t group, uint64_t at)
{
	sb.block_group_nr = group;
	xw_super_encode(&sb, raw);
	ok(xw_dev_pwrite(dev, raw, sizeof(raw), at));
}

static uint64_t place(const struct xw_super *sb, uint64_t group)
{
	return (sb->first_data_block + group * sb->blocks_per_group) * xw_super_block_size(sb);
}

/* Exactly these groups, in this order. */
static void expect_groups(const struct xw_super *sb, const uint16_t *groups, size_t n)
{
	ck_assert_uint_eq(all.n, n);
	for (size_t i = 0; i < n; i++) {
		ck_assert_uint_eq(all.v[i].sb.block_group_nr, groups[i]);
		ck_assert_uint_eq(all.v[i].at, place(sb, groups[i]));
		ck_assert_uint_eq(all.v[i].sb.blocks_count, sb->blocks_count);
	}
}

/* ---- the usual places ---- */

START_TEST(usual_places)
{
	static const uint16_t groups[] = {1, 3, 5, 7, 9, 25, 27, 49, 81, 125};
	const struct xw_super sb = geometry(0, PER_GROUP, 126 * PER_GROUP + 1);
	const size_t max = FSCK_COPIES_MAX;

	for (size_t i = 0; i < XW_ARRAY_SIZE(groups); i++) {
		start(32 * MIB);
		put_copy(sb, groups[i], place(&sb, groups[i]));
		fsck_copies_usual(dev, &sb, &all);
		expect_groups(&sb, &groups[i], 1);
		fsck_copies_usual(dev, &sb, &all); /* found already */
		ck_assert_uint_eq(all.n, 1);
		ck_assert_ptr_eq(dev->diag, &diag);
		stop();
	}
	start(32 * MIB);
	for (size_t i = 0; i < XW_ARRAY_SIZE(groups); i++)
		put_copy(sb, groups[i], place(&sb, groups[i]));
	put_copy(sb, 2, place(&sb, 2));
	fsck_copies_usual(dev, &sb, &all);
	expect_groups(&sb, groups, max);
	fsck_copies_search(dev, UINT64_MAX, &all);
	ck_assert_uint_eq(all.n, max);
	stop();
}
END_TEST

/* sparse_super2: the superblock names two groups. */
START_TEST(two_copies)
{
	static const struct {
		uint32_t groups[2];
		uint16_t want[2];
		size_t n;
	} rows[] = {
		{{1, 125}, {1, 125}, 2}, {{2, 0}, {2}, 1}, {{0, 44}, {44}, 1},
		{{126, 2}, {2}, 1},      {{0, 0}, {0}, 0},
	};

	for (size_t i = 0; i < XW_ARRAY_SIZE(rows); i++) {
		struct xw_super sb = geometry(0, PER_GROUP, 126 * PER_GROUP + 1);

		sb.feature_compat |= XW_COMPAT_SPARSE_SUPER2;
		sb.feature_ro_compat &= ~XW_RO_SPARSE_SUPER;
		sb.backup_bgs[0] = rows[i].groups[0];
		sb.backup_bgs[1] = rows[i].groups[1];
		start(34 * MIB);
		for (uint16_t g = 1; g <= 126; g++)
			put_copy(sb, g, place(&sb, g));
		fsck_copies_usual(dev, &sb, &all);
		expect_groups(&sb, rows[i].want, rows[i].n);
		stop();
	}
}
END_TEST

/* Without a superblock: the default geometry of each block size. */
START_TEST(any_geometry)
{
	for (uint32_t log = 0; log <= 6; log++) {
		const uint32_t bs = 1024u << log;
		const struct xw_super sb = geometry(log, 8 * bs, UINT64_C(60) * 8 * bs);
		static const uint16_t group = 3;

		start((UINT64_C(60) * 8 * bs) * bs);
		put_copy(sb, group, place(&sb, group));
		fsck_copies_usual(dev, NULL, &all);
		expect_groups(&sb, &group, 1);
		stop();
	}
}
END_TEST

/* ---- which ones count ---- */

static const struct {
	const char *what;
	bool good;
	uint16_t group; /* that it says it is of */
	int64_t off; /* from the place of group 3 */
	size_t byte; /* of which all bits are turned; 0: none */
} copies[] = {
	{"sound", true, 3, 0, 0},
	{"the primary's", true, 0, 0, 0},
	{"of another group", true, 5, 0, 0}, /* the number alone may be wrong */
	{"one block on", false, 3, BS, 0},
	{"wrong checksum", false, 3, 0, 0x78},
	{"wrong magic", false, 3, 0, 0x38},
};

START_TEST(which_count)
{
	const struct xw_super sb = geometry(0, PER_GROUP, 126 * PER_GROUP + 1);

	for (size_t i = 0; i < XW_ARRAY_SIZE(copies); i++) {
		const uint64_t at = (uint64_t)((int64_t)place(&sb, 3) + copies[i].off);
		uint8_t byte;

		start(32 * MIB);
		put_copy(sb, copies[i].group, at);
		if (copies[i].byte) {
			ok(xw_dev_pread(dev, &byte, 1, at + copies[i].byte));
			byte = (uint8_t)~byte;
			ok(xw_dev_pwrite(dev, &byte, 1, at + copies[i].byte));
		}
		fsck_copies_usual(dev, &sb, &all);
		fsck_copies_search(dev, UINT64_MAX, &all);
		ck_assert_msg(all.n == copies[i].good, "%s", copies[i].what);
		if (all.n) {
			ck_assert_int_eq(all.v[0].numbered, copies[i].group == 3);
			ck_assert_uint_eq(all.v[0].sb.block_group_nr, 3);
		}
		stop();
	}
}
END_TEST

/* Revision 0 does not say of which group a copy is. */
START_TEST(old_revision)
{
	struct xw_super sb = geometry(0, PER_GROUP, 126 * PER_GROUP + 1);
	static const uint16_t group = 5;

	sb.rev_level = 0;
	sb.first_ino = 11;
	sb.inode_size = 128;
	sb.feature_compat = sb.feature_incompat = sb.feature_ro_compat = 0;
	sb.desc_size = 0;
	start(32 * MIB);
	put_copy(sb, 0, place(&sb, group));
	put_copy(sb, 0, place(&sb, 7) + BS);
	fsck_copies_search(dev, UINT64_MAX, &all);
	expect_groups(&sb, &group, 1);
	stop();
}
END_TEST

/* ---- the whole device ---- */

START_TEST(searched)
{
	const struct xw_super sb = geometry(0, 1000, 34000);
	static const uint16_t groups[] = {1, 2, 17, 33};

	start(UINT64_C(33001) * BS + XW_SUPER_SIZE); /* the last one ends with it */
	put_copy(sb, 0, XW_SUPER_OFFSET);
	for (size_t i = 0; i < XW_ARRAY_SIZE(groups); i++)
		put_copy(sb, groups[i], place(&sb, groups[i]));
	fsck_copies_search(dev, UINT64_MAX, &all);
	expect_groups(&sb, groups, 4);
	ck_assert_ptr_eq(dev->diag, &diag);
	stop();
	start(UINT64_C(33001) * BS + XW_SUPER_SIZE - 1);
	fsck_copies_usual(dev, &sb, &all);
	fsck_copies_search(dev, UINT64_MAX, &all);
	ck_assert_uint_eq(all.n, 0);
	stop();
}
END_TEST

/* ---- -b and -B ---- */

static const struct {
	uint64_t block;
	uint32_t size; /* -B; 0: any */
	uint32_t log; /* of the filesystem */
	uint64_t at; /* of the copy */
	bool found;
} named[] = {
	{8193, 0, 0, 8193 * 1024, true},
	{8193, 1024, 0, 8193 * 1024, true},
	{8193, 2048, 0, 8193 * 1024, false},
	{4096, 0, 1, 4096 * 2048, true},
	{256, 0, 6, 256 * 65536, true},
	{256, 65536, 6, 256 * 65536, true},
	{256, 32768, 6, 256 * 65536, false},
	{4096, 0, 0, 4096 * 2048, false}, /* there, but of another block size */
	{16383, 0, 0, 16383 * 1024, true}, /* the last of the device */
	{16384, 0, 0, 16383 * 1024, false},
	{1, 0, 0, 1024, true}, /* also the primary */
};

START_TEST(named_copies)
{
	for (size_t i = 0; i < XW_ARRAY_SIZE(named); i++) {
		const uint32_t bs = 1024u << named[i].log;
		const struct xw_super sb = geometry(named[i].log, 8 * bs, 300000);
		int rc;

		memset(&f, 0, sizeof(f));
		start(16 * MIB + (named[i].log == 6 ? MIB : 0));
		put_copy(sb, 1, named[i].at);
		f.ses.dev = dev;
		f.opts.image = "img";
		f.opts.backup = named[i].block;
		f.opts.block_size = named[i].size;
		rc = fsck_copies_named(&f, &all);
		ck_assert_msg(rc == (named[i].found ? 0 : XW_ERR_INPUT), "-b %llu -B %u: %d",
			      (unsigned long long)named[i].block, (unsigned)named[i].size, rc);
		ck_assert_uint_eq(all.n, named[i].found);
		if (named[i].found)
			ck_assert_uint_eq(all.v[0].at, named[i].at);
		ck_assert_ptr_eq(dev->diag, &diag);
		stop();
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fsck_copies");
	TCase *t = tcase_create("fsck_copies");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, usual_places);
	tcase_add_test(t, two_copies);
	tcase_add_test(t, any_geometry);
	tcase_add_test(t, which_count);
	tcase_add_test(t, old_revision);
	tcase_add_test(t, searched);
	tcase_add_test(t, named_copies);
	suite_add_tcase(s, t);
	return unit_main(s);
}
