/* SPDX-License-Identifier: MIT */
/* xw-debugfs: fields by name against the decoders of the library, their values, words of a line. */
#include <check.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/endian.h"
#include "disk/group.h"
#include "disk/inode.h"
#include "disk/super.h"
#include "fields.h"
#include "unit.h"

/* The message of a failed set, or NULL. */
static const char *set(struct dbg *d, const struct field_table *t, uint8_t *buf, size_t size,
		       const char *name, const char *value)
{
	struct field_ref ref;

	xw_diag_clear(&d->diag);
	if (field_find(d, t, size, name, &ref) || field_set(d, &ref, buf, value))
		return d->diag.text;
	return NULL;
}

/* ---- the tables and the decoders name the same bytes ---- */

#define MEMBER(type, name)                                                                         \
	{                                                                                          \
#name, offsetof(struct type, name), sizeof(((struct type *)0)->name)               \
	}
#define S(name) MEMBER(xw_super, name)
#define G(name, member)                                                                            \
	{                                                                                          \
		name, offsetof(struct xw_group_desc, member),                                      \
			sizeof(((struct xw_group_desc *)0)->member)                                \
	}
#define I(name, member)                                                                            \
	{                                                                                          \
		name, offsetof(struct xw_inode, member), sizeof(((struct xw_inode *)0)->member)    \
	}

struct member {
	const char *field;
	size_t off, size;
};

static const struct member super_members[] = {
	S(inodes_count),
	S(blocks_count),
	S(r_blocks_count),
	S(free_blocks_count),
	S(free_inodes_count),
	S(first_data_block),
	S(blocks_per_group),
	S(clusters_per_group),
	S(inodes_per_group),
	S(mtime),
	S(wtime),
	S(mnt_count),
	S(state),
	S(errors),
	S(minor_rev_level),
	S(lastcheck),
	S(checkinterval),
	S(creator_os),
	S(def_resuid),
	S(def_resgid),
	S(first_ino),
	S(block_group_nr),
	S(feature_compat),
	S(feature_ro_compat),
	S(prealloc_blocks),
	S(reserved_gdt_blocks),
	S(journal_inum),
	S(journal_dev),
	S(last_orphan),
	S(jnl_backup_type),
	S(desc_size),
	S(default_mount_opts),
	S(first_meta_bg),
	S(mkfs_time),
	S(min_extra_isize),
	S(want_extra_isize),
	S(flags),
	S(raid_stride),
	S(mmp_interval),
	S(mmp_block),
	S(raid_stripe_width),
	S(log_groups_per_flex),
	S(kbytes_written),
	S(snapshot_inum),
	S(snapshot_id),
	S(snapshot_list),
	S(usr_quota_inum),
	S(grp_quota_inum),
	S(prj_quota_inum),
	S(checksum),
	S(checksum_type),
	S(error_count),
	S(first_error_time),
	S(first_error_ino),
	S(first_error_block),
	S(first_error_line),
	S(last_error_time),
	S(last_error_ino),
	S(last_error_block),
	S(last_error_line),
	S(lpf_ino),
	S(checksum_seed),
	S(encoding),
	S(encoding_flags),
	S(orphan_file_inum),
};

static const struct member group_members[] = {
	G("block_bitmap", block_bitmap),
	G("inode_bitmap", inode_bitmap),
	G("inode_table", inode_table),
	G("free_blocks_count", free_blocks),
	G("free_inodes_count", free_inodes),
	G("used_dirs_count", used_dirs),
	G("flags", flags),
	G("block_bitmap_csum", block_bitmap_csum),
	G("inode_bitmap_csum", inode_bitmap_csum),
	G("itable_unused", itable_unused),
	G("checksum", checksum),
};

static const struct member inode_members[] = {
	I("mode", mode),         I("uid", uid),         I("gid", gid),
	I("size", size),         I("dtime", dtime),     I("links_count", links),
	I("flags", flags),       I("version", version), I("generation", generation),
	I("file_acl", file_acl), I("faddr", faddr),     I("projid", projid),
};

static uint64_t member(const void *decoded, const struct member *m)
{
	uint64_t v = 0;

	memcpy(&v, (const char *)decoded + m->off, m->size); /* the tests run on little-endian */
	return v;
}

/* A value of this many bytes, or of 5 for a time, in which all bytes differ. */
static const char *value_of(const struct field_table *t, const char *name)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct field *f = &t->fields[i];
		static char text[24];
		const unsigned bytes = f->width + f->hi_width;

		if (strcmp(f->name, name))
			continue;
		snprintf(text, sizeof(text), "%s%" PRIu64, f->kind == FIELD_TIME ? "@" : "",
			 UINT64_C(0x0807060504030201) & UINT64_MAX >> (64 - 8 * bytes));
		return text;
	}
	return "none";
}

static void check_member(const struct field_table *t, const struct member *m, const void *decoded)
{
	const char *value = value_of(t, m->field);

	ck_assert_msg(member(decoded, m) == strtoull(value + (*value == '@'), NULL, 10),
		      "%s of %s: decoded as 0x%" PRIx64 ", set to %s", m->field, t->of,
		      member(decoded, m), value);
}

START_TEST(super_as_decoded)
{
	for (size_t i = 0; i < XW_ARRAY_SIZE(super_members); i++) {
		const struct member *m = &super_members[i];
		uint8_t buf[XW_SUPER_SIZE] = {0};
		struct xw_super sb = {0};
		struct dbg d = {0};

		poke32(buf + 0x4C, 1); /* s_rev_level */
		poke32(buf + 0x60, XW_INCOMPAT_64BIT);
		ck_assert_ptr_null(set(&d, &super_fields, buf, sizeof(buf), m->field,
				       value_of(&super_fields, m->field)));
		(void)xw_super_decode(buf, &sb);
		check_member(&super_fields, m, &sb);
	}
}
END_TEST

START_TEST(group_as_decoded)
{
	for (size_t i = 0; i < XW_ARRAY_SIZE(group_members); i++) {
		const struct member *m = &group_members[i];
		struct xw_group_desc gd;
		uint8_t buf[64] = {0};
		struct dbg d = {0};

		ck_assert_ptr_null(set(&d, &group_fields, buf, sizeof(buf), m->field,
				       value_of(&group_fields, m->field)));
		xw_group_decode(buf, sizeof(buf), &gd);
		check_member(&group_fields, m, &gd);
	}
}
END_TEST

START_TEST(inode_as_decoded)
{
	const struct xw_super sb = {
		.rev_level = 1, .inode_size = 256, .feature_incompat = XW_INCOMPAT_64BIT};

	for (size_t i = 0; i < XW_ARRAY_SIZE(inode_members); i++) {
		const struct member *m = &inode_members[i];
		uint8_t buf[256] = {0};
		struct xw_inode in;
		struct dbg d = {0};

		poke16(buf + 0x80, 32); /* i_extra_isize */
		poke16(buf, XW_S_IFREG); /* i_mode */
		ck_assert_ptr_null(set(&d, &inode_fields, buf, sizeof(buf), m->field,
				       value_of(&inode_fields, m->field)));
		(void)xw_inode_decode(buf, &sb, &in);
		check_member(&inode_fields, m, &in);
	}
}
END_TEST

/* ---- values ---- */

/* fail: a part of the message; otherwise `want` is the value of `width` bytes at off. */
static const struct {
	const struct field_table *t;
	size_t size;
	const char *name, *value, *fail;
	unsigned off, width;
	uint64_t want;
} values[] = {
	{&inode_fields, 256, "i_mode", "0100644", NULL, 0, 2, 0100644},
	{&inode_fields, 256, "MODE", "0x81a4", NULL, 0, 2, 0x81a4},
	{&inode_fields, 256, "uid_lo", "65535", NULL, 2, 2, 65535},
	{&inode_fields, 256, "uid_lo", "65536", "has room for 0 .. 65535", 0, 0, 0},
	{&inode_fields, 256, "uid_hi", "7", NULL, 0x78, 2, 7},
	{&inode_fields, 256, "uid_mid", "7", "no field 'uid_mid'", 0, 0, 0},
	{&inode_fields, 256, "mode_lo", "7", "no field 'mode_lo'", 0, 0, 0},
	{&inode_fields, 256, "block[11]", "5", NULL, 0x28 + 44, 4, 5},
	{&inode_fields, 256, "block[12]", "5", "no field", 0, 0, 0},
	{&inode_fields, 256, "block", "5", "no field", 0, 0, 0},
	{&inode_fields, 256, "block[TIND]", "5", NULL, 0x60, 4, 5},
	{&inode_fields, 256, "flags", "12x", "'12x' is not a valid value for flags", 0, 0, 0},
	{&inode_fields, 256, "flags", "", "is not a valid value", 0, 0, 0},
	{&inode_fields, 256, "crtime", "@0x1ffffffff", NULL, 0x90, 8, 0x2ffffffff},
	{&inode_fields, 256, "crtime", "@-1", NULL, 0x90, 8, 0xffffffff},
	{&inode_fields, 256, "crtime", "@0x380000000", "has room for @-2147483648 .. @15032385535",
	 0, 0, 0},
	{&inode_fields, 128, "crtime", "now", "no field 'crtime'", 0, 0, 0},
	{&inode_fields, 128, "mtime", "@0x80000000", "has room for", 0, 0, 0},
	{&inode_fields, 256, "dtime", "20200102030405", NULL, 0x14, 4, 1577934245},
	{&inode_fields, 256, "dtime", "20200102", NULL, 0x14, 4, 1577923200},
	{&inode_fields, 256, "dtime", "20201302", NULL, 0x14, 4, 20201302},
	{&inode_fields, 256, "dtime", "now", NULL, 0x14, 4, 1234},
	{&super_fields, 1024, "max_mnt_count", "-1", NULL, 0x36, 2, 0xffff},
	{&super_fields, 1024, "max_mnt_count", "-32769", "has room for -32768 .. 32767", 0, 0, 0},
	{&super_fields, 1024, "def_hash_version", "tea", NULL, 0xFC, 1, 2},
	{&super_fields, 1024, "def_hash_version", "md5", "(hash algorithm)", 0, 0, 0},
	{&super_fields, 1024, "volume_name", "seventeen letters", "has room for 16 bytes", 0, 0, 0},
	{&super_fields, 1024, "volume_name", "abc", NULL, 0x78, 4, 0x636261},
	{&super_fields, 1024, "uuid", "01020304-0506-0708-090A-0b0c0d0e0f10", NULL, 0x68, 8,
	 0x0807060504030201},
	{&super_fields, 1024, "uuid", "01020304-0506-0708-090a-0b0c0d0e0f1", "(UUID)", 0, 0, 0},
	{&super_fields, 1024, "uuid", "null", NULL, 0x68, 8, 0},
	{&super_fields, 1024, "mtime", "@0xffffffffff", NULL, 0x2C, 4, 0xffffffff},
	{&super_fields, 1024, "mtime", "@0x10000000000", "has room for @0 .. @1099511627775", 0, 0,
	 0},
	{&group_fields, 32, "free_blocks_count", "65536", "has room for 0 .. 65535", 0, 0, 0},
	{&group_fields, 32, "exclude_bitmap_hi", "1", "no field", 0, 0, 0},
	{&mmp_fields, 1024, "mmp_nodename", "host", NULL, 0x10, 4, 0x74736f68},
};

START_TEST(set_values)
{
	for (size_t i = 0; i < XW_ARRAY_SIZE(values); i++) {
		uint8_t buf[1024] = {0};
		struct dbg d = {.now = 1234};
		const char *said =
			set(&d, values[i].t, buf, values[i].size, values[i].name, values[i].value);
		uint64_t got = 0;

		memcpy(&got, buf + values[i].off, values[i].width);
		ck_assert_msg(values[i].fail ? said && strstr(said, values[i].fail)
					     : !said && got == values[i].want,
			      "%s = '%s': 0x%" PRIx64 ", %s", values[i].name, values[i].value, got,
			      said ? said : "no message");
	}
}
END_TEST

/* ---- words ---- */

/* words: separated by '|'; NULL: an unclosed quote. */
static const struct {
	const char *line, *words;
} lines[] = {
	{"", ""},
	{" \t\n", ""},
	{"ls -l /dir", "ls|-l|/dir"},
	{"  stat\t<2> \n", "stat|<2>"},
	{"cat \"a b\"", "cat|a b"},
	{"cat a\" \"b", "cat|a b"},
	{"cat \"say \"\"yes\"\"\"", "cat|say \"yes\""},
	{"cat \"\"", "cat|"},
	{"cat \"a b", NULL},
	{"cat 'a b'", "cat|'a|b'"},
};

START_TEST(split_lines)
{
	for (size_t i = 0; i < XW_ARRAY_SIZE(lines); i++) {
		char got[64] = "", **argv, *words;
		int argc, rc = dbg_lex(lines[i].line, &argc, &argv, &words);

		for (int k = 0; k < argc && !rc; k++) {
			strcat(got, k ? "|" : "");
			strcat(got, argv[k]);
		}
		ck_assert_msg(lines[i].words ? !rc && !strcmp(got, lines[i].words) : rc && words,
			      "[%s]: [%s], %d", lines[i].line, got, rc);
		free(words);
		free(argv);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("debugfs_fields");
	TCase *t = tcase_create("debugfs_fields");

	tcase_add_test(t, super_as_decoded);
	tcase_add_test(t, group_as_decoded);
	tcase_add_test(t, inode_as_decoded);
	tcase_add_test(t, set_values);
	tcase_add_test(t, split_lines);
	suite_add_tcase(s, t);
	return unit_main(s);
}
