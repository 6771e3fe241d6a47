// SPDX-License-Identifier: MIT
/*
 * Blocks of attributes and EA inodes, with the inodes that refer to them: references in, findings,
 * counts and what is written out; and equal blocks that become one.
 */
#include "config.h"

#include "fsck_bytes.h"
#include "phases/xattrs.h"

enum { VALUE = 30, FEATURES = XW_COMPAT_EXT_ATTR };

static uint8_t record[SIZE];
static struct xw_inode in;
static bool dirty;
static uint64_t blocks; /* that attributes add to i_blocks */

/* A block with one attribute, whose value is this letter. */
static void put_block(xw_blk blk, char letter, uint32_t refs)
{
	uint8_t p[BS] = {0};
	const char value[4] = {letter, letter, letter, letter};
	const struct xw_xattr_entry e = {.name = "a",
					 .name_len = 1,
					 .name_index = 1,
					 .value_offs = BS - 4,
					 .value_size = 4,
					 .hash = xw_xattr_entry_hash("a", 1, value, 4)};

	xw_xattr_bhdr_encode(p, &(struct xw_xattr_bhdr){.refcount = refs, .blocks = 1});
	xw_xattr_entry_encode(p, 32, &e);
	memcpy(p + BS - 4, value, 4);
	xw_xattr_block_set_csum(p, BS, f.ses.img->csum_seed, blk);
	put(blk, p, BS);
}

static uint32_t refcount(xw_blk blk)
{
	struct xw_xattr_bhdr h;
	uint8_t p[BS];

	memcpy(p, at(blk), BS);
	ck_assert_int_eq(xw_xattr_block_verify(p, BS, f.ses.img->csum_seed, blk), 0);
	ck_assert_int_eq(xw_xattr_bhdr_decode(p, &h), 0);
	return h.refcount;
}

static void start(bool agree)
{
	open_bytes();
	agreed = agree;
	f.ses.img->sb.feature_compat |= FEATURES;
	ok(fsck_claim_metadata(&f));
}

static void look(xw_ino ino, xw_blk blk)
{
	in = (struct xw_inode){
		.mode = XW_S_IFREG | 0644, .links = 1, .extra_isize = 32, .file_acl = blk};
	memset(record, 0, sizeof(record));
	put_inode(ino, &in);
	ok(fsck_xattr_inode(&f, ino, &in, record, &dirty, &blocks));
}

static void expect_n(enum fsck_id id, unsigned n)
{
	ck_assert_uint_eq(found[id], n);
	ck_assert_uint_eq(n_found, n);
	forget_findings();
}

/* ---- the reference of an inode ---- */

START_TEST(references)
{
	static const xw_blk outside[] = {BLOCKS, BLOCKS + 5, 130, 140, TABLE, 1, 8193};

	for (row = 0; row < 2 * XW_ARRAY_SIZE(outside); row++) {
		start(row & 1);
		look(INO, outside[row / 2]);
		expect(FSCK_XATTR_BLOCK_RANGE);
		ck_assert_uint_eq(in.file_acl, row & 1 ? 0 : outside[row / 2]);
		ck_assert_int_eq(dirty, row & 1);
		ck_assert_uint_eq(blocks, 0);
		close_bytes();
	}
	start(true);
	put_block(BLOCK, 'a', 2);
	for (xw_ino ino = INO; ino < INO + 2; ino++) {
		look(ino, BLOCK);
		expect(FSCK_IDS);
		ck_assert(!dirty);
		ck_assert_uint_eq(blocks, 1);
		ck_assert_uint_eq(in.file_acl, BLOCK);
	}
	ck_assert(fsck_is_claimed(&f, BLOCK));
	ck_assert(!fsck_is_contested(&f, BLOCK)); /* both have the same */
	look(INO + 2, 0);
	ck_assert_uint_eq(blocks, 0);
	ok(fsck_finish_claims(&f));
	ok(fsck_check_xattrs(&f));
	expect(FSCK_IDS);
	close_bytes();
}
END_TEST

/* What is no block of attributes is told for each inode, and not claimed where it goes. */
START_TEST(bad_blocks)
{
	for (row = 0; row < 4; row++) {
		start(row & 1);
		put_block(BLOCK, 'a', 1);
		put(BLOCK, row & 2 ? "\0\0\0\0" : "x", row & 2 ? 4 : 1);
		for (xw_ino ino = INO; ino < INO + 2; ino++) {
			look(ino, BLOCK);
			expect(FSCK_XATTR_BLOCK_BAD);
			ck_assert_uint_eq(in.file_acl, row & 1 ? 0 : BLOCK);
			ck_assert_int_eq(dirty, row & 1);
			ck_assert_uint_eq(blocks, !(row & 1));
		}
		ck_assert_int_eq(fsck_is_claimed(&f, BLOCK), !(row & 1));
		close_bytes();
	}
}
END_TEST

START_TEST(checksums)
{
	for (row = 0; row < 4; row++) {
		uint8_t byte = 9;

		start(row & 1);
		put_block(BLOCK, 'a', 1);
		ok(xw_dev_pwrite(f.ses.dev, &byte, 1, BLOCK * BS + 100)); /* nothing is there */
		xw_image_drop_cache(f.ses.img);
		if (row & 2)
			f.ses.img->sb.feature_ro_compat &= ~XW_RO_METADATA_CSUM;
		look(INO, BLOCK);
		expect(row & 2 ? FSCK_IDS : FSCK_XATTR_BLOCK_CSUM);
		look(INO + 1, BLOCK); /* it is read once */
		expect(FSCK_IDS);
		ok(fsck_finish_claims(&f));
		if (row == 1)
			ck_assert_uint_eq(refcount(BLOCK), 1);
		close_bytes();
	}
}
END_TEST

START_TEST(feature)
{
	for (row = 0; row < 2; row++) {
		start(row & 1);
		put_block(BLOCK, 'a', 1);
		f.ses.img->sb.feature_compat &= ~FEATURES;
		look(INO, BLOCK);
		expect(FSCK_XATTR_NO_FEATURE);
		ck_assert_uint_eq(f.ses.img->sb.feature_compat & FEATURES, row & 1 ? FEATURES : 0);
		ck_assert_uint_eq(in.file_acl, BLOCK);
		close_bytes();
	}
}
END_TEST

/* ---- counts of references ---- */

/* In the order of blocks, however inodes refer to them. */
START_TEST(counts)
{
	enum { N = 40 };
	static const unsigned step = 17;

	for (row = 0; row < 2; row++) {
		start(true);
		for (unsigned i = 0; i < N; i++)
			put_block(BLOCK + i, 'a', i % 2 ? 1 : 7);
		for (unsigned i = 0; i < N; i++)
			look(INO + i, BLOCK + i * step % N);
		ok(fsck_finish_claims(&f));
		expect(FSCK_IDS);
		agreed = row;
		ok(fsck_check_xattrs(&f));
		ck_assert_uint_eq(last.blk, BLOCK + N - 2); /* the last wrong one comes last */
		ck_assert_uint_eq(last.num, 7);
		ck_assert_uint_eq(last.num2, 1);
		expect_n(FSCK_XATTR_REFCOUNT, N / 2);
		for (unsigned i = 0; i < N; i++)
			ck_assert_uint_eq(refcount(BLOCK + i), i % 2 || row ? 1 : 7);
		close_bytes();
	}
}
END_TEST

/* Not where blocks were allocated in this round, nor after an interrupt. */
START_TEST(no_counts)
{
	start(true);
	put_block(BLOCK, 'a', 7);
	look(INO, BLOCK);
	ok(fsck_finish_claims(&f));
	f.round.allocated = true;
	ok(fsck_check_xattrs(&f));
	expect(FSCK_IDS);
	f.round.allocated = false;
	f.ses.stop = true;
	ok(fsck_check_xattrs(&f));
	expect(FSCK_IDS);
	f.ses.stop = false;
	ok(fsck_check_xattrs(&f));
	expect(FSCK_XATTR_REFCOUNT);
	close_bytes();
}
END_TEST

/* ---- EA inodes ---- */

static void put_value(uint64_t refs, uint16_t links)
{
	struct xw_inode ea = {.mode = XW_S_IFREG | 0600,
			      .links = links,
			      .extra_isize = 32,
			      .size = 5000,
			      .flags = XW_FL_EA_INODE};
	struct fsck_inode *known;

	xw_inode_set_ea_refs(&ea, refs);
	put_inode(VALUE, &ea);
	ok(fsck_inode_make(&f, VALUE, &known));
	known->flags = FSCK_I_USED | FSCK_I_EA;
	f.facts.counts.ea_inodes = 1;
}

static const struct {
	uint64_t stored, refs;
	uint16_t links;
	bool old; /* of Lustre */
	enum fsck_id id;
} values[] = {
	{1, 1, 1, false, FSCK_IDS},
	{3, 3, 1, false, FSCK_IDS},
	{2, 1, 1, false, FSCK_EA_REFCOUNT},
	{0, 1, 1, false, FSCK_EA_REFCOUNT},
	{UINT64_C(1) << 32, 1, 1, false, FSCK_EA_REFCOUNT},
	{1, 1, 2, false, FSCK_LINK_COUNT},
	{1, 1, 0, false, FSCK_LINK_COUNT},
	{7, 1, 2, true, FSCK_IDS},
};

START_TEST(value_inodes)
{
	for (row = 0; row < 2 * XW_ARRAY_SIZE(values); row++) {
		const bool agree = row & 1;
		struct fsck_ea *ea;
		struct xw_inode now;

		start(agree);
		look(INO, 0); /* makes the tables */
		put_value(values[row / 2].stored, values[row / 2].links);
		ea = fsck_ea_slot(&f, VALUE);
		ea->refs = values[row / 2].refs;
		ea->size = 5000;
		ea->old = values[row / 2].old;
		ok(fsck_finish_claims(&f));
		ok(fsck_check_xattrs(&f));
		expect(values[row / 2].id);
		ok(fsck_inode_read(&f, VALUE, &now, NULL));
		ck_assert_uint_eq(xw_inode_ea_refs(&now), agree && !values[row / 2].old
								  ? values[row / 2].refs
								  : values[row / 2].stored);
		ck_assert_uint_eq(now.links,
				  agree && !values[row / 2].old ? 1 : values[row / 2].links);
		ck_assert(fsck_inode(&f, VALUE)->flags & FSCK_I_EA);
		close_bytes();
	}
}
END_TEST

/* One that nothing refers to becomes a file. */
START_TEST(stray_values)
{
	for (row = 0; row < 4; row++) {
		struct xw_inode now;

		start(row & 1);
		look(INO, 0);
		put_value(1, 1);
		if (row & 2)
			f.facts.counts.ea_inodes = 0; /* no inode has the flag */
		ok(fsck_finish_claims(&f));
		ok(fsck_check_xattrs(&f));
		expect(row & 2 ? FSCK_IDS : FSCK_EA_INODE_STRAY);
		ok(fsck_inode_read(&f, VALUE, &now, NULL));
		ck_assert_uint_eq(now.flags, row == 1 ? 0 : XW_FL_EA_INODE);
		ck_assert_int_eq(f.round.again, row == 1);
		ck_assert_int_eq(fsck_inode(&f, VALUE)->flags & FSCK_I_EA, row & 2 ? FSCK_I_EA : 0);
		close_bytes();
	}
}
END_TEST

/* An inode that was cleared after its entry was seen is left to the next round. */
START_TEST(cleared_values)
{
	struct fsck_ea *ea;

	start(true);
	look(INO, 0);
	put_value(9, 1);
	ea = fsck_ea_slot(&f, VALUE);
	ea->refs = 1;
	fsck_inode(&f, VALUE)->flags = 0;
	ok(fsck_finish_claims(&f));
	ok(fsck_check_xattrs(&f));
	expect(FSCK_IDS);
	close_bytes();
}
END_TEST

/* ---- equal blocks ---- */

/* Letters of blocks from BLOCK on, each with this many inodes; how many of them are saved. */
static const struct {
	const char *letters;
	unsigned users;
	uint64_t saved;
} shares[] = {
	{"abc", 1, 0}, {"aa", 1, 1}, {"abab", 1, 2}, {"aaaa", 2, 3}, {"a", 1, 0},
};

START_TEST(shared)
{
	for (row = 0; row < 2 * XW_ARRAY_SIZE(shares); row++) {
		const bool agree = row & 1;
		const char *letters = shares[row / 2].letters;
		const unsigned n = (unsigned)strlen(letters), users = shares[row / 2].users;
		struct xw_inode now;

		start(true);
		f.opts.share_xattrs = true;
		for (unsigned i = 0; i < n; i++) {
			put_block(BLOCK + i, letters[i], users);
			for (unsigned k = 0; k < users; k++)
				look(INO + i * users + k, BLOCK + i);
		}
		ok(fsck_finish_claims(&f));
		agreed = agree;
		ok(fsck_check_xattrs(&f));
		expect_n(FSCK_XATTR_SHARE, shares[row / 2].saved != 0);
		if (shares[row / 2].saved)
			ck_assert_uint_eq(last.num, shares[row / 2].saved);
		for (unsigned i = 0; i < n; i++) {
			const unsigned first =
				agree ? (unsigned)(strchr(letters, letters[i]) - letters) : i;
			unsigned refs = users;

			for (unsigned k = i + 1; k < n && agree; k++)
				refs += letters[k] == letters[i] ? users : 0;
			if (first == i)
				ck_assert_uint_eq(refcount(BLOCK + i), refs);
			ck_assert_int_eq(fsck_is_claimed(&f, BLOCK + i), first == i);
			for (unsigned k = 0; k < users; k++) {
				ok(fsck_inode_read(&f, INO + i * users + k, &now, NULL));
				ck_assert_uint_eq(now.file_acl, BLOCK + first);
			}
		}
		close_bytes();
	}
}
END_TEST

/* A block has at most 1024 references. */
START_TEST(full_blocks)
{
	for (row = 0; row < 2; row++) {
		struct fsck_xattr_block v[2] = {
			{.blk = BLOCK, .refs = 1000, .stored = 1000},
			{.blk = BLOCK + 1, .refs = (uint32_t)(24 + row), .stored = 24},
		};

		start(true);
		look(INO, 0);
		put_block(BLOCK, 'a', 1000);
		put_block(BLOCK + 1, 'a', 24);
		ok(fsck_claim(&f, FSCK_O_XATTR, BLOCK, 2, NULL));
		ok(fsck_finish_claims(&f));
		ok(fsck_xattr_share(&f, v, 2));
		expect(row ? FSCK_IDS : FSCK_XATTR_SHARE);
		ck_assert_uint_eq(refcount(BLOCK), row ? 1000 : 1024);
		close_bytes();
	}
}
END_TEST

/* Not with one that is bad, unused, or has values in inodes, nor beside contested blocks. */
START_TEST(not_shared)
{
	for (row = 0; row < 5; row++) {
		struct fsck_xattr_block v[2] = {{.blk = BLOCK, .refs = 1, .stored = 1},
						{.blk = BLOCK + 1, .refs = 1, .stored = 1}};

		start(true);
		look(INO, 0);
		put_block(BLOCK, 'a', 1);
		put_block(BLOCK + 1, 'a', 1);
		ok(fsck_claim(&f, FSCK_O_XATTR, BLOCK, 2, NULL));
		if (row == 3)
			ok(fsck_claim(&f, FSCK_O_DATA, BLOCK + 1, 1, NULL));
		ok(fsck_finish_claims(&f));
		v[1].refs = row != 0;
		v[1].bad = row == 1;
		v[0].n_ea = row == 2;
		ok(fsck_xattr_share(&f, v, 2));
		expect(row == 4 ? FSCK_XATTR_SHARE : FSCK_IDS);
		close_bytes();
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fsck_xattrs");
	TCase *t = tcase_create("fsck_xattrs");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, references);
	tcase_add_test(t, bad_blocks);
	tcase_add_test(t, checksums);
	tcase_add_test(t, feature);
	tcase_add_test(t, counts);
	tcase_add_test(t, no_counts);
	tcase_add_test(t, value_inodes);
	tcase_add_test(t, stray_values);
	tcase_add_test(t, cleared_values);
	tcase_add_test(t, shared);
	tcase_add_test(t, full_blocks);
	tcase_add_test(t, not_shared);
	suite_add_tcase(s, t);
	return unit_main(s);
}
