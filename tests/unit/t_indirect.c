/* SPDX-License-Identifier: MIT */
/* Block map paths: edges of every level, and the way back. */
#include <check.h>

#include "base/err.h"
#include "disk/indirect.h"
#include "unit.h"

static const struct {
	uint32_t block_size;
	xw_lblk lblk;
	int want;
	unsigned depth, path[4];
} paths[] = {
	{1024, 0, 0, 0, {0}},
	{1024, 11, 0, 0, {11}},
	{1024, 12, 0, 1, {12, 0}},
	{1024, 267, 0, 1, {12, 255}},
	{1024, 268, 0, 2, {13, 0, 0}},
	{1024, 268 + 65535, 0, 2, {13, 255, 255}},
	{1024, 268 + 65536, 0, 3, {14, 0, 0, 0}},
	{1024, 16843019, 0, 3, {14, 255, 255, 255}},
	{1024, 16843020, XW_ERR_LIMIT, 0, {0}},
	{4096, 1035, 0, 1, {12, 1023}},
	{4096, 1036, 0, 2, {13, 0, 0}},
	{4096, 1036 + 1025, 0, 2, {13, 1, 1}},
	{4096, 1049612, 0, 3, {14, 0, 0, 0}},
	{4096, 1074791435, 0, 3, {14, 1023, 1023, 1023}},
	{4096, 1074791436, XW_ERR_LIMIT, 0, {0}},
	{65536, 0xFFFFFFFF, 0, 3, {14, 14, 16382, 16371}},
	{65536, 1ull << 32, XW_ERR_LIMIT, 0, {0}},
	{65536, UINT64_MAX, XW_ERR_LIMIT, 0, {0}},
};

START_TEST(known_paths)
{
	unsigned path[4], depth;

	ck_assert_int_eq(xw_indirect_path(paths[_i].block_size, paths[_i].lblk, path, &depth),
			 paths[_i].want);
	if (paths[_i].want)
		return;
	ck_assert_uint_eq(depth, paths[_i].depth);
	for (unsigned i = 0; i <= depth; i++)
		ck_assert_uint_eq(path[i], paths[_i].path[i]);
}
END_TEST

START_TEST(limits)
{
	ck_assert_uint_eq(xw_indirect_max_lblk(1024), 16843020);
	ck_assert_uint_eq(xw_indirect_max_lblk(2048), 134480396);
	ck_assert_uint_eq(xw_indirect_max_lblk(4096), 1074791436);
	ck_assert_uint_eq(xw_indirect_max_lblk(8192), 1ull << 32);
	ck_assert_uint_eq(xw_indirect_max_lblk(65536), 1ull << 32);
}
END_TEST

/* A path leads back to the block it was made for. */
START_TEST(way_back)
{
	uint32_t block_size = 1024u << _i;
	uint64_t p = xw_indirect_per_block(block_size), end = xw_indirect_max_lblk(block_size);

	for (uint64_t l = 0; l < end; l = l < 3000 ? l + 1 : l + l / 7) {
		unsigned path[4], depth;
		uint64_t base = 0, span = 1, back = 0;

		ck_assert_int_eq(xw_indirect_path(block_size, l, path, &depth), 0);
		if (!depth) {
			ck_assert_uint_eq(path[0], l);
			continue;
		}
		ck_assert_uint_eq(path[0], XW_NDIR_BLOCKS + depth - 1);
		for (unsigned i = 1; i < depth; i++) {
			span *= p;
			base += span;
		}
		for (unsigned i = 1; i <= depth; i++) {
			ck_assert_uint_lt(path[i], p);
			back = back * p + path[i];
		}
		ck_assert_uint_eq(XW_NDIR_BLOCKS + base + back, l);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("indirect");
	TCase *t = tcase_create("indirect");

	tcase_set_timeout(t, 60);
	unit_add_table(t, known_paths, paths);
	tcase_add_test(t, limits);
	tcase_add_loop_test(t, way_back, 0, 7);
	suite_add_tcase(s, t);
	return unit_main(s);
}
