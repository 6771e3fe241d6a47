// SPDX-License-Identifier: MIT
/* Free clusters as xw-fsck finds them, and the usage of blocks and inodes that it adds up. */
#include "config.h"

#include "facts/hidden.h"
#include "facts/usage.h"
#include "facts/xattrs.h"
#include "fsck_bytes.h"

enum { PER_GROUP = 8192, FIRST = 1, LAST = BLOCKS - 1 };

/* ---- free clusters ---- */

static uint8_t bits[2][BS];

static void use(xw_blk blk, uint64_t n)
{
	for (; n; n--, blk++) {
		const uint64_t bit = blk - FIRST;

		bits[bit / PER_GROUP][bit % PER_GROUP / 8] |= (uint8_t)(1u << bit % 8);
	}
}

static void start_free(void)
{
	open_bytes();
	memset(bits, 0, sizeof(bits));
	ok(xw_blockset_new(BLOCKS, &f.facts.owners.claims));
}

static void claim(xw_blk blk, uint64_t n)
{
	ok(fsck_claim(&f, FSCK_O_DATA, blk, n, NULL));
}

static void expect_free(xw_blk goal, xw_blk want)
{
	xw_blk blk = 0;

	for (uint64_t g = 0; g < 2; g++)
		put(group_of_bytes(g).block_bitmap, bits[g], BS);
	ok(fsck_claim_free(&f, FSCK_O_MAP, goal, &blk));
	ck_assert_uint_eq(blk, want);
	ck_assert(fsck_is_claimed(&f, blk));
	ck_assert(blk == FIRST || fsck_owns(&f, FSCK_O_MAP, blk, 1)); /* no file can own that */
	fsck_unclaim(&f, FSCK_O_MAP, blk, 1);
}

START_TEST(free_clusters)
{
	start_free();
	expect_free(500, 500);
	expect_free(BLOCKS, FIRST); /* no goal */
	claim(500, 10);
	expect_free(500, 510);
	expect_free(499, 499);
	expect_free(505, 510);
	claim(510, 1);
	expect_free(505, 511);
	use(511, 3);
	expect_free(505, 514);
	use(514, 1000); /* whole bytes */
	expect_free(505, 1514);
	expect_free(1514, 1514);
	claim(1514, 7000); /* into the next group, and in it */
	expect_free(505, 8514);
	use(8514, 1);
	expect_free(505, 8515);
	claim(8514, BLOCKS - 8514);
	expect_free(9000, 1); /* from the beginning */
	claim(1, 499);
	use(511, 1003);
	ck_assert(!fsck_is_claimed(&f, 511));
	expect_free(9000, 511); /* in use by the bitmap alone */
	expect_free(700, 700);
	close_bytes();
}
END_TEST

START_TEST(last_one)
{
	xw_blk blk;

	start_free();
	claim(FIRST, LAST - FIRST);
	expect_free(700, LAST);
	use(LAST, 1);
	expect_free(LAST, LAST);
	claim(LAST, 1);
	ck_assert_int_eq(fsck_claim_free(&f, FSCK_O_MAP, 700, &blk), XW_ERR_NOSPC);
	close_bytes();
	start_free();
	claim(2, LAST - 1);
	expect_free(LAST, FIRST); /* in the group of the goal, but before it */
	close_bytes();
}
END_TEST

/* A bitmap that was never written says nothing; nor does one that cannot be. */
START_TEST(no_bitmap)
{
	struct xw_group_desc gd;

	for (int k = 0; k < 3; k++) {
		start_free();
		use(500, 1000);
		gd = group_of_bytes(0);
		gd.flags = k == 1 ? XW_BG_BLOCK_UNINIT : 0;
		gd.block_bitmap = k == 2 ? BLOCKS : gd.block_bitmap;
		put_group(0, &gd);
		expect_free(600, k ? 600 : 1500);
		close_bytes();
	}
}
END_TEST

/* Clusters of 4 blocks, from block 0 on. */
START_TEST(clusters)
{
	start_free();
	f.ses.img->sb.feature_ro_compat |= XW_RO_BIGALLOC;
	f.ses.img->sb.log_cluster_size = 2;
	f.ses.img->sb.clusters_per_group = PER_GROUP / 4;
	f.ses.img->sb.first_data_block = 0;
	claim(500, 1);
	expect_free(501, 504);
	expect_free(510, 508);
	bits[0][127] = 0x0F; /* clusters 1016 to 1019 */
	expect_free(4 * 1016, 4 * 1020);
	close_bytes();
}
END_TEST

/* ---- usage ---- */

static const struct fsck_usage *usage(int type, uint32_t id)
{
	return fsck_usage_get(&f.facts.quota->usage[type], id);
}

static void start_usage(void)
{
	open_bytes();
	f.ses.img->sb.feature_ro_compat |= XW_RO_QUOTA;
	f.ses.img->sb.usr_quota_inum = 3;
	f.ses.img->sb.grp_quota_inum = 4;
}

static struct xw_inode file(uint64_t sectors)
{
	return (struct xw_inode){.mode = XW_S_IFREG,
				 .links = 1,
				 .uid = 1000,
				 .gid = 100,
				 .projid = 7,
				 .blocks = sectors};
}

static const struct {
	xw_ino ino;
	uint16_t links;
	uint32_t flags;
	uint8_t facts;
	bool counts;
} counted[] = {
	{INO, 1, 0, 0, true},
	{INO, 1, 0, FSCK_I_USED, true},
	{INO, 0, 0, 0, false},
	{INO, 1, XW_FL_EA_INODE, 0, false},
	{INO, 1, 0, FSCK_I_SYSTEM, false},
	{XW_INO_ROOT, 1, 0, 0, true},
	{11, 1, 0, 0, true},
	{10, 1, 0, 0, false},
	{XW_INO_JOURNAL, 1, 0, 0, false},
	{20, 1, 0, 0, false}, /* the journal, elsewhere */
};

START_TEST(who_counts)
{
	for (size_t i = 0; i < XW_ARRAY_SIZE(counted); i++) {
		struct xw_inode in = file(8);
		struct fsck_inode *facts;

		start_usage();
		f.ses.img->sb.journal_inum = counted[i].ino == 20 ? 20 : XW_INO_JOURNAL;
		in.links = counted[i].links;
		in.flags = counted[i].flags;
		if (counted[i].facts) {
			ok(fsck_inode_make(&f, counted[i].ino, &facts));
			facts->flags = counted[i].facts;
		}
		ok(fsck_quota_add(&f, counted[i].ino, &in));
		ck_assert_msg(!!f.facts.quota == counted[i].counts,
			      "inode %u, links %u, flags 0x%x, facts 0x%x", counted[i].ino,
			      counted[i].links, counted[i].flags, counted[i].facts);
		fsck_quota_free(&f);
		ck_assert_ptr_null(f.facts.quota);
		f.ses.img->sb.feature_ro_compat &= ~XW_RO_QUOTA;
		ok(fsck_quota_add(&f, counted[i].ino, &in));
		ck_assert_ptr_null(f.facts.quota);
		close_bytes();
	}
	start_usage();
	f.ses.img->sb.journal_inum = 20;
	f.ses.img->sb.feature_compat &= ~XW_COMPAT_HAS_JOURNAL;
	ok(fsck_quota_add(&f, 20, &(struct xw_inode){.links = 1}));
	ck_assert_ptr_nonnull(f.facts.quota);
	close_bytes();
}
END_TEST

START_TEST(sums)
{
	struct xw_inode in = file(8);

	start_usage();
	f.facts.xattrs = calloc(1, sizeof(*f.facts.xattrs));
	ok(fsck_quota_add(&f, INO, &in));
	in.gid = 101;
	in.blocks = 2;
	f.facts.xattrs->last = INO + 1; /* it has two values in EA inodes */
	f.facts.xattrs->last_ea = 2;
	ok(fsck_quota_add(&f, INO + 1, &in));
	in.flags = XW_FL_HUGE_FILE;
	ok(fsck_quota_add(&f, INO + 2, &in));
	ck_assert_uint_eq(f.facts.quota->usage[XW_QUOTA_USER].n, 1);
	ck_assert_uint_eq(f.facts.quota->usage[XW_QUOTA_GROUP].n, 2);
	ck_assert_uint_eq(f.facts.quota->usage[XW_QUOTA_PROJECT].n, 0);
	ck_assert_uint_eq(usage(XW_QUOTA_USER, 1000)->inodes, 5);
	ck_assert_uint_eq(usage(XW_QUOTA_USER, 1000)->space, 8 * 512 + 2 * 512 + 2 * BS);
	ck_assert_uint_eq(usage(XW_QUOTA_GROUP, 100)->inodes, 1);
	ck_assert_uint_eq(usage(XW_QUOTA_GROUP, 100)->space, 8 * 512);
	ck_assert_uint_eq(usage(XW_QUOTA_GROUP, 101)->inodes, 4);
	ok(fsck_quota_remove(&f, &in)); /* it was a hidden file */
	ck_assert_uint_eq(usage(XW_QUOTA_USER, 1000)->inodes, 4);
	ck_assert_uint_eq(usage(XW_QUOTA_USER, 1000)->space, 8 * 512 + 2 * 512);
	ck_assert_uint_eq(usage(XW_QUOTA_GROUP, 101)->inodes, 3);
	in.links = 0;
	ok(fsck_quota_remove(&f, &in));
	ck_assert_uint_eq(usage(XW_QUOTA_USER, 1000)->inodes, 4);
	close_bytes();
}
END_TEST

/* By type: where there is a file, and for projects where its number may be lost. */
START_TEST(types)
{
	const struct xw_inode in = file(8);

	for (int k = 0; k < 8; k++) {
		start_usage();
		f.ses.img->sb.usr_quota_inum = k & 1 ? 3 : 0;
		f.ses.img->sb.grp_quota_inum = k & 2 ? 4 : 0;
		f.ses.img->sb.feature_ro_compat |= k & 4 ? XW_RO_PROJECT : 0;
		ok(fsck_quota_add(&f, INO, &in));
		ck_assert_uint_eq(f.facts.quota->usage[XW_QUOTA_USER].n, !!(k & 1));
		ck_assert_uint_eq(f.facts.quota->usage[XW_QUOTA_GROUP].n, !!(k & 2));
		ck_assert_uint_eq(f.facts.quota->usage[XW_QUOTA_PROJECT].n, !!(k & 4));
		ck_assert(!(k & 4) || usage(XW_QUOTA_PROJECT, 7)->inodes == 1);
		ck_assert_int_eq(fsck_quota_is_on(&f, XW_QUOTA_USER), !!(k & 1));
		ck_assert_int_eq(fsck_quota_is_on(&f, XW_QUOTA_GROUP), !!(k & 2));
		ck_assert(!fsck_quota_is_on(&f, XW_QUOTA_PROJECT));
		f.ses.img->sb.prj_quota_inum = 20;
		ck_assert(fsck_quota_is_on(&f, XW_QUOTA_PROJECT));
		f.ses.img->sb.feature_ro_compat &= ~XW_RO_QUOTA;
		ck_assert(!fsck_quota_is_on(&f, XW_QUOTA_PROJECT));
		close_bytes();
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fsck_usage");
	TCase *t = tcase_create("fsck_usage");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, free_clusters);
	tcase_add_test(t, last_one);
	tcase_add_test(t, no_bitmap);
	tcase_add_test(t, clusters);
	tcase_add_test(t, who_counts);
	tcase_add_test(t, sums);
	tcase_add_test(t, types);
	suite_add_tcase(s, t);
	return unit_main(s);
}
