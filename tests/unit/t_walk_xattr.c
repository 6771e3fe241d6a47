// SPDX-License-Identifier: MIT
/* The tolerant walk over attribute areas: what it yields of good ones, and of damage by kind. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "unit.h"
#include "walk/xattr.h"
#include "xattr/layout.h"

enum { SIZE = 1024 };

static uint8_t area[SIZE];
static struct xw_xattr_set set;

static void put(uint8_t index, const char *name, const char *value)
{
	ck_assert_int_eq(
		xw_xattr_set_put_raw(&set, index, name, strlen(name), value, strlen(value), NULL),
		0);
}

static void make_set(void)
{
	xw_xattr_set_clear(&set);
	put(XW_XI_USER, "one", "first value");
	put(XW_XI_USER, "three", "");
	put(XW_XI_USER, "two", "v");
	put(XW_XI_SECURITY, "selinux", "label");
}

static void make_block(void)
{
	struct xw_xattr_slot slots[8] = {0};
	struct xw_xattr_span span;

	make_set();
	for (size_t i = 0; i < set.a.n; i++)
		slots[i].in_block = true;
	ck_assert(xw_xattr_encode_block(&set, slots, SIZE, area, &span));
}

/* The number of good entries; rules of findings in the low digits of *rules. */
static unsigned walk(bool block, size_t size, unsigned *rules)
{
	struct xw_walk_xattr_item item;
	struct xw_walk_xattr it;
	unsigned good = 0;
	int kind;

	*rules = 0;
	if (block)
		xw_walk_xattr_block(&it, area, size);
	else
		xw_walk_xattr_inode(&it, area, size);
	while ((kind = xw_walk_xattr_next(&it, &item)) != 0) {
		ck_assert_int_eq(kind, item.rule == XW_XATTR_OK ? 1 : 2);
		good += kind == 1;
		if (kind == 2)
			*rules = *rules * 10 + item.rule;
	}
	ck_assert_int_eq(xw_walk_xattr_next(&it, &item), 0);
	return good;
}

/* Where the nth entry is. */
static size_t entry(unsigned n)
{
	size_t off = XW_XATTR_BHDR;

	while (n--)
		off += xw_xattr_entry_len(area[off]);
	return off;
}

START_TEST(good_block)
{
	unsigned rules;

	make_block();
	ck_assert_uint_eq(walk(true, SIZE, &rules), 4);
	ck_assert_uint_eq(rules, 0);
}
END_TEST

START_TEST(good_inode)
{
	struct xw_xattr_slot slots[8] = {0};
	unsigned rules;

	make_set();
	xw_xattr_encode_ibody(&set, slots, 156, area);
	ck_assert_uint_eq(walk(false, 156, &rules), 4);
	ck_assert_uint_eq(rules, 0);
}
END_TEST

static const struct {
	unsigned nth, byte;
	uint8_t value;
	unsigned good, rules;
} damages[] = {
	{0, 3, 0x80, 3, XW_XATTR_BAD_VALUE}, /* offset outside */
	{0, 3, 0, 3, XW_XATTR_BAD_HASH}, /* other bytes of the area */
	{0, 10, 2, 3, XW_XATTR_BAD_SIZE},
	{0, 11, 2, 3, XW_XATTR_BAD_SIZE}, /* over the limit */
	{0, 12, 0xee, 3, XW_XATTR_BAD_HASH},
	{0, 16, 'x', 3, XW_XATTR_BAD_HASH}, /* the name */
	{2, 3, 0x80, 3, XW_XATTR_BAD_VALUE}, /* of an empty value, too */
	{3, 0, 250, 3, 0}, /* a longer name: the terminator moves */
	{1, 0, 255, 1, XW_XATTR_BAD_ENTRY},
};

START_TEST(damaged)
{
	unsigned rules, good;

	make_block();
	area[entry(damages[_i].nth) + damages[_i].byte] = damages[_i].value;
	good = walk(true, SIZE, &rules);
	if (damages[_i].rules == XW_XATTR_BAD_ENTRY || !damages[_i].rules) {
		ck_assert_uint_gt(rules, 0); /* zeros behind the entries are one, in a block */
		ck_assert_uint_le(good, 3);
		return;
	}
	ck_assert_uint_eq(good, damages[_i].good);
	ck_assert_uint_eq(rules, damages[_i].rules);
}
END_TEST

START_TEST(ones_for_terminator)
{
	unsigned rules;

	make_block();
	memset(area + entry(4), 0xff, 4);
	ck_assert_uint_eq(walk(true, SIZE, &rules), 4);
	ck_assert_uint_eq(rules, XW_XATTR_BAD_VALUE);
}
END_TEST

/* A hash of whole words: of equal ones it may not tell how many there were. */
START_TEST(shorter_value)
{
	static const char value[] = "xxxxxxxxxxx";
	struct xw_xattr_slot slots[1] = {{.in_block = true}};
	struct xw_xattr_span span;
	unsigned rules;

	xw_xattr_set_clear(&set);
	put(XW_XI_USER, "more", value);
	ck_assert(xw_xattr_encode_block(&set, slots, SIZE, area, &span));
	ck_assert_uint_eq(walk(true, SIZE, &rules), 1);
	area[entry(0) + 8] = 3;
	ck_assert_uint_eq(walk(true, SIZE, &rules), 0);
	ck_assert_uint_eq(rules, XW_XATTR_BAD_HASH);
}
END_TEST

/* Values begin at multiples of four; an inode has no hashes that tell. */
START_TEST(shifted_value)
{
	struct xw_xattr_slot slots[8] = {0};
	unsigned rules;

	make_set();
	xw_xattr_encode_ibody(&set, slots, 156, area);
	area[XW_XATTR_IHDR + 2]++;
	ck_assert_uint_eq(walk(false, 156, &rules), 3);
	ck_assert_uint_ne(rules, 0);
}
END_TEST

START_TEST(overlap)
{
	unsigned rules;

	make_block();
	memcpy(area + entry(1) + 2, area + entry(0) + 2, 2);
	ck_assert_uint_eq(walk(true, SIZE, &rules), 3);
	ck_assert_uint_eq(rules, XW_XATTR_BAD_OVERLAP);
}
END_TEST

/* A value takes whole words from its offset on: the last byte of the area is no place for "v". */
START_TEST(unaligned)
{
	struct xw_xattr_slot slots[8] = {0};
	unsigned rules;

	xw_xattr_set_clear(&set);
	put(XW_XI_USER, "two", "v");
	xw_xattr_encode_ibody(&set, slots, 156, area);
	ck_assert_uint_eq(walk(false, 156, &rules), 1);
	area[XW_XATTR_IHDR + 2]++;
	ck_assert_uint_eq(walk(false, 156, &rules), 0);
	ck_assert_uint_eq(rules, XW_XATTR_BAD_SIZE);
}
END_TEST

START_TEST(nameless)
{
	unsigned rules;

	make_block();
	area[entry(3)] = area[entry(3) + 1] = 0;
	walk(true, SIZE, &rules);
	ck_assert_uint_gt(rules, 0);
}
END_TEST

START_TEST(no_terminator)
{
	unsigned rules;

	make_block();
	ck_assert_uint_eq(walk(true, entry(4), &rules), 1); /* the empty value */
	ck_assert_uint_gt(rules, 0);
}
END_TEST

/*
 * Areas made by hand: every member of every item. Entries are written as "OFFSET INDEX.NAME size
 * @VALUE", findings with "RULE(found)" before; VALUE is the offset of the value in the area, or
 * "-" for none.
 */
enum { INODE = 0, BLOCK = 1, PLACES = 2 };

static const char *const rules_said[] = {"OK", "ENTRY", "NAME", "VALUE", "SIZE", "OVERLAP", "HASH"};

static const struct area {
	const char *what;
	unsigned kind;
	unsigned size; /* of the area */
	struct {
		const char *name;
		uint8_t index;
		uint16_t offs;
		uint32_t size, inum;
		enum { RIGHT, NONE, WRONG } hash;
	} e[4];
	const char *want;
} areas[] = {
	{"in an inode",
	 INODE,
	 100,
	 {{"a", 1, 92, 4}, {"bc", 6, 80, 9}},
	 "4 1.a 4 @96; 24 6.bc 9 @84"},
	{"in a block",
	 BLOCK,
	 100,
	 {{"a", 1, 96, 4}, {"bc", 6, 84, 9}},
	 "32 1.a 4 @96; 52 6.bc 9 @84"},
	{"no hash", INODE, 100, {{"a", 1, 92, 4, 0, NONE}}, "4 1.a 4 @96"},
	{"no hash in a block", BLOCK, 100, {{"a", 1, 96, 4, 0, NONE}}, "HASH(0) 32 1.a 4 @96"},
	{"a wrong hash", INODE, 100, {{"a", 1, 92, 4, 0, WRONG}}, "HASH(0) 4 1.a 4 @96"},
	{"a wrong hash, only places",
	 INODE | PLACES,
	 100,
	 {{"a", 1, 92, 4, 0, WRONG}},
	 "4 1.a 4 @96"},
	{"no name", BLOCK, 100, {{"", 1, 96, 4}}, "32 1. 4 @96"},
	{"no index", BLOCK, 100, {{"a", 0, 96, 4}}, "NAME(0) 32 0.a 4 @-1"},
	{"no index in an inode", INODE, 100, {{"a", 0, 92, 4}}, "4 0.a 4 @96"},
	{"an empty value", INODE, 100, {{"a", 1, 0, 0}}, "4 1.a 0 @-1"},
	{"an empty value at the end", BLOCK, 100, {{"a", 1, 100, 0}}, "32 1.a 0 @-1"},
	{"an empty value past the end", BLOCK, 100, {{"a", 1, 101, 0}}, "VALUE(101) 32 1.a 0 @-1"},
	{"an empty value past the end, only places",
	 BLOCK | PLACES,
	 100,
	 {{"a", 1, 101, 0}},
	 "32 1.a 0 @-1"},
	{"in an EA inode", BLOCK, 100, {{"a", 1, 0, 3000, 77}}, "32 1.a 3000 @-1"},
	{"the largest size in an EA inode",
	 BLOCK,
	 100,
	 {{"a", 1, 0, 1 << 24, 77}},
	 "32 1.a 16777216 @-1"},
	{"too large in an EA inode",
	 BLOCK,
	 100,
	 {{"a", 1, 0, (1 << 24) + 1, 77}},
	 "SIZE(16777217) 32 1.a 16777217 @-1"},
	{"a value at the end of the entries",
	 BLOCK,
	 100,
	 {{"a", 1, 32 + 20 + 4, 4}},
	 "32 1.a 4 @56"},
	{"a value over the terminator",
	 BLOCK,
	 100,
	 {{"a", 1, 32 + 20 + 3, 4}},
	 "VALUE(55) 32 1.a 4 @-1"},
	{"a value over the terminator, only places",
	 BLOCK | PLACES,
	 100,
	 {{"a", 1, 32 + 20 + 3, 4}},
	 "32 1.a 4 @55"},
	{"a value after all entries",
	 BLOCK,
	 120,
	 {{"a", 1, 72, 4}, {"b", 1, 80, 4}},
	 "VALUE(72) 32 1.a 4 @-1; 52 1.b 4 @80"},
	{"a value over a later entry",
	 BLOCK,
	 120,
	 {{"a", 1, 60, 4}, {"b", 1, 80, 4}},
	 "VALUE(60) 32 1.a 4 @-1; 52 1.b 4 @80"},
	{"a value over a later entry in an inode",
	 INODE,
	 120,
	 {{"a", 1, 32, 4}, {"b", 1, 80, 4}},
	 "VALUE(32) 4 1.a 4 @-1; 24 1.b 4 @84"},
	{"a value that begins at the end",
	 BLOCK,
	 100,
	 {{"a", 1, 100, 1}},
	 "VALUE(100) 32 1.a 1 @-1"},
	{"a value past the end", BLOCK, 100, {{"a", 1, 92, 9}}, "SIZE(9) 32 1.a 9 @-1"},
	{"a value whose padding is past the end",
	 BLOCK,
	 98,
	 {{"a", 1, 92, 5}},
	 "SIZE(5) 32 1.a 5 @-1"},
	{"a value whose padding is past the end, only places",
	 BLOCK | PLACES,
	 98,
	 {{"a", 1, 92, 5}},
	 "32 1.a 5 @92"},
	{"values that share a word",
	 BLOCK,
	 120,
	 {{"a", 1, 100, 8}, {"b", 1, 104, 4}},
	 "32 1.a 8 @100; OVERLAP(104) 52 1.b 4 @-1"},
	{"values side by side",
	 BLOCK,
	 120,
	 {{"a", 1, 100, 8}, {"b", 1, 108, 4}, {"c", 1, 96, 4}},
	 "32 1.a 8 @100; 52 1.b 4 @108; 72 1.c 4 @96"},
	{"values that share one, only places",
	 BLOCK | PLACES,
	 120,
	 {{"a", 1, 100, 8}, {"b", 1, 104, 4}},
	 "32 1.a 8 @100; 52 1.b 4 @104"},
	{"one value twice, and a third entry",
	 BLOCK,
	 130,
	 {{"a", 1, 120, 4}, {"b", 1, 120, 4}, {"c", 1, 112, 4}},
	 "32 1.a 4 @120; OVERLAP(120) 52 1.b 4 @-1; 72 1.c 4 @112"},
	{"a name up to the end", BLOCK, 56, {{"abcd", 1, 0, 0}}, "32 1.abcd 0 @-1"},
	{"no room for the terminator", BLOCK, 55, {{"abcd", 1, 0, 0}}, "ENTRY(0) 32"},
	{"a name past the end", BLOCK, 50, {{"abcd", 1, 0, 0}}, "ENTRY(0) 32"},
};

START_TEST(by_hand)
{
	const struct area *k = &areas[_i];
	const bool block = k->kind & BLOCK;
	const size_t base = block ? 0 : XW_XATTR_IHDR;
	size_t off = block ? XW_XATTR_BHDR : XW_XATTR_IHDR, n = 0;
	struct xw_walk_xattr_item item;
	struct xw_walk_xattr it;
	char got[1024] = "";
	int kind;

	memset(area, 0, sizeof(area));
	for (unsigned i = 0; i < 4 && k->e[i].name; i++)
		memset(area + base + k->e[i].offs, 'a' + (int)i,
		       k->e[i].inum ? 0 : XW_MIN(k->e[i].size, 16u));
	memset(area + off, 0, 44);
	for (unsigned i = 0; i < 4 && k->e[i].name; i++) {
		const size_t len = strlen(k->e[i].name);
		struct xw_xattr_entry e = {
			.name_len = (uint8_t)len,
			.name_index = k->e[i].index,
			.value_offs = k->e[i].offs,
			.value_inum = k->e[i].inum,
			.value_size = k->e[i].size,
			.name = k->e[i].name,
		};

		if (!e.value_inum && k->e[i].hash != NONE)
			e.hash = xw_xattr_entry_hash(e.name, len, area + base + e.value_offs,
						     (e.value_size + 3) & ~3u);
		e.hash += k->e[i].hash == WRONG;
		xw_xattr_entry_encode(area, off, &e);
		off += xw_xattr_entry_len(e.name_len);
	}
	if (block)
		xw_walk_xattr_block(&it, area, k->size);
	else
		xw_walk_xattr_inode(&it, area, k->size);
	it.places_only = k->kind & PLACES;
	while ((kind = xw_walk_xattr_next(&it, &item)) != 0) {
		const bool hash = item.rule == XW_XATTR_BAD_HASH;

		ck_assert_uint_lt(n, sizeof(got) - 100);
		if (kind == 2)
			n += (size_t)snprintf(got + n, sizeof(got) - n, "%s(%llu) ",
					      rules_said[item.rule],
					      hash ? 0ull : (unsigned long long)item.found);
		ck_assert(!hash || item.found == item.e.hash);
		n += (size_t)snprintf(got + n, sizeof(got) - n, "%zu", item.off);
		if (item.rule != XW_XATTR_BAD_ENTRY)
			n += (size_t)snprintf(got + n, sizeof(got) - n, " %u.%.*s %u @%d",
					      item.e.name_index, (int)item.e.name_len, item.e.name,
					      item.e.value_size,
					      item.value ? (int)(item.value - area) : -1);
		n += (size_t)snprintf(got + n, sizeof(got) - n, "; ");
	}
	got[n - (n ? 2 : 0)] = 0;
	ck_assert_msg(!strcmp(got, k->want), "%s\n# got  %s\n# want %s", k->what, got, k->want);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("walk_xattr");
	TCase *t = tcase_create("walk_xattr");

	tcase_add_test(t, good_block);
	tcase_add_test(t, good_inode);
	unit_add_table(t, damaged, damages);
	tcase_add_test(t, ones_for_terminator);
	tcase_add_test(t, shorter_value);
	tcase_add_test(t, shifted_value);
	tcase_add_test(t, overlap);
	tcase_add_test(t, unaligned);
	tcase_add_test(t, nameless);
	tcase_add_test(t, no_terminator);
	unit_add_table(t, by_hand, areas);
	suite_add_tcase(s, t);
	return unit_main(s);
}
