/* SPDX-License-Identifier: MIT */
/* The journal superblock: as dumpe2fs prints it, checksum, versions, checks, round trips. */
#include <check.h>

#include "base/endian.h"
#include "base/err.h"
#include "base/types.h"
#include "disk/jsb.h"
#include "disk_fix.h"
#include "unit.h"

START_TEST(fields_as_dumpe2fs)
{
	uint8_t buf[XW_JSB_SIZE], out[XW_JSB_SIZE];
	struct xw_jsb j;

	FIX(jsb, buf);
	ck_assert_int_eq(xw_jsb_decode(buf, &j), 0);
	ck_assert_uint_eq(j.blocktype, XW_JBD2_SUPER_V2);
	ck_assert_uint_eq(j.blocksize, 1024);
	ck_assert_uint_eq(j.maxlen, 1024);
	ck_assert_uint_eq(j.first, 1);
	ck_assert_uint_eq(j.sequence, 4);
	ck_assert_uint_eq(j.start, 0);
	ck_assert_uint_eq(j.err, 0);
	ck_assert_uint_eq(j.feature_compat, 0);
	ck_assert_uint_eq(j.feature_incompat, XW_JBD2_INCOMPAT_64BIT | XW_JBD2_INCOMPAT_CSUM_V3);
	ck_assert_uint_eq(j.feature_ro_compat, 0);
	ck_assert_mem_eq(j.uuid, "\x12\x34\x56\x78\x9a\xbc\xde\xf0\x11\x22\x33\x44\x55\x66\x77\x88",
			 16);
	ck_assert_uint_eq(j.nr_users, 1);
	ck_assert_uint_eq(j.checksum_type, 4);
	ck_assert_uint_eq(j.num_fc_blks, 0);
	ck_assert_uint_eq(j.checksum, 0xF3413872);
	ck_assert_int_eq(xw_jsb_verify(buf), 0);
	memset(out, 0xA5, sizeof(out));
	j.checksum = 0;
	xw_jsb_encode(&j, out);
	ck_assert_mem_eq(out, buf, sizeof(buf));
}
END_TEST

START_TEST(checksum_covers_everything)
{
	uint8_t buf[XW_JSB_SIZE];

	FIX(jsb, buf);
	for (unsigned i = 0; i < 8 * sizeof(buf); i++) {
		/* the version and the csum_v3 bit switch it off */
		bool off = i / 8 >= 4 && i / 8 < 8;

		buf[i / 8] ^= (uint8_t)(1u << i % 8);
		off = off || !(buf[0x2B] & (XW_JBD2_INCOMPAT_CSUM_V2 | XW_JBD2_INCOMPAT_CSUM_V3));
		ck_assert_int_eq(xw_jsb_verify(buf), off ? 0 : XW_ERR_CHECKSUM);
		buf[i / 8] ^= (uint8_t)(1u << i % 8);
	}
}
END_TEST

START_TEST(random_round_trip)
{
	uint64_t rng = 17 + (uint64_t)_i;
	uint8_t buf[XW_JSB_SIZE], out[XW_JSB_SIZE];
	bool v2 = _i % 2;
	struct xw_jsb j;

	fix_random_bytes(&rng, buf, sizeof(buf));
	*(be32 *)buf = putbe32(XW_JBD2_MAGIC);
	*(be32 *)(buf + 4) = putbe32(v2 ? XW_JBD2_SUPER_V2 : XW_JBD2_SUPER_V1);
	buf[0x2B] &= 7; /* the checksum as it stands */
	if (!v2)
		memset(buf + 0x24, 0, sizeof(buf) - 0x24);
	memset(out, 0xA5, sizeof(out));
	xw_jsb_decode(buf, &j);
	xw_jsb_encode(&j, out);
	ck_assert_mem_eq(out, buf, sizeof(buf));
}
END_TEST

static const struct {
	unsigned off;
	uint32_t value;
	int want;
} changes[] = {
	{0x00, 0xC03B3999, XW_ERR_CORRUPT}, /* magic */
	{0x04, 3, 0},
	{0x04, 2, XW_ERR_CORRUPT},
	{0x04, 5, XW_ERR_CORRUPT},
	{0x0C, 4096, 0}, /* block size */
	{0x0C, 0, XW_ERR_CORRUPT},
	{0x0C, 512, XW_ERR_CORRUPT},
	{0x0C, 3072, XW_ERR_CORRUPT},
	{0x0C, 131072, XW_ERR_CORRUPT},
	{0x10, 0, XW_ERR_CORRUPT}, /* length */
	{0x10, 1, XW_ERR_CORRUPT},
	{0x10, 2, 0},
	{0x14, 0, XW_ERR_CORRUPT}, /* first */
	{0x14, 1024, XW_ERR_CORRUPT},
	{0x14, 1023, 0},
};

START_TEST(rejects)
{
	uint8_t buf[XW_JSB_SIZE];
	struct xw_jsb j;

	FIX(jsb, buf);
	*(be32 *)(buf + changes[_i].off) = putbe32(changes[_i].value);
	ck_assert_int_eq(xw_jsb_decode(buf, &j), changes[_i].want);
	ck_assert_uint_eq(j.sequence, 4);
}
END_TEST

/* What stands behind a version 1 superblock is nobody's. */
START_TEST(version_one)
{
	uint8_t buf[XW_JSB_SIZE];
	struct xw_jsb j;

	FIX(jsb, buf);
	*(be32 *)(buf + 4) = putbe32(XW_JBD2_SUPER_V1);
	ck_assert_int_eq(xw_jsb_decode(buf, &j), 0);
	ck_assert_uint_eq(j.feature_incompat, 0);
	ck_assert_uint_eq(j.nr_users, 0);
	ck_assert_uint_eq(j.checksum, 0);
	ck_assert_int_eq(xw_jsb_verify(buf), 0);
	buf[0x80] ^= 1;
	ck_assert_int_eq(xw_jsb_verify(buf), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("jsb");
	TCase *t = tcase_create("jsb");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, fields_as_dumpe2fs);
	tcase_add_test(t, checksum_covers_everything);
	tcase_add_loop_test(t, random_round_trip, 0, 100);
	unit_add_table(t, rejects, changes);
	tcase_add_test(t, version_one);
	suite_add_tcase(s, t);
	return unit_main(s);
}
