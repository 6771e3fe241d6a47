/* SPDX-License-Identifier: MIT */
/*
 * The edges of the allocator's interface: what it refuses of a source's summaries, of parameters
 * and of claims, and what is left when the filesystem ends earlier.
 */
#include "space_model.h"
#include "unit.h"

static const struct {
	struct xw_group_summary sum;
	bool ok;
} summaries[] = {
	{{0, 0, 0, 0}, true},      {{0, 1, 0, 0}, false},
	{{0, 0, 1, 0}, false},     {{256, 1, 256, 0}, true},
	{{257, 1, 257, 0}, false}, {{256, 1, 256, 1}, false},
	{{10, 1, 9, 0}, false},    {{10, 2, 9, 0}, true},
	{{10, 3, 9, 0}, false},    {{10, 10, 1, 0}, true},
	{{10, 11, 1, 0}, false},   {{10, 2, 11, 0}, false},
	{{10, 2, 9, 245}, true},   {{10, 2, 9, 246}, false},
	{{10, 2, 9, 256}, false},  {{UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX}, false},
};

static int one_summary(void *arg, uint32_t g, struct xw_group_summary *out, bool *known)
{
	(void)g;
	(void)known;
	*out = *(struct xw_group_summary *)arg;
	return 0;
}

START_TEST(summaries_are_checked)
{
	struct xw_group_summary sum = summaries[_i].sum;
	struct xw_space_params p = {
		.blocks = 256, .blocks_per_group = 256, .groups = 1, .optimize_scan = -1};
	struct xw_space_source src = {one_summary, NULL, &sum, NULL};
	struct xw_diag diag = {0};
	struct xw_space *s;

	ck_assert_int_eq(xw_space_new(&p, &src, &diag, &s), summaries[_i].ok ? 0 : XW_ERR_CORRUPT);
	ck_assert_int_eq(diag.code, summaries[_i].ok ? 0 : XW_ERR_CORRUPT);
	xw_space_free(s);
}
END_TEST

static const struct {
	struct xw_space_params p;
	int rc;
} params[] = {
	{{.blocks = 100, .blocks_per_group = 64, .groups = 2}, 0},
	{{.blocks = 100, .blocks_per_group = 64, .groups = 1}, XW_ERR_USAGE},
	{{.blocks = 100, .blocks_per_group = 64, .groups = 3}, XW_ERR_USAGE},
	{{.blocks = 129, .blocks_per_group = 64, .groups = 2, .first_data_block = 1}, 0},
	{{.blocks = 1, .blocks_per_group = 64, .groups = 1, .first_data_block = 1}, XW_ERR_USAGE},
	{{.blocks = 100, .blocks_per_group = 63, .groups = 2}, XW_ERR_UNSUPPORTED},
	{{.blocks = 100, .blocks_per_group = 0, .groups = 2}, XW_ERR_UNSUPPORTED},
	{{.blocks = 65536, .blocks_per_group = 65536, .groups = 1}, XW_ERR_UNSUPPORTED},
	{{.blocks = 65528, .blocks_per_group = 65528, .groups = 1}, 0},
	{{.blocks = UINT64_MAX, .blocks_per_group = 64, .groups = 1}, XW_ERR_USAGE},
	{{.blocks = (uint64_t)1 << 47, .blocks_per_group = 8, .groups = 0}, XW_ERR_USAGE},
};

START_TEST(parameters_are_checked)
{
	struct xw_space *s;

	ck_assert_int_eq(xw_space_new(&params[_i].p, NULL, NULL, &s), params[_i].rc);
	ck_assert(!s == !!params[_i].rc);
	xw_space_free(s);
}
END_TEST

START_TEST(claims_are_checked)
{
	static const struct {
		xw_blk start;
		uint64_t len;
		int claim;
	} t[] = {
		{0, 1, XW_ERR_CORRUPT}, /* before the first data block */
		{1, 0, 0},
		{1, 999, 0},
		{1, 1, XW_ERR_CORRUPT},
		{998, 4, XW_ERR_CORRUPT}, /* begins used */
		{1000, 4001, XW_ERR_CORRUPT}, /* ends outside */
		{1000, UINT64_MAX, XW_ERR_CORRUPT},
		{UINT64_MAX, 2, XW_ERR_CORRUPT},
		{4999, 1, 0},
		{1000, 4000, XW_ERR_CORRUPT}, /* ends used */
		{1000, 3999, 0},
		{5000, 1, XW_ERR_CORRUPT},
	};
	struct xw_space *s;
	struct model m;

	model_init(&m, 1, 512, 5000);
	m.known = true;
	s = model_space(&m, 1);
	for (unsigned i = 0; i < XW_ARRAY_SIZE(t); i++) {
		ck_assert_int_eq(xw_space_claim(s, t[i].start, t[i].len), t[i].claim);
		if (!t[i].claim)
			model_set(&m, t[i].start, t[i].len, true);
		model_compare(&m, s);
	}
	ck_assert_uint_eq(xw_space_free_blocks(s), 0);
	ck_assert_int_eq(xw_space_release(s, 0, 2), XW_ERR_CORRUPT);
	ck_assert_int_eq(xw_space_release(s, 4000, 1001), XW_ERR_CORRUPT);
	ck_assert_int_eq(xw_space_release(s, 1, 4999), 0);
	ck_assert_int_eq(xw_space_release(s, 1, 4999), XW_ERR_CORRUPT);
	ck_assert_uint_eq(xw_space_free_blocks(s), 4999);
	xw_space_free(s);
	model_free(&m);
}
END_TEST

static const uint64_t ends[] = {20 * 256, 20 * 256 - 1, 19 * 256 + 3, 19 * 256, 7 * 256 + 100,
				300,      256,          10,           2};

START_TEST(truncation)
{
	struct xw_alloc_req req = {0, 1, 0};
	uint64_t end = ends[_i / 2], seed = 3;
	struct xw_run *runs;
	struct xw_space *s;
	struct model m;
	size_t n;

	model_init(&m, 1, 256, 20 * 256);
	m.known = true;
	if (_i % 2)
		model_fragment(&m, &seed, 20, 20);
	s = model_space(&m, 1);
	if (!m.used[1]) {
		ck_assert_int_eq(xw_space_claim(s, 1, 1), 0);
		model_set(&m, 1, 1, true);
	}
	ck_assert_int_eq(xw_space_truncate(s, 20 * 256 + 1), XW_ERR_USAGE);
	ck_assert_int_eq(xw_space_truncate(s, 1), XW_ERR_USAGE);
	ck_assert_int_eq(xw_space_truncate(s, end), 0);
	for (xw_blk b = end; b < m.blocks; b++)
		m.free -= !m.used[b];
	m.blocks = end;
	m.groups = (uint32_t)xw_div_up(end - 1, 256);
	model_compare(&m, s);
	ck_assert_uint_eq(xw_space_next_free(s, end), XW_BLK_MAX);
	ck_assert_int_eq(xw_space_claim(s, end, 1), XW_ERR_CORRUPT);
	req.len = m.free;
	if (req.len) {
		ck_assert_int_eq(xw_space_alloc_all(s, &req, &runs, &n), 0);
		ck_assert_uint_le(runs[n - 1].start + runs[n - 1].len, end);
		free(runs);
	}
	ck_assert_uint_eq(xw_space_free_blocks(s), 0);
	xw_space_free(s);
	model_free(&m);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("space edges");
	TCase *tc = tcase_create("edges");

	tcase_set_timeout(tc, 120);
	unit_add_table(tc, summaries_are_checked, summaries);
	unit_add_table(tc, parameters_are_checked, params);
	tcase_add_test(tc, claims_are_checked);
	tcase_add_loop_test(tc, truncation, 0, 2 * XW_ARRAY_SIZE(ends));
	suite_add_tcase(s, tc);
	return unit_main(s);
}
