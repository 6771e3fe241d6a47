/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "disk/super.h"
#include "plan/features.h"
#include "unit.h"

static const struct {
	const char *name, *canonical;
	enum xw_feature_word word;
	uint32_t bit;
} names[] = {
	{"has_journal", "has_journal", XW_FW_COMPAT, 0x4},
	{"HAS_Journal", "has_journal", XW_FW_COMPAT, 0x4},
	{"sparse_super2", "sparse_super2", XW_FW_COMPAT, 0x200},
	{"extent", "extent", XW_FW_INCOMPAT, 0x40},
	{"extents", "extent", XW_FW_INCOMPAT, 0x40},
	{"64bit", "64bit", XW_FW_INCOMPAT, 0x80},
	{"metadata_csum_seed", "metadata_csum_seed", XW_FW_INCOMPAT, 0x2000},
	{"large_dir", "large_dir", XW_FW_INCOMPAT, 0x4000},
	{"casefold", "casefold", XW_FW_INCOMPAT, 0x20000},
	{"uninit_bg", "uninit_bg", XW_FW_RO_COMPAT, 0x10},
	{"gdt_csum", "uninit_bg", XW_FW_RO_COMPAT, 0x10},
	{"uninit_groups", "uninit_bg", XW_FW_RO_COMPAT, 0x10},
	{"metadata_csum", "metadata_csum", XW_FW_RO_COMPAT, 0x400},
	{"verity", "verity", XW_FW_RO_COMPAT, 0x8000},
	{"orphan_file", "orphan_file", XW_FW_COMPAT, 0x1000},
	{"orphan_present", "orphan_present", XW_FW_RO_COMPAT, 0x10000},
};

START_TEST(find_and_name)
{
	char longer[64];
	enum xw_feature_word word;
	uint32_t bit;

	ck_assert_int_eq(xw_feature_find(names[_i].name, strlen(names[_i].name), &word, &bit), 0);
	ck_assert_uint_eq(word, names[_i].word);
	ck_assert_uint_eq(bit, names[_i].bit);
	ck_assert_str_eq(xw_feature_name(word, bit), names[_i].canonical);
	/* a longer text is another name */
	snprintf(longer, sizeof(longer), "%sx", names[_i].name);
	ck_assert_int_eq(xw_feature_find(longer, strlen(longer), &word, &bit), XW_ERR_NOTFOUND);
	/* only the first len bytes count */
	ck_assert_int_eq(xw_feature_find(longer, strlen(longer) - 1, &word, &bit), 0);
}
END_TEST

START_TEST(every_name_finds_its_bit)
{
	unsigned known = 0;

	for (int w = 0; w < XW_FW_COUNT; w++) {
		for (unsigned b = 0; b < 32; b++) {
			const char *name = xw_feature_name((enum xw_feature_word)w, 1u << b);
			enum xw_feature_word word;
			uint32_t bit;

			if (!name)
				continue;
			known++;
			ck_assert_int_eq(xw_feature_find(name, strlen(name), &word, &bit), 0);
			ck_assert_uint_eq(word, (unsigned)w);
			ck_assert_uint_eq(bit, 1u << b);
		}
	}
	ck_assert_uint_eq(known, 44);
	ck_assert_ptr_null(xw_feature_name(XW_FW_COMPAT, 0x80));
	ck_assert_ptr_null(xw_feature_name(XW_FW_INCOMPAT, 0));
}
END_TEST

static const struct {
	const char *list;
	int err;
	const char *said; /* in the line, when it fails */
	uint32_t w[3];
} lists[] = {
	{"", 0, NULL, {0}},
	{"has_journal", 0, NULL, {4, 0, 0}},
	{"has_journal,extent,64bit", 0, NULL, {4, 0xc0, 0}},
	{"has_journal,^has_journal", 0, NULL, {0}},
	{"^has_journal,has_journal", 0, NULL, {4, 0, 0}},
	{"extent,none,dir_index", 0, NULL, {0x20, 0, 0}},
	{"extent dir_index,,ext_attr", 0, NULL, {0x28, 0x40, 0}},
	{"+extent,dir_index,-dir_index", 0, NULL, {0, 0x40, 0}},
	{"^quota,^casefold", 0, NULL, {0}},
	{"quota,project,verity", 0, NULL, {0, 0, 0xa100}},
	{"mmp,encrypt,casefold", 0, NULL, {0, 0x30100, 0}},
	{"fast_commit,stable_inodes,orphan_file", 0, NULL, {0x1c00, 0, 0}},
	{"bogus", XW_ERR_USAGE, "bogus", {0}},
	{"^bogus", XW_ERR_USAGE, "bogus", {0}},
	{"extent,exten", XW_ERR_USAGE, "exten", {0}},
	{"^", XW_ERR_USAGE, "^", {0}},
	{"^none", XW_ERR_USAGE, "none", {0}},
	{"meta_bg", 0, NULL, {0, 0x10, 0}},
	{"bigalloc", 0, NULL, {0, 0, 0x200}},
	{"dirdata", XW_ERR_UNSUPPORTED, "dirdata", {0}},
	{"extent,dirdata", XW_ERR_UNSUPPORTED, "dirdata", {0}},
	{"dir_prealloc", XW_ERR_UNSUPPORTED, "dir_prealloc", {0}},
	{"itree", 0, NULL, {0, 0, 0x40000000}},
};

START_TEST(apply)
{
	struct xw_features f = {{0}};
	struct xw_diag diag = {0};

	ck_assert_int_eq(xw_features_apply(&f, lists[_i].list, &diag), lists[_i].err);
	if (lists[_i].err)
		ck_assert_msg(strstr(diag.text, lists[_i].said), "%s", diag.text);
	else
		ck_assert_int_eq(memcmp(f.w, lists[_i].w, sizeof(f.w)), 0);
}
END_TEST

static const struct {
	const char *list, *one, *two; /* one NULL = fine */
	const char *off, *on; /* a feature that the check clears, one that it keeps */
} checks[] = {
	{"extent,64bit", NULL, NULL, NULL, "64bit"},
	{"64bit", "64bit", "extent", NULL, NULL},
	{"resize_inode", "resize_inode", "sparse_super", NULL, NULL},
	{"resize_inode,sparse_super2", "resize_inode", "sparse_super", NULL, NULL},
	{"resize_inode,sparse_super", NULL, NULL, NULL, "resize_inode"},
	{"metadata_csum_seed", "metadata_csum_seed", "metadata_csum", NULL, NULL},
	{"metadata_csum,uninit_bg", NULL, NULL, "uninit_bg", "metadata_csum"},
	{"uninit_bg", NULL, NULL, "metadata_csum", "uninit_bg"},
	{"has_journal", NULL, NULL, NULL, "has_journal"},
	{"sparse_super2,large_dir,ea_inode", NULL, NULL, NULL, "large_dir"},
	{"orphan_file", "orphan_file", "has_journal", NULL, NULL},
	{"orphan_file,has_journal", NULL, NULL, NULL, "orphan_file"},
	{"fast_commit", NULL, NULL, NULL, "fast_commit"},
	{"journal_dev,has_journal,metadata_csum", NULL, NULL, "has_journal", "journal_dev"},
	{"journal_dev,extent,metadata_csum", NULL, NULL, "extent", "metadata_csum"},
};

START_TEST(check_rules)
{
	struct xw_features f = {{0}};
	struct xw_diag diag = {0};
	enum xw_feature_word word;
	uint32_t bit;
	int err;

	ck_assert_int_eq(xw_features_apply(&f, checks[_i].list, &diag), 0);
	err = xw_features_check(&f, &diag);
	ck_assert_int_eq(err, checks[_i].one ? XW_ERR_USAGE : 0);
	if (checks[_i].one) {
		ck_assert_ptr_nonnull(strstr(diag.text, checks[_i].one));
		ck_assert_ptr_nonnull(strstr(diag.text, checks[_i].two));
		return;
	}
	ck_assert_int_eq(xw_feature_find(checks[_i].on, strlen(checks[_i].on), &word, &bit), 0);
	ck_assert_uint_eq(f.w[word] & bit, bit);
	if (checks[_i].off) {
		ck_assert_int_eq(
			xw_feature_find(checks[_i].off, strlen(checks[_i].off), &word, &bit), 0);
		ck_assert_uint_eq(f.w[word] & bit, 0);
	}
}
END_TEST

START_TEST(check_conflict)
{
	struct xw_features f = {{XW_COMPAT_RESIZE_INODE, XW_INCOMPAT_META_BG, XW_RO_SPARSE_SUPER}};
	struct xw_diag diag = {0};

	ck_assert_int_eq(xw_features_check(&f, &diag), XW_ERR_USAGE);
	ck_assert_ptr_nonnull(strstr(diag.text, "resize_inode"));
	ck_assert_ptr_nonnull(strstr(diag.text, "meta_bg"));
}
END_TEST

static const struct {
	const char *text;
	struct xw_features f;
} refusals[] = {
	{"disk: unsupported feature shared_blocks; xw-fsck -f -E unshare_blocks removes "
	 "shared_blocks",
	 {{0, 0, XW_RO_SHARED_BLOCKS}}},
	{"disk: unsupported features compression shared_blocks; xw-fsck -f -E unshare_blocks "
	 "removes shared_blocks",
	 {{0, 1, XW_RO_SHARED_BLOCKS}}},
	{"disk: unsupported feature compression; a newer version or another tool is needed",
	 {{0, 1, 0}}},
	{"disk: unsupported feature FEATURE_R29; a newer version or another tool is needed",
	 {{0, 0, 1u << 29}}},
};

START_TEST(refused)
{
	struct xw_diag diag = {0};

	ck_assert_int_eq(xw_features_refuse("disk", &refusals[_i].f, &diag), XW_ERR_UNSUPPORTED);
	ck_assert_str_eq(diag.text, refusals[_i].text);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("features");
	TCase *t = tcase_create("features");

	unit_add_rows(t, find_and_name, names, name);
	tcase_add_test(t, every_name_finds_its_bit);
	unit_add_rows(t, apply, lists, list);
	unit_add_rows(t, check_rules, checks, list);
	tcase_add_test(t, check_conflict);
	unit_add_rows(t, refused, refusals, text);
	suite_add_tcase(s, t);
	return unit_main(s);
}
