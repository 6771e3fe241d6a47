// SPDX-License-Identifier: MIT
/* Where the value of system.data is in a record, and its hash: records in, offsets out. */
#include "config.h"

#include "disk/xattrblk.h"
#include "fsck_bytes.h"

enum { FIRST = 128 + 32 + 4, ROOM = SIZE - FIRST, LEN = 12 };

static uint8_t raw[SIZE];
static struct xw_inode in;

/* A value of LEN bytes at `at`, behind another attribute. */
static void load(const char *name, uint8_t index, uint16_t at, uint32_t len, uint32_t value_inum)
{
	const struct xw_xattr_entry other = {.name_len = 1, .name_index = 1, .name = "a"};
	const struct xw_xattr_entry e = {.name_len = (uint8_t)strlen(name),
					 .name_index = index,
					 .value_offs = at,
					 .value_size = len,
					 .value_inum = value_inum,
					 .hash = 5,
					 .name = name};

	memset(raw, 0, sizeof(raw));
	in = (struct xw_inode){.extra_isize = 32};
	poke32(raw + FIRST - 4, XW_XATTR_MAGIC);
	xw_xattr_entry_encode(raw + FIRST, 0, &other);
	xw_xattr_entry_encode(raw + FIRST, xw_xattr_entry_len(1), &e);
}

static const struct {
	const char *name;
	uint8_t index;
	uint16_t at;
	uint32_t len, value_inum;
	bool is;
} rows[] = {
	{"data", XW_XI_SYSTEM, 60, LEN, 0, true},
	{"data", XW_XI_SYSTEM, 60, 0, 0, true},
	{"data", XW_XI_SYSTEM, ROOM - LEN, LEN, 0, true},
	{"data", XW_XI_SYSTEM, ROOM - 8, LEN, 0, false}, /* leaves the record */
	{"data", XW_XI_SYSTEM, 4, LEN, 0, false}, /* among the entries */
	{"data", XW_XI_SYSTEM, 60, LEN, 20, false}, /* in an EA inode */
	{"data", XW_XI_USER, 60, LEN, 0, false},
	{"date", XW_XI_SYSTEM, 60, LEN, 0, false},
	{"dat", XW_XI_SYSTEM, 60, LEN, 0, false},
	{"data2", XW_XI_SYSTEM, 60, LEN, 0, false},
};

START_TEST(value)
{
	open_bytes();
	for (size_t i = 0; i < XW_ARRAY_SIZE(rows); i++) {
		uint32_t len = 99;
		size_t at;

		load(rows[i].name, rows[i].index, rows[i].at, rows[i].len, rows[i].value_inum);
		at = fsck_inline_value(&f, &in, raw, &len);
		ck_assert_msg(at == (rows[i].is ? (size_t)FIRST + rows[i].at : 0),
			      "%s, index %u, at %u, length %u", rows[i].name, rows[i].index,
			      rows[i].at, rows[i].len);
		ck_assert_uint_eq(len, rows[i].is ? rows[i].len : 0);
	}
	close_bytes();
}
END_TEST

/* Records without room for attributes, or without any. */
START_TEST(no_value)
{
	uint32_t len = 99;

	open_bytes();
	load("data", XW_XI_SYSTEM, 60, LEN, 0);
	in.extra_isize = 0;
	ck_assert(!fsck_inline_value(&f, &in, raw, &len) && !len);
	len = 99;
	in.extra_isize = 124; /* the magic ends the record */
	poke32(raw + SIZE - 4, XW_XATTR_MAGIC);
	ck_assert(!fsck_inline_value(&f, &in, raw, &len) && !len);
	len = 99;
	in.extra_isize = 32;
	poke32(raw + FIRST - 4, 0);
	ck_assert(!fsck_inline_value(&f, &in, raw, &len) && !len);
	len = 99;
	load("data", XW_XI_SYSTEM, 60, LEN, 0);
	raw[FIRST] = 200; /* the first name leaves the record */
	ck_assert(!fsck_inline_value(&f, &in, raw, &len) && !len);
	close_bytes();
}
END_TEST

static uint32_t stored_hash(void)
{
	return peek32(raw + FIRST + xw_xattr_entry_len(1) + 12);
}

START_TEST(hash)
{
	uint8_t was[SIZE];

	open_bytes();
	load("data", XW_XI_SYSTEM, 60, LEN, 0);
	memset(raw + FIRST + 60, 'x', LEN);
	memcpy(was, raw, sizeof(was));
	fsck_inline_seal(&f, &in, raw);
	ck_assert_uint_eq(stored_hash(), xw_xattr_entry_hash("data", 4, raw + FIRST + 60, LEN));
	poke32(was + FIRST + xw_xattr_entry_len(1) + 12, stored_hash());
	ck_assert_mem_eq(raw, was, sizeof(was)); /* and nothing else */
	poke32(raw + FIRST + xw_xattr_entry_len(1) + 12, 0); /* it has none, as Linux writes it */
	fsck_inline_seal(&f, &in, raw);
	ck_assert_uint_eq(stored_hash(), 0);
	load("data", XW_XI_USER, 60, LEN, 0);
	fsck_inline_seal(&f, &in, raw);
	ck_assert_uint_eq(stored_hash(), 5);
	close_bytes();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fsck_inline");
	TCase *t = tcase_create("fsck_inline");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, value);
	tcase_add_test(t, no_value);
	tcase_add_test(t, hash);
	suite_add_tcase(s, t);
	return unit_main(s);
}
