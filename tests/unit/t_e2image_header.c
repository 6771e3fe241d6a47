/* SPDX-License-Identifier: MIT */
/* The header of an e2image file: where its fields are, and its magic. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/endian.h"
#include "base/err.h"
#include "disk/e2image.h"
#include "unit.h"

START_TEST(header)
{
	uint8_t *buf = calloc(1, XW_E2IMAGE_HEADER); /* exact: a sanitizer finds a step outside */
	struct xw_e2image got;

	ck_assert_ptr_nonnull(buf);
	poke32(buf, 0x7F2BB710);
	poke32(buf + 0xCC, 4096);
	poke32(buf + 0x11C, 1);
	poke32(buf + 0x120, 2);
	poke32(buf + 0x124, 3);
	poke32(buf + 0x128, UINT32_MAX);
	ck_assert_int_eq(xw_e2image_decode(buf, &got), 0);
	ck_assert_uint_eq(got.block_size, 4096);
	ck_assert_uint_eq(got.super, 1);
	ck_assert_uint_eq(got.inodes, 2);
	ck_assert_uint_eq(got.inode_bitmaps, 3);
	ck_assert_uint_eq(got.block_bitmaps, UINT32_MAX);
	for (unsigned i = 0; i < 4; i++) {
		buf[i] ^= 1;
		ck_assert_int_eq(xw_e2image_decode(buf, &got), XW_ERR_INPUT);
		buf[i] ^= 1;
	}
	free(buf);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("e2image");
	TCase *tc = tcase_create("header");

	tcase_add_test(tc, header);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
