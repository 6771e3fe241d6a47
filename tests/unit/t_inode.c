/* SPDX-License-Identifier: MIT */
/* Inodes: fields as debugfs prints them, checksums, times, devices, block counts, strays, round
 * trips. */
#include <check.h>

#include "base/endian.h"
#include "base/err.h"
#include "disk/inode.h"
#include "disk_fix.h"
#include "unit.h"

static struct xw_super super(void)
{
	uint8_t buf[XW_SUPER_SIZE];
	struct xw_super sb;

	FIX(super_csum, buf);
	ck_assert_int_eq(xw_super_decode(buf, &sb), 0);
	return sb;
}

START_TEST(fields_as_debugfs)
{
	struct xw_super sb = super();
	struct xw_inode in;
	uint8_t rec[256];

	FIX(inode_a, rec);
	memset(&in, 0xA5, sizeof(in));
	ck_assert_int_eq(xw_inode_decode(rec, &sb, &in), 0);
	ck_assert_uint_eq(in.mode, XW_S_IFREG | 04751);
	ck_assert_uint_eq(in.uid, 100000);
	ck_assert_uint_eq(in.gid, 200000);
	ck_assert_uint_eq(in.size, 6);
	ck_assert_uint_eq(in.links, 1);
	ck_assert_uint_eq(in.blocks, 4);
	ck_assert_uint_eq(in.flags, XW_FL_EXTENTS);
	ck_assert_uint_eq(in.generation, 3963406386);
	ck_assert_uint_eq(in.version, 8);
	ck_assert_uint_eq(in.file_acl, 180);
	ck_assert_uint_eq(in.extra_isize, 32);
	ck_assert_uint_eq(in.projid, 0);
	ck_assert_uint_eq(in.dtime, 0);
	ck_assert_uint_eq(in.checksum, 0x45D998A7);
	/* set by utimensat(2) */
	ck_assert_int_eq(in.atime.sec, -1234567890);
	ck_assert_uint_eq(in.atime.nsec, 123456789);
	ck_assert_int_eq(in.mtime.sec, 5000000000);
	ck_assert_uint_eq(in.mtime.nsec, 999999999);
	ck_assert_int_eq(in.ctime.sec, 0x6B00E3E3);
	ck_assert_uint_eq(in.ctime.nsec, 0x01EC17E8 / 4);
	ck_assert_int_eq(in.crtime.sec, 0x6B00E3E3);
	ck_assert_uint_eq(in.crtime.nsec, 0x0129B3B4 / 4);
	ck_assert_uint_eq(in.stray_acl_hi | in.stray_blocks_hi | in.stray_size_hi, 0);
	ck_assert_uint_eq(xw_inode_xattr_off(&in, &sb), 160);
	ck_assert_uint_eq(peek32(rec + 160), 0xEA020000);
}
END_TEST

static void load(int i, uint8_t rec[256], xw_ino *ino)
{
	static const xw_ino numbers[] = {12, 13, 62, 63, 67};
	uint8_t r[256];

	switch (i) {
	case 0:
		FIX(inode_a, r);
		break;
	case 1:
		FIX(inode_holes, r);
		break;
	case 2:
		FIX(inode_dev, r);
		break;
	case 3:
		FIX(inode_olddev, r);
		break;
	default:
		FIX(inode_ea, r);
	}
	memcpy(rec, r, sizeof(r));
	*ino = numbers[i];
}

START_TEST(fixtures_encode_to_themselves)
{
	struct xw_super sb = super();
	uint8_t rec[256], out[256];
	struct xw_inode in;
	xw_ino ino;

	load(_i, rec, &ino);
	ck_assert_int_eq(xw_inode_decode(rec, &sb, &in), 0);
	ck_assert_int_eq(xw_inode_verify(rec, &sb, FIX_SEED, ino), 0);
	memcpy(out, rec, sizeof(out));
	memset(out, 0xA5, 160);
	xw_inode_encode(&in, &sb, out);
	ck_assert_mem_eq(out, rec, sizeof(rec));
	in.checksum = 0xFFFFFFFF;
	xw_inode_encode(&in, &sb, out);
	xw_inode_set_csum(out, &sb, FIX_SEED, ino);
	ck_assert_mem_eq(out, rec, sizeof(rec));
}
END_TEST

START_TEST(checksum_covers_everything)
{
	struct xw_super sb = super();
	uint8_t rec[256];
	xw_ino ino;

	load(_i, rec, &ino);
	ck_assert_int_eq(xw_inode_verify(rec, &sb, FIX_SEED, ino + 1), XW_ERR_CHECKSUM);
	ck_assert_int_eq(xw_inode_verify(rec, &sb, FIX_SEED ^ 1, ino), XW_ERR_CHECKSUM);
	for (unsigned i = 0; i < 8 * sizeof(rec); i++) {
		rec[i / 8] ^= (uint8_t)(1u << i % 8);
		ck_assert_int_eq(xw_inode_verify(rec, &sb, FIX_SEED, ino), XW_ERR_CHECKSUM);
		rec[i / 8] ^= (uint8_t)(1u << i % 8);
	}
	sb.feature_ro_compat &= ~XW_RO_METADATA_CSUM;
	rec[0] ^= 1;
	ck_assert_int_eq(xw_inode_verify(rec, &sb, FIX_SEED, ino), 0);
}
END_TEST

/* Where extra_isize does not reach the high half, its two bytes are data and 16 bits are kept. */
START_TEST(checksum_low_half_only)
{
	struct xw_super sb = super();
	uint8_t rec[256];

	if (_i)
		sb.inode_size = 128;
	FIX(inode_a, rec);
	poke16(rec + 0x80, 0);
	poke16(rec + 0x82, 0xBEEF);
	xw_inode_set_csum(rec, &sb, FIX_SEED, 12);
	ck_assert_uint_eq(peek16(rec + 0x82), 0xBEEF);
	ck_assert_int_eq(xw_inode_verify(rec, &sb, FIX_SEED, 12), 0);
	rec[0x82] ^= 1;
	ck_assert_int_eq(xw_inode_verify(rec, &sb, FIX_SEED, 12), _i ? 0 : XW_ERR_CHECKSUM);
}
END_TEST

START_TEST(never_used_is_right)
{
	struct xw_super sb = super();
	uint8_t rec[256] = {0};

	ck_assert_int_eq(xw_inode_verify(rec, &sb, FIX_SEED, 77), 0);
	rec[255] = 1;
	ck_assert_int_eq(xw_inode_verify(rec, &sb, FIX_SEED, 77), XW_ERR_CHECKSUM);
}
END_TEST

/* sec as set, low and extra words as Linux stores them (the table of the kernel documentation, and
 * its edges) */
static const struct {
	int64_t sec;
	uint32_t nsec, low, extra;
} times[] = {
	{0, 0, 0, 0},
	{1, 1, 1, 4},
	{-1, 999999999, 0xFFFFFFFF, 999999999u << 2},
	{-(1ll << 31), 0, 0x80000000, 0},
	{(1ll << 31) - 1, 5, 0x7FFFFFFF, 20},
	{1ll << 31, 0, 0x80000000, 1},
	{(1ll << 32) - 1, 0, 0xFFFFFFFF, 1},
	{1ll << 32, 0, 0, 1},
	{3ll << 31, 0, 0x80000000, 2},
	{(1ll << 33) - 1, 0, 0xFFFFFFFF, 2},
	{1ll << 33, 0, 0, 2},
	{3ll << 32, 0, 0, 3},
	{(1ll << 34) - (1ll << 31) - 1, 999999999, 0x7FFFFFFF, 3 | 999999999u << 2},
};

START_TEST(time_encoding)
{
	struct xw_super sb = super();
	struct xw_inode in = {.extra_isize = 32}, got;
	uint8_t rec[256] = {0};

	in.atime = in.ctime = in.mtime = in.crtime =
		(struct xw_time){times[_i].sec, times[_i].nsec};
	xw_inode_encode(&in, &sb, rec);
	ck_assert_uint_eq(peek32(rec + 0x08), times[_i].low);
	ck_assert_uint_eq(peek32(rec + 0x0C), times[_i].low);
	ck_assert_uint_eq(peek32(rec + 0x10), times[_i].low);
	ck_assert_uint_eq(peek32(rec + 0x90), times[_i].low);
	ck_assert_uint_eq(peek32(rec + 0x84), times[_i].extra);
	ck_assert_uint_eq(peek32(rec + 0x88), times[_i].extra);
	ck_assert_uint_eq(peek32(rec + 0x8C), times[_i].extra);
	ck_assert_uint_eq(peek32(rec + 0x94), times[_i].extra);
	ck_assert_int_eq(xw_inode_decode(rec, &sb, &got), 0);
	ck_assert_int_eq(got.atime.sec, times[_i].sec);
	ck_assert_uint_eq(got.mtime.nsec, times[_i].nsec);
	ck_assert_int_eq(got.crtime.sec, times[_i].sec);
}
END_TEST

static const struct {
	unsigned extra;
	int64_t sec, want;
} clamps[] = {
	{32, -(1ll << 31) - 1, -(1ll << 31)},
	{32, INT64_MIN, -(1ll << 31)},
	{32, (1ll << 34) - (1ll << 31), (1ll << 34) - (1ll << 31) - 1},
	{32, INT64_MAX, (1ll << 34) - (1ll << 31) - 1},
	{4, 1ll << 31, (1ll << 31) - 1},
	{4, INT64_MIN, -(1ll << 31)},
	{0, 5000000000, (1ll << 31) - 1},
};

START_TEST(time_clamping)
{
	struct xw_super sb = super();
	struct xw_inode in = {.extra_isize = (uint16_t)clamps[_i].extra}, got;
	uint8_t rec[256] = {0};

	in.mtime = (struct xw_time){clamps[_i].sec, 7};
	xw_inode_encode(&in, &sb, rec);
	xw_inode_decode(rec, &sb, &got);
	ck_assert_int_eq(got.mtime.sec, clamps[_i].want);
	ck_assert_uint_eq(got.mtime.nsec, 0);
}
END_TEST

START_TEST(absurd_nanoseconds)
{
	struct xw_super sb = super();
	uint8_t rec[256];
	struct xw_inode in;

	FIX(inode_a, rec);
	poke32(rec + 0x8C, 0xFFFFFFFC);
	xw_inode_decode(rec, &sb, &in);
	ck_assert_uint_eq(in.atime.nsec, 999999999);
}
END_TEST

static const struct {
	uint32_t major, minor, old, new;
	int want;
} devices[] = {
	{8, 17, 0x0811, 0, 0},
	{255, 255, 0xFFFF, 0, 0},
	{0, 255, 0x00FF, 0, 0},
	{256, 0, 0, 0x00010000, 0},
	{0, 256, 0, 0x00100000, 0},
	{259, 70000, 0, 0x11110370, 0},
	{4095, 1048575, 0, 0xFFFFFFFF, 0},
	{4096, 0, 0xAAAAAAAA, 0xAAAAAAAA, XW_ERR_LIMIT},
	{0, 1048576, 0xAAAAAAAA, 0xAAAAAAAA, XW_ERR_LIMIT},
};

START_TEST(device_numbers)
{
	uint32_t major, minor;
	struct xw_inode in;

	memset(&in, 0xAA, sizeof(in));
	ck_assert_int_eq(xw_inode_put_rdev(&in, devices[_i].major, devices[_i].minor),
			 devices[_i].want);
	ck_assert_uint_eq(peek32(in.block), devices[_i].old);
	ck_assert_uint_eq(peek32(in.block + 4), devices[_i].new);
	ck_assert_uint_eq(xw_inode_slot(&in, 0), devices[_i].old);
	ck_assert_uint_eq(xw_inode_slot(&in, 1), devices[_i].new);
	memset(in.block + 56, 1, 4);
	ck_assert_uint_eq(xw_inode_slot(&in, 14), 0x01010101);
	ck_assert_uint_eq(xw_inode_slot(&in, 15), 0);
	if (devices[_i].want)
		return;
	xw_inode_get_rdev(&in, &major, &minor);
	ck_assert_uint_eq(major, devices[_i].major);
	ck_assert_uint_eq(minor, devices[_i].minor);
}
END_TEST

START_TEST(device_fixtures)
{
	struct xw_super sb = super();
	uint32_t major, minor;
	struct xw_inode in;
	uint8_t rec[256];

	FIX(inode_dev, rec);
	xw_inode_decode(rec, &sb, &in);
	xw_inode_get_rdev(&in, &major, &minor);
	ck_assert_uint_eq(major, 259);
	ck_assert_uint_eq(minor, 70000);
	FIX(inode_olddev, rec);
	xw_inode_decode(rec, &sb, &in);
	xw_inode_get_rdev(&in, &major, &minor);
	ck_assert_uint_eq(major, 8);
	ck_assert_uint_eq(minor, 17);
}
END_TEST

static const struct {
	bool huge;
	uint64_t fs_blocks, blocks;
	bool flag;
	int want;
} counts[] = {
	{true, 0, 0, false, 0},
	{false, 1, 8, false, 0},
	{false, 0xFFFFFFFF / 8, 0xFFFFFFF8, false, 0},
	{false, 0xFFFFFFFF / 8 + 1, 0, false, XW_ERR_LIMIT},
	{true, 0xFFFFFFFF / 8 + 1, 0x100000000, false, 0},
	{true, (1ull << 45) - 1, (1ull << 48) - 8, false, 0},
	{true, 1ull << 45, 1ull << 45, true, 0},
	{true, (1ull << 48) - 1, (1ull << 48) - 1, true, 0},
	{true, 1ull << 48, 0, false, XW_ERR_LIMIT},
	{true, UINT64_MAX, 0, false, XW_ERR_LIMIT},
};

START_TEST(block_counts)
{
	struct xw_super sb = {.log_block_size = 2};
	struct xw_inode in = {.flags = XW_FL_EXTENTS | XW_FL_HUGE_FILE}, got;
	uint8_t rec[128] = {0};

	sb.inode_size = 128;
	sb.feature_ro_compat = counts[_i].huge ? XW_RO_HUGE_FILE : 0;
	ck_assert_int_eq(xw_inode_set_blocks(&in, &sb, counts[_i].fs_blocks), counts[_i].want);
	if (counts[_i].want)
		return;
	ck_assert_uint_eq(in.blocks, counts[_i].blocks);
	ck_assert_uint_eq(in.flags, XW_FL_EXTENTS | (counts[_i].flag ? XW_FL_HUGE_FILE : 0));
	ck_assert_uint_eq(xw_inode_fs_blocks_512(&in, &sb), counts[_i].fs_blocks * 8);
	xw_inode_encode(&in, &sb, rec);
	xw_inode_decode(rec, &sb, &got);
	ck_assert_uint_eq(got.blocks, in.blocks);
}
END_TEST

/* High halves that count for nothing are told apart, and survive. */
START_TEST(strays)
{
	struct xw_super sb = super();
	uint8_t rec[256], out[256] = {0};
	struct xw_inode in;

	FIX(inode_a, rec);
	poke16(rec + 0x74, 0x1111);
	poke16(rec + 0x76, 0x2222);
	poke32(rec + 0x6C, 0x33333333);
	xw_inode_decode(rec, &sb, &in);
	ck_assert_uint_eq(in.blocks, 4 | 0x1111ull << 32);
	ck_assert_uint_eq(in.file_acl, 180 | 0x2222ull << 32);
	ck_assert_uint_eq(in.size, 6 | 0x33333333ull << 32);
	ck_assert_uint_eq(in.stray_acl_hi | in.stray_blocks_hi | in.stray_size_hi, 0);

	if (_i) {
		sb.creator_os = 1;
	} else {
		sb.feature_ro_compat &= ~XW_RO_HUGE_FILE;
		sb.feature_incompat &= ~XW_INCOMPAT_64BIT;
	}
	poke16(rec, XW_S_IFDIR | 0755);
	xw_inode_decode(rec, &sb, &in);
	ck_assert_uint_eq(in.blocks, 4);
	ck_assert_uint_eq(in.file_acl, 180);
	ck_assert_uint_eq(in.size, 6);
	ck_assert_uint_eq(in.stray_blocks_hi, 0x1111);
	ck_assert_uint_eq(in.stray_acl_hi, 0x2222);
	ck_assert_uint_eq(in.stray_size_hi, 0x33333333);
	xw_inode_encode(&in, &sb, out);
	ck_assert_mem_eq(out, rec, 160);

	sb.feature_incompat |= XW_INCOMPAT_LARGEDIR;
	xw_inode_decode(rec, &sb, &in);
	ck_assert_uint_eq(in.size, 6 | 0x33333333ull << 32);
}
END_TEST

static const struct {
	unsigned inode_size, extra;
	int want;
	unsigned xattr_off;
} extras[] = {
	{256, 0, 0, 0},
	{256, 4, 0, 132},
	{256, 28, 0, 156},
	{256, 32, 0, 160},
	{256, 120, 0, 248},
	{256, 124, 0, 0},
	{256, 128, 0, 0},
	{256, 132, XW_ERR_CORRUPT, 0},
	{256, 30, XW_ERR_CORRUPT, 0},
	{256, 0xFFFC, XW_ERR_CORRUPT, 0},
	{128, 0xFFFF, 0, 0},
	{1024, 896, 0, 0},
	{1024, 64, 0, 192},
};

START_TEST(extra_isize_range)
{
	struct xw_super sb = super();
	uint8_t rec[1024] = {0};
	struct xw_inode in;

	sb.inode_size = (uint16_t)extras[_i].inode_size;
	poke16(rec, XW_S_IFREG | 0644);
	poke16(rec + 0x80, (uint16_t)extras[_i].extra);
	ck_assert_int_eq(xw_inode_decode(rec, &sb, &in), extras[_i].want);
	ck_assert_uint_eq(in.mode, XW_S_IFREG | 0644);
	ck_assert_uint_eq(xw_inode_xattr_off(&in, &sb), extras[_i].xattr_off);
	if (extras[_i].want || extras[_i].inode_size == 128)
		ck_assert_uint_eq(in.extra_isize, 0);
}
END_TEST

/* Random records under random features: what is known is written, what is not is left alone. */
START_TEST(random_round_trip)
{
	static const unsigned nsec_at[] = {0x84, 0x88, 0x8C, 0x94};
	uint64_t rng = 4711 + (uint64_t)_i;
	struct xw_super sb = super();
	uint8_t rec[256], out[256];
	struct xw_inode in;
	unsigned extra = (unsigned)(fix_random(&rng) % 33) * 4, known = 128 + XW_MIN(extra, 32u);

	fix_random_bytes(&rng, rec, sizeof(rec));
	poke16(rec + 0x80, (uint16_t)extra);
	for (unsigned i = 0; i < XW_ARRAY_SIZE(nsec_at); i++)
		poke32(rec + nsec_at[i], peek32(rec + nsec_at[i]) & 0xBFFFFFFF);
	sb.feature_incompat ^=
		(uint32_t)fix_random(&rng) & (XW_INCOMPAT_64BIT | XW_INCOMPAT_LARGEDIR);
	sb.feature_ro_compat ^=
		(uint32_t)fix_random(&rng) & (XW_RO_HUGE_FILE | XW_RO_METADATA_CSUM);
	sb.creator_os = fix_random(&rng) % 4 == 0;
	ck_assert_int_eq(xw_inode_decode(rec, &sb, &in), 0);
	ck_assert_uint_lt(in.mtime.nsec, 1000000000);
	ck_assert_uint_eq(xw_inode_raw_mode(rec), in.mode);
	ck_assert_uint_eq(xw_inode_raw_links(rec), in.links);
	ck_assert_uint_eq(xw_inode_raw_dtime(rec), in.dtime);
	ck_assert_uint_eq(xw_inode_raw_extra(rec), extra);
	for (unsigned i = 0; i < 16; i++)
		ck_assert_uint_eq(xw_inode_slot(&in, i), i < 15 ? peek32(rec + 40 + 4 * i) : 0);
	memcpy(out, rec, sizeof(out));
	memset(out, 0xA5, XW_MAX(known, 130u));
	if (known == 128)
		memcpy(out + 130, rec + 130, 2);
	xw_inode_encode(&in, &sb, out);
	ck_assert_mem_eq(out, rec, sizeof(rec));
	xw_inode_set_csum(out, &sb, 1, 2);
	ck_assert_int_eq(xw_inode_verify(out, &sb, 1, 2), 0);
}
END_TEST

START_TEST(short_record_ends_at_128)
{
	struct xw_super sb = super();
	uint8_t rec[256], out[256];
	struct xw_inode in;

	sb.inode_size = 128;
	FIX(inode_a, rec);
	ck_assert_int_eq(xw_inode_decode(rec, &sb, &in), 0);
	ck_assert_uint_eq(in.atime.nsec | in.projid | in.extra_isize, 0);
	ck_assert_int_eq(in.crtime.sec, 0);
	in.extra_isize = 32;
	memset(out, 0xA5, sizeof(out));
	xw_inode_encode(&in, &sb, out);
	ck_assert_mem_eq(out, rec, 128);
	for (unsigned i = 128; i < 256; i++)
		ck_assert_uint_eq(out[i], 0xA5);
}
END_TEST

START_TEST(ea_inode_fields)
{
	struct xw_super sb = super();
	struct xw_inode in, made;
	uint8_t rec[256], out[256];

	FIX(inode_ea, rec);
	xw_inode_decode(rec, &sb, &in);
	ck_assert_uint_eq(in.flags & XW_FL_EA_INODE, XW_FL_EA_INODE);
	ck_assert_uint_eq(xw_inode_ea_hash(&in), 0x827B3A5A);
	ck_assert_uint_eq(xw_inode_ea_refs(&in), 1);
	made = in;
	made.atime = made.ctime = (struct xw_time){123, 456};
	made.version = 99;
	xw_inode_set_ea_hash(&made, 0x827B3A5A);
	xw_inode_set_ea_refs(&made, 1);
	memcpy(out, rec, sizeof(out));
	xw_inode_encode(&made, &sb, out);
	ck_assert_mem_eq(out, rec, sizeof(rec)); /* exactly as the kernel wrote it */
	xw_inode_set_ea_refs(&made, 0x123456789ull);
	xw_inode_encode(&made, &sb, out);
	xw_inode_decode(out, &sb, &in);
	ck_assert_uint_eq(xw_inode_ea_refs(&in), 0x123456789ull);
	/* Without extra fields, too, the hash is no time that ends in 2038. */
	sb.inode_size = 128;
	made.extra_isize = 0;
	xw_inode_set_ea_refs(&made, 0xFEDCBA9876543210ull);
	memset(out, 0, sizeof(out));
	xw_inode_encode(&made, &sb, out);
	xw_inode_decode(out, &sb, &in);
	ck_assert_uint_eq(xw_inode_ea_hash(&in), 0x827B3A5A);
	ck_assert_uint_eq(xw_inode_ea_refs(&in), 0xFEDCBA9876543210ull);
}
END_TEST

/* A directory with every flag there is: what Linux 6.18 gave what was made in it. */
START_TEST(inherited_flags)
{
	ck_assert_uint_eq(xw_inode_inherited(UINT32_MAX, XW_S_IFDIR | 0755), 0x2201C4CF);
	ck_assert_uint_eq(xw_inode_inherited(UINT32_MAX, XW_S_IFREG | 0644), 0x0200C4CF);
	ck_assert_uint_eq(xw_inode_inherited(UINT32_MAX, XW_S_IFLNK | 0777), 0xC0);
	ck_assert_uint_eq(xw_inode_inherited(UINT32_MAX, XW_S_IFIFO | 0644), 0xC0);
	ck_assert_uint_eq(xw_inode_inherited(UINT32_MAX, XW_S_IFCHR | 0644), 0xC0);
	ck_assert_uint_eq(xw_inode_inherited(XW_FL_IMMUTABLE | XW_FL_NOATIME, XW_S_IFREG),
			  XW_FL_NOATIME);
}
END_TEST

/* At or before the inode count a deletion time would be a link of the orphan list, or none. */
static const struct {
	int64_t now;
	uint32_t dtime;
} deletions[] = {
	{INT64_MIN, 2048},
	{-1, 2048},
	{0, 2048},
	{2047, 2048},
	{2048, 2048},
	{2049, 2049},
	{UINT32_MAX, UINT32_MAX},
	{1ll << 32, UINT32_MAX},
	{INT64_MAX, UINT32_MAX},
};

START_TEST(deletion_times)
{
	const struct xw_super sb = {.inodes_count = 2048};
	const uint32_t dtime = xw_inode_dtime(deletions[_i].now, &sb);

	ck_assert_uint_eq(dtime, deletions[_i].dtime);
	ck_assert(!xw_inode_dtime_is_link(dtime, &sb));
	ck_assert(xw_inode_dtime_is_link(2047, &sb));
	ck_assert(!xw_inode_dtime_is_link(0, &sb));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("inode");
	TCase *t = tcase_create("inode");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, fields_as_debugfs);
	tcase_add_loop_test(t, fixtures_encode_to_themselves, 0, 5);
	tcase_add_loop_test(t, checksum_covers_everything, 0, 5);
	tcase_add_loop_test(t, checksum_low_half_only, 0, 2);
	tcase_add_test(t, never_used_is_right);
	unit_add_table(t, time_encoding, times);
	unit_add_table(t, time_clamping, clamps);
	tcase_add_test(t, absurd_nanoseconds);
	unit_add_table(t, device_numbers, devices);
	tcase_add_test(t, device_fixtures);
	unit_add_table(t, block_counts, counts);
	tcase_add_loop_test(t, strays, 0, 2);
	unit_add_table(t, extra_isize_range, extras);
	tcase_add_loop_test(t, random_round_trip, 0, 300);
	tcase_add_test(t, short_record_ends_at_128);
	tcase_add_test(t, ea_inode_fields);
	tcase_add_test(t, inherited_flags);
	unit_add_table(t, deletion_times, deletions);
	suite_add_tcase(s, t);
	return unit_main(s);
}
