/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "plan_util.h"

#define OK(text, unit, bytes)                                                                      \
	{                                                                                          \
		text, unit, 0, bytes                                                               \
	}
#define BAD(text)                                                                                  \
	{                                                                                          \
		text, 1, XW_ERR_USAGE, 0                                                           \
	}

static const struct {
	const char *text;
	uint64_t unit;
	int err;
	uint64_t bytes;
} sizes[] = {
	OK("4096", 1, 4096),
	OK("3", 1024, 3072),
	OK("10s", 1, 5120),
	OK("64k", 1, 65536),
	OK("64K", 4096, 65536),
	OK("7m", 1, 7340032),
	OK("1G", 1, 1073741824),
	OK("1.5G", 1, 1610612736),
	OK("8MiB", 1, 8388608),
	OK("1.5KiB", 1, 1536),
	OK("100MB", 1, 100000000),
	OK("1.5kB", 1024, 1500),
	OK("2KB", 1, 2000),
	OK("60TB", 1, 60000000000000),
	OK("3PB", 1, 3000000000000000),
	OK("0.5k", 1, 512),
	OK("60T", 1, 60ull << 40),
	OK("2P", 1, 2ull << 50),
	OK("0", 1, 0),
	OK("18446744073709551615", 1, UINT64_MAX),
	OK("1.999999999999T", 1, (1ull << 40) + 1099511626676ull),
	BAD(""),
	BAD("k"),
	BAD("-1"),
	BAD("+1"),
	BAD(" 1"),
	BAD("1 "),
	BAD("1.5"),
	BAD("1.G"),
	BAD(".5G"),
	BAD("1.5.5G"),
	BAD("1kk"),
	BAD("MB"),
	BAD("1mB"),
	BAD("1sB"),
	BAD("1B"),
	BAD("1MiBB"),
	BAD("20000PB"),
	BAD("1x"),
	BAD("0x10"),
	BAD("1e3"),
	BAD("18446744073709551616"),
	BAD("18014398509481984k"),
	BAD("99999999999999999999T"),
};

START_TEST(parse_size)
{
	uint64_t out = 0;

	ck_assert_int_eq(xw_parse_size(sizes[_i].text, sizes[_i].unit, &out), sizes[_i].err);
	if (!sizes[_i].err)
		ck_assert_msg(out == sizes[_i].bytes, "%s is %llu", sizes[_i].text,
			      (unsigned long long)out);
}
END_TEST

static const struct {
	const char *options;
	int err;
	const char *said;
} refusals[] = {
	/* by the setter */
	{"SIZE 10x", XW_ERR_USAGE, "size '10x'"},
	{"SIZE 0", XW_ERR_USAGE, "size '0'"},
	{"SIZE -5", XW_ERR_USAGE, "size '-5'"},
	{"-b 3000", XW_ERR_USAGE, "-b 3000"},
	{"-b 512", XW_ERR_USAGE, "-b 512"},
	{"-b 131072", XW_ERR_USAGE, "-b 131072"},
	{"-C 3000", XW_ERR_USAGE, "-C 3000"},
	{"-g 100", XW_ERR_USAGE, "-g 100"},
	{"-g 260", XW_ERR_USAGE, "-g 260"},
	{"-g 248", XW_ERR_USAGE, "-g 248"},
	{"-g x", XW_ERR_USAGE, "-g x"},
	{"-G 15", XW_ERR_USAGE, "-G 15"},
	{"-G 0", XW_ERR_USAGE, "-G 0"},
	{"-G 4294967296", XW_ERR_USAGE, "-G 4294967296"},
	{"-i 1023", XW_ERR_USAGE, "-i 1023"},
	{"-i 67108865", XW_ERR_USAGE, "-i 67108865"},
	{"-I 200", XW_ERR_USAGE, "-I 200"},
	{"-I 64", XW_ERR_USAGE, "-I 64"},
	{"-I 65536", XW_ERR_USAGE, "-I 65536"},
	{"-g 65536", XW_ERR_USAGE, "-g 65536"},
	{"-N 4294967296", XW_ERR_USAGE, "-N 4294967296"},
	{"-N many", XW_ERR_USAGE, "-N many"},
	{"-m 51", XW_ERR_USAGE, "-m 51"},
	{"-m -1", XW_ERR_USAGE, "-m -1"},
	{"-m nan", XW_ERR_USAGE, "-m nan"},
	{"-m 5%%", XW_ERR_USAGE, "-m 5%%"},
	{"-r 2", XW_ERR_USAGE, "-r 2"},
	{"-U foo", XW_ERR_USAGE, "-U foo"},
	{"-e stop", XW_ERR_USAGE, "-e stop"},
	{"-o beos", XW_ERR_USAGE, "-o beos"},
	{"-o 5", XW_ERR_USAGE, "-o 5"},
	{"-O bogus", XW_ERR_USAGE, "bogus"},
	{"-O dirdata", XW_ERR_UNSUPPORTED, "dirdata"},
	{"-t xfs", XW_ERR_USAGE, "-t xfs"},
	{"-J size=x", XW_ERR_USAGE, "-J size=x"},
	{"-J size", XW_ERR_USAGE, "-J size"},
	{"-J location=x", XW_ERR_USAGE, "-J location=x"},
	{"-J location", XW_ERR_USAGE, "-J location"},
	{"-J device=", XW_ERR_USAGE, "-J device"},
	{"-J fast_commit_size=1M", XW_ERR_USAGE, "-J fast_commit_size"},
	{"-J foo=5", XW_ERR_USAGE, "-J foo"},
	{"-E foo", XW_ERR_USAGE, "-E foo"},
	{"-E foo=1", XW_ERR_USAGE, "-E foo"},
	{"-E stride", XW_ERR_USAGE, "-E stride"},
	{"-E stride=-1", XW_ERR_USAGE, "-E stride"},
	{"-E stride=65536", XW_ERR_USAGE, "-E stride=65536"},
	{"-E stride=4,foo", XW_ERR_USAGE, "-E foo"},
	{"-E stripe_width=4294967296", XW_ERR_USAGE, "-E stripe_width"},
	{"-E root_owner=1", XW_ERR_USAGE, "-E root_owner=1"},
	{"-E root_owner=a:b", XW_ERR_USAGE, "-E root_owner"},
	{"-E root_owner=4294967295:0", XW_ERR_USAGE, "-E root_owner"},
	{"-E root_perms=8", XW_ERR_USAGE, "-E root_perms=8"},
	{"-E root_perms=10000", XW_ERR_USAGE, "-E root_perms"},
	{"-E root_perms=", XW_ERR_USAGE, "-E root_perms"},
	{"-E root_selinux=", XW_ERR_USAGE, "-E root_selinux"},
	{"-E hash_seed=foo", XW_ERR_USAGE, "-E hash_seed=foo"},
	{"-E offset=1x", XW_ERR_USAGE, "-E offset"},
	{"-E num_backup_sb=3", XW_ERR_USAGE, "-E num_backup_sb"},
	{"-E packed_meta_blocks=2", XW_ERR_USAGE, "-E packed_meta_blocks"},
	{"-E lazy_itable_init=x", XW_ERR_USAGE, "-E lazy_itable_init"},
	{"-E nodiscard=1", XW_ERR_USAGE, "-E nodiscard"},
	{"-E resize=0", XW_ERR_USAGE, "-E resize=0"},
	{"-E resize=", XW_ERR_USAGE, "-E resize"},
	{"-E mb_optimize_scan=2", XW_ERR_USAGE, "-E mb_optimize_scan"},
	{"-E mb_max_to_scan", XW_ERR_USAGE, "-E mb_max_to_scan"},
	{"-E discard=1", XW_ERR_USAGE, "-E discard"},
	{"-E encoding=latin1", XW_ERR_USAGE, "-E encoding=latin1"},
	{"-E encoding_flags=loose", XW_ERR_USAGE, "-E encoding_flags=loose"},
	{"-E quotatype=foo", XW_ERR_USAGE, "-E quotatype=foo"},
	{"-E quotatype=usrquota:foo", XW_ERR_USAGE, "-E quotatype=usrquota:foo"},
	{"-E mmp_update_interval=301", XW_ERR_USAGE, "-E mmp_update_interval=301"},
	{"-E orphan_file_size=x", XW_ERR_USAGE, "-E orphan_file_size=x"},
	{"--free 100%", XW_ERR_USAGE, "--free 100%"},
	{"--free lots", XW_ERR_USAGE, "--free lots"},
	{"--free -1%", XW_ERR_USAGE, "--free -1%"},
	{"--free %", XW_ERR_USAGE, "--free %"},
	/* by finish */
	{"-T foo SIZE 1G", XW_ERR_USAGE, "-T foo"},
	{"-T big,foo SIZE 1G", XW_ERR_USAGE, "-T foo"},
	{"-O ^extent SIZE 1G", XW_ERR_USAGE, "64bit"},
	{"-O ^sparse_super SIZE 1G", XW_ERR_USAGE, "resize_inode"},
	{"-O metadata_csum_seed,^metadata_csum SIZE 1G", XW_ERR_USAGE, "metadata_csum_seed"},
	{"-C 16384 SIZE 1G", XW_ERR_USAGE, "bigalloc"},
	{"-O ^flex_bg -G 16 SIZE 1G", XW_ERR_USAGE, "flex_bg"},
	{"-b 1024 -g 8200 SIZE 1G", XW_ERR_USAGE, "-g 8200"},
	{"-b 1024 -I 2048 SIZE 1G", XW_ERR_USAGE, "-I 2048"},
	{"-I 8192 SIZE 1G", XW_ERR_USAGE, "-I 8192"},
	{"-g 65528 SIZE 1G", XW_ERR_USAGE, "-g 65528"},
	{"-E resize=100 SIZE 1G", XW_ERR_USAGE, "-E resize"},
	{"-E resize=262144 SIZE 1G", XW_ERR_USAGE, "-E resize"},
	{"-J size=3 SIZE 1G", XW_ERR_USAGE, "-J size"},
	{"-J size=40001 SIZE 1T", XW_ERR_USAGE, "-J size"},
	{"-J size=3", XW_ERR_USAGE, "-J size"},
	{"-J location=5000", XW_ERR_USAGE, "-J location: needs SIZE"},
	{"-J location=262144 SIZE 1G", XW_ERR_USAGE, "-J location=262144"},
	{"-J location=2G SIZE 1G", XW_ERR_USAGE, "-J location=524288"},
	{"-O fast_commit -J fast_commit_size=40960004 SIZE 1T", XW_ERR_USAGE, "fast_commit_size"},
	{"-E encoding_flags=strict SIZE 1G", XW_ERR_USAGE, "-E encoding_flags"},
	{"-O project -I 128 SIZE 1G", XW_ERR_USAGE, "project"},
	{"-O quota -E quotatype=prjquota -I 128 SIZE 1G", XW_ERR_USAGE, "project"},
	{"-O orphan_file,^has_journal SIZE 1G", XW_ERR_USAGE, "orphan_file"},
	{"-O journal_dev -J size=4 SIZE 1G", XW_ERR_USAGE, "-J"},
	{"-r 0 -J device=/dev/x SIZE 1G", XW_ERR_USAGE, "-r 0"},
	{"--free 1G SIZE 1G", XW_ERR_USAGE, "--free"},
	{"--free-inodes 5 SIZE 1G", XW_ERR_USAGE, "--free"},
	{"-E packed_meta_blocks", XW_ERR_USAGE, "packed_meta_blocks"},
	{"-r 0 -O extent SIZE 1G", XW_ERR_USAGE, "-r 0"},
	{"-r 0 -j SIZE 1G", XW_ERR_USAGE, "-r 0"},
	{"-r 0 -I 256 SIZE 1G", XW_ERR_USAGE, "-I 256"},
	{"-r 0 -E resize=1000000 SIZE 1G", XW_ERR_USAGE, "resize"},
	{"-o hurd -O filetype SIZE 1G", XW_ERR_USAGE, "filetype"},
	{"-o hurd -O metadata_csum SIZE 1G", XW_ERR_USAGE, "metadata_csum"},
	{"-b 4096 SIZE 18446744073709551615", XW_ERR_USAGE, "SIZE"},
};

START_TEST(refuse)
{
	struct xw_mkfs_params p;
	struct xw_diag diag = {0};
	int err = plan_params(&p, refusals[_i].options, 0, &diag);

	ck_assert_msg(err == refusals[_i].err, "%s: %d %s", refusals[_i].options, err, diag.text);
	ck_assert_int_eq(diag.code, err);
	ck_assert_msg(strstr(diag.text, refusals[_i].said), "%s: %s", refusals[_i].options,
		      diag.text);
	xw_params_free(&p);
}
END_TEST

/* Options that belong to one feature, after finish. */
static const struct {
	const char *options;
	unsigned quota_types;
	uint32_t mmp_interval, encoding, encoding_flags;
	uint64_t orphan_blocks, journal_at;
	uint32_t ro_has, incompat_has, compat_has;
} of_features[] = {
	{"SIZE 1G", 0, 5, 0, 0, 0, 0, 0, 0, 0},
	{"-O quota SIZE 1G", 3, 5, 0, 0, 0, 0, XW_RO_QUOTA, 0, 0},
	{"-O quota,project SIZE 1G", 7, 5, 0, 0, 0, 0, XW_RO_PROJECT, 0, 0},
	{"-O quota -E quotatype=grpquota SIZE 1G", 2, 5, 0, 0, 0, 0, XW_RO_QUOTA, 0, 0},
	{"-O quota -E quotatype=usrquota:prjquota SIZE 1G", 5, 5, 0, 0, 0, 0, XW_RO_PROJECT, 0, 0},
	{"-O quota,project -E quotatype=usrquota SIZE 1G", 5, 5, 0, 0, 0, 0, XW_RO_PROJECT, 0, 0},
	{"-O quota -E quotatype=usrquota -E quotatype=grpquota SIZE 1G", 2, 5, 0, 0, 0, 0, 0, 0, 0},
	{"-O quota -E quotatype= SIZE 1G", 0, 5, 0, 0, 0, 0, XW_RO_QUOTA, 0, 0},
	{"-E quotatype=prjquota SIZE 1G", 0, 5, 0, 0, 0, 0, 0, 0, 0},
	{"-O mmp -E mmp_update_interval=17 SIZE 1G", 0, 17, 0, 0, 0, 0, 0, XW_INCOMPAT_MMP, 0},
	{"-O mmp -E mmp_update_interval=0 SIZE 1G", 0, 5, 0, 0, 0, 0, 0, XW_INCOMPAT_MMP, 0},
	{"-O casefold SIZE 1G", 0, 5, 1, 0, 0, 0, 0, XW_INCOMPAT_CASEFOLD, 0},
	{"-E encoding=utf8 SIZE 1G", 0, 5, 1, 0, 0, 0, 0, XW_INCOMPAT_CASEFOLD, 0},
	{"-E encoding=utf8-12.1,encoding_flags=strict SIZE 1G", 0, 5, 1, 1, 0, 0, 0,
	 XW_INCOMPAT_CASEFOLD, 0},
	{"-O casefold -E encoding_flags=strict,encoding_flags=nostrict SIZE 1G", 0, 5, 1, 0, 0, 0,
	 0, XW_INCOMPAT_CASEFOLD, 0},
	{"-O orphan_file -E orphan_file_size=100 SIZE 1G", 0, 5, 0, 0, 100, 0, 0, 0,
	 XW_COMPAT_ORPHAN_FILE},
	{"-O orphan_file -E orphan_file_size=33k SIZE 1G", 0, 5, 0, 0, 8, 0, 0, 0,
	 XW_COMPAT_ORPHAN_FILE},
	{"-O orphan_file -E orphan_file_size=1k SIZE 1G", 0, 5, 0, 0, 1, 0, 0, 0,
	 XW_COMPAT_ORPHAN_FILE},
	{"-J location=5000 SIZE 1G", 0, 5, 0, 0, 0, 5000, 0, 0, XW_COMPAT_HAS_JOURNAL},
	{"-J location=64M SIZE 1G", 0, 5, 0, 0, 0, 16384, 0, 0, XW_COMPAT_HAS_JOURNAL},
	{"-t ext2 -J device=/dev/x SIZE 1G", 0, 5, 0, 0, 0, 0, 0, 0, XW_COMPAT_HAS_JOURNAL},
};

START_TEST(feature_options)
{
	const char *options = of_features[_i].options;
	struct xw_mkfs_params p;
	struct xw_diag diag = {0};
	int err = plan_params(&p, options, 0, &diag);

	ck_assert_msg(!err, "%s: %s", options, diag.text);
	ck_assert_msg(p.quota_types == of_features[_i].quota_types, "%s", options);
	ck_assert_msg(p.mmp_interval == of_features[_i].mmp_interval, "%s", options);
	ck_assert_msg(p.encoding == of_features[_i].encoding, "%s", options);
	ck_assert_msg(p.encoding_flags == of_features[_i].encoding_flags, "%s", options);
	ck_assert_msg(p.orphan_blocks == of_features[_i].orphan_blocks, "%s", options);
	ck_assert_msg(p.journal_at == of_features[_i].journal_at, "%s", options);
	ck_assert_msg((p.features.w[XW_FW_RO_COMPAT] & of_features[_i].ro_has) ==
			      of_features[_i].ro_has,
		      "%s", options);
	ck_assert_msg((p.features.w[XW_FW_INCOMPAT] & of_features[_i].incompat_has) ==
			      of_features[_i].incompat_has,
		      "%s", options);
	ck_assert_msg((p.features.w[XW_FW_COMPAT] & of_features[_i].compat_has) ==
			      of_features[_i].compat_has,
		      "%s", options);
	xw_params_free(&p);
}
END_TEST

START_TEST(refuse_missing_value)
{
	struct xw_mkfs_params p;

	xw_params_init(&p);
	for (int o = 0; o < XW_MKFS_OPTION_COUNT; o++)
		ck_assert_int_eq(xw_params_set(&p, (enum xw_mkfs_option)o, NULL, NULL),
				 o == XW_MKFS_ADD_JOURNAL ? 0 : XW_ERR_USAGE);
	ck_assert_int_eq(xw_params_set(&p, XW_MKFS_OPTION_COUNT, "1", NULL), XW_ERR_INTERNAL);
	xw_params_free(&p);
}
END_TEST

static const struct {
	const char *options;
	uint64_t dev_bytes;
	uint64_t size_bytes;
	uint32_t block_size, inode_size;
	uint64_t ratio;
	double reserved;
	uint32_t flex_size;
} results[] = {
	{"SIZE 1G", 0, 1ull << 30, 4096, 256, 16384, 5, 16},
	/* bare numbers: KiB, or blocks with -b */
	{"SIZE 65536", 0, 64ull << 20, 4096, 256, 4096, 5, 16},
	{"-b 1024 SIZE 65536", 0, 64ull << 20, 1024, 256, 4096, 5, 16},
	{"-b 4096 SIZE 65536", 0, 256ull << 20, 4096, 256, 4096, 5, 16},
	{"SIZE 2048s", 0, 1ull << 20, 4096, 256, 8192, 5, 16},
	/* usage types by size; the block size stays 4096 */
	{"SIZE 3071k", 0, 3071 << 10, 4096, 256, 8192, 5, 16},
	{"SIZE 3M", 0, 3 << 20, 4096, 256, 4096, 5, 16},
	{"SIZE 524287k", 0, 524287ull << 10, 4096, 256, 4096, 5, 16},
	{"SIZE 512M", 0, 512ull << 20, 4096, 256, 16384, 5, 16},
	{"SIZE 4194303M", 0, 4194303ull << 20, 4096, 256, 16384, 5, 16},
	{"SIZE 4T", 0, 4ull << 40, 4096, 256, 32768, 5, 16},
	{"SIZE 16T", 0, 16ull << 40, 4096, 256, 65536, 5, 16},
	/* named ones say it all */
	{"-T small SIZE 1G", 0, 1ull << 30, 1024, 256, 4096, 5, 16},
	{"-T floppy SIZE 1G", 0, 1ull << 30, 1024, 256, 8192, 5, 16},
	{"-T small -b 2048 SIZE 1G", 0, 1ull << 30, 2048, 256, 4096, 5, 16},
	{"-T news SIZE 1G", 0, 1ull << 30, 4096, 256, 4096, 5, 16},
	{"-T largefile SIZE 1G", 0, 1ull << 30, 4096, 256, 1 << 20, 5, 16},
	{"-T largefile4 SIZE 1G", 0, 1ull << 30, 4096, 256, 4 << 20, 5, 16},
	{"-T largefile,news SIZE 1G", 0, 1ull << 30, 4096, 256, 4096, 5, 16},
	{"-T largefile -T news SIZE 1G", 0, 1ull << 30, 4096, 256, 4096, 5, 16},
	{"-T hurd SIZE 1G", 0, 1ull << 30, 4096, 128, 16384, 5, 16},
	{"-T default SIZE 5T", 0, 5ull << 40, 4096, 256, 16384, 5, 16},
	{"-T news -i 5000 SIZE 1G", 0, 1ull << 30, 4096, 256, 5000, 5, 16},
	/* the target's size */
	{"-t ext4", 1ull << 30, 1ull << 30, 4096, 256, 16384, 5, 16},
	{"-b 1024", 10243 << 10, 10240 << 10, 1024, 256, 4096, 5, 16},
	{"-E offset=1048576", 1ull << 30, (1ull << 30) - (1 << 20), 4096, 256, 16384, 5, 16},
	{"-E offset=1048576 SIZE 10M", 1ull << 30, 10 << 20, 4096, 256, 4096, 5, 16},
	/* SIZE left out */
	{"-t ext4", 0, 0, 4096, 256, 0, 0, 16},
	{"-m 5 -i 8192", 0, 0, 4096, 256, 8192, 5, 16},
	/* the rest */
	{"-b -1024 SIZE 1G", 0, 1ull << 30, 4096, 256, 16384, 5, 16},
	{"-b 16384 -g 65528 SIZE 1G", 0, 1ull << 30, 16384, 256, 16384, 5, 16},
	{"-b 65536 -I 32768 SIZE 1G", 0, 1ull << 30, 65536, 32768, 65536, 5, 16},
	{"-b 65536 -i 1024 SIZE 1G", 0, 1ull << 30, 65536, 256, 1024, 5, 16},
	{"-b 8192 SIZE 16M", 0, 16ull << 20, 8192, 256, 8192, 5, 16},
	{"-m 2.5 SIZE 1G", 0, 1ull << 30, 4096, 256, 16384, 2.5, 16},
	{"-m 0 SIZE 1G", 0, 1ull << 30, 4096, 256, 16384, 0, 16},
	{"-r 0 SIZE 1G", 0, 1ull << 30, 4096, 128, 16384, 5, 1},
	{"-o hurd -t ext2 SIZE 1G", 0, 1ull << 30, 4096, 128, 16384, 5, 1},
	{"-t ext2 SIZE 1G", 0, 1ull << 30, 4096, 256, 16384, 5, 1},
	{"-G 64 -I 512 -i 4k SIZE 1G", 0, 1ull << 30, 4096, 512, 4096, 5, 64},
};

START_TEST(finish)
{
	struct xw_mkfs_params p;
	struct xw_diag diag = {0};
	const char *o = results[_i].options;

	ck_assert_msg(!plan_params(&p, o, results[_i].dev_bytes, &diag), "%s: %s", o, diag.text);
	ck_assert_msg(p.size_bytes == results[_i].size_bytes, "%s: size %llu", o,
		      (unsigned long long)p.size_bytes);
	ck_assert_msg(p.block_size == results[_i].block_size, "%s: block %u", o, p.block_size);
	ck_assert_msg(p.inode_size == results[_i].inode_size, "%s: inode %u", o, p.inode_size);
	ck_assert_msg(p.bytes_per_inode == results[_i].ratio, "%s: ratio %llu", o,
		      (unsigned long long)p.bytes_per_inode);
	ck_assert_msg(fabs(p.reserved_percent - results[_i].reserved) < 1e-9, "%s: -m %f", o,
		      p.reserved_percent);
	ck_assert_msg(p.flex_size == results[_i].flex_size, "%s: flex %u", o, p.flex_size);
	xw_params_free(&p);
}
END_TEST

START_TEST(extended_values)
{
	struct xw_mkfs_params p;

	ck_assert_int_eq(
		plan_params(
			&p,
			"-E "
			"root_owner=1000:100,hash_seed=00112233-4455-6677-8899-aabbccddeeff,stride="
			"16 "
			"-E "
			"stripe-width=64,lazy_itable_init,lazy_journal_init=0,packed_meta_blocks=1 "
			"-E "
			"num_backup_sb=1,nodiscard,root_perms=1777,root_selinux=u:r:t:s0,resize="
			"10G "
			"-E mb_optimize_scan=0,mb_linear_limit=4,mb_order2_req=3,mb_stream_req=5 "
			"-E mb_max_to_scan=6,mb_best_avail_max_trim_order=2 "
			"-L label -M /mnt -e panic -o freebsd -U "
			"00000000-0000-0000-0000-000000000001 "
			"-J size=8 SIZE 1G",
			0, NULL),
		0);
	ck_assert(p.root_owner_set && p.root_uid == 1000 && p.root_gid == 100);
	ck_assert_uint_eq(p.hash_seed[0], 0);
	ck_assert_uint_eq(p.hash_seed[15], 0xff);
	ck_assert(p.stride == 16 && p.stripe_width == 64);
	ck_assert(p.lazy_itable_init == 1 && p.lazy_journal_init == 0);
	ck_assert(p.packed_meta_blocks && p.num_backup_sb == 1 && p.discard == 0);
	ck_assert_uint_eq(p.root_perms, 01777);
	ck_assert_str_eq(p.root_selinux, "u:r:t:s0");
	ck_assert_uint_eq(p.resize_blocks, 10ull << 30 >> 12);
	ck_assert(p.mb.optimize_scan == 0 && p.mb.linear_limit == 4 && p.mb.order2_req == 3);
	ck_assert(p.mb.stream_req == 5 && p.mb.max_to_scan == 6 &&
		  p.mb.best_avail_max_trim_order == 2);
	ck_assert_str_eq(p.label, "label");
	ck_assert_str_eq(p.last_mounted, "/mnt");
	ck_assert(p.errors == 3 && p.creator_os == 3);
	ck_assert_uint_eq(p.uuid[15], 1);
	ck_assert_uint_eq(p.journal_bytes, 8 << 20);
	xw_params_free(&p);
}
END_TEST

START_TEST(uuids_and_defaults)
{
	static const uint8_t zero[16];
	struct xw_mkfs_params a, b;

	ck_assert_int_eq(plan_params(&a, "SIZE 1G", 0, NULL), 0);
	ck_assert_int_eq(plan_params(&b, "SIZE 1G -U clear", 0, NULL), 0);
	ck_assert_int_ne(memcmp(a.uuid, zero, 16), 0);
	ck_assert_int_ne(memcmp(a.hash_seed, zero, 16), 0);
	ck_assert_int_ne(memcmp(a.uuid, a.hash_seed, 16), 0);
	ck_assert_int_eq(memcmp(b.uuid, zero, 16), 0);
	ck_assert_int_ne(memcmp(a.hash_seed, b.hash_seed, 16), 0);
	ck_assert(a.errors == 1 && a.revision == 1 && a.hash_version == 1 && a.root_perms == ~0u);
	ck_assert(a.lazy_itable_init == -1 && a.num_backup_sb == -1 && a.mb.max_to_scan == -1);
	xw_params_free(&a);
	xw_params_free(&b);
}
END_TEST

static void count_warning(void *arg, enum xw_log_level level, const char *line)
{
	(void)line;
	if (level == XW_LOG_WARN)
		(*(int *)arg)++;
}

START_TEST(labels)
{
	struct xw_mkfs_params p;
	int warned = 0;
	struct xw_diag diag = {.log = count_warning, .log_arg = &warned};

	xw_params_init(&p);
	ck_assert_int_eq(xw_params_set(&p, XW_MKFS_LABEL, "0123456789abcdef", &diag), 0);
	ck_assert_int_eq(warned, 0);
	ck_assert_int_eq(xw_params_set(&p, XW_MKFS_LABEL, "0123456789abcdefg", &diag), 0);
	ck_assert_int_eq(warned, 1);
	ck_assert_str_eq(p.label, "0123456789abcdef");
	ck_assert_int_eq(xw_params_set(&p, XW_MKFS_LABEL, "x", &diag), 0);
	ck_assert_str_eq(p.label, "x");
	xw_params_free(&p);
}
END_TEST

static const struct {
	const char *options;
	uint32_t compat_on, compat_off, ro_on;
} journals[] = {
	{"-t ext2 SIZE 1G", 0, XW_COMPAT_HAS_JOURNAL, 0},
	{"-t ext2 -j SIZE 1G", XW_COMPAT_HAS_JOURNAL, 0, 0},
	{"-t ext2 -J size=4 SIZE 1G", XW_COMPAT_HAS_JOURNAL, 0, 0},
	{"-t ext2 -J size=0 SIZE 1G", 0, XW_COMPAT_HAS_JOURNAL, 0},
	{"-O ^has_journal SIZE 1G", 0, XW_COMPAT_HAS_JOURNAL, 0},
	{"-j -O ^has_journal SIZE 1G", XW_COMPAT_HAS_JOURNAL, 0, 0},
	{"-O ^has_journal -O ^dir_index SIZE 1G", 0, XW_COMPAT_HAS_JOURNAL | XW_COMPAT_DIR_INDEX,
	 0},
	{"-O ^dir_index -O dir_index SIZE 1G", XW_COMPAT_DIR_INDEX, 0, 0},
	{"-O ^large_file SIZE 1G", XW_COMPAT_RESIZE_INODE, 0, XW_RO_LARGE_FILE},
};

START_TEST(features_settle)
{
	struct xw_mkfs_params p;

	ck_assert_int_eq(plan_params(&p, journals[_i].options, 0, NULL), 0);
	ck_assert_uint_eq(p.features.w[XW_FW_COMPAT] & journals[_i].compat_on,
			  journals[_i].compat_on);
	ck_assert_uint_eq(p.features.w[XW_FW_COMPAT] & journals[_i].compat_off, 0);
	ck_assert_uint_eq(p.features.w[XW_FW_RO_COMPAT] & journals[_i].ro_on, journals[_i].ro_on);
	xw_params_free(&p);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("params");
	TCase *t = tcase_create("params");

	unit_add_rows(t, parse_size, sizes, text);
	unit_add_rows(t, refuse, refusals, options);
	tcase_add_test(t, refuse_missing_value);
	unit_add_rows(t, feature_options, of_features, options);
	unit_add_rows(t, finish, results, options);
	tcase_add_test(t, extended_values);
	tcase_add_test(t, uuids_and_defaults);
	tcase_add_test(t, labels);
	unit_add_rows(t, features_settle, journals, options);
	suite_add_tcase(s, t);
	return unit_main(s);
}
