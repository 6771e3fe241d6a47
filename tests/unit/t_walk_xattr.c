// SPDX-License-Identifier: MIT
/* The tolerant walk over attribute areas: what it yields of good ones, and of damage by kind. */
#include "config.h"

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

int main(void)
{
	Suite *s = suite_create("walk_xattr");
	TCase *t = tcase_create("walk_xattr");

	tcase_add_test(t, good_block);
	tcase_add_test(t, good_inode);
	tcase_add_loop_test(t, damaged, 0, (int)(sizeof(damages) / sizeof(damages[0])));
	tcase_add_test(t, ones_for_terminator);
	tcase_add_test(t, shorter_value);
	tcase_add_test(t, shifted_value);
	tcase_add_test(t, overlap);
	tcase_add_test(t, unaligned);
	tcase_add_test(t, nameless);
	tcase_add_test(t, no_terminator);
	suite_add_tcase(s, t);
	return unit_main(s);
}
