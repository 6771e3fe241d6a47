/* SPDX-License-Identifier: MIT */
/* Blocks of a jbd2 log: round trips in every format, checksums, counts that are out of bounds. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/endian.h"
#include "base/err.h"
#include "disk/jblock.h"
#include "unit.h"

#define BS 1024u
#define TAGS_MAX 200u
#define AT_REVOKE_BYTES 12

static const struct {
	const char *name;
	uint32_t compat, incompat;
	uint32_t tags; /* that a descriptor block has room for */
	uint32_t numbers; /* that a revoke block has room for */
} formats[] = {
	{"plain", 0, 0, (BS - 12 - 16) / 8, (BS - 16) / 4},
	{"64 bits", 0, XW_JBD2_INCOMPAT_64BIT, (BS - 12 - 16) / 12, (BS - 16) / 8},
	{"v1", XW_JBD2_COMPAT_CHECKSUM, 0, (BS - 12 - 16) / 8, (BS - 16) / 4},
	{"v2", 0, XW_JBD2_INCOMPAT_CSUM_V2, (BS - 12 - 16 - 4) / 10, (BS - 20) / 4},
	{"v2, 64 bits", 0, XW_JBD2_INCOMPAT_CSUM_V2 | XW_JBD2_INCOMPAT_64BIT,
	 (BS - 12 - 16 - 4) / 14, (BS - 20) / 8},
	{"v3", 0, XW_JBD2_INCOMPAT_CSUM_V3, (BS - 12 - 16 - 4) / 16, (BS - 20) / 4},
	{"v3, 64 bits", 0, XW_JBD2_INCOMPAT_CSUM_V3 | XW_JBD2_INCOMPAT_64BIT,
	 (BS - 12 - 16 - 4) / 16, (BS - 20) / 8},
};

static struct xw_jfmt format(int i)
{
	struct xw_jsb jsb = {.blocksize = BS,
			     .feature_compat = formats[i].compat,
			     .feature_incompat = formats[i].incompat};
	struct xw_jfmt f;

	memset(jsb.uuid, 0xA1, sizeof(jsb.uuid));
	xw_jfmt_init(&jsb, &f);
	return f;
}

/* An exact allocation: a sanitizer finds a step outside. */
static uint8_t *block(uint8_t fill)
{
	uint8_t *blk = malloc(BS);

	ck_assert_ptr_nonnull(blk);
	memset(blk, fill, BS);
	return blk;
}

START_TEST(descriptor)
{
	const struct xw_jfmt f = format(_i);
	const uint32_t n = xw_jdesc_capacity(&f);
	struct xw_jtag tags[TAGS_MAX], tag;
	uint8_t *blk = block(0x5A);
	struct xw_jtag_iter it = {.f = &f, .blk = blk};
	uint32_t type, sequence;

	ck_assert_uint_eq(n, formats[_i].tags);
	for (uint32_t i = 0; i < n; i++)
		tags[i] = (struct xw_jtag){
			.blk = 1000 + i + (f.is64 ? UINT64_C(1) << 40 : 0),
			.flags = i % 3 ? 0 : XW_JTAG_ESCAPED,
			.csum = f.csum ? 0x1234 + i + (f.csum3 ? 0x560000u : 0) : 0,
		};
	xw_jdesc_encode(&f, 77, tags, n, blk);
	ck_assert(xw_jblock_header(blk, &type, &sequence));
	ck_assert_uint_eq(type, XW_JBD2_DESCRIPTOR);
	ck_assert_uint_eq(sequence, 77);
	ck_assert_uint_eq(xw_jtag_count(&f, blk), n);
	for (uint32_t i = 0; i < n; i++) {
		ck_assert_int_eq(xw_jtag_next(&it, &tag), 1);
		ck_assert_uint_eq(tag.blk, tags[i].blk);
		ck_assert_uint_eq(tag.csum, tags[i].csum);
		ck_assert_uint_eq(tag.flags & XW_JTAG_ESCAPED, tags[i].flags);
		ck_assert_int_eq(!(tag.flags & XW_JTAG_SAME_UUID), i == 0);
		ck_assert_int_eq(!!(tag.flags & XW_JTAG_LAST), i == n - 1);
	}
	ck_assert_int_eq(xw_jtag_next(&it, &tag), 0);
	ck_assert(xw_jblock_verify_tail(&f, blk));
	blk[500] ^= 1;
	ck_assert_int_eq(xw_jblock_verify_tail(&f, blk), !f.csum);
	free(blk);
}
END_TEST

/* No tag is the last: the end of the block ends the list, whatever stands there. */
START_TEST(tags_without_end)
{
	static const uint8_t fills[] = {0x00, 0xF7, 0x02};
	const struct xw_jfmt f = format(_i);

	for (unsigned i = 0; i < XW_ARRAY_SIZE(fills); i++) {
		uint8_t *blk = block(fills[i]);
		const uint32_t n = xw_jtag_count(&f, blk);

		ck_assert_uint_gt(n, 0);
		ck_assert_uint_le(n, (BS - XW_JBD2_HDR) / f.tag_bytes);
		free(blk);
	}
}
END_TEST

START_TEST(revocations)
{
	const struct xw_jfmt f = format(_i);
	const uint32_t max = xw_jrevoke_capacity(&f), width = f.is64 ? 8 : 4;
	const struct {
		uint32_t bytes;
		int want;
		uint32_t n;
	} sizes[] = {
		{16, 0, 0},
		{16 + width, 0, 1},
		{15, XW_ERR_CORRUPT, 0},
		{0, XW_ERR_CORRUPT, 0},
		{BS - f.tail, 0, (BS - f.tail - 16) / width},
		{BS - f.tail + 1, XW_ERR_CORRUPT, 0},
		{UINT32_MAX, XW_ERR_CORRUPT, 0},
	};
	xw_blk numbers[BS / 4];
	uint8_t *blk = block(0x5A);
	uint32_t n, type, sequence;

	ck_assert_uint_eq(max, formats[_i].numbers);
	for (uint32_t i = 0; i < max; i++)
		numbers[i] = 3 * i + (f.is64 ? UINT64_C(1) << 33 : 0);
	xw_jrevoke_encode(&f, 78, numbers, max, blk);
	ck_assert(xw_jblock_header(blk, &type, &sequence));
	ck_assert_uint_eq(type, XW_JBD2_REVOKE);
	ck_assert_int_eq(xw_jrevoke_count(&f, blk, &n), 0);
	ck_assert_uint_eq(n, max);
	for (uint32_t i = 0; i < max; i++)
		ck_assert_uint_eq(xw_jrevoke_get(&f, blk, i), numbers[i]);
	ck_assert(xw_jblock_verify_tail(&f, blk));
	for (unsigned i = 0; i < XW_ARRAY_SIZE(sizes); i++) {
		*(be32 *)(blk + AT_REVOKE_BYTES) = putbe32(sizes[i].bytes);
		ck_assert_msg(xw_jrevoke_count(&f, blk, &n) == sizes[i].want, "%u bytes",
			      (unsigned)sizes[i].bytes);
		ck_assert_uint_eq(n, sizes[i].n);
	}
	free(blk);
}
END_TEST

START_TEST(commit)
{
	const struct xw_jfmt f = format(_i);
	const struct xw_jcommit c = {.csum = 0x11223344, .sec = UINT64_C(1) << 33, .nsec = 999};
	uint8_t *blk = block(0x5A);
	struct xw_jcommit got;
	uint32_t type, sequence;

	xw_jcommit_encode(&f, 79, &c, blk);
	ck_assert(xw_jblock_header(blk, &type, &sequence));
	ck_assert_uint_eq(type, XW_JBD2_COMMIT);
	ck_assert_uint_eq(sequence, 79);
	xw_jcommit_decode(blk, &got);
	ck_assert_uint_eq(got.sec, c.sec);
	ck_assert_uint_eq(got.nsec, c.nsec);
	ck_assert(xw_jcommit_verify(&f, blk, c.csum));
	/* v1 compares the checksum of the transaction, v2 and v3 have one of the block */
	ck_assert_int_eq(xw_jcommit_verify(&f, blk, c.csum + 1), !f.csum1);
	blk[0x38] ^= 1;
	ck_assert_int_eq(xw_jcommit_verify(&f, blk, c.csum), !f.csum);
	free(blk);
}
END_TEST

START_TEST(escaped)
{
	uint8_t *blk = block(0);
	uint32_t type, sequence;

	ck_assert(!xw_jdata_escape(blk));
	ck_assert(!xw_jblock_header(blk, &type, &sequence));
	xw_jdata_unescape(blk);
	ck_assert(xw_jblock_header(blk, &type, &sequence));
	ck_assert(xw_jdata_escape(blk));
	ck_assert_uint_eq(peek32(blk), 0);
	free(blk);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("log blocks");
	TCase *tc = tcase_create("blocks");

	tcase_add_loop_test(tc, descriptor, 0, XW_ARRAY_SIZE(formats));
	tcase_add_loop_test(tc, tags_without_end, 0, XW_ARRAY_SIZE(formats));
	tcase_add_loop_test(tc, revocations, 0, XW_ARRAY_SIZE(formats));
	tcase_add_loop_test(tc, commit, 0, XW_ARRAY_SIZE(formats));
	tcase_add_test(tc, escaped);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
