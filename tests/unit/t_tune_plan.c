/* SPDX-License-Identifier: MIT */
/* The steps, features and refusals that xw_tune_plan() derives from wanted features. */
#include <string.h>

#include "tune/tune_internal.h"
#include "unit.h"

#define USER (1u << XW_QUOTA_USER)
#define GROUP (1u << XW_QUOTA_GROUP)
#define PROJECT (1u << XW_QUOTA_PROJECT)

/* The filesystem before: these features, 4 KiB blocks, 256-byte inodes. */
static const struct xw_features base = {{
	[XW_FW_COMPAT] = XW_COMPAT_HAS_JOURNAL | XW_COMPAT_EXT_ATTR | XW_COMPAT_RESIZE_INODE |
			 XW_COMPAT_DIR_INDEX,
	[XW_FW_INCOMPAT] = XW_INCOMPAT_FILETYPE | XW_INCOMPAT_EXTENTS | XW_INCOMPAT_FLEX_BG,
	[XW_FW_RO_COMPAT] =
		XW_RO_SPARSE_SUPER | XW_RO_LARGE_FILE | XW_RO_HUGE_FILE | XW_RO_METADATA_CSUM,
}};

static const struct row {
	const char *name;
	const char *before; /* changes to `base` */
	const char *want; /* as -O */
	uint32_t set; /* XW_TUNE_*: a new UUID, -I 512, -j */
	uint16_t inode_size; /* before; 0: 256 */
	int rc;
	unsigned work;
	const char *after; /* changes to the features before; NULL: those of `want` */
	unsigned quota_on, quota_off;
} rows[] = {
	{.name = "nothing", .want = ""},
	{.name = "a feature without work", .want = "ea_inode,large_dir"},
	{.name = "journal removed", .want = "^has_journal", .work = XW_TUNE_DO_JOURNAL_OFF},
	{.name = "journal added",
	 .before = "^has_journal",
	 .want = "has_journal",
	 .work = XW_TUNE_DO_JOURNAL_ON},
	{.name = "journal added with -j",
	 .before = "^has_journal",
	 .want = "",
	 .set = XW_TUNE_JOURNAL,
	 .work = XW_TUNE_DO_JOURNAL_ON,
	 .after = "has_journal"},
	{.name = "journal exists", .want = "", .set = XW_TUNE_JOURNAL, .rc = XW_ERR_EXISTS},
	{.name = "orphan file", .want = "orphan_file", .work = XW_TUNE_DO_ORPHAN_ON},
	{.name = "orphan file without a journal",
	 .before = "^has_journal",
	 .want = "orphan_file",
	 .rc = XW_ERR_USAGE},
	{.name = "orphan file removed with the journal",
	 .before = "orphan_file",
	 .want = "^has_journal",
	 .work = XW_TUNE_DO_JOURNAL_OFF | XW_TUNE_DO_ORPHAN_OFF,
	 .after = "^has_journal,^orphan_file"},
	{.name = "MMP", .want = "mmp", .work = XW_TUNE_DO_MMP_ON},
	{.name = "MMP removed", .before = "mmp", .want = "^mmp", .work = XW_TUNE_DO_MMP_OFF},
	{.name = "quota", .want = "quota", .work = XW_TUNE_DO_QUOTA_ON, .quota_on = USER | GROUP},
	{.name = "quota of projects",
	 .want = "project",
	 .work = XW_TUNE_DO_QUOTA_ON,
	 .after = "quota,project",
	 .quota_on = PROJECT},
	{.name = "all quota types",
	 .want = "quota,project",
	 .work = XW_TUNE_DO_QUOTA_ON,
	 .quota_on = USER | GROUP | PROJECT},
	{.name = "projects need larger inodes",
	 .want = "project",
	 .inode_size = 128,
	 .rc = XW_ERR_USAGE},
	{.name = "quota removed",
	 .before = "quota",
	 .want = "^quota",
	 .work = XW_TUNE_DO_QUOTA_OFF,
	 .quota_off = USER | GROUP},
	{.name = "resize inode removed", .want = "^resize_inode", .work = XW_TUNE_DO_RESIZE_OFF},
	{.name = "sparse_super beside the resize inode",
	 .before = "^sparse_super",
	 .want = "sparse_super",
	 .rc = XW_ERR_UNSUPPORTED},
	{.name = "sparse_super",
	 .before = "^sparse_super,^resize_inode",
	 .want = "sparse_super",
	 .work = XW_TUNE_DO_SPARSE},
	{.name = "indexes on request", .want = "dir_index", .work = XW_TUNE_DO_INDEX},
	{.name = "indexes removed", .want = "^dir_index", .work = XW_TUNE_DO_UNINDEX},
	{.name = "itrees need indexes",
	 .want = "itree",
	 .work = XW_TUNE_DO_ITREE_BUILD | XW_TUNE_DO_INDEX},
	{.name = "itrees without dir_index", .want = "itree,^dir_index", .rc = XW_ERR_USAGE},
	{.name = "itrees removed",
	 .before = "itree",
	 .want = "^itree",
	 .work = XW_TUNE_DO_ITREE_DROP},
	{.name = "itrees removed with the indexes",
	 .before = "itree",
	 .want = "^dir_index",
	 .work = XW_TUNE_DO_ITREE_DROP | XW_TUNE_DO_UNINDEX,
	 .after = "^dir_index,^itree"},
	{.name = "itrees rebuilt without checksums",
	 .before = "itree",
	 .want = "^metadata_csum",
	 .work = XW_TUNE_DO_ITREE_DROP | XW_TUNE_DO_ITREE_BUILD | XW_TUNE_DO_SWEEP,
	 .after = "^metadata_csum,uninit_bg"},
	{.name = "checksums removed, uninit_bg stays",
	 .want = "^metadata_csum",
	 .work = XW_TUNE_DO_SWEEP,
	 .after = "^metadata_csum,uninit_bg"},
	{.name = "all checksums removed",
	 .want = "^metadata_csum,^uninit_bg",
	 .work = XW_TUNE_DO_SWEEP},
	{.name = "checksums added",
	 .before = "^metadata_csum",
	 .want = "metadata_csum",
	 .work = XW_TUNE_DO_SWEEP | XW_TUNE_DO_TAILS},
	{.name = "checksums replace uninit_bg",
	 .before = "^metadata_csum,uninit_bg",
	 .want = "metadata_csum",
	 .work = XW_TUNE_DO_SWEEP | XW_TUNE_DO_TAILS,
	 .after = "metadata_csum,^uninit_bg"},
	{.name = "a seed without checksums",
	 .before = "^metadata_csum",
	 .want = "metadata_csum_seed",
	 .rc = XW_ERR_USAGE},
	{.name = "UUID", .want = "", .set = XW_TUNE_UUID, .work = XW_TUNE_DO_SWEEP},
	{.name = "UUID without checksums",
	 .before = "^metadata_csum",
	 .want = "",
	 .set = XW_TUNE_UUID},
	{.name = "UUID with a stored seed", .want = "metadata_csum_seed", .set = XW_TUNE_UUID},
	{.name = "UUID with stable inodes",
	 .before = "stable_inodes",
	 .want = "",
	 .set = XW_TUNE_UUID,
	 .rc = XW_ERR_UNSUPPORTED},
	{.name = "file types removed", .want = "^filetype", .work = XW_TUNE_DO_SWEEP},
	{.name = "file types beside inline data",
	 .before = "inline_data",
	 .want = "^filetype",
	 .rc = XW_ERR_UNSUPPORTED},
	{.name = "features that inodes may use",
	 .want = "^large_file,^huge_file",
	 .work = XW_TUNE_DO_CENSUS},
	{.name = "64bit", .want = "64bit", .rc = XW_ERR_UNSUPPORTED},
	{.name = "larger inodes", .want = "", .set = XW_TUNE_INODE_SIZE, .work = XW_TUNE_DO_INODES},
	{.name = "larger inodes with itrees",
	 .before = "itree",
	 .want = "",
	 .set = XW_TUNE_INODE_SIZE,
	 .work = XW_TUNE_DO_INODES | XW_TUNE_DO_ITREE_DROP | XW_TUNE_DO_ITREE_BUILD},
	{.name = "inodes of the same size",
	 .want = "",
	 .set = XW_TUNE_INODE_SIZE,
	 .inode_size = 512,
	 .rc = XW_ERR_USAGE},
	{.name = "smaller inodes",
	 .want = "",
	 .set = XW_TUNE_INODE_SIZE,
	 .inode_size = 1024,
	 .rc = XW_ERR_UNSUPPORTED},
	{.name = "larger inodes with bigalloc",
	 .before = "bigalloc",
	 .want = "",
	 .set = XW_TUNE_INODE_SIZE,
	 .rc = XW_ERR_UNSUPPORTED},
};

static struct xw_features with(struct xw_features f, const char *list)
{
	if (list)
		ck_assert_int_eq(xw_features_apply(&f, list, NULL), 0);
	return f;
}

static void set_features(struct xw_super *sb, const struct xw_features *f)
{
	sb->feature_compat = f->w[XW_FW_COMPAT];
	sb->feature_incompat = f->w[XW_FW_INCOMPAT];
	sb->feature_ro_compat = f->w[XW_FW_RO_COMPAT];
}

START_TEST(plans)
{
	const struct row *r = &rows[_i];
	const struct xw_features before = with(base, r->before);
	const struct xw_features after = with(before, r->after ? r->after : r->want);
	struct xw_tune_want want = {.set = r->set, .inode_size = 512, .uuid = {1, 2, 3}};
	struct xw_tune_opts opts = {0};
	struct xw_diag diag = {0};
	struct xw_tune_run t = {.opts = &opts, .want = &want, .diag = &diag, .name = "image"};

	set_features(&t.sb, &before);
	t.sb.log_block_size = 2;
	t.sb.inode_size = r->inode_size ? r->inode_size : 256;
	if (t.sb.feature_compat & XW_COMPAT_HAS_JOURNAL)
		t.sb.journal_inum = XW_INO_JOURNAL;
	if (t.sb.feature_ro_compat & XW_RO_QUOTA) {
		t.sb.usr_quota_inum = XW_INO_USR_QUOTA;
		t.sb.grp_quota_inum = XW_INO_GRP_QUOTA;
	}
	ck_assert_int_eq(xw_tune_want_features(&want, r->want, &diag), 0);
	ck_assert_msg(xw_tune_plan(&t) == r->rc, "%s: %s", r->name, diag.text);
	if (r->rc)
		return;
	ck_assert_msg(t.work == r->work, "%s: steps 0x%x, expected 0x%x", r->name, t.work, r->work);
	ck_assert_msg(t.quota_on == r->quota_on && t.quota_off == r->quota_off,
		      "%s: quota types added 0x%x, removed 0x%x", r->name, t.quota_on, t.quota_off);
	ck_assert_msg(t.to.feature_compat == after.w[XW_FW_COMPAT] &&
			      t.to.feature_incompat == after.w[XW_FW_INCOMPAT] &&
			      t.to.feature_ro_compat == after.w[XW_FW_RO_COMPAT],
		      "%s: features 0x%x 0x%x 0x%x", r->name, t.to.feature_compat,
		      t.to.feature_incompat, t.to.feature_ro_compat);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("tune_plan");
	TCase *tc = tcase_create("plan");

	unit_add_rows(tc, plans, rows, name);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
