// SPDX-License-Identifier: MIT
/*
 * Indexes of directories, holes in them, and the encoding of names: blocks in, findings out. Every
 * finding is declined, so that nothing is rebuilt.
 */
#include "config.h"

#include <stdio.h>

#include "disk/dx_hash.h"
#include "fsck_bytes.h"
#include "phases/dirs.h"

enum {
	DIR = 20,
	FILE_INO = 30,
	NAMES = 40,
	ROOT_BLOCK = BLOCK,
	INDEX = BLOCK + 10, /* and two leaves behind it */
	LIMIT_AT = 32, /* of the entries in a root: limit, count, first block */
	COUNT_AT = 34,
	FIRST_AT = 36,
	HASH_AT = 40, /* of the second entry */
	SECOND_AT = 44,
};

static uint8_t root[BS], leaves[2][BS];
static uint32_t seed, boundary; /* between the leaves */

struct name {
	char text[4];
	uint32_t hash;
};

static int by_hash(const void *a, const void *b)
{
	const struct name *x = a, *y = b;

	return (x->hash > y->hash) - (x->hash < y->hash);
}

static void fact(xw_ino ino, uint8_t ftype, uint8_t flags)
{
	struct fsck_inode *in;

	ok(fsck_inode_make(&f, ino, &in));
	*in = (struct fsck_inode){.ftype = ftype, .flags = FSCK_I_USED | flags, .links = 1};
}

static void put_dots(uint8_t *block, xw_ino ino, uint32_t rest)
{
	const struct xw_dirent dot = {
		.ino = ino, .rec_len = 12, .name_len = 1, .ftype = XW_FT_DIR, .name = "."};
	const struct xw_dirent dotdot = {.ino = XW_INO_ROOT,
					 .rec_len = rest,
					 .name_len = 2,
					 .ftype = XW_FT_DIR,
					 .name = ".."};

	xw_dirent_encode(block, BS, 0, &dot);
	xw_dirent_encode(block, BS, 12, &dotdot);
}

static void put_names(uint8_t *block, const struct name *names, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		const struct xw_dirent e = {.ino = FILE_INO,
					    .rec_len = i < n - 1 ? 12 : BS - 12 - 12 * i,
					    .name_len = 3,
					    .ftype = XW_FT_REG,
					    .name = names[i].text};

		xw_dirent_encode(block, BS, 12 * i, &e);
	}
	xw_dir_tail_init(block, BS);
}

static void seal(void)
{
	xw_dx_block_set_csum(root, BS, XW_DX_ROOT_ENTRIES, seed);
	put(INDEX, root, BS);
	for (unsigned i = 0; i < 2; i++) {
		xw_dir_block_set_csum(leaves[i], BS, seed);
		put(INDEX + 1 + i, leaves[i], BS);
	}
}

/* The root directory, and one with an index of two leaves. */
static void start(void)
{
	static const struct fsck_dir dirs[] = {{.ino = XW_INO_ROOT}, {.ino = DIR, .indexed = true}};
	static const struct fsck_dirblock blocks[] = {
		{ROOT_BLOCK, 0, 0}, {INDEX, 0, 1}, {INDEX + 1, 1, 1}, {INDEX + 2, 2, 1}};
	struct name names[NAMES];
	uint8_t block[BS] = {0};
	uint32_t hash_seed[4];
	enum xw_dx_version version;

	open_bytes();
	agreed = false;
	memset(root, 0, sizeof(root));
	memset(leaves, 0, sizeof(leaves));
	version = xw_dx_version(&f.ses.img->sb, 1);
	xw_dx_seed(&f.ses.img->sb, hash_seed);
	for (unsigned i = 0; i < NAMES; i++) {
		struct xw_dx_hash h;

		snprintf(names[i].text, sizeof(names[i].text), "n%02u", i);
		ck_assert(!xw_dx_hash(version, hash_seed, names[i].text, 3, &h));
		names[i].hash = h.major;
	}
	qsort(names, NAMES, sizeof(*names), by_hash);
	boundary = names[NAMES / 2].hash;
	seed = xw_inode_seed(f.ses.img->csum_seed, DIR, 0);
	put_dots(root, DIR, BS - 12);
	xw_dx_info_encode(root, &(struct xw_dx_info){.hash_version = 1, .info_length = 8});
	xw_dx_set_limit(root, XW_DX_ROOT_ENTRIES, xw_dx_root_limit(BS, true), 2);
	poke32(root + FIRST_AT, 1);
	poke32(root + HASH_AT, boundary);
	poke32(root + SECOND_AT, 2);
	put_names(leaves[0], names, NAMES / 2);
	put_names(leaves[1], names + NAMES / 2, NAMES / 2);
	seal();
	put_dots(block, XW_INO_ROOT, 12);
	xw_dirent_encode(block, BS, 24,
			 &(struct xw_dirent){.ino = DIR,
					     .rec_len = BS - 36,
					     .name_len = 1,
					     .ftype = XW_FT_DIR,
					     .name = "d"});
	xw_dir_tail_init(block, BS);
	xw_dir_block_set_csum(block, BS, xw_inode_seed(f.ses.img->csum_seed, XW_INO_ROOT, 0));
	put(ROOT_BLOCK, block, BS);
	for (size_t i = 0; i < XW_ARRAY_SIZE(dirs); i++) {
		ck_assert(!xw_vec_push(&f.facts.dirs, dirs[i]));
		fact(dirs[i].ino, XW_FT_DIR, 0);
	}
	for (size_t i = 0; i < XW_ARRAY_SIZE(blocks); i++)
		ck_assert(!xw_vec_push(&f.facts.dirblocks, blocks[i]));
	fact(FILE_INO, XW_FT_REG, 0);
}

/* ---- indexes ---- */

static const struct {
	const char *what;
	uint16_t off, len;
	uint32_t value; /* in the root */
	enum fsck_id id, id2;
} rows[] = {
	{"nothing", 0, 0, 0, FSCK_IDS, FSCK_IDS},
	{"hash version", 28, 1, 9, FSCK_HTREE_VERSION, FSCK_IDS},
	{"info length", 29, 1, 9, FSCK_HTREE_ROOT, FSCK_IDS},
	{"levels", 30, 1, 2, FSCK_HTREE_DEPTH, FSCK_IDS},
	{"flags", 31, 1, 1, FSCK_HTREE_FLAGS, FSCK_IDS},
	{"limit", LIMIT_AT, 2, 50, FSCK_HTREE_LIMIT, FSCK_IDS},
	{"count 0", COUNT_AT, 2, 0, FSCK_HTREE_COUNT, FSCK_IDS},
	{"count over limit", COUNT_AT, 2, 9999, FSCK_HTREE_COUNT, FSCK_IDS},
	{"count 1", COUNT_AT, 2, 1, FSCK_HTREE_UNREFERENCED, FSCK_IDS},
	{"block 0", SECOND_AT, 4, 0, FSCK_HTREE_BLOCK, FSCK_HTREE_UNREFERENCED},
	{"block 3", SECOND_AT, 4, 3, FSCK_HTREE_BLOCK, FSCK_HTREE_UNREFERENCED},
	{"upper bits", SECOND_AT, 4, 0x70000002, FSCK_IDS, FSCK_IDS},
	{"twice", SECOND_AT, 4, 1, FSCK_HTREE_TWICE, FSCK_HTREE_UNREFERENCED},
	{"hash too low", HASH_AT, 4, 2, FSCK_HTREE_LEAF, FSCK_IDS},
	{"hash too high", HASH_AT, 4, 0xFFFFFFF0, FSCK_HTREE_LEAF, FSCK_IDS},
	{"rec_len of ..", 16, 2, BS - 24, FSCK_HTREE_ROOT, FSCK_IDS},
};

START_TEST(index_root)
{
	start();
	for (unsigned i = 0; i < rows[_i].len; i++)
		root[rows[_i].off + i] = (uint8_t)(rows[_i].value >> 8 * i);
	seal();
	ok(fsck_check_dirs(&f));
	if (rows[_i].id == FSCK_IDS) {
		expect(FSCK_IDS);
		ck_assert_uint_eq(fsck_inode(&f, FILE_INO)->names, NAMES);
		ck_assert(f.facts.names_known && fsck_dir(&f, DIR)->parent == XW_INO_ROOT);
	} else {
		ck_assert_msg(found[rows[_i].id], "%s: %u findings, the last %d", rows[_i].what,
			      n_found, last.id);
		ck_assert_msg(rows[_i].id2 == FSCK_IDS || found[rows[_i].id2], "%s", rows[_i].what);
	}
	ck_assert(!f.round.changed && !fsck_dir(&f, DIR)->rebuild);
	close_bytes();
}
END_TEST

START_TEST(bounds_of_leaves)
{
	for (int k = -1; k <= 1; k++) {
		start();
		/* the first hash of the second leaf is its lower bound; one below is free */
		poke32(root + HASH_AT, boundary + 2 * (uint32_t)k);
		seal();
		ok(fsck_check_dirs(&f));
		expect(k > 0 ? FSCK_HTREE_LEAF : FSCK_IDS);
		ck_assert(k <= 0 || (last.lblk == 2 && last.num == boundary));
		close_bytes();
	}
}
END_TEST

START_TEST(checksums)
{
	start();
	root[BS - 1] ^= 1;
	put(INDEX, root, BS);
	ok(fsck_check_dirs(&f));
	expect(FSCK_HTREE_CSUM);
	close_bytes();
	start();
	leaves[1][BS - 1] ^= 1;
	put(INDEX + 2, leaves[1], BS);
	ok(fsck_check_dirs(&f));
	expect(FSCK_DIR_CSUM);
	ck_assert_uint_eq(last.lblk, 2);
	close_bytes();
}
END_TEST

/* The tree has another hash than the superblock's default: names are hashed again. */
START_TEST(other_hash)
{
	start();
	f.ses.img->sb.def_hash_version = 2;
	ok(fsck_check_dirs(&f));
	expect(FSCK_IDS);
	close_bytes();
	start();
	f.ses.img->sb.def_hash_version = 2;
	poke32(root + HASH_AT, 2);
	seal();
	ok(fsck_check_dirs(&f));
	ck_assert_uint_gt(found[FSCK_HTREE_LEAF], 0);
	close_bytes();
}
END_TEST

START_TEST(without_the_feature)
{
	start();
	f.ses.img->sb.feature_compat &= ~XW_COMPAT_DIR_INDEX;
	root[28] = 9; /* what it contains does not matter */
	seal();
	ok(fsck_check_dirs(&f));
	expect(FSCK_DIR_INDEX_FEATURE);
	close_bytes();
}
END_TEST

/* ---- blocks ---- */

START_TEST(holes)
{
	static const struct {
		xw_blk pblk;
		xw_lblk lblk;
		enum fsck_id id;
	} cases[] = {
		{0, 2, FSCK_DIR_HOLE},
		{BLOCKS + 5, 2, FSCK_DIR_READ},
	};

	for (size_t i = 0; i < XW_ARRAY_SIZE(cases); i++) {
		start();
		f.facts.dirblocks.v[3].pblk = cases[i].pblk;
		ok(fsck_check_dirs(&f));
		ck_assert_uint_eq(found[cases[i].id], 1);
		ck_assert_uint_eq(fsck_inode(&f, FILE_INO)->names, NAMES / 2);
		close_bytes();
	}
	start(); /* no first block */
	f.facts.dirblocks.v[1] = f.facts.dirblocks.v[2];
	f.facts.dirblocks.v[2] = f.facts.dirblocks.v[3];
	f.facts.dirblocks.n = 3;
	f.facts.dirs.v[1].indexed = false;
	ok(fsck_check_dirs(&f));
	expect(FSCK_DIR_HOLE);
	ck_assert_uint_eq(last.dir, DIR);
	ck_assert_uint_eq(last.lblk, 0);
	close_bytes();
}
END_TEST

/* In any order, and far from each other. */
START_TEST(order)
{
	start();
	f.facts.dirs.v[1].indexed = false;
	memset(root, 0, sizeof(root));
	put_dots(root, DIR, BS - 24);
	xw_dir_tail_init(root, BS);
	xw_dir_block_set_csum(root, BS, seed);
	put(9000, root, BS);
	put(INDEX, root, 1); /* spoiled: it is not there */
	f.facts.dirblocks.v[1].pblk = 9000;
	{
		const struct fsck_dirblock first = f.facts.dirblocks.v[0];

		f.facts.dirblocks.v[0] = f.facts.dirblocks.v[3];
		f.facts.dirblocks.v[3] = first;
	}
	ok(fsck_check_dirs(&f));
	expect(FSCK_IDS);
	ck_assert_uint_eq(fsck_inode(&f, FILE_INO)->names, NAMES);
	ck_assert_uint_eq(fsck_dir(&f, DIR)->dotdot, XW_INO_ROOT);
	close_bytes();
}
END_TEST

/* ---- the encoding ---- */

static const struct {
	bool feature, used;
	uint16_t encoding;
	enum fsck_id id;
} encodings[] = {
	{true, false, 1, FSCK_IDS},           {true, true, 1, FSCK_IDS},
	{false, false, 0, FSCK_IDS},          {false, false, 5, FSCK_IDS},
	{true, false, 0, FSCK_ENCODING_NONE}, {true, true, 0, FSCK_ENCODING},
	{true, false, 5, FSCK_ENCODING},
};

START_TEST(encoding)
{
	for (size_t i = 0; i < XW_ARRAY_SIZE(encodings); i++) {
		const enum fsck_id id = encodings[i].id;
		bool feature;

		start();
		agreed = _i;
		f.ses.img->sb.encoding = encodings[i].encoding;
		if (encodings[i].feature)
			f.ses.img->sb.feature_incompat |= XW_INCOMPAT_CASEFOLD;
		if (encodings[i].used)
			fact(XW_INO_ROOT, XW_FT_DIR, FSCK_I_CASEFOLD);
		ok(fsck_check_dirs(&f));
		expect(id);
		feature = f.ses.img->sb.feature_incompat & XW_INCOMPAT_CASEFOLD;
		ck_assert_int_eq(feature,
				 encodings[i].feature && !(agreed && id == FSCK_ENCODING_NONE));
		ck_assert_uint_eq(f.ses.img->sb.encoding,
				  agreed && id == FSCK_ENCODING ? 1 : encodings[i].encoding);
		ck_assert_int_eq(f.ses.renew_backups, agreed && id != FSCK_IDS);
		close_bytes();
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fsck_htree");
	TCase *t = tcase_create("fsck_htree");

	tcase_set_timeout(t, 60);
	unit_add_rows(t, index_root, rows, what);
	tcase_add_test(t, bounds_of_leaves);
	tcase_add_test(t, checksums);
	tcase_add_test(t, other_hash);
	tcase_add_test(t, without_the_feature);
	tcase_add_test(t, holes);
	tcase_add_test(t, order);
	unit_add_cases(t, encoding, "declined", "agreed");
	suite_add_tcase(s, t);
	return unit_main(s);
}
