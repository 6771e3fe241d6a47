/* SPDX-License-Identifier: MIT */
/* Orphan file blocks and the mount protection's block, against what mke2fs 1.47.0 wrote. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc.h"
#include "base/endian.h"
#include "base/err.h"
#include "disk/inode.h"
#include "disk/mmp.h"
#include "disk/orphan.h"
#include "unit.h"

/* mke2fs -t ext4 -b 1024 -U 11111111-2222-3333-4444-555555555555 -O orphan_file,mmp, 16M */
static const uint8_t uuid[16] = {0x11, 0x11, 0x11, 0x11, 0x22, 0x22, 0x33, 0x33,
				 0x44, 0x44, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55};
#define ORPHAN_INO 12
#define ORPHAN_BLOCK 1173
#define ORPHAN_CSUM 0xd6d14788u

static uint32_t orphan_seed(void)
{
	return xw_inode_seed(xw_crc32c(~0u, uuid, sizeof(uuid)), ORPHAN_INO, 0);
}

START_TEST(orphan_as_mke2fs)
{
	uint8_t block[1024] = {0};

	xw_orphan_seal(block, sizeof(block), true, orphan_seed(), ORPHAN_BLOCK);
	ck_assert_uint_eq(peek32(block + 1016), XW_ORPHAN_MAGIC);
	ck_assert_uint_eq(peek32(block + 1020), ORPHAN_CSUM);
	ck_assert_int_eq(xw_orphan_verify(block, 1024, true, orphan_seed(), ORPHAN_BLOCK), 0);
	/* it is bound to its place and its inode */
	ck_assert_int_eq(xw_orphan_verify(block, 1024, true, orphan_seed(), ORPHAN_BLOCK + 1),
			 XW_ERR_CHECKSUM);
	ck_assert_int_eq(xw_orphan_verify(block, 1024, true, orphan_seed() + 1, ORPHAN_BLOCK),
			 XW_ERR_CHECKSUM);
}
END_TEST

START_TEST(orphan_sizes)
{
	uint32_t size = 1024u << _i, slots = xw_orphan_slots(size);
	uint8_t *block = calloc(1, size);

	ck_assert_ptr_nonnull(block);
	ck_assert_uint_eq(slots, size / 4 - 2);
	for (uint32_t i = 0; i < slots; i++)
		xw_orphan_set_slot(block, i, 1000 + i);
	xw_orphan_seal(block, size, true, 5, 7);
	for (uint32_t i = 0; i < slots; i++)
		ck_assert_uint_eq(xw_orphan_slot(block, i), 1000 + i);
	ck_assert_int_eq(xw_orphan_verify(block, size, true, 5, 7), 0);
	for (uint32_t i = 0; i < size - 8; i += 97) {
		block[i] ^= 1;
		ck_assert_int_eq(xw_orphan_verify(block, size, true, 5, 7), XW_ERR_CHECKSUM);
		ck_assert_int_eq(xw_orphan_verify(block, size, false, 5, 7), 0);
		block[i] ^= 1;
	}
	block[size - 8] ^= 1;
	ck_assert_int_eq(xw_orphan_verify(block, size, false, 5, 7), XW_ERR_CORRUPT);
	block[size - 8] ^= 1;
	xw_orphan_seal(block, size, false, 5, 7);
	ck_assert_uint_eq(peek32(block + size - 4), 0);
	free(block);
}
END_TEST

/* mke2fs -t ext4 -b 4096 -O mmp: dumpe2fs prints what is set here. */
START_TEST(mmp_fields)
{
	struct xw_mmp m = {
		.seq = XW_MMP_SEQ_CLEAN,
		.time = 0x6b00ebbc,
		.node = "vm",
		.device = "i",
		.check_interval = 5,
	};
	struct xw_mmp back;
	uint8_t buf[XW_MMP_SIZE], want[XW_MMP_SIZE] = {0};

	memcpy(want, "PMM", 3);
	memcpy(want + 4, "PMM\xff", 4);
	poke32(want + 8, 0x6b00ebbc);
	memcpy(want + 0x10, "vm", 2);
	want[0x50] = 'i';
	want[0x70] = 5;
	memset(buf, 0xA5, sizeof(buf));
	xw_mmp_encode(&m, false, 0, buf);
	ck_assert_mem_eq(buf, want, sizeof(want));
	ck_assert_int_eq(xw_mmp_decode(buf, &back), 0);
	ck_assert_uint_eq(back.seq, m.seq);
	ck_assert_int_eq(back.time, m.time);
	ck_assert_str_eq(back.node, m.node);
	ck_assert_str_eq(back.device, m.device);
	ck_assert_uint_eq(back.check_interval, m.check_interval);
	ck_assert_uint_eq(back.checksum, m.checksum);

	xw_mmp_encode(&m, true, 0x1234, buf);
	ck_assert_int_eq(xw_mmp_verify(buf, 0x1234), 0);
	ck_assert_int_eq(xw_mmp_verify(buf, 0x1235), XW_ERR_CHECKSUM);
	ck_assert_uint_eq(peek32(buf + 0x3fc), xw_crc32c(0x1234, want, 0x3fc));
	for (unsigned i = 0; i < sizeof(buf); i += 51) {
		buf[i] ^= 0x10;
		ck_assert_int_eq(xw_mmp_verify(buf, 0x1234), XW_ERR_CHECKSUM);
		buf[i] ^= 0x10;
	}
	buf[2] = 0;
	ck_assert_int_eq(xw_mmp_decode(buf, &back), XW_ERR_CORRUPT);
}
END_TEST

/* Names that fill their fields are not terminated on disk. */
START_TEST(mmp_long_names)
{
	struct xw_mmp m = {0}, back;
	uint8_t buf[XW_MMP_SIZE];

	memset(m.node, 'n', 64);
	memset(m.device, 'd', 32);
	m.check_interval = 300;
	xw_mmp_encode(&m, false, 0, buf);
	ck_assert_int_eq(xw_mmp_decode(buf, &back), 0);
	ck_assert_str_eq(back.node, m.node);
	ck_assert_str_eq(back.device, m.device);
	ck_assert_uint_eq(back.check_interval, 300);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("hidden");
	TCase *t = tcase_create("hidden");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, orphan_as_mke2fs);
	tcase_add_loop_test(t, orphan_sizes, 0, 7);
	tcase_add_test(t, mmp_fields);
	tcase_add_test(t, mmp_long_names);
	suite_add_tcase(s, t);
	return unit_main(s);
}
