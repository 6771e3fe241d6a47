/* SPDX-License-Identifier: MIT */
/*
 * Types and what they mean for parameters: the built-in table, and files. The values were observed
 * with mke2fs 1.47.0; tests/oracle/usage.sh makes images and compares.
 */
#include <stdio.h>

#include "plan/mntopts.h"
#include "plan_util.h"

/* Parameters from options and, unless NULL, a file. */
static int settle(struct xw_mkfs_params *p, const char *config, const char *options,
		  uint64_t dev_bytes, struct xw_diag *diag)
{
	int err;

	xw_params_init(p);
	err = config ? xw_params_set_config(p, "conf", config, strlen(config), diag) : 0;
	if (!err)
		err = plan_set(p, options, diag);
	return err ? err : xw_params_finish(p, dev_bytes, diag);
}

#define EXT2_COMPAT (XW_COMPAT_EXT_ATTR | XW_COMPAT_RESIZE_INODE | XW_COMPAT_DIR_INDEX)
#define EXT2_RO (XW_RO_SPARSE_SUPER | XW_RO_LARGE_FILE)
#define EXT4_INCOMPAT                                                                              \
	(XW_INCOMPAT_FILETYPE | XW_INCOMPAT_EXTENTS | XW_INCOMPAT_64BIT | XW_INCOMPAT_FLEX_BG)
#define EXT4_RO                                                                                    \
	(EXT2_RO | XW_RO_HUGE_FILE | XW_RO_DIR_NLINK | XW_RO_EXTRA_ISIZE | XW_RO_METADATA_CSUM)

static const struct {
	const char *type;
	uint32_t w[3];
} types[] = {
	{"ext2", {EXT2_COMPAT, XW_INCOMPAT_FILETYPE, EXT2_RO}},
	{"ext3", {EXT2_COMPAT | XW_COMPAT_HAS_JOURNAL, XW_INCOMPAT_FILETYPE, EXT2_RO}},
	{"ext4", {EXT2_COMPAT | XW_COMPAT_HAS_JOURNAL, EXT4_INCOMPAT, EXT4_RO}},
};

START_TEST(type_defaults)
{
	char options[32];
	struct xw_mkfs_params p;

	snprintf(options, sizeof(options), "-t %s SIZE 1G", types[_i].type);
	ck_assert_int_eq(settle(&p, NULL, options, 0, NULL), 0);
	ck_assert_int_eq(memcmp(p.features.w, types[_i].w, sizeof(p.features.w)), 0);
	xw_params_free(&p);
}
END_TEST

/* Features in few letters: what a row of the tables below has. */
static const struct {
	char letter;
	enum xw_feature_word word;
	uint32_t bit;
} letters[] = {
	{'j', XW_FW_COMPAT, XW_COMPAT_HAS_JOURNAL},  {'a', XW_FW_COMPAT, XW_COMPAT_EXT_ATTR},
	{'r', XW_FW_COMPAT, XW_COMPAT_RESIZE_INODE}, {'d', XW_FW_COMPAT, XW_COMPAT_DIR_INDEX},
	{'f', XW_FW_INCOMPAT, XW_INCOMPAT_FILETYPE}, {'e', XW_FW_INCOMPAT, XW_INCOMPAT_EXTENTS},
	{'6', XW_FW_INCOMPAT, XW_INCOMPAT_64BIT},    {'x', XW_FW_INCOMPAT, XW_INCOMPAT_FLEX_BG},
	{'s', XW_FW_RO_COMPAT, XW_RO_SPARSE_SUPER},  {'l', XW_FW_RO_COMPAT, XW_RO_LARGE_FILE},
	{'h', XW_FW_RO_COMPAT, XW_RO_HUGE_FILE},
};

static void spell(const struct xw_features *f, char *out)
{
	for (size_t i = 0; i < XW_ARRAY_SIZE(letters); i++) {
		if (f->w[letters[i].word] & letters[i].bit)
			*out++ = letters[i].letter;
	}
	*out = '\0';
}

static const char lists[] = "[fs_types]\n"
			    "ext4 = {\n"
			    "features = extent\n"
			    "default_features = flex_bg\n"
			    "base_features = sparse_super,filetype\n"
			    "}\n"
			    "x = {\n"
			    "features = dir_index\n"
			    "default_features = ext_attr\n"
			    "}\n"
			    "y = {\n"
			    "features = ^extent\n"
			    "}\n"
			    "z = {\n"
			    "base_features = filetype\n"
			    "}\n"
			    "none = {\n"
			    "base_features = \"\"\n"
			    "}\n";

static const struct {
	const char *config, *options, *features;
} features[] = {
	{lists, "-b 1024 -T default SIZE 64M", "fexs"},
	{lists, "-b 1024 -T x SIZE 64M", "adfes"},
	{lists, "-b 1024 -T x,y SIZE 64M", "adfs"},
	{lists, "-b 1024 -T y,x SIZE 64M", "adfs"},
	{lists, "-b 1024 -T z SIZE 64M", "fex"},
	{lists, "-b 1024 -T none SIZE 64M", "ex"},
	{lists, "-b 1024 -T x -O ^dir_index SIZE 64M", "fes"},
	{lists, "-b 1024 -T default -O large_file SIZE 64M", "fesl"},
	{lists, "-b 1024 -T ext4 -t ext2 SIZE 64M", "fexs"},
	{lists, "-b 1024 -t x -T y SIZE 64M", "ardfsl"},
	/* what a file leaves out */
	{"", "-b 1024 -t ext4 SIZE 64M", "rdfsl"},
	{"[defaults]\nfs_type = ext3\n[fs_types]\next3 = {\nfeatures = has_journal\n}\n",
	 "-b 1024 SIZE 64M", "jrdfsl"},
	{"[defaults]\nfs_type = ext3\n[fs_types]\next3 = {\nfeatures = has_journal\n}\n",
	 "-b 1024 -t ext2 SIZE 64M", "rdfsl"},
	{"[defaults]\nfeatures = huge_file\ndefault_features = ext_attr\nbase_features = "
	 "large_file\n",
	 "-b 1024 -t ext4 SIZE 64M", "al"},
	{"[devices]\nimg = {\nfs_type = u\nusage_types = v\n}\n[fs_types]\nu = {\nfeatures = "
	 "extent\n}\nv = {\nfeatures = flex_bg\n}\n",
	 "-b 1024 SIZE 64M", "rdfexsl"},
	/* the size brings 64bit, and resize_inode goes */
	{"[defaults]\nauto_64-bit_support = yes\n[fs_types]\next4 = {\nfeatures = extent\n}\n",
	 "-t ext4 SIZE 17T", "dfe6sl"},
	{"[defaults]\nauto_64-bit_support = yes\n[fs_types]\next4 = {\nfeatures = extent\n}\n",
	 "-t ext4 SIZE 1T", "rdfesl"},
};

START_TEST(feature_lists)
{
	struct xw_mkfs_params p;
	struct xw_diag diag = {0};
	char have[32];

	xw_params_init(&p);
	p.target = "img";
	ck_assert_int_eq(xw_params_set_config(&p, "conf", features[_i].config,
					      strlen(features[_i].config), &diag),
			 0);
	ck_assert_int_eq(plan_set(&p, features[_i].options, &diag), 0);
	ck_assert_msg(!xw_params_finish(&p, 0, &diag), "%s: %s", features[_i].options, diag.text);
	spell(&p.features, have);
	ck_assert_msg(!strcmp(have, features[_i].features), "%s: %s", features[_i].options, have);
	xw_params_free(&p);
}
END_TEST

#define TYPES "[fs_types]\next4 = {\nfeatures = has_journal,extent,flex_bg\n}\n"
#define U(relations) TYPES "u = {\n" relations "\n}\n"

/* One value of the result each. */
enum field {
	BLOCK,
	INODE,
	RATIO,
	RESERVED,
	FLEX,
	CLUSTER,
	ERRORS,
	OS,
	HASH,
	MOUNT,
	PERIODIC,
	STRIDE,
	STRIPE,
	LAZY,
	DISCARD,
	PACKED,
	BACKUPS,
	STRICT,
	JOURNAL_AT,
};

static uint64_t field_of(const struct xw_mkfs_params *p, enum field f)
{
	switch (f) {
	case BLOCK:
		return p->block_size;
	case INODE:
		return p->inode_size;
	case RATIO:
		return p->bytes_per_inode;
	case RESERVED:
		return (uint64_t)(p->reserved_percent * 10);
	case FLEX:
		return p->flex_size;
	case CLUSTER:
		return p->cluster_size;
	case ERRORS:
		return p->errors;
	case OS:
		return p->creator_os;
	case HASH:
		return p->hash_version;
	case MOUNT:
		return p->mount_opts;
	case PERIODIC:
		return p->periodic_fsck;
	case STRIDE:
		return p->stride;
	case STRIPE:
		return p->stripe_width;
	case LAZY:
		return (uint64_t)(p->lazy_itable_init + 1);
	case DISCARD:
		return (uint64_t)p->discard;
	case PACKED:
		return (uint64_t)p->packed_meta_blocks;
	case BACKUPS:
		return (uint64_t)p->num_backup_sb;
	case STRICT:
		return p->encoding_flags;
	case JOURNAL_AT:
		return p->journal_at;
	}
	return UINT64_MAX;
}

static const struct {
	const char *config, *options;
	enum field field;
	uint64_t want;
} values[] = {
	/* a file chooses the block size of small filesystems, the built-in table does not */
	{NULL, "SIZE 64M", BLOCK, 4096},
	{"[fs_types]\nsmall = {\nblocksize = 1024\n}\n", "SIZE 64M", BLOCK, 1024},
	{"[fs_types]\nsmall = {\nblocksize = 1024\n}\n", "-b 2048 SIZE 64M", BLOCK, 2048},
	{"[fs_types]\nsmall = {\nblocksize = 1024\n}\n", "-b -2048 SIZE 64M", BLOCK, 2048},
	{"[fs_types]\nsmall = {\nblocksize = 1024\n}\n", "SIZE 1G", BLOCK, 4096},
	{U("blocksize = -1"), "-T u SIZE 1G", BLOCK, 4096},
	{U("blocksize = -1024"), "-T u SIZE 1G", BLOCK, 4096},
	{U("blocksize = -8192"), "-T u SIZE 1G", BLOCK, 8192},
	{U("blocksize = 1024"), "-b -2048 -T u SIZE 1G", BLOCK, 2048},
	{NULL, "-T largefile -b -1024 SIZE 1G", BLOCK, 4096},
	{"[defaults]\nblocksize = 2048\n" U("blocksize = 1024"), "-T u SIZE 1G", BLOCK, 1024},
	{"[defaults]\nblocksize = 2048\n" U(""), "-T u SIZE 1G", BLOCK, 2048},
	{NULL, "-o hurd -t ext2 -T small SIZE 64M", BLOCK, 4096},
	{NULL, "-o hurd -t ext2 -T small SIZE 64M", RATIO, 4096},
	{"", "SIZE 1G", INODE, 128},
	{U("inode_size = 512"), "-T u SIZE 1G", INODE, 512},
	{U("inode_size = 512"), "-T u -I 256 SIZE 1G", INODE, 256},
	{U("inode_size = 512"), "-T u -r 0 -O none SIZE 1G", INODE, 128},
	{"", "SIZE 1G", RATIO, 8192},
	{U("inode_ratio = 20000"), "-T u SIZE 1G", RATIO, 20000},
	{U("inode_ratio = 1024"), "-T u SIZE 1G", RATIO, 4096},
	{U("inode_ratio = 20000"), "-T u -i 5000 SIZE 1G", RATIO, 5000},
	{"[defaults]\ninode_ratio = 20000\n" U(""), "-T u", RATIO, 0},
	{U("inode_ratio = 20000"), "-T u", RATIO, 20000},
	{U("reserved_ratio = 7.5"), "-T u SIZE 1G", RESERVED, 75},
	{U("reserved_ratio = 7.5"), "-T u", RESERVED, 75},
	{"[defaults]\nreserved_ratio = 7\n" U(""), "-T u SIZE 1G", RESERVED, 70},
	{"[defaults]\nreserved_ratio = 7\n" U(""), "-T u", RESERVED, 0},
	{U("reserved_ratio = 7.5"), "-T u -m 1 SIZE 1G", RESERVED, 10},
	{U("flex_bg_size = 8"), "-T u SIZE 1G", FLEX, 8},
	{U("flex_bg_size = 8"), "-T u -G 4 SIZE 1G", FLEX, 4},
	{U("flex_bg_size = 8"), "-T u -O ^flex_bg SIZE 1G", FLEX, 1},
	{U("cluster_size = 32768"), "-T u -O bigalloc SIZE 1G", CLUSTER, 32768},
	{U("cluster_size = 32768"), "-T u SIZE 1G", CLUSTER, 0},
	{U("errors = panic"), "-T u SIZE 1G", ERRORS, 3},
	{U("errors = panic"), "-T u -e continue SIZE 1G", ERRORS, 1},
	{U(""), "-T u SIZE 1G", ERRORS, 1},
	{"[defaults]\ncreator_os = freebsd\n", "SIZE 1G", OS, 3},
	{"[defaults]\ncreator_os = freebsd\n", "-o linux SIZE 1G", OS, 0},
	{U("hash_alg = tea"), "-T u SIZE 1G", HASH, 2},
	{U("hash_alg = legacy"), "-T u SIZE 1G", HASH, 0},
	{U("hash_alg = half_md4"), "-T u SIZE 1G", HASH, 1},
	{NULL, "SIZE 1G", MOUNT, XW_MNTOPT_XATTR_USER | XW_MNTOPT_ACL},
	{"", "SIZE 1G", MOUNT, XW_MNTOPT_XATTR_USER | XW_MNTOPT_ACL},
	{U("default_mntopts = acl"), "-T u SIZE 1G", MOUNT, XW_MNTOPT_ACL},
	{U("default_mntopts = \"\""), "-T u SIZE 1G", MOUNT, 0},
	{U("default_mntopts = nodelalloc,debug"), "-T u SIZE 1G", MOUNT, 0x801},
	{U("default_mntopts = acl,journal_data_writeback,^acl"), "-T u SIZE 1G", MOUNT, 0x60},
	{U("default_mntopts = journal_data_ordered,^journal_data"), "-T u SIZE 1G", MOUNT, 0x40},
	{U("enable_periodic_fsck = YES"), "-T u SIZE 1G", PERIODIC, 1},
	{U("enable_periodic_fsck = nil"), "-T u SIZE 1G", PERIODIC, 0},
	{U(""), "-T u SIZE 1G", PERIODIC, 0},
	/* options of all types, then -E */
	{"[fs_types]\next4 = {\nfeatures = extent\noptions = stride=32\n}\nu = {\noptions = "
	 "stripe_width=64\n}\n",
	 "-T u SIZE 1G", STRIDE, 32},
	{"[fs_types]\next4 = {\nfeatures = extent\noptions = stride=32\n}\nu = {\noptions = "
	 "stripe_width=64\n}\n",
	 "-T u SIZE 1G", STRIPE, 64},
	{U("options = stride=32"), "-T u -E stripe-width=8 -E stride=4 SIZE 1G", STRIDE, 4},
	{U("options = stride=32"), "-T u -E stripe-width=8 -E stride=4 SIZE 1G", STRIPE, 8},
	{U("lazy_itable_init = true"), "-T u SIZE 1G", LAZY, 2},
	{U("lazy_itable_init = true"), "-T u -E lazy_itable_init=0 SIZE 1G", LAZY, 1},
	{U(""), "-T u SIZE 1G", LAZY, 0},
	{U(""), "-T u SIZE 1G", DISCARD, 1},
	{U("discard = off"), "-T u SIZE 1G", DISCARD, 0},
	{U("discard = off"), "-T u -E discard SIZE 1G", DISCARD, 1},
	{U(""), "-T u -E nodiscard SIZE 1G", DISCARD, 0},
	{U(""), "-T u SIZE 1G", PACKED, 0},
	{U("packed_meta_blocks = 1"), "-T u SIZE 1G", PACKED, 1},
	{U("packed_meta_blocks = 1"), "-T u -E packed_meta_blocks=0 SIZE 1G", PACKED, 0},
	{U("num_backup_sb = 1"), "-T u -O sparse_super2 SIZE 1G", BACKUPS, 1},
	{U("encoding = utf8\nencoding_flags = strict"), "-T u -O casefold SIZE 1G", STRICT, 1},
	{U("encoding = utf8\nencoding_flags = strict"), "-T u SIZE 1G", STRICT, 0},
	{U("journal_location = 3000"), "-T u SIZE 1G", JOURNAL_AT, 3000},
	{U("journal_location = 3000"), "-T u -J location=4000 SIZE 1G", JOURNAL_AT, 4000},
	{U("journal_location = 3000"), "-T u", JOURNAL_AT, 0},
	/* what only others know */
	{U("proceed_delay = x\nundo_dir = /\nnonesuch = 1"), "-T u SIZE 1G", BLOCK, 4096},
	/* what nobody looks at may be wrong */
	{U("errors = x") "v = {\n}\n", "-T v SIZE 1G", ERRORS, 1},
	{U("errors = x"), "-T u -e panic SIZE 1G", ERRORS, 3},
};

START_TEST(takes)
{
	struct xw_mkfs_params p;
	struct xw_diag diag = {0};
	const char *o = values[_i].options;
	uint64_t have;

	ck_assert_msg(!settle(&p, values[_i].config, o, 0, &diag), "%s: %s", o, diag.text);
	have = field_of(&p, values[_i].field);
	ck_assert_msg(have == values[_i].want, "%d, %s: %llu", _i, o, (unsigned long long)have);
	xw_params_free(&p);
}
END_TEST

static const struct {
	const char *config, *options;
	int err;
	const char *said;
} errors[] = {
	{NULL, "-t ext5 SIZE 1G", XW_ERR_USAGE, "-t ext5"},
	{NULL, "-T nonesuch SIZE 1G", XW_ERR_USAGE, "-T nonesuch: no such usage type in the built"},
	{"", "-T small SIZE 1G", XW_ERR_USAGE, "-T small: no such usage type in conf"},
	{"[a\n", "SIZE 1G", XW_ERR_USAGE, "conf:1: "},
	{U("errors = x"), "-T u SIZE 1G", XW_ERR_USAGE, "conf:6: errors: "},
	{U("blocksize = 3000"), "-T u SIZE 1G", XW_ERR_USAGE, "conf:6: blocksize: "},
	{U("blocksize = -2"), "-T u SIZE 1G", XW_ERR_USAGE, "conf:6: blocksize: "},
	{U("blocksize = 0"), "-T u SIZE 1G", XW_ERR_USAGE, "conf:6: blocksize: "},
	{U("inode_size = 100"), "-T u SIZE 1G", XW_ERR_USAGE, "conf:6: inode_size: "},
	{U("inode_ratio = 5"), "-T u SIZE 1G", XW_ERR_USAGE, "conf:6: inode_ratio: "},
	{U("reserved_ratio = 70"), "-T u SIZE 1G", XW_ERR_USAGE, "conf:6: reserved_ratio: "},
	{U("flex_bg_size = 7"), "-T u SIZE 1G", XW_ERR_USAGE, "conf:6: flex_bg_size: "},
	{U("hash_alg = md5"), "-T u SIZE 1G", XW_ERR_USAGE, "conf:6: hash_alg: "},
	{U("default_mntopts = acl,x"), "-T u SIZE 1G", XW_ERR_USAGE, "conf:6: default_mntopts: "},
	{U("discard = maybe"), "-T u SIZE 1G", XW_ERR_USAGE, "conf:6: discard: "},
	{U("features = bogus"), "-T u SIZE 1G", XW_ERR_USAGE, "conf:6: features: "},
	{U("features = dirdata"), "-T u SIZE 1G", XW_ERR_UNSUPPORTED, "conf:6: features: "},
	{U("options = bogus"), "-T u SIZE 1G", XW_ERR_USAGE, "conf:6: options: "},
	{U("num_backup_sb = 3"), "-T u -O sparse_super2 SIZE 1G", XW_ERR_USAGE, "conf:6: num_"},
	{U("encoding = latin1"), "-T u -O casefold SIZE 1G", XW_ERR_USAGE, "conf:6: encoding: "},
	{"[defaults]\ncreator_os = x\n", "SIZE 1G", XW_ERR_USAGE, "conf:2: creator_os: "},
	/* 64bit came of the size, but there are no extents */
	{"[defaults]\nauto_64-bit_support = 1\n[fs_types]\next2 = {\nx = y\n}\n",
	 "-t ext2 SIZE 17T", XW_ERR_USAGE, "64bit needs extent"},
};

START_TEST(refuses)
{
	struct xw_mkfs_params p;
	struct xw_diag diag = {0};
	int err = settle(&p, errors[_i].config, errors[_i].options, 0, &diag);

	ck_assert_msg(err == errors[_i].err, "%s: %d %s", errors[_i].said, err, diag.text);
	ck_assert_msg(strstr(diag.text, errors[_i].said), "%s: %s", errors[_i].said, diag.text);
	xw_params_free(&p);
}
END_TEST

/* Told without the size of the target; what hangs on it is not. */
static const struct {
	const char *options;
	int err;
} early[] = {
	{"-O metadata_csum_seed,^metadata_csum", XW_ERR_USAGE},
	{"-G 8 -O ^flex_bg", XW_ERR_USAGE},
	{"-C 32768", XW_ERR_USAGE},
	{"-O bigalloc -g 1024", XW_ERR_USAGE},
	{"-b 1024 -I 2048", XW_ERR_USAGE},
	{"-b 1024 -g 16384", XW_ERR_USAGE},
	{"-r 0 -O extent", XW_ERR_USAGE},
	{"-t ext5", XW_ERR_USAGE},
	{"-T nonesuch", XW_ERR_USAGE},
	{"-E packed_meta_blocks", 0},
	{"-E resize=5", 0},
	{"-J size=1", 0},
	{"-I 8192", 0},
	{"-O bigalloc", 0},
};

START_TEST(check_early)
{
	struct xw_mkfs_params p;
	struct xw_diag diag = {0};

	xw_params_init(&p);
	ck_assert_int_eq(plan_set(&p, early[_i].options, &diag), 0);
	ck_assert_msg(xw_params_check(&p, &diag) == early[_i].err, "%s: %s", early[_i].options,
		      diag.text);
	ck_assert_int_eq(!*diag.text, !early[_i].err);
	xw_params_free(&p);
}
END_TEST

/* Checking first changes nothing about the result. */
START_TEST(check_then_finish)
{
	static const char options[] = "-r 0 -O none -T news SIZE 64M",
			  more[] = "-O quota,project,casefold SIZE 1G";

	for (int i = 0; i < 2; i++) {
		struct xw_mkfs_params a, b;

		ck_assert_int_eq(settle(&a, NULL, i ? more : options, 0, NULL), 0);
		xw_params_init(&b);
		ck_assert_int_eq(plan_set(&b, i ? more : options, NULL), 0);
		ck_assert_int_eq(xw_params_check(&b, NULL), 0);
		ck_assert_int_eq(xw_params_finish(&b, 0, NULL), 0);
		ck_assert_int_eq(memcmp(&a.features, &b.features, sizeof(a.features)), 0);
		ck_assert(a.inode_size == b.inode_size && a.quota_types == b.quota_types);
		ck_assert(a.bytes_per_inode == b.bytes_per_inode && a.encoding == b.encoding);
		xw_params_free(&a);
		xw_params_free(&b);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("usage");
	TCase *t = tcase_create("usage");

	unit_add_rows(t, type_defaults, types, type);
	unit_add_rows(t, feature_lists, features, config);
	unit_add_rows(t, takes, values, config);
	unit_add_rows(t, refuses, errors, config);
	unit_add_rows(t, check_early, early, options);
	tcase_add_test(t, check_then_finish);
	suite_add_tcase(s, t);
	return unit_main(s);
}
