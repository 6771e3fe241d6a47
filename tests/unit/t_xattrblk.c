/* SPDX-License-Identifier: MIT */
/* xattr blocks and entries: what the kernel wrote, the hashes old and new, checks, round trips. */
#include <check.h>

#include "base/endian.h"
#include "base/err.h"
#include "disk/inode.h"
#include "disk/xattrblk.h"
#include "disk_fix.h"
#include "unit.h"

#define BLK 180

START_TEST(block_by_the_kernel)
{
	uint8_t block[1024], out[1024];
	struct xw_xattr_bhdr h;
	struct xw_xattr_entry e;
	uint32_t reserved[3];
	size_t next, end;

	FIX(xattr_block, block);
	ck_assert_uint_eq(xw_xattr_magic(block), XW_XATTR_MAGIC);
	memset(block + 20, 7, 4);
	xw_xattr_bhdr_reserved(block, reserved);
	ck_assert_uint_eq(reserved[0], 0x07070707);
	ck_assert_uint_eq(reserved[1] | reserved[2], 0);
	memset(block + 20, 0, 4);
	ck_assert_int_eq(xw_xattr_bhdr_decode(block, &h), 0);
	ck_assert_uint_eq(h.refcount, 1);
	ck_assert_uint_eq(h.blocks, 1);
	ck_assert_uint_eq(h.hash, 0x89F53B2B);
	ck_assert_uint_eq(h.checksum, 0xFC7E0672);
	ck_assert_int_eq(xw_xattr_entry_decode(block, 1024, 32, 0, &e, &next), 0);
	ck_assert_uint_eq(e.name_index, XW_XI_USER);
	ck_assert_uint_eq(e.name_len, 5);
	ck_assert_mem_eq(e.name, "blk\xc3\xa9", 5);
	ck_assert_uint_eq(e.value_inum, 0);
	ck_assert_uint_eq(e.value_size, 140);
	ck_assert_mem_eq(block + e.value_offs, "0123456789012345", 16);
	ck_assert_uint_eq(e.hash, 0x89F53B2B);
	ck_assert_uint_eq(xw_xattr_entry_hash(e.name, 5, block + e.value_offs, 140), e.hash);
	ck_assert_uint_eq(xw_xattr_block_hash(&e.hash, 1), h.hash);
	ck_assert_uint_eq(next, 32 + 24);
	ck_assert_int_eq(xw_xattr_entry_decode(block, 1024, next, 0, &e, &end), 0);
	ck_assert_uint_eq(end, 0);
	ck_assert_uint_eq(e.name_len, 5); /* untouched by the terminator */

	memcpy(out, block, sizeof(out));
	memset(out, 0xA5, next);
	h.checksum = 0;
	xw_xattr_bhdr_encode(out, &h);
	xw_xattr_entry_encode(out, 32, &e);
	xw_xattr_block_set_csum(out, 1024, FIX_SEED, BLK);
	ck_assert_mem_eq(out, block, sizeof(block));
}
END_TEST

START_TEST(checksum_covers_everything)
{
	uint8_t block[1024];

	FIX(xattr_block, block);
	ck_assert_int_eq(xw_xattr_block_verify(block, 1024, FIX_SEED, BLK), 0);
	ck_assert_int_eq(xw_xattr_block_verify(block, 1024, FIX_SEED, BLK + (1ull << 32)),
			 XW_ERR_CHECKSUM);
	for (unsigned i = 0; i < 8 * sizeof(block); i++) {
		block[i / 8] ^= (uint8_t)(1u << i % 8);
		ck_assert_int_eq(xw_xattr_block_verify(block, 1024, FIX_SEED, BLK),
				 XW_ERR_CHECKSUM);
		block[i / 8] ^= (uint8_t)(1u << i % 8);
	}
}
END_TEST

/* The checksum follows the refcount, in blocks of every size. */
START_TEST(checksum_of_another_refcount)
{
	static const uint32_t counts[] = {1, 2, 3, 1023, 1024, 1025, 0x80000000, 0xFFFFFFFF, 0};
	const uint32_t size = 1024u << _i;
	struct xw_xattr_bhdr h = {.refcount = 1, .blocks = 1, .hash = 0x89F53B2B};
	uint8_t *block = malloc(size);

	ck_assert_ptr_nonnull(block);
	for (uint32_t i = 0; i < size; i++)
		block[i] = (uint8_t)(i * 7 + i / 256);
	xw_xattr_bhdr_encode(block, &h);
	xw_xattr_block_set_csum(block, size, FIX_SEED, BLK);
	for (unsigned i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		const uint32_t from = h.refcount;

		ck_assert_int_eq(xw_xattr_bhdr_decode(block, &h), 0);
		block[20]++; /* a reserved word, which is neither looked at nor changed */
		xw_xattr_block_set_csum(block, size, FIX_SEED, BLK);
		xw_xattr_block_recount(block, size, true, counts[i]);
		ck_assert_int_eq(xw_xattr_bhdr_decode(block, &h), 0);
		ck_assert_uint_eq(h.refcount, counts[i]);
		ck_assert_uint_eq(block[20], i + 1);
		ck_assert_int_eq(xw_xattr_block_verify(block, size, FIX_SEED, BLK), 0);
		ck_assert_uint_eq(xw_xattr_csum_recount(xw_xattr_csum_recount(1, size, from, 7),
							size, 7, from),
				  1);
	}
	h.checksum = 0x1234;
	xw_xattr_bhdr_encode(block, &h);
	xw_xattr_block_recount(block, size, false, 9);
	ck_assert_int_eq(xw_xattr_bhdr_decode(block, &h), 0);
	ck_assert_uint_eq(h.refcount, 9);
	ck_assert_uint_eq(h.checksum, 0x1234);
	free(block);
}
END_TEST

/* In the inode: values counted from the first entry, hashes left 0 by the kernel. */
START_TEST(area_in_inode)
{
	uint8_t rec[256];
	const uint8_t *area = rec + 164;
	struct xw_xattr_entry e;
	size_t next;

	FIX(inode_a, rec);
	ck_assert_int_eq(xw_xattr_entry_decode(area, 92, 0, 0, &e, &next), 0);
	ck_assert_uint_eq(e.name_index, XW_XI_USER);
	ck_assert_mem_eq(e.name, "in", 2);
	ck_assert_uint_eq(e.value_size, 11);
	ck_assert_mem_eq(area + e.value_offs, "inode value", 11);
	ck_assert_uint_eq(e.hash, 0);
	ck_assert_int_eq(xw_xattr_entry_decode(area, 92, next, 0, &e, &next), 0);
	ck_assert_uint_eq(e.name_index, XW_XI_TRUSTED);
	ck_assert_uint_eq(e.value_size, 33);
	ck_assert_int_eq(xw_xattr_entry_decode(area, 92, next, 0, &e, &next), 0);
	ck_assert_uint_eq(next, 0);
}
END_TEST

/* The first three rows are f_ea_unsigned_hash and f_ea_signed_hash of the fsck corpus; the others
 * by the kernel. */
static const struct {
	const char *name, *value;
	uint32_t value_hash; /* of an EA inode, when value is NULL */
	uint32_t now, before_6_2;
} hashes[] = {
	{"emoji_\xf0\x9f\xa6\x91\xf0\x9f\xa6\x8b\xf0\x9f\xa6\x89\xf0\x9f\xa6\x92", NULL, 0x3ABBC45D,
	 0x742C0FA7, 0xC9C4B24F},
	{"emoji_\xf0\x9f\xa6\x91\xf0\x9f\xa6\x8b\xf0\x9f\xa6\x89\xf0\x9f\xa6\x92", NULL, 0x1B767F5B,
	 0x55E1B4A1, 0xE8090949},
	{"n\xc3\xa9v\xff", "value one", 0, 0x7F3609FF, 0xFC36F67C},
	{"short", "abc", 0, 0xB2576564, 0xB2576564},
	{"large\xff", NULL, 0x827B3A5A, 0x1224E472, 0xED241B8D},
};

START_TEST(entry_hashes)
{
	const char *name = hashes[_i].name, *value = hashes[_i].value;
	size_t n = strlen(name), len = value ? strlen(value) : 0;

	if (value) {
		ck_assert_uint_eq(xw_xattr_entry_hash(name, n, value, len), hashes[_i].now);
		ck_assert(xw_xattr_entry_hash_ok(hashes[_i].now, name, n, value, len));
		ck_assert(xw_xattr_entry_hash_ok(hashes[_i].before_6_2, name, n, value, len));
		ck_assert(!xw_xattr_entry_hash_ok(hashes[_i].now ^ 1, name, n, value, len));
	} else {
		ck_assert_uint_eq(xw_xattr_entry_hash_inum(name, n, hashes[_i].value_hash),
				  hashes[_i].now);
		ck_assert(xw_xattr_entry_hash_inum_ok(hashes[_i].now, name, n,
						      hashes[_i].value_hash));
		ck_assert(xw_xattr_entry_hash_inum_ok(hashes[_i].before_6_2, name, n,
						      hashes[_i].value_hash));
		ck_assert(!xw_xattr_entry_hash_inum_ok(hashes[_i].now + 1, name, n,
						       hashes[_i].value_hash));
	}
}
END_TEST

START_TEST(value_hash_by_the_kernel)
{
	uint8_t value[5120];

	for (size_t i = 0; i < sizeof(value); i++)
		value[i] = (uint8_t)i;
	ck_assert_uint_eq(xw_xattr_value_hash(FIX_SEED, value, sizeof(value)), 0x827B3A5A);
}
END_TEST

START_TEST(block_hash)
{
	static const uint32_t three[] = {1, 0x80000001, 0xFFFF0000}, holed[] = {5, 0, 7};

	ck_assert_uint_eq(xw_xattr_block_hash(NULL, 0), 0);
	ck_assert_uint_eq(xw_xattr_block_hash(three, 1), 1);
	ck_assert_uint_eq(xw_xattr_block_hash(three, 2), 0x80010001 ^ 0);
	ck_assert_uint_eq(xw_xattr_block_hash(three, 3), 0x00018001 ^ 0xFFFF0000);
	ck_assert_uint_eq(xw_xattr_block_hash(holed, 3), 0);
}
END_TEST

/* One entry of 16 + 4 bytes at the start of an area of 64. */
static const struct {
	size_t off, base;
	uint8_t name_len;
	uint16_t value_offs;
	uint32_t inum, size;
	int want;
} entries[] = {
	{0, 0, 4, 60, 0, 4, 0},
	{0, 0, 4, 61, 0, 4, XW_ERR_CORRUPT},
	{0, 0, 4, 64, 0, 0, 0},
	{0, 0, 4, 0xFFFF, 0, 0, 0}, /* no value, no place */
	{0, 0, 4, 0xFFFF, 0, 1, XW_ERR_CORRUPT},
	{0, 32, 4, 28, 0, 4, 0},
	{0, 32, 4, 32, 0, 1, XW_ERR_CORRUPT},
	{0, 100, 4, 0, 0, 1, XW_ERR_CORRUPT},
	{0, 0, 4, 0, 0, 0xFFFFFFFF, XW_ERR_CORRUPT},
	{0, 0, 4, 0, 12, 1 << 24, 0},
	{0, 0, 4, 0, 12, (1 << 24) + 1, XW_ERR_CORRUPT},
	{0, 0, 44, 0, 12, 0, 0}, /* entry of 60, then the terminator */
	{0, 0, 45, 0, 12, 0, XW_ERR_CORRUPT},
	{0, 0, 255, 0, 12, 0, XW_ERR_CORRUPT},
	{44, 0, 0, 0, 12, 0, 0},
	{48, 0, 0, 0, 12, 0, XW_ERR_CORRUPT},
	{52, 0, 0, 0, 12, 0, XW_ERR_CORRUPT},
	{64, 0, 0, 0, 12, 0, XW_ERR_CORRUPT},
	{65, 0, 0, 0, 12, 0, XW_ERR_CORRUPT},
	{SIZE_MAX, 0, 0, 0, 12, 0, XW_ERR_CORRUPT},
};

START_TEST(entry_checks)
{
	uint8_t area[64 + 256] = {0};
	struct xw_xattr_entry e;
	size_t next = 99;

	if (entries[_i].off <= 64) {
		uint8_t *p = area + entries[_i].off;

		p[0] = entries[_i].name_len;
		p[1] = 1;
		poke16(p + 2, entries[_i].value_offs);
		poke32(p + 4, entries[_i].inum);
		poke32(p + 8, entries[_i].size);
	}
	ck_assert_int_eq(
		xw_xattr_entry_decode(area, 64, entries[_i].off, entries[_i].base, &e, &next),
		entries[_i].want);
	ck_assert_uint_eq(
		next,
		entries[_i].want ? 0 : entries[_i].off + xw_xattr_entry_len(entries[_i].name_len));
}
END_TEST

START_TEST(bad_headers)
{
	uint8_t block[1024];
	struct xw_xattr_bhdr h;

	FIX(xattr_block, block);
	block[0] ^= 1;
	ck_assert_int_eq(xw_xattr_bhdr_decode(block, &h), XW_ERR_CORRUPT);
	block[0] ^= 1;
	poke32(block + 8, 2);
	ck_assert_int_eq(xw_xattr_bhdr_decode(block, &h), XW_ERR_CORRUPT);
	ck_assert_uint_eq(h.blocks, 2);
}
END_TEST

START_TEST(random_round_trip)
{
	uint64_t rng = 7 + (uint64_t)_i;
	uint8_t area[512], name[256];
	struct xw_xattr_entry e = {0}, got;
	size_t next;

	memset(area, 0xA5, sizeof(area));
	fix_random_bytes(&rng, name, sizeof(name));
	e.name_len = (uint8_t)_i;
	e.name_index = 1;
	e.value_inum = 1 + (uint32_t)(fix_random(&rng) >> 33);
	e.value_offs = (uint16_t)fix_random(&rng);
	e.value_size = (uint32_t)fix_random(&rng) & 0xFFFFFF;
	e.hash = (uint32_t)fix_random(&rng);
	e.name = (const char *)name;
	xw_xattr_entry_encode(area, 8, &e);
	ck_assert_int_eq(xw_xattr_entry_decode(area, sizeof(area), 8, 0, &got, &next), 0);
	ck_assert_uint_eq(next, 8 + xw_xattr_entry_len(e.name_len));
	ck_assert_uint_eq(got.name_len, e.name_len);
	ck_assert_uint_eq(got.name_index, e.name_index);
	ck_assert_uint_eq(got.value_offs, e.value_offs);
	ck_assert_uint_eq(got.value_inum, e.value_inum);
	ck_assert_uint_eq(got.value_size, e.value_size);
	ck_assert_uint_eq(got.hash, e.hash);
	ck_assert_mem_eq(got.name, name, e.name_len);
	for (size_t i = 8 + 16 + e.name_len; i < next; i++)
		ck_assert_uint_eq(area[i], 0);
	ck_assert_uint_eq(area[next], 0xA5);
	ck_assert_uint_eq(area[7], 0xA5);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("xattrblk");
	TCase *t = tcase_create("xattrblk");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, block_by_the_kernel);
	tcase_add_test(t, checksum_covers_everything);
	tcase_add_loop_test(t, checksum_of_another_refcount, 0, 7);
	tcase_add_test(t, area_in_inode);
	unit_add_rows(t, entry_hashes, hashes, name);
	tcase_add_test(t, value_hash_by_the_kernel);
	tcase_add_test(t, block_hash);
	unit_add_table(t, entry_checks, entries);
	tcase_add_test(t, bad_headers);
	tcase_add_loop_test(t, random_round_trip, 0, 256);
	suite_add_tcase(s, t);
	return unit_main(s);
}
