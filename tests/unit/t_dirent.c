/* SPDX-License-Identifier: MIT */
/* Directory entries and the checksum tail. */
#include <check.h>

#include "base/endian.h"
#include "base/err.h"
#include "disk/dirent.h"
#include "disk/inode.h"
#include "disk_fix.h"
#include "unit.h"

static uint32_t lin_seed(void)
{
	return xw_inode_seed(FIX_SEED, 65, 2046287006);
}

/* The directory was filled by creating these, in this order. */
static const struct {
	const char *name;
	uint8_t ftype;
} names[] = {
	{".", XW_FT_DIR},
	{"..", XW_FT_DIR},
	{"one", XW_FT_REG},
	{"three", XW_FT_REG},
	{"a_longer_name.txt", XW_FT_REG},
};

START_TEST(block_by_the_kernel)
{
	uint8_t block[1024], out[1024];
	struct xw_dirent e, peeked;
	uint32_t off = 0;

	FIX(dir_block, block);
	ck_assert_uint_eq(xw_dir_inline_parent(block), 65); /* a number, wherever it is */
	memcpy(out, block, sizeof(out));
	for (unsigned i = 0; i < XW_ARRAY_SIZE(names); i++, off += e.rec_len) {
		ck_assert_int_eq(xw_dirent_decode(block, 1024, off, &e), 0);
		ck_assert_uint_eq(e.name_len, strlen(names[i].name));
		ck_assert_mem_eq(e.name, names[i].name, e.name_len);
		ck_assert_uint_eq(e.ftype, names[i].ftype);
		if (i < 2)
			ck_assert_uint_eq(e.ino, i ? XW_INO_ROOT : 65);
		xw_dirent_peek(block + off, &peeked);
		ck_assert(peeked.ino == e.ino && peeked.rec_len == e.rec_len);
		ck_assert(peeked.name_len == e.name_len && peeked.ftype == e.ftype);
		ck_assert_ptr_eq(peeked.name, e.name);
		ck_assert(xw_dirent_is_dot(block + off, 65) == !i);
		memset(out + off, 0xA5, 8u + e.name_len);
		xw_dirent_encode(out, 1024, off, &e);
	}
	ck_assert_uint_eq(off, 1024 - XW_DIR_TAIL);
	ck_assert_int_eq(xw_dirent_decode(block, 1024, off, &e), 0);
	ck_assert_uint_eq(e.ino, 0);
	ck_assert_uint_eq(e.rec_len, 12);
	ck_assert_uint_eq(e.name_len, 0);
	ck_assert_uint_eq(e.ftype, XW_FT_CSUM_TAIL);
	ck_assert_mem_eq(out, block, sizeof(block));
}
END_TEST

START_TEST(tail_by_the_kernel)
{
	uint8_t block[1024], out[1024];

	FIX(dir_block, block);
	ck_assert(xw_dir_has_tail(block, 1024));
	ck_assert_int_eq(xw_dir_block_verify(block, 1024, lin_seed()), 0);
	ck_assert_uint_eq(xw_dir_tail_csum(block, 1024), peek32(block + 1020));
	memcpy(out, block, sizeof(out));
	memset(out + 1024 - XW_DIR_TAIL, 0xA5, XW_DIR_TAIL);
	xw_dir_tail_init(out, 1024);
	ck_assert_uint_eq(peek32(out + 1020), 0);
	xw_dir_block_set_csum(out, 1024, lin_seed());
	ck_assert_mem_eq(out, block, sizeof(block));
}
END_TEST

START_TEST(hash_after_the_name)
{
	static const struct {
		uint32_t rec_len;
		uint8_t name_len;
		bool has;
	} rows[] = {{20, 1, true},  {19, 1, false}, {20, 4, true},
		    {20, 5, false}, {24, 5, true},  {12, 1, false}};
	const char name[16] = "abcd\x04\x03\x02\x01\x08\x07\x06\x05";
	uint32_t major, minor;

	for (unsigned i = 0; i < XW_ARRAY_SIZE(rows); i++) {
		const struct xw_dirent e = {
			.rec_len = rows[i].rec_len, .name_len = rows[i].name_len, .name = name};

		ck_assert_msg(xw_dirent_hash(&e, &major, &minor) == rows[i].has, "row %u", i);
		ck_assert(rows[i].has || (!major && !minor));
		if (i)
			continue;
		ck_assert_uint_eq(major, 0x01020304);
		ck_assert_uint_eq(minor, 0x05060708);
	}
}
END_TEST

START_TEST(checksum_covers_everything)
{
	uint8_t block[1024];

	FIX(dir_block, block);
	for (unsigned i = 0; i < 8 * sizeof(block); i++) {
		bool in_tail = i / 8 >= 1012 && i / 8 < 1020;

		block[i / 8] ^= (uint8_t)(1u << i % 8);
		ck_assert_int_eq(xw_dir_block_verify(block, 1024, lin_seed()),
				 in_tail ? XW_ERR_CORRUPT : XW_ERR_CHECKSUM);
		block[i / 8] ^= (uint8_t)(1u << i % 8);
	}
	ck_assert_int_eq(xw_dir_block_verify(block, 1024, lin_seed() + 1), XW_ERR_CHECKSUM);
}
END_TEST

static const struct {
	uint32_t off;
	uint16_t rec_len;
	uint8_t name_len;
	int want;
} entries[] = {
	{0, 12, 1, 0},
	{0, 12, 4, 0},
	{0, 12, 5, XW_ERR_CORRUPT}, /* the name sticks out */
	{0, 264, 255, 0},
	{0, 260, 255, XW_ERR_CORRUPT},
	{0, 1024, 1, 0},
	{0, 1028, 1, XW_ERR_CORRUPT}, /* beyond the block */
	{4, 1024, 1, XW_ERR_CORRUPT},
	{0, 14, 1, XW_ERR_CORRUPT}, /* unaligned */
	{0, 8, 0, XW_ERR_CORRUPT},
	{0, 0, 0, XW_ERR_CORRUPT},
	{0, 0xFFFF, 1, XW_ERR_CORRUPT},
	{0, 0xFFFC, 1, XW_ERR_CORRUPT},
	{1012, 12, 1, 0},
	{1012, 16, 1, XW_ERR_CORRUPT},
	{1016, 8, 0, XW_ERR_CORRUPT}, /* no room for an entry */
	{1024, 12, 0, XW_ERR_CORRUPT},
	{0xFFFFFFFC, 12, 0, XW_ERR_CORRUPT},
};

START_TEST(entry_checks)
{
	uint8_t block[1024] = {0};
	struct xw_dirent e;

	if (entries[_i].off <= 1016) {
		poke16(block + entries[_i].off + 4, entries[_i].rec_len);
		block[entries[_i].off + 6] = entries[_i].name_len;
	}
	ck_assert_int_eq(xw_dirent_decode(block, 1024, entries[_i].off, &e), entries[_i].want);
}
END_TEST

/* 65536 does not fit 16 bits: observed in mke2fs -b 65536, an empty lost+found block spans it all.
 */
START_TEST(rec_len_of_64k)
{
	static uint8_t block[65536];
	struct xw_dirent e = {.rec_len = 65536}, got;

	xw_dirent_encode(block, 65536, 0, &e);
	ck_assert_uint_eq(peek16(block + 4), 0xFFFF);
	ck_assert_int_eq(xw_dirent_decode(block, 65536, 0, &got), 0);
	ck_assert_uint_eq(got.rec_len, 65536);
	poke16(block + 4, 0);
	ck_assert_int_eq(xw_dirent_decode(block, 65536, 0, &got), 0);
	ck_assert_uint_eq(got.rec_len, 65536);
	ck_assert_int_eq(xw_dirent_decode(block, 32768, 0, &got), XW_ERR_CORRUPT);
	e.rec_len = 65524;
	xw_dirent_encode(block, 65536, 12, &e);
	ck_assert_uint_eq(peek16(block + 16), 65524);
	ck_assert_int_eq(xw_dirent_decode(block, 65536, 12, &got), 0);
	ck_assert_uint_eq(got.rec_len, 65524);
}
END_TEST

START_TEST(random_round_trip)
{
	uint64_t rng = 31 + (uint64_t)_i;
	uint8_t block[1024], out[1024], name[255];
	struct xw_dirent e, got;
	uint32_t off = 0;

	fix_random_bytes(&rng, block, sizeof(block));
	memcpy(out, block, sizeof(out));
	fix_random_bytes(&rng, name, sizeof(name));
	while (off < 1024) {
		e.name_len = (uint8_t)(fix_random(&rng) % 60);
		e.rec_len = XW_MAX(12u, xw_dirent_size(e.name_len)) +
			    4 * (uint32_t)(fix_random(&rng) % 3);
		if (1024 - off < e.rec_len + 72)
			e.rec_len = 1024 - off;
		e.ino = (xw_ino)fix_random(&rng);
		e.ftype = (uint8_t)fix_random(&rng);
		e.name = (const char *)name;
		xw_dirent_encode(block, 1024, off, &e);
		ck_assert_int_eq(xw_dirent_decode(block, 1024, off, &got), 0);
		ck_assert_uint_eq(got.ino, e.ino);
		ck_assert_uint_eq(got.rec_len, e.rec_len);
		ck_assert_uint_eq(got.name_len, e.name_len);
		ck_assert_uint_eq(got.ftype, e.ftype);
		ck_assert_mem_eq(got.name, name, e.name_len);
		/* the slack is left alone */
		ck_assert_mem_eq(block + off + 8 + e.name_len, out + off + 8 + e.name_len,
				 e.rec_len - 8 - e.name_len);
		off += e.rec_len;
	}
}
END_TEST

START_TEST(types_of_modes)
{
	static const struct {
		uint32_t mode;
		enum xw_ftype want;
	} t[] = {
		{XW_S_IFREG | 0644, XW_FT_REG}, {XW_S_IFDIR | 01777, XW_FT_DIR},
		{XW_S_IFLNK | 0777, XW_FT_LNK}, {XW_S_IFCHR, XW_FT_CHR},
		{XW_S_IFBLK, XW_FT_BLK},        {XW_S_IFIFO, XW_FT_FIFO},
		{XW_S_IFSOCK, XW_FT_SOCK},      {0644, XW_FT_UNKNOWN},
		{0170000, XW_FT_UNKNOWN},
	};

	for (size_t i = 0; i < XW_ARRAY_SIZE(t); i++)
		ck_assert_uint_eq(xw_ftype_of_mode(t[i].mode), t[i].want);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("dirent");
	TCase *t = tcase_create("dirent");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, block_by_the_kernel);
	tcase_add_test(t, tail_by_the_kernel);
	tcase_add_test(t, hash_after_the_name);
	tcase_add_test(t, checksum_covers_everything);
	unit_add_table(t, entry_checks, entries);
	tcase_add_test(t, rec_len_of_64k);
	tcase_add_loop_test(t, random_round_trip, 0, 50);
	tcase_add_test(t, types_of_modes);
	suite_add_tcase(s, t);
	return unit_main(s);
}
