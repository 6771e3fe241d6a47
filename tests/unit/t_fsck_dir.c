// SPDX-License-Identifier: MIT
/*
 * Directory blocks and entries as xw-fsck judges them: entries in, findings and the repaired block
 * out. A block is written "NAME=INODE,REC_LEN,TYPE ..."; in names ^ stands for NUL.
 */
#include "config.h"

#include <stdio.h>

#include "fsck_bytes.h"
#include "phases/dirs.h"

enum {
	AREA = 64, /* bytes of an area */
	DIR = 20,
	FILE_INO = 30,
	SUBDIR = 31, /* without a name so far */
	NAMED = 32, /* a directory that the root has a name for */
	VALUE = 33, /* an EA inode */
	SYSTEM = 34,
	SECRET = 35, /* an encrypted file */
	FIFO = 36,
	FREE = 40, /* not in use */
};

static struct fsck_dirscan s;
static uint8_t block[BS];
static struct xw_dirent kept[BS / 8 + 1];
static struct fsck_dup_slot *dups;
static uint8_t copy[BS];

static void fact(xw_ino ino, uint8_t ftype, uint8_t flags)
{
	struct fsck_inode *in;

	ok(fsck_inode_make(&f, ino, &in));
	*in = (struct fsck_inode){.ftype = ftype, .flags = FSCK_I_USED | flags};
}

static void begin(xw_ino dir)
{
	const struct fsck_dir dirs[] = {
		{.ino = XW_INO_ROOT, .parent = XW_INO_ROOT, .dotdot = XW_INO_ROOT},
		{.ino = DIR, .parent = XW_INO_ROOT},
		{.ino = SUBDIR},
		{.ino = NAMED, .parent = XW_INO_ROOT, .dotdot = XW_INO_ROOT},
	};

	for (size_t i = 0; i < XW_ARRAY_SIZE(dirs); i++) {
		if (!f.facts.dirs.n || f.facts.dirs.n < XW_ARRAY_SIZE(dirs))
			ck_assert(!xw_vec_push(&f.facts.dirs, dirs[i]));
		f.facts.dirs.v[i] = dirs[i];
		fact(dirs[i].ino, XW_FT_DIR, 0);
	}
	fact(FILE_INO, XW_FT_REG, 0);
	fact(VALUE, XW_FT_REG, FSCK_I_EA);
	fact(SYSTEM, XW_FT_REG, FSCK_I_SYSTEM);
	fact(SECRET, XW_FT_REG, FSCK_I_ENCRYPT);
	fact(FIFO, XW_FT_FIFO, 0);
	f.facts.lost_found = 0;
	s = (struct fsck_dirscan){
		.f = &f, .filetype = true, .kept = kept, .dups = dups, .copy = copy};
	fsck_dir_enter(&s, dir == DIR ? 1 : 0);
}

static void start(bool agree)
{
	open_bytes();
	agreed = agree;
	dups = calloc(fsck_dup_slots(BS), sizeof(*dups));
}

static void stop(void)
{
	free(dups);
	close_bytes();
}

/* ---- blocks as text ---- */

static void write_block(const char *text)
{
	unsigned off = 0;

	memset(block, 0, sizeof(block));
	while (*text) {
		const char *equals = strchr(text, '=');
		char name[64];
		struct xw_dirent e = {.name = name};
		unsigned ino, type;
		int used;

		e.name_len = (uint8_t)(equals - text);
		for (unsigned i = 0; i < e.name_len; i++)
			name[i] = text[i] == '^' ? '\0' : text[i];
		ck_assert_int_eq(sscanf(equals, "=%u,%u,%u%n", &ino, &e.rec_len, &type, &used), 3);
		e.ino = ino;
		e.ftype = (uint8_t)type;
		xw_dirent_encode(block, BS, off, &e);
		off += e.rec_len;
		text = equals + used;
		text += *text == ' ';
	}
}

static const char *read_block(uint32_t size)
{
	static char text[400];
	size_t n = 0;

	text[0] = '\0';
	for (uint32_t off = 0; off < size;) {
		struct xw_dirent e;
		char name[64] = "";

		if (xw_dirent_decode(block, size, off, &e))
			return "broken";
		memcpy(name, e.name, e.name_len);
		for (unsigned i = 0; i < e.name_len; i++)
			name[i] = name[i] ? name[i] : '^';
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s=%u,%u,%u", n ? " " : "",
				      name, (unsigned)e.ino, (unsigned)e.rec_len,
				      (unsigned)e.ftype);
		off += e.rec_len;
	}
	return text;
}

static void judge(bool has_dots)
{
	const struct fsck_area a = {.data = block, .size = AREA, .lblk = 3, .has_dots = has_dots};

	fsck_dir_area(&s, &a);
}

/* ---- tables ---- */

#define DOTS ".=20,12,2 ..=2,12,2 "
#define LONG "sixteen-bytes-ok" /* as an encrypted name must be */

enum how { PLAIN, ENCRYPTED, FOLDED, STRICT, LOOSE, NO_TYPES, ROOT };

static const struct row {
	const char *was, *is; /* is NULL: as it was */
	enum fsck_id id;
	enum how how;
	unsigned names; /* that FILE_INO has then */
} rows[] = {
	{DOTS "a=30,40,1", NULL, FSCK_IDS, PLAIN, 1},
	{DOTS "a=30,12,1 b=30,28,1", NULL, FSCK_IDS, PLAIN, 2},
	{DOTS "a=0,40,1", NULL, FSCK_IDS, PLAIN, 0},
	{DOTS "...=30,40,1", NULL, FSCK_IDS, PLAIN, 1},
	/* "." and ".." */
	{"x=30,12,1 ..=2,12,2 a=30,40,1", ".=20,12,2 ..=2,12,2 x=30,12,1 a=30,28,1",
	 FSCK_DIR_NO_DOT, PLAIN, 2},
	{"..=2,12,2 a=30,52,1", ".=20,12,2 ..=2,12,2 a=30,40,1", FSCK_DIR_NO_DOT, PLAIN, 1},
	{".=21,12,2 ..=2,12,2 a=30,40,1", DOTS "a=30,40,1", FSCK_DIR_DOT_INO, PLAIN, 1},
	{".=20,16,2 ..=2,12,2 a=30,36,1", DOTS "a=30,40,1", FSCK_DIR_DOT_LEN, PLAIN, 1},
	{".=20,12,1 ..=2,12,2 a=30,40,1", DOTS "a=30,40,1", FSCK_DIR_FILETYPE, PLAIN, 1},
	{".=20,12,2 ..=2,12,1 a=30,40,1", DOTS "a=30,40,1", FSCK_DIR_FILETYPE, PLAIN, 1},
	{".=20,12,2 a=30,52,1", DOTS "a=30,40,1", FSCK_DIR_NO_DOTDOT, PLAIN, 1},
	{".=20,12,2 ..=9,52,2", NULL, FSCK_IDS, PLAIN, 0}, /* tree.c sees the parent */
	{DOTS ".=30,40,1", DOTS ".=0,40,1", FSCK_DIR_DOT_AGAIN, PLAIN, 0},
	{DOTS "..=30,40,1", DOTS "..=0,40,1", FSCK_DIR_DOT_AGAIN, PLAIN, 0},
	/* numbers */
	{DOTS "a=128,40,1", DOTS "a=0,40,1", FSCK_DIR_UNUSED_INODE, PLAIN, 0},
	{DOTS "a=129,40,1", DOTS "a=0,40,1", FSCK_DIR_BAD_INO, PLAIN, 0},
	{DOTS "a=10,40,1", DOTS "a=0,40,1", FSCK_DIR_BAD_INO, PLAIN, 0},
	{DOTS "a=11,40,1", DOTS "a=0,40,1", FSCK_DIR_UNUSED_INODE, PLAIN, 0},
	{DOTS "a=40,40,1", DOTS "a=0,40,1", FSCK_DIR_UNUSED_INODE, PLAIN, 0},
	{DOTS "a=2,40,2", DOTS "a=0,40,2", FSCK_DIR_LINK_ROOT, PLAIN, 0},
	{DOTS "a=20,40,2", DOTS "a=0,40,2", FSCK_DIR_LINK_SELF, PLAIN, 0},
	{DOTS "a=33,40,1", DOTS "a=0,40,1", FSCK_DIR_EA_INODE, PLAIN, 0},
	{DOTS "a=34,40,1", DOTS "a=0,40,1", FSCK_DIR_BAD_INO, PLAIN, 0},
	/* types */
	{DOTS "a=30,40,2", DOTS "a=30,40,1", FSCK_DIR_FILETYPE, PLAIN, 1},
	{DOTS "a=30,40,0", DOTS "a=30,40,1", FSCK_DIR_FILETYPE, PLAIN, 1},
	{DOTS "a=36,40,1", DOTS "a=36,40,5", FSCK_DIR_FILETYPE, PLAIN, 0},
	{".=20,12,0 ..=2,12,0 a=30,40,0", NULL, FSCK_IDS, NO_TYPES, 1},
	{".=20,12,0 ..=2,12,0 a=30,40,1", ".=20,12,0 ..=2,12,0 a=30,40,0", FSCK_DIR_FILETYPE_SET,
	 NO_TYPES, 1},
	/* names */
	{DOTS "=30,40,1", DOTS "=0,40,1", FSCK_DIR_NAME_EMPTY, PLAIN, 0},
	{DOTS "a/b=30,40,1", DOTS "a.b=30,40,1", FSCK_DIR_NAME_BYTES, PLAIN, 1},
	{DOTS "^b=30,40,1", DOTS ".b=30,40,1", FSCK_DIR_NAME_BYTES, PLAIN, 1},
	{DOTS "b^=30,40,1", DOTS "b.=30,40,1", FSCK_DIR_NAME_BYTES, PLAIN, 1},
	{DOTS "/=30,40,1", DOTS "_=30,40,1", FSCK_DIR_NAME_BYTES, PLAIN, 1},
	{DOTS "./=30,40,1", DOTS "_.=30,40,1", FSCK_DIR_NAME_BYTES, PLAIN, 1},
	{DOTS "\xffo\xfe=30,40,1", DOTS ".o.=30,40,1", FSCK_DIR_NAME_UTF8, STRICT, 1},
	{DOTS "\xffo\xfe=30,40,1", DOTS ".o.=30,40,1", FSCK_DIR_NAME_UTF8, LOOSE, 1},
	{DOTS "\xc3\xa4o=30,40,1", NULL, FSCK_IDS, STRICT, 1},
	{DOTS "o\xc3=30,40,1", DOTS "o.=30,40,1", FSCK_DIR_NAME_UTF8, STRICT, 1},
	{DOTS "\xff=30,40,1", DOTS "_=30,40,1", FSCK_DIR_NAME_UTF8, STRICT, 1},
	{DOTS "\xff\xfe=30,40,1", DOTS "_.=30,40,1", FSCK_DIR_NAME_UTF8, STRICT, 1},
	{DOTS "\xff\xfe\xfd=30,40,1", DOTS "...=30,40,1", FSCK_DIR_NAME_UTF8, STRICT, 1},
	{DOTS "\xff=30,40,1", NULL, FSCK_IDS, FOLDED, 1},
	{DOTS "\xff=30,40,1", NULL, FSCK_IDS, PLAIN, 1},
	/* twice: renamed when the directory is rebuilt, an encrypted one cannot be */
	{DOTS "a=30,12,1 a=36,28,5", NULL, FSCK_DIR_TWICE, PLAIN, 1},
	{DOTS "a=30,12,1 A=30,28,1", NULL, FSCK_IDS, PLAIN, 2},
	/* directories have one name */
	{DOTS "a=31,40,2", NULL, FSCK_IDS, PLAIN, 0},
	{DOTS "a=32,40,2", DOTS "a=0,40,2", FSCK_DIR_HARD_LINK, PLAIN, 0},
	{DOTS "a=31,12,2 b=31,28,2", DOTS "a=31,12,2 b=0,28,2", FSCK_DIR_HARD_LINK, PLAIN, 0},
	/* encrypted */
	{DOTS "short=35,40,1", DOTS "short=0,40,1", FSCK_DIR_NAME_ENCRYPTED, ENCRYPTED, 0},
	{DOTS LONG "=35,40,1", NULL, FSCK_IDS, ENCRYPTED, 0},
	{DOTS "^/" LONG "=35,40,1", NULL, FSCK_IDS, ENCRYPTED, 0},
	{DOTS LONG "=30,40,1", DOTS LONG "=0,40,1", FSCK_DIR_NOT_ENCRYPTED, ENCRYPTED, 0},
	{DOTS LONG "=31,40,2", DOTS LONG "=0,40,2", FSCK_DIR_NOT_ENCRYPTED, ENCRYPTED, 0},
	{DOTS LONG "=36,40,5", NULL, FSCK_IDS, ENCRYPTED, 0},
	/* a chain that is broken */
	{DOTS "a=30,12,1 b=30,24,1", DOTS "a=30,12,1 b=30,28,1", FSCK_DIR_REC_LEN, PLAIN, 2},
};

static void prepare(const struct row *r)
{
	begin(DIR);
	s.filetype = r->how != NO_TYPES;
	s.encrypted = r->how == ENCRYPTED;
	s.folded = r->how == FOLDED || r->how == STRICT || r->how == LOOSE;
	f.ses.img->sb.encoding_flags = r->how == STRICT;
	f.opts.check_encoding = r->how == LOOSE;
	write_block(r->was);
}

START_TEST(entries)
{
	start(true);
	for (size_t i = 0; i < XW_ARRAY_SIZE(rows); i++) {
		const struct row *r = &rows[i];

		prepare(r);
		judge(true);
		expect(r->id);
		if (strcmp(read_block(AREA), r->is ? r->is : r->was))
			ck_abort_msg("row %zu: %s", i, read_block(AREA));
		ck_assert_msg(fsck_inode(&f, FILE_INO)->names == r->names, "row %zu: %u names", i,
			      fsck_inode(&f, FILE_INO)->names);
		ck_assert_msg(s.dirty == !!r->is, "row %zu: dirty %d", i, s.dirty);
		ck_assert_int_eq(s.d->rebuild, r->id == FSCK_DIR_TWICE);
		if (r->is) { /* that was all */
			begin(DIR);
			s.filetype = r->how != NO_TYPES;
			judge(true);
			expect(FSCK_IDS);
		}
	}
	stop();
}
END_TEST

/* What is declined stays, and what is damaged does not count. */
START_TEST(declined)
{
	start(false);
	for (size_t i = 0; i < XW_ARRAY_SIZE(rows); i++) {
		uint8_t was[AREA];

		prepare(&rows[i]);
		memcpy(was, block, sizeof(was));
		judge(true);
		ck_assert_uint_eq(!!found[rows[i].id % FSCK_IDS], rows[i].id != FSCK_IDS);
		forget_findings();
		ck_assert_mem_eq(block, was, sizeof(was));
		ck_assert(!s.dirty && !s.relayout && !s.d->rebuild);
		ck_assert_uint_le(fsck_inode(&f, FILE_INO)->names, rows[i].names);
	}
	stop();
}
END_TEST

/* ---- what is noted ---- */

START_TEST(facts)
{
	start(true);
	begin(DIR);
	write_block(DOTS "a=31,12,2 b=30,28,1");
	judge(true);
	expect(FSCK_IDS);
	ck_assert_uint_eq(s.d->dotdot, XW_INO_ROOT);
	ck_assert_uint_eq(s.d->subdirs, 1);
	ck_assert_uint_eq(fsck_dir(&f, SUBDIR)->parent, DIR);
	ck_assert_uint_eq(fsck_inode(&f, SUBDIR)->names, 1);
	ck_assert_uint_eq(f.facts.lost_found, 0);
	begin(DIR);
	write_block("lost+found=31,20,2 a=30,44,1"); /* a later block */
	judge(false);
	expect(FSCK_IDS);
	ck_assert_uint_eq(f.facts.lost_found, 0); /* it is another directory's */
	begin(XW_INO_ROOT);
	write_block(".=2,12,2 ..=2,12,2 lost+found=31,20,2 a=30,20,1");
	judge(true);
	expect(FSCK_IDS);
	ck_assert_uint_eq(f.facts.lost_found, SUBDIR);
	begin(DIR);
	fsck_inode(&f, FILE_INO)->names = 65534;
	write_block(DOTS "a=30,12,1 b=30,28,1");
	judge(true);
	ck_assert_uint_eq(fsck_inode(&f, FILE_INO)->names, 65535);
	begin(DIR);
	s.encrypted = true;
	write_block(LONG "=35,24,1 " LONG "=36,40,5");
	judge(false);
	expect(FSCK_DIR_TWICE);
	ck_assert_str_eq(read_block(AREA), LONG "=35,24,1 " LONG "=0,40,5");
	ck_assert(!s.d->rebuild && s.dirty);
	stop();
}
END_TEST

/* A name that is changed does not have the hash by which an index found it. */
START_TEST(index_follows)
{
	start(true);
	for (int k = 0; k < 3; k++) {
		begin(DIR);
		s.d->indexed = k > 0;
		s.folded = k == 2;
		f.ses.img->sb.encoding_flags = 1;
		write_block(k == 2 ? DOTS "\xff=30,40,1" : DOTS "a/=30,40,1");
		judge(true);
		expect(k == 2 ? FSCK_DIR_NAME_UTF8 : FSCK_DIR_NAME_BYTES);
		ck_assert_int_eq(s.d->rebuild, k > 0);
	}
	stop();
}
END_TEST

START_TEST(dots_end_with_zero)
{
	start(_i);
	for (unsigned off = 0; off < 24; off += 12) {
		begin(DIR);
		write_block(DOTS "a=30,40,1");
		block[off + 9 + off / 12] = 'x';
		judge(true);
		expect(FSCK_DIR_DOT_NUL);
		ck_assert_uint_eq(block[off + 9 + off / 12], agreed ? 0 : 'x');
		ck_assert_int_eq(s.dirty, agreed);
	}
	stop();
}
END_TEST

START_TEST(name_behind_its_entry)
{
	start(_i);
	begin(DIR);
	write_block(DOTS "a=30,12,1 b=30,28,1");
	block[24 + 6] = 5; /* four fit */
	judge(true);
	expect(FSCK_DIR_NAME_LEN);
	if (agreed)
		ck_assert_str_eq(read_block(AREA), DOTS "a=30,12,1 b=30,28,1");
	ck_assert_int_eq(s.relayout, agreed);
	stop();
}
END_TEST

/* Neither "." nor ".." can be missed twice, and without them nothing is left. */
START_TEST(empty_area)
{
	start(true);
	begin(DIR);
	write_block("=0,64,0");
	judge(true);
	ck_assert_uint_eq(found[FSCK_DIR_NO_DOT], 1);
	ck_assert_uint_eq(found[FSCK_DIR_NO_DOTDOT], 1);
	ck_assert_uint_eq(n_found, 2);
	ck_assert_str_eq(read_block(AREA), ".=20,12,2 ..=2,52,2");
	ck_assert_uint_eq(s.d->dotdot, XW_INO_ROOT);
	forget_findings();
	begin(DIR);
	s.filetype = false;
	write_block("=0,64,0");
	judge(true);
	ck_assert_str_eq(read_block(AREA), ".=20,12,0 ..=2,52,0");
	stop();
}
END_TEST

/* Entries that would not fit behind "." and "..", or that end with a hash. */
START_TEST(too_full)
{
	start(true);
	begin(DIR);
	write_block("aaaa=30,12,1 bbbb=30,12,1 cccc=30,12,1 dddd=30,28,1");
	judge(true);
	ck_assert_int_eq(s.d->rebuild, true);
	ck_assert(!s.dirty);
	begin(DIR);
	write_block("aaaa=30,12,1 bbbb=30,12,1 cccc=30,40,1");
	judge(true);
	ck_assert_int_eq(s.d->rebuild, false);
	ck_assert_str_eq(read_block(AREA), DOTS "aaaa=30,12,1 bbbb=30,12,1 cccc=30,16,1");
	forget_findings();
	begin(DIR);
	s.encrypted = s.folded = true;
	write_block(".=20,16,2 ..=2,12,2 " LONG "=35,36,1");
	judge(true);
	expect(FSCK_DIR_DOT_LEN);
	ck_assert(s.d->rebuild && !s.dirty);
	stop();
}
END_TEST

/* As many names as fit a block, and one of them twice. */
START_TEST(many_names)
{
	const struct fsck_area a = {.data = block, .size = BS};

	start(true);
	for (int twice = 0; twice < 2; twice++) {
		begin(DIR);
		for (unsigned i = 0; i < BS / 12; i++) {
			char name[8];
			struct xw_dirent e = {
				.ino = FILE_INO, .ftype = XW_FT_REG, .name_len = 3, .name = name};

			snprintf(name, sizeof(name), "n%02u", twice && i == 80 ? 3 : i);
			e.rec_len = i < BS / 12 - 1 ? 12 : BS - i * 12;
			xw_dirent_encode(block, BS, i * 12, &e);
		}
		fsck_dir_area(&s, &a);
		ck_assert_uint_eq(fsck_inode(&f, FILE_INO)->names, BS / 12);
		ck_assert(!twice || (last.num == FILE_INO && last.name_len == 3));
		expect(twice ? FSCK_DIR_TWICE : FSCK_IDS);
		ck_assert_int_eq(s.d->rebuild, twice);
	}
	stop();
}
END_TEST

/* For an index, the range of the hashes; for an itree, a sum of the entries. */
START_TEST(hashes)
{
	static const char *const names[] = {"one", "two", "six"};
	struct fsck_itree tree = {0};
	uint32_t min = UINT32_MAX, max = 0;

	start(true);
	begin(DIR);
	s.tree = &tree;
	s.hashed = true;
	for (size_t i = 0; i < XW_ARRAY_SIZE(names); i++) {
		struct xw_dx_hash h;

		ck_assert(!xw_dx_hash(s.version, s.hash_seed, names[i], 3, &h));
		min = XW_MIN(min, h.major);
		max = XW_MAX(max, h.major);
	}
	write_block("one=30,12,1 two=30,12,1 gone=40,12,1 six=30,28,1");
	judge(false);
	expect(FSCK_DIR_UNUSED_INODE);
	ck_assert_uint_eq(s.leaf.min, min);
	ck_assert_uint_eq(s.leaf.max, max);
	ck_assert_uint_ne(min, max);
	ck_assert_uint_eq(tree.entries.n, 3);
	write_block("one=30,12,1 two=30,12,1 one=30,12,1 six=30,28,1");
	judge(false);
	expect(FSCK_DIR_TWICE);
	s.hashed = false;
	judge(false);
	ck_assert(s.leaf.min == UINT32_MAX && !s.leaf.max);
	stop();
}
END_TEST

/* The checksum is at the end of a block. */
START_TEST(tails)
{
	const struct fsck_area a = {.data = block, .size = BS, .tail = true};

	start(_i);
	begin(DIR);
	write_block("a=30,1012,1");
	xw_dir_tail_init(block, BS);
	xw_dir_block_set_csum(block, BS, s.seed);
	fsck_dir_area(&s, &a);
	expect(FSCK_IDS);
	block[BS - 1] ^= 1;
	fsck_dir_area(&s, &a);
	expect(FSCK_DIR_CSUM);
	ck_assert_int_eq(s.dirty, agreed);
	ck_assert(!s.relayout);
	write_block("a=30,12,1 b=30,1012,1");
	fsck_dir_area(&s, &a);
	expect(FSCK_DIR_NO_TAIL);
	ck_assert_int_eq(s.dirty, agreed);
	ck_assert_int_eq(xw_dir_has_tail(block, BS), agreed);
	stop();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fsck_dir");
	TCase *t = tcase_create("fsck_dir");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, entries);
	tcase_add_test(t, declined);
	tcase_add_test(t, facts);
	tcase_add_test(t, index_follows);
	unit_add_cases(t, dots_end_with_zero, "declined", "agreed");
	unit_add_cases(t, name_behind_its_entry, "declined", "agreed");
	tcase_add_test(t, empty_area);
	tcase_add_test(t, too_full);
	tcase_add_test(t, many_names);
	tcase_add_test(t, hashes);
	unit_add_cases(t, tails, "declined", "agreed");
	suite_add_tcase(suite, t);
	return unit_main(suite);
}
