/* SPDX-License-Identifier: MIT */
/*
 * Geometry for a known size. That it is mke2fs's is tests/oracle/geometry.sh's business; here: that
 * it is consistent.
 */
#include <stdio.h>

#include "plan_util.h"

/* What mke2fs 1.47.0 made of these. */
static const struct {
	const char *options;
	uint64_t blocks;
	uint32_t groups, ipg, itable, desc, reserved;
	uint64_t journal, overhead, last_itable;
} golden[] = {
	{"SIZE 1G", 262144, 8, 8192, 512, 1, 127, 8192, 12949, 3729},
	{"-b 1024 SIZE 64M", 65536, 8, 2048, 512, 1, 256, 4096, 9499, 3859},
	{"-b 1024 -i 4096 SIZE 300M", 307200, 38, 2024, 506, 3, 256, 8192, 29577, 264687},
	{"-O sparse_super2 -b 1024 SIZE 100M", 102400, 13, 1968, 492, 1, 256, 4096, 11293, 6189},
	{"-t ext2 -E stride=8 SIZE 300M", 76800, 3, 25600, 1600, 1, 18, 0, 4846, 65536},
	{"-E packed_meta_blocks SIZE 2G", 524288, 16, 8192, 512, 1, 255, 16384, 26150, 7969},
	{"SIZE 60T", 16106127360, 491520, 2048, 128, 7680, 0, 262144, 64367131, 16105605024},
};

START_TEST(known)
{
	struct xw_mkfs_params p;
	struct xw_geo geo;
	struct xw_group_place last;
	struct xw_diag diag = {0};

	ck_assert_int_eq(plan_params(&p, golden[_i].options, 0, &diag), 0);
	ck_assert_msg(!xw_geo_plan(&p, p.size_bytes, &geo, &diag), "%s", diag.text);
	xw_geo_group(&geo, geo.groups - 1, &last);
	ck_assert_uint_eq(geo.blocks, golden[_i].blocks);
	ck_assert_uint_eq(geo.groups, golden[_i].groups);
	ck_assert_uint_eq(geo.inodes_per_group, golden[_i].ipg);
	ck_assert_uint_eq(geo.itable_blocks, golden[_i].itable);
	ck_assert_uint_eq(geo.desc_blocks, golden[_i].desc);
	ck_assert_uint_eq(geo.reserved_gdt, golden[_i].reserved);
	ck_assert_uint_eq(geo.journal_blocks, golden[_i].journal);
	ck_assert_uint_eq(geo.overhead, golden[_i].overhead);
	ck_assert_uint_eq(last.inode_table, golden[_i].last_itable);
	xw_geo_free(&geo);
	xw_params_free(&p);
}
END_TEST

/* Blocks on both sides of every step, as mke2fs 1.47.0 has them. */
static const struct {
	uint64_t blocks, journal;
} journals[] = {
	{0, 0},
	{2047, 0},
	{2048, 1024},
	{32767, 1024},
	{32768, 4096},
	{262143, 4096},
	{262144, 8192},
	{524287, 8192},
	{524288, 16384},
	{4194303, 16384},
	{4194304, 32768},
	{8388607, 32768},
	{8388608, 65536},
	{16777215, 65536},
	{16777216, 131072},
	{33554431, 131072},
	{33554432, 262144},
	{1ull << 40, 262144},
};

START_TEST(journal_sizes)
{
	ck_assert_uint_eq(xw_journal_default_blocks(journals[_i].blocks, 4096),
			  journals[_i].journal);
	ck_assert_uint_eq(xw_journal_default_blocks(journals[_i].blocks, 1024),
			  journals[_i].journal);
}
END_TEST

static void random_options(struct rnd *r, char *out, size_t size)
{
	static const char *const features[] = {
		"^resize_inode",
		"^flex_bg",
		"^64bit",
		"^has_journal",
		"sparse_super2",
		"^metadata_csum",
		"uninit_bg",
		"^sparse_super,^resize_inode",
		"large_dir",
		"^metadata_csum,uninit_bg",
		"^resize_inode,meta_bg",
	};
	uint32_t bs = 1024u << rnd_below(r, 7);
	uint64_t blocks = 64 + rnd_magnitude(r, 20);
	bool flex = true;
	size_t n = (size_t)snprintf(out, size, "-b %u SIZE %llu", bs, (unsigned long long)blocks);

#define ADD(...) n += (size_t)snprintf(out + n, size - n, " " __VA_ARGS__)
	for (unsigned k = rnd_below(r, 3); k; k--) {
		unsigned f = (unsigned)rnd_below(r, XW_ARRAY_SIZE(features));

		flex = flex && f != 1;
		ADD("-O %s", features[f]);
	}
	if (flex && rnd_chance(r, 40))
		ADD("-G %u", 1u << rnd_below(r, 12));
	if (rnd_chance(r, 40))
		ADD("-g %u", (unsigned)(32 + rnd_below(r, XW_MIN(bs, 8191) - 31)) * 8);
	if (rnd_chance(r, 30))
		ADD("-i %u", (unsigned)(1024 + rnd_magnitude(r, 20)));
	else if (rnd_chance(r, 30))
		ADD("-N %u", (unsigned)rnd_magnitude(r, 18));
	if (rnd_chance(r, 30))
		ADD("-I %u", 128u << rnd_below(r, 4));
	if (rnd_chance(r, 20))
		ADD("-E stride=%u", (unsigned)rnd_below(r, 65536));
	if (flex && rnd_chance(r, 20))
		ADD("-E packed_meta_blocks");
	if (rnd_chance(r, 20))
		ADD("-E num_backup_sb=%u", (unsigned)rnd_below(r, 3));
	if (rnd_chance(r, 20))
		ADD("-E resize=%llu", (unsigned long long)(blocks + rnd_magnitude(r, 30)));
#undef ADD
}

static void check_counts(const struct xw_geo *geo, const char *o)
{
	for (uint32_t g = 0; g < geo->groups; g++) {
		bool next = xw_geo_next_super(geo, g) == g;

		ck_assert_msg(next == xw_geo_has_super(geo, g), "%s: next_super(%u)", o, g);
	}
	ck_assert_uint_eq(xw_geo_next_super(geo, geo->groups), geo->groups);
	ck_assert_msg(geo->groups ==
			      xw_div_up(geo->blocks - geo->first_data_block, geo->blocks_per_group),
		      "%s", o);
	ck_assert_msg(geo->inodes_per_group % 8 == 0 &&
			      geo->inodes_per_group <= XW_MIN(8 * geo->block_size, 65535) &&
			      geo->blocks_per_group <= XW_MIN(8 * geo->block_size, 65535),
		      "%s: %u inodes", o, geo->inodes_per_group);
	ck_assert_msg(geo->itable_blocks ==
			      xw_div_up((uint64_t)geo->inodes_per_group * geo->inode_size,
					geo->block_size),
		      "%s", o);
	ck_assert(!geo->reserved_gdt || !xw_has_incompat(&geo->features, XW_INCOMPAT_META_BG));
	ck_assert_msg(geo->reserved_gdt <= geo->block_size / 4, "%s: %u reserved", o,
		      geo->reserved_gdt);
	ck_assert_msg(geo->overhead == geo->first_data_block + heads_of(geo) +
					       (uint64_t)geo->groups * (2 + geo->itable_blocks) +
					       geo->journal_blocks,
		      "%s: overhead", o);
	ck_assert_msg(geo->reserved_blocks <= geo->blocks / 2, "%s", o);
}

#define ROUNDS 40
#define TRIES 60

START_TEST(consistent)
{
	struct rnd r = {(uint64_t)_i + 1};
	unsigned made = 0;

	for (int i = 0; i < TRIES; i++) {
		struct xw_mkfs_params p;
		struct xw_geo geo;
		struct owned owned = {0};
		char o[400];

		random_options(&r, o, sizeof(o));
		if (!plan_params(&p, o, 0, NULL) && !xw_geo_plan(&p, p.size_bytes, &geo, NULL)) {
			made++;
			check_counts(&geo, o);
			owned_metadata(&owned, &geo);
			ck_assert_uint_eq(owned_check(&owned, &geo, o),
					  geo.overhead - geo.journal_blocks - geo.first_data_block);
			owned_check_bitmaps(&owned, &geo, o);
			xw_geo_free(&geo);
		}
		free(owned.v);
		xw_params_free(&p);
	}
	/* most combinations must make sense, or this tests nothing */
	ck_assert_uint_ge(made, TRIES / 2);
}
END_TEST

static const struct {
	const char *options;
	int err;
	const char *said;
} refusals[] = {
	{"SIZE 16k", XW_ERR_NOSPC, "too few"},
	{"-b 1024 SIZE 1", XW_ERR_NOSPC, "too few"},
	{"-N 10000000 SIZE 1G", XW_ERR_USAGE, "-N"},
	{"-i 1024 -I 4096 SIZE 1G", XW_ERR_USAGE, "-i"},
	{"-J size=511 SIZE 1G", XW_ERR_USAGE, "-J size"},
	{"-O ^64bit SIZE 16T", XW_ERR_USAGE, "64bit"},
	{"-O ^resize_inode,meta_bg -E resize=900000000 SIZE 1G", XW_ERR_USAGE, "meta_bg"},
	{"SIZE 1024P", XW_ERR_LIMIT, "SIZE"},
	{"SIZE 8191P", XW_ERR_LIMIT, "SIZE"},
	{"-b 1024 SIZE 1024P", XW_ERR_LIMIT, "SIZE"},
	{"-O ^resize_inode,^sparse_super -E resize=900000000 SIZE 1G", XW_ERR_USAGE,
	 "sparse_super"},
};

START_TEST(refuse)
{
	struct xw_mkfs_params p;
	struct xw_geo geo;
	struct xw_diag diag = {0};
	int err;

	ck_assert_msg(!plan_params(&p, refusals[_i].options, 0, &diag), "%s", diag.text);
	err = xw_geo_plan(&p, p.size_bytes, &geo, &diag);
	ck_assert_msg(err == refusals[_i].err, "%s: %d %s", refusals[_i].options, err, diag.text);
	ck_assert_msg(strstr(diag.text, refusals[_i].said), "%s: %s", refusals[_i].options,
		      diag.text);
	xw_params_free(&p);
}
END_TEST

/* Where descriptors would take three quarters of a group, and not before. */
static const struct {
	const char *options;
	bool meta;
} switches[] = {
	{"-g 256 SIZE 1G", true},
	{"-b 1024 -O ^resize_inode SIZE 768G", false},
	{"-b 1024 -O ^resize_inode SIZE 769G", true},
	{"SIZE 128T", false},
	{"SIZE 256T", true},
	{"-O meta_bg,^resize_inode SIZE 1G", true},
};

START_TEST(meta_bg)
{
	struct xw_mkfs_params p;
	struct xw_geo geo;

	ck_assert_int_eq(plan_params(&p, switches[_i].options, 0, NULL), 0);
	ck_assert_int_eq(xw_geo_plan(&p, p.size_bytes, &geo, NULL), 0);
	ck_assert_int_eq(xw_has_incompat(&geo.features, XW_INCOMPAT_META_BG) != 0,
			 switches[_i].meta);
	if (switches[_i].meta) {
		ck_assert(!geo.reserved_gdt);
		ck_assert(!xw_has_compat(&geo.features, XW_COMPAT_RESIZE_INODE));
		ck_assert_uint_eq(geo.overhead - geo.journal_blocks -
					  (uint64_t)geo.groups * (2 + geo.itable_blocks) -
					  geo.first_data_block,
				  heads_of(&geo));
	}
	xw_geo_free(&geo);
	xw_params_free(&p);
}
END_TEST

/* Sixty tebibytes: every group is asked about, and the sum is right. */
START_TEST(huge)
{
	static const char *const options[] = {
		"SIZE 60T",
		"SIZE 60T -G 1024",
		"SIZE 60T -E packed_meta_blocks",
		"SIZE 60T -O sparse_super2",
		"SIZE 150T -O ^flex_bg",
		"SIZE 60T -O ^resize_inode,meta_bg",
		"SIZE 60T -O ^resize_inode,meta_bg,^sparse_super -G 4"};
	struct xw_mkfs_params p;
	struct xw_geo geo;
	uint64_t nfree = 0;

	ck_assert_int_eq(plan_params(&p, options[_i], 0, NULL), 0);
	ck_assert_int_eq(xw_geo_plan(&p, p.size_bytes, &geo, NULL), 0);
	for (uint32_t g = 0; g < geo.groups; g++) {
		uint32_t n, longest, fragments, first;

		xw_geo_group_summary(&geo, g, &n, &longest, &fragments, &first);
		ck_assert(longest <= n && fragments <= n &&
			  first + longest <= geo.blocks_per_group);
		nfree += n;
	}
	ck_assert_uint_eq(nfree, geo.blocks - (geo.overhead - geo.journal_blocks));
	ck_assert_uint_eq(xw_has_compat(&geo.features, XW_COMPAT_RESIZE_INODE), 0);
	xw_geo_free(&geo);
	xw_params_free(&p);
}
END_TEST

START_TEST(super_fields)
{
	struct xw_mkfs_params p;
	struct xw_geo geo;
	struct xw_super sb;

	ck_assert_int_eq(
		plan_params(&p,
			    "SIZE 1G -L label -M /mnt -e remount-ro -m 10 -G 32 -E "
			    "stride=4,stripe_width=8 "
			    "-O metadata_csum_seed -U 123e4567-e89b-12d3-a456-426614174000",
			    0, NULL),
		0);
	p.now = 1234567890;
	ck_assert_int_eq(xw_geo_plan(&p, p.size_bytes, &geo, NULL), 0);
	xw_plan_super(&p, &geo, &sb);
	ck_assert(sb.magic == 0xef53 && sb.state == 1 && sb.errors == 2 && sb.rev_level == 1);
	ck_assert(sb.blocks_count == 262144 && sb.inodes_count == 65536 &&
		  sb.r_blocks_count == 26214);
	ck_assert(sb.log_block_size == 2 && sb.blocks_per_group == 32768 &&
		  sb.inodes_per_group == 8192);
	ck_assert(sb.mkfs_time == 1234567890 && sb.wtime == 1234567890 &&
		  sb.lastcheck == 1234567890);
	ck_assert(sb.mtime == 0 && sb.max_mnt_count == -1 && sb.first_ino == 11 &&
		  sb.inode_size == 256);
	ck_assert(sb.desc_size == 64 && sb.reserved_gdt_blocks == geo.reserved_gdt &&
		  sb.log_groups_per_flex == 5);
	ck_assert(sb.default_mount_opts == 0xc && sb.min_extra_isize == 32 &&
		  sb.want_extra_isize == 32);
	ck_assert(sb.flags == 1 && sb.def_hash_version == 1 && sb.checksum_type == 1 &&
		  sb.journal_inum == 8);
	ck_assert(sb.raid_stride == 4 && sb.raid_stripe_width == 8 &&
		  sb.overhead_blocks == geo.overhead);
	ck_assert_int_eq(strncmp(sb.volume_name, "label", 16), 0);
	ck_assert_int_eq(strncmp(sb.last_mounted, "/mnt", 64), 0);
	ck_assert_int_eq(memcmp(sb.uuid, p.uuid, 16), 0);
	ck_assert_int_eq(memcmp(sb.hash_seed, p.hash_seed, 16), 0);
	/* crc32c(~0, the UUID above), worked out with Python */
	ck_assert_uint_eq(sb.checksum_seed, 0x60078bbe);
	ck_assert(sb.free_blocks_count == 0 && sb.free_inodes_count == 0 && sb.kbytes_written == 0);
	xw_geo_free(&geo);
	xw_params_free(&p);
}
END_TEST

START_TEST(super_revision_0)
{
	struct xw_mkfs_params p;
	struct xw_geo geo;
	struct xw_super sb;

	ck_assert_int_eq(plan_params(&p, "SIZE 64M -r 0", 0, NULL), 0);
	ck_assert_int_eq(xw_geo_plan(&p, p.size_bytes, &geo, NULL), 0);
	xw_plan_super(&p, &geo, &sb);
	ck_assert(sb.rev_level == 0 && sb.inode_size == 128 && sb.first_ino == 11 &&
		  sb.default_mount_opts == 0);
	ck_assert(!sb.feature_compat && !sb.feature_incompat && !sb.feature_ro_compat);
	ck_assert(sb.min_extra_isize == 0 && sb.desc_size == 0 && sb.journal_inum == 0);
	xw_geo_free(&geo);
	xw_params_free(&p);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("geometry");
	TCase *t = tcase_create("geometry");

	tcase_set_timeout(t, 120);
	unit_add_rows(t, known, golden, options);
	unit_add_table(t, journal_sizes, journals);
	tcase_add_loop_test(t, consistent, 0, ROUNDS);
	unit_add_rows(t, refuse, refusals, options);
	unit_add_rows(t, meta_bg, switches, options);
	tcase_add_loop_test(t, huge, 0, 7);
	tcase_add_test(t, super_fields);
	tcase_add_test(t, super_revision_0);
	suite_add_tcase(s, t);
	return unit_main(s);
}
