// SPDX-License-Identifier: MIT
/*
 * lib/walk/dirblock: bytes of directory blocks in, every member of every item out.
 *
 * Entries are written as "OFFSET name #inode/type rec_len", findings as "OFFSET RULE found/wanted"
 * with the entry behind "keep"; flags: "unused", "removed", "salvaged".
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/endian.h"
#include "unit.h"
#include "walk/dirblock.h"

enum { SIZE = 96, SEED = 5, INODES = 1000, ENTRIES = 8 };

struct entry {
	unsigned off;
	uint32_t ino;
	unsigned rec_len, name_len, ftype;
	const char *name;
};

enum { CSUM = 1, TYPES = 2, ANY = 4, REMOVED = 8, BAD_CSUM = 16, NO_TAIL = 32 };

static const char *const entry_rules[] = {
	"OK", "REC_LEN", "NAME_LEN", "INO", "NAME_EMPTY", "NAME_BYTES", "NO_TAIL", "CSUM",
};

static void put_entry(uint8_t *b, const struct entry *e)
{
	poke32(b + e->off, e->ino);
	poke16(b + e->off + 4, (uint16_t)e->rec_len);
	if (e->off + 8 > SIZE)
		return;
	b[e->off + 6] = (uint8_t)e->name_len;
	b[e->off + 7] = (uint8_t)e->ftype;
	for (unsigned i = 0; e->name && e->name[i] && e->off + 8 + i < SIZE; i++)
		b[e->off + 8 + i] = (uint8_t)(e->name[i] == '^' ? 0 : e->name[i]);
}

static size_t write_entry(char *out, size_t size, const struct xw_dirent *e)
{
	char name[XW_NAME_MAX + 1] = "";

	for (unsigned i = 0; e->name && i < e->name_len; i++)
		name[i] = e->name[i] ? e->name[i] : '^';
	return (size_t)snprintf(out, size, " %s #%u/%u %u", name, e->ino, e->ftype, e->rec_len);
}

static size_t write_item(char *out, size_t size, int kind, const struct xw_dirblock_item *i)
{
	size_t n = (size_t)snprintf(out, size, "%u", i->off);

	if (kind == 2)
		n += (size_t)snprintf(out + n, size - n, " %s %llu/%llu", entry_rules[i->rule],
				      (unsigned long long)i->found, (unsigned long long)i->wanted);
	if (i->keep)
		n += (size_t)snprintf(out + n, size - n, " keep");
	if (kind == 1 || i->keep || i->rule == XW_DIRBLOCK_INO)
		n += write_entry(out + n, size - n, &i->e);
	else if (i->rule == XW_DIRBLOCK_REC_LEN)
		ck_assert(!i->e.name_len && !i->e.ino);
	n += (size_t)snprintf(out + n, size - n, "%s%s%s; ", i->unused ? " unused" : "",
			      i->removed ? " removed" : "", i->salvaged ? " salvaged" : "");
	return n;
}

static const struct block {
	const char *what;
	unsigned flags;
	unsigned size; /* of the area; 0: SIZE */
	struct entry e[ENTRIES];
	const char *want;
} blocks[] = {
	/* ---- sound ones ---- */
	{"two entries",
	 TYPES,
	 0,
	 {{0, 12, 12, 1, 1, "a"}, {12, 13, 84, 2, 2, "bb"}},
	 "0 a #12/1 12; 12 bb #13/2 84"},
	{"without types",
	 0,
	 0,
	 {{0, 12, 12, 1, 1, "a"}, {12, 13, 84, 2, 99, "bb"}},
	 "0 a #12/0 12; 12 bb #13/0 84"},
	{"with a tail",
	 CSUM | TYPES,
	 0,
	 {{0, 12, 12, 1, 1, "a"}, {12, 13, 72, 2, 7, "bb"}},
	 "0 a #12/1 12; 12 bb #13/7 72"},
	{"nothing", TYPES, 0, {{0, 0, 96, 0, 0, ""}}, "0  #0/0 96 unused"},
	{"an area of nothing", TYPES | CSUM, 8, {{0, 12, 12, 1, 1, "a"}}, "0 REC_LEN 0/8 salvaged"},
	{"the last entry as small as can be",
	 TYPES,
	 24,
	 {{0, 12, 12, 1, 1, "a"}, {12, 13, 12, 4, 2, "last"}},
	 "0 a #12/1 12; 12 last #13/2 12"},
	{"the last one of 12 bytes, and a tail",
	 TYPES | CSUM,
	 36,
	 {{0, 12, 12, 1, 1, "a"}, {12, 13, 12, 4, 2, "last"}},
	 "0 a #12/1 12; 12 last #13/2 12"},
	{"the largest inode number", TYPES, 24, {{0, INODES, 24, 1, 1, "a"}}, "0 a #1000/1 24"},
	{"unused with a large number of its own",
	 TYPES,
	 24,
	 {{0, 0, 12, 7, 9, "abc"}, {12, 12, 12, 1, 1, "b"}},
	 "0 NAME_LEN 7/4; 12 b #12/1 12"},

	/* ---- one fault ---- */
	{"an inode number above",
	 TYPES,
	 24,
	 {{0, INODES + 1, 24, 1, 1, "a"}},
	 "0 INO 1001/1000 a #1001/1 24"},
	{"no name",
	 TYPES,
	 24,
	 {{0, 12, 12, 0, 1, ""}, {12, 13, 12, 1, 1, "b"}},
	 "0 NAME_EMPTY 0/0; 12 b #13/1 12"},
	{"a slash",
	 TYPES,
	 24,
	 {{0, 12, 12, 3, 1, "a/b"}, {12, 13, 12, 1, 1, "b"}},
	 "0 NAME_BYTES 0/0; 12 b #13/1 12"},
	{"a slash at the end", TYPES, 24, {{0, 12, 24, 3, 1, "ab/"}}, "0 NAME_BYTES 0/0"},
	{"a NUL", TYPES, 24, {{0, 12, 24, 3, 1, "a^b"}}, "0 NAME_BYTES 0/0"},
	{"any bytes", TYPES | ANY, 24, {{0, 12, 24, 4, 1, "a^/b"}}, "0 a^/b #12/1 24"},
	{"no tail",
	 CSUM | TYPES | NO_TAIL,
	 0,
	 {{0, 12, 12, 1, 1, "a"}, {12, 13, 84, 2, 2, "bb"}},
	 "96 NO_TAIL 0/0; 0 a #12/1 12; 12 bb #13/2 84"},
	{"a checksum",
	 CSUM | TYPES | BAD_CSUM,
	 0,
	 {{0, 12, 12, 1, 1, "a"}, {12, 13, 72, 2, 2, "bb"}},
	 "84 CSUM 0/0; 0 a #12/1 12; 12 bb #13/2 72"},

	/* ---- rec_len ---- */
	{"rec_len 0",
	 TYPES,
	 0,
	 {{0, 12, 0, 1, 1, "a"}, {12, 13, 84, 2, 2, "bb"}},
	 "0 REC_LEN 0/12 keep a #12/1 0 salvaged; 12 bb #13/2 84 salvaged"},
	{"rec_len of the last one",
	 TYPES,
	 0,
	 {{0, 12, 12, 1, 1, "a"}, {12, 13, 80, 2, 2, "bb"}},
	 "0 a #12/1 12; 12 bb #13/2 80; 92 REC_LEN 0/4 salvaged"},
	{"rec_len past the end",
	 TYPES,
	 0,
	 {{0, 12, 12, 1, 1, "a"}, {12, 13, 88, 2, 2, "bb"}},
	 "0 a #12/1 12; 12 REC_LEN 88/84 keep bb #13/2 88 salvaged"},
	{"rec_len unaligned",
	 TYPES,
	 0,
	 {{0, 12, 13, 1, 1, "a"}, {12, 13, 84, 2, 2, "bb"}},
	 "0 REC_LEN 13/12 keep a #12/1 13 salvaged; 12 bb #13/2 84 salvaged"},
	{"rec_len 8",
	 TYPES,
	 0,
	 {{0, 12, 8, 1, 1, "a"}, {12, 13, 84, 2, 2, "bb"}},
	 "0 REC_LEN 8/12 keep a #12/1 8 salvaged; 12 bb #13/2 84 salvaged"},
	{"rec_len of one with a long name",
	 TYPES,
	 0,
	 {{0, 12, 3, 13, 1, "a-longer-name"}, {24, 13, 72, 2, 2, "bb"}},
	 "0 REC_LEN 3/24 keep a-longer-name #12/1 3 salvaged; 24 bb #13/2 72 salvaged"},
	{"rec_len of an unused one",
	 TYPES,
	 0,
	 {{0, 0, 0, 0, 0, ""}, {12, 13, 84, 2, 2, "bb"}},
	 "0 REC_LEN 0/12 salvaged; 12 bb #13/2 84 salvaged"},
	{"rec_len, and 4 bytes of space follow",
	 TYPES,
	 0,
	 {{0, 0, 3, 0, 0, ""}, {4, 13, 92, 2, 2, "bb"}},
	 "0 REC_LEN 13/4 salvaged; 4 bb #13/2 92 salvaged"},
	{"rec_len of one with a type that is none",
	 TYPES,
	 0,
	 {{0, 12, 3, 1, 8, "a"}, {12, 13, 84, 2, 2, "bb"}},
	 "0 REC_LEN 3/12 salvaged; 12 bb #13/2 84 salvaged"},
	{"the same without types",
	 0,
	 0,
	 {{0, 12, 3, 1, 8, "a"}, {12, 13, 84, 2, 2, "bb"}},
	 "0 REC_LEN 3/12 keep a #12/0 3 salvaged; 12 bb #13/0 84 salvaged"},
	{"rec_len of one with type 7",
	 TYPES,
	 0,
	 {{0, 12, 3, 1, 7, "a"}, {12, 13, 84, 2, 2, "bb"}},
	 "0 REC_LEN 3/12 keep a #12/7 3 salvaged; 12 bb #13/2 84 salvaged"},
	{"rec_len of one with a large number",
	 TYPES,
	 0,
	 {{0, INODES + 1, 3, 1, 1, "a"}, {12, 13, 84, 2, 2, "bb"}},
	 "0 REC_LEN 3/12 salvaged; 12 bb #13/2 84 salvaged"},
	{"rec_len of one with a bad name",
	 TYPES,
	 0,
	 {{0, 12, 3, 3, 1, "a/b"}, {12, 13, 84, 2, 2, "bb"}},
	 "0 REC_LEN 3/12 salvaged; 12 bb #13/2 84 salvaged"},
	{"rec_len of one without name",
	 TYPES,
	 0,
	 {{0, 12, 3, 0, 1, ""}, {12, 13, 84, 2, 2, "bb"}},
	 "0 REC_LEN 3/12 salvaged; 12 bb #13/2 84 salvaged"},
	{"rec_len of two",
	 TYPES,
	 0,
	 {{0, 12, 3, 1, 1, "a"}, {12, 13, 5, 2, 2, "bb"}, {24, 14, 72, 1, 1, "c"}},
	 "0 REC_LEN 3/24 keep a #12/1 3 salvaged; 24 c #14/1 72 salvaged"},
	{"the end is damaged, too",
	 TYPES,
	 0,
	 {{0, 12, 3, 1, 1, "a"}, {12, 13, 12, 2, 2, "bb"}, {24, 14, 60, 1, 1, "c"}},
	 "0 REC_LEN 3/12 keep a #12/1 3 salvaged; 12 bb #13/2 12 salvaged; 24 c #14/1 60 salvaged; "
	 "84 REC_LEN 0/12 salvaged"},
	{"a name up to the end",
	 TYPES,
	 24,
	 {{0, 12, 3, 16, 1, "sixteen-letters-"}},
	 "0 REC_LEN 3/24 keep sixteen-letters- #12/1 3 salvaged"},
	{"a name past the end",
	 TYPES,
	 24,
	 {{0, 12, 3, 17, 1, "sixteen-letters-"}},
	 "0 REC_LEN 3/24 salvaged"},
	{"4 bytes remain",
	 TYPES,
	 28,
	 {{0, 12, 24, 1, 1, "a"}, {24, 13, 4, 0, 0, ""}},
	 "0 a #12/1 24; 24 REC_LEN 0/4 salvaged"},
	{"8 bytes remain",
	 TYPES,
	 32,
	 {{0, 12, 24, 1, 1, "a"}, {24, 13, 8, 0, 0, ""}},
	 "0 a #12/1 24; 24 REC_LEN 0/8 salvaged"},
	{"12 bytes remain",
	 TYPES,
	 36,
	 {{0, 12, 24, 1, 1, "a"}, {24, 13, 16, 3, 1, "b.c"}},
	 "0 a #12/1 24; 24 REC_LEN 16/12 keep b.c #13/1 16 salvaged"},

	/* ---- name_len ---- */
	{"name_len above rec_len",
	 TYPES,
	 0,
	 {{0, 12, 12, 50, 1, "a"}, {12, 13, 84, 2, 2, "bb"}},
	 "0 NAME_LEN 50/4 keep a #12/1 12; 12 bb #13/2 84"},
	{"name_len above rec_len, with a name that fills it",
	 TYPES,
	 0,
	 {{0, 12, 12, 50, 1, "four"}, {12, 13, 84, 2, 2, "bb"}},
	 "0 NAME_LEN 50/4 keep four #12/1 12; 12 bb #13/2 84"},
	{"name_len above rec_len, of no name",
	 TYPES,
	 0,
	 {{0, 12, 12, 50, 1, ""}, {12, 13, 84, 2, 2, "bb"}},
	 "0 NAME_LEN 50/4; 12 bb #13/2 84"},
	{"name_len above rec_len, of any bytes",
	 TYPES | ANY,
	 0,
	 {{0, 12, 12, 50, 1, "a"}, {12, 13, 84, 2, 2, "bb"}},
	 "0 NAME_LEN 50/4 keep a^^^ #12/1 12; 12 bb #13/2 84"},
	{"name_len above that of the last one",
	 TYPES,
	 24,
	 {{0, 12, 12, 1, 1, "a"}, {12, 13, 12, 5, 2, "b"}},
	 "0 a #12/1 12; 12 NAME_LEN 5/4 keep b #13/2 12"},
	{"name_len of an unused one",
	 TYPES,
	 0,
	 {{0, 0, 12, 50, 0, ""}, {12, 13, 84, 2, 2, "bb"}},
	 "0 NAME_LEN 50/4; 12 bb #13/2 84"},
	{"name_len and rec_len",
	 TYPES,
	 0,
	 {{0, 12, 16, 50, 1, "a"}, {12, 13, 84, 2, 2, "bb"}},
	 "0 REC_LEN 16/12 salvaged; 12 bb #13/2 84 salvaged"},

	/* ---- removed entries ---- */
	{"one in the slack",
	 TYPES | REMOVED,
	 0,
	 {{0, 12, 24, 1, 1, "a"}, {12, 0, 12, 2, 1, "bb"}, {24, 13, 72, 1, 1, "c"}},
	 "0 a #12/1 24; 12 bb #0/1 12 removed; 24 c #13/1 72"},
	{"not asked for",
	 TYPES,
	 0,
	 {{0, 12, 24, 1, 1, "a"}, {12, 0, 84, 2, 1, "bb"}, {24, 13, 72, 1, 1, "c"}},
	 "0 a #12/1 24; 24 c #13/1 72"},
	{"in an unused one",
	 TYPES | REMOVED,
	 0,
	 {{0, 0, 24, 1, 1, "a"}, {12, 0, 12, 2, 1, "bb"}, {24, 13, 72, 1, 1, "c"}},
	 "0 a #0/1 24 unused; 12 bb #0/1 12 removed; 24 c #13/1 72"},
	{"two in the last one",
	 TYPES | REMOVED,
	 60,
	 {{0, 12, 60, 1, 1, "a"}, {16, 14, 12, 4, 1, "bbbb"}, {48, 15, 12, 1, 7, "c"}},
	 "0 a #12/1 60; 16 bbbb #14/1 12 removed; 48 c #15/7 12 removed"},
	{"none that could be one",
	 TYPES | REMOVED,
	 60,
	 {{0, 12, 60, 1, 1, "a"},
	  {12, INODES + 1, 12, 2, 1, "bb"},
	  {24, 14, 12, 2, 8, "cc"},
	  {36, 14, 12, 2, 1, "d^"},
	  {52, 15, 8, 1, 1, ""}},
	 "0 a #12/1 60"},
};

START_TEST(directory_blocks)
{
	const struct block *k = &blocks[_i];
	const uint32_t size = k->size ? k->size : SIZE;
	uint8_t b[SIZE] = {0};
	const struct xw_dirblock_area a = {.data = b,
					   .size = size,
					   .seed = SEED,
					   .inodes_count = INODES,
					   .csum = k->flags & CSUM,
					   .filetype = k->flags & TYPES,
					   .any_names = k->flags & ANY,
					   .removed = k->flags & REMOVED};
	struct xw_dirblock_item item;
	struct xw_dirblock it;
	char got[2048] = "";
	size_t n = 0;
	int kind;

	for (unsigned i = 0; i < ENTRIES && k->e[i].name; i++)
		put_entry(b, &k->e[i]);
	if (k->flags & CSUM && size >= XW_DIR_TAIL && !(k->flags & NO_TAIL)) {
		xw_dir_tail_init(b, size);
		xw_dir_block_set_csum(b, size, SEED);
		b[size - 1] ^= k->flags & BAD_CSUM ? 1 : 0;
	}
	xw_dirblock_begin(&it, &a);
	while ((kind = xw_dirblock_next(&it, &item)) != 0) {
		ck_assert_uint_lt(n, sizeof(got) - 400);
		n += write_item(got + n, sizeof(got) - n, kind, &item);
	}
	if (n)
		got[n - 2] = 0;
	ck_assert_msg(!strcmp(got, k->want), "%s\n# got  %s\n# want %s", k->what, got, k->want);
}
END_TEST

/* An area ends at XW_DIRBLOCK_MAX, and one entry may span a block of that size. */
START_TEST(large_area)
{
	uint8_t *b = calloc(1, XW_DIRBLOCK_MAX + 64);
	struct xw_dirblock_area a = {
		.data = b, .size = XW_DIRBLOCK_MAX + 64, .inodes_count = INODES};
	struct xw_dirblock_item item;
	struct xw_dirblock it;

	ck_assert_ptr_nonnull(b);
	xw_dirent_encode(
		b, XW_DIRBLOCK_MAX, 0,
		&(struct xw_dirent){
			.ino = 12, .rec_len = XW_DIRBLOCK_MAX, .name_len = 1, .name = "a"});
	xw_dirblock_begin(&it, &a);
	ck_assert_int_eq(xw_dirblock_next(&it, &item), 1);
	ck_assert_uint_eq(item.e.rec_len, XW_DIRBLOCK_MAX);
	ck_assert_int_eq(xw_dirblock_next(&it, &item), 0);
	free(b);
}
END_TEST

START_TEST(nodes_of_a_tree)
{
	static const struct {
		struct entry e;
		bool node;
	} table[] = {
		{{0, 0, SIZE, 0, 0, ""}, true},      {{0, 0, SIZE, 3, 0, "abc"}, true},
		{{0, 1, SIZE, 0, 0, ""}, false},     {{0, 0, SIZE - 12, 0, 0, ""}, false},
		{{0, 0, SIZE + 4, 0, 0, ""}, false}, {{0, 0, 0, 0, 0, ""}, false},
	};

	for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		uint8_t b[SIZE] = {0};

		put_entry(b, &table[i].e);
		ck_assert_msg(xw_dirblock_is_node(b, SIZE) == table[i].node, "entry %u", i);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("walk_dir_items");
	TCase *t = tcase_create("walk_dir_items");

	unit_add_rows(t, directory_blocks, blocks, what);
	tcase_add_test(t, large_area);
	tcase_add_test(t, nodes_of_a_tree);
	suite_add_tcase(s, t);
	return unit_main(s);
}
