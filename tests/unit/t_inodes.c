/* SPDX-License-Identifier: MIT */
/* The inode allocator against a model of one byte per inode. */
#include <string.h>

#include "base/types.h"
#include "space/inodes.h"
#include "unit.h"

struct imodel {
	uint32_t groups, ipg;
	uint8_t *used, *dir; /* by inode number - 1 */
	uint8_t *origin;
	uint32_t fail_group;
	unsigned loads;
};

static uint64_t rnd(uint64_t *seed)
{
	*seed ^= *seed >> 12;
	*seed ^= *seed << 25;
	*seed ^= *seed >> 27;
	return *seed * UINT64_C(0x2545F4914F6CDD1D);
}

static void imodel_init(struct imodel *m, uint32_t groups, uint32_t ipg)
{
	*m = (struct imodel){.groups = groups, .ipg = ipg, .fail_group = UINT32_MAX};
	m->used = calloc(groups, ipg);
	m->dir = calloc(groups, ipg);
	m->origin = calloc(groups, ipg);
	ck_assert(m->used && m->dir && m->origin);
}

static void imodel_free(struct imodel *m)
{
	free(m->used);
	free(m->dir);
	free(m->origin);
}

static int imodel_bitmap(void *arg, uint32_t g, uint8_t *bits)
{
	struct imodel *m = arg;

	m->loads++;
	if (g == m->fail_group)
		return XW_ERR_IO;
	memset(bits, 0, m->ipg / 8);
	for (uint32_t i = 0; i < m->ipg; i++)
		bits[i / 8] |= (uint8_t)(m->origin[g * m->ipg + i] << i % 8);
	return 0;
}

static void imodel_compare(const struct imodel *m, struct xw_ispace *s)
{
	size_t size = m->ipg / 8 + 24;
	uint8_t *bits = malloc(size);
	uint64_t nfree = 0;

	ck_assert_ptr_nonnull(bits);
	for (uint32_t g = 0; g < m->groups; g++) {
		struct xw_igroup_summary want = {0}, got;

		ck_assert_int_eq(xw_ispace_group_bitmap(s, g, bits, size), 0);
		want.unused = m->ipg;
		for (uint32_t i = 0; i < size * 8; i++) {
			bool used = i >= m->ipg || m->used[g * m->ipg + i];

			if ((bits[i / 8] >> i % 8 & 1) != used)
				ck_abort_msg("group %u inode %u", g, i);
			if (i >= m->ipg)
				continue;
			want.free += !used;
			want.used_dirs += m->dir[g * m->ipg + i];
			if (used)
				want.unused = m->ipg - i - 1;
		}
		nfree += want.free;
		xw_ispace_group(s, g, &got);
		if (got.free != want.free || got.used_dirs != want.used_dirs ||
		    got.unused != want.unused)
			ck_abort_msg("summary of group %u", g);
	}
	free(bits);
	ck_assert_uint_eq(xw_ispace_free_count(s), nfree);
}

static xw_ino lowest(const struct imodel *m, xw_ino goal)
{
	uint32_t n = m->groups * m->ipg, from = goal && goal <= n ? goal - 1 : 0;

	for (uint32_t i = 0; i < n; i++)
		if (!m->used[(from + i) % n])
			return (from + i) % n + 1;
	return 0;
}

static const struct {
	uint32_t groups, ipg;
	unsigned fill; /* of 8, from the source; 9 = no source */
	unsigned ops;
} cases[] = {
	{1, 8, 9, 500},    {3, 16, 9, 2000},  {40, 32, 9, 8000},
	{40, 32, 0, 8000}, {40, 32, 3, 8000}, {40, 72, 8, 8000},
	{700, 8, 7, 9000}, {300, 8, 9, 9000}, {5, 1024, 2, 8000},
};

START_TEST(random_operations)
{
	struct imodel m;
	struct xw_ispace *s;
	uint64_t seed = 17 + (uint64_t)_i;
	uint32_t n;

	imodel_init(&m, cases[_i].groups, cases[_i].ipg);
	n = m.groups * m.ipg;
	for (uint32_t i = 0; i < n && cases[_i].fill <= 8; i++)
		m.origin[i] = m.used[i] = rnd(&seed) % 8 < cases[_i].fill;
	ck_assert_int_eq(
		xw_ispace_new(m.groups, m.ipg, cases[_i].fill <= 8 ? imodel_bitmap : NULL, &m, &s),
		0);
	for (unsigned i = 0; i < cases[_i].ops; i++) {
		xw_ino goal = rnd(&seed) % 4 ? rnd(&seed) % (n + 3) : 0, want = lowest(&m, goal),
		       ino;
		bool dir = rnd(&seed) % 4 == 0;
		unsigned what = (rnd(&seed) % 8) + (i / 300 % 2 ? 0 : 2);

		if (what >= 5) {
			int rc = xw_ispace_alloc(s, goal, dir, &ino);

			ck_assert_int_eq(rc, want ? 0 : XW_ERR_NOINODES);
			if (rc)
				continue;
			ck_assert_uint_eq(ino, want);
			m.used[ino - 1] = 1;
			m.dir[ino - 1] = dir;
		} else if (what == 4) {
			bool bad = !goal || goal > n || m.used[goal - 1];

			ck_assert_int_eq(xw_ispace_claim(s, goal, dir), bad ? XW_ERR_CORRUPT : 0);
			if (!bad) {
				m.used[goal - 1] = 1;
				m.dir[goal - 1] = dir;
			}
		} else {
			bool bad = !goal || goal > n || !m.used[goal - 1];

			ck_assert_int_eq(xw_ispace_release(s, goal, !bad && m.dir[goal - 1]),
					 bad ? XW_ERR_CORRUPT : 0);
			if (!bad)
				m.used[goal - 1] = m.dir[goal - 1] = 0;
		}
		if (i % 501 == 0)
			imodel_compare(&m, s);
	}
	imodel_compare(&m, s);
	xw_ispace_free(s);
	imodel_free(&m);
}
END_TEST

START_TEST(a_million_in_order)
{
	struct xw_igroup_summary sum;
	struct xw_ispace *s;
	xw_ino ino = 0;

	ck_assert_int_eq(xw_ispace_new(200, 8192, NULL, NULL, &s), 0);
	for (xw_ino i = 1; i <= 1000000; i++)
		if (xw_ispace_alloc(s, _i ? 1 : ino + 1, false, &ino) || ino != i)
			ck_abort_msg("inode %u", i);
	xw_ispace_group(s, 0, &sum);
	ck_assert_uint_eq(sum.free, 0);
	xw_ispace_group(s, 1000000 / 8192, &sum);
	ck_assert_uint_eq(sum.free, 8192 - 1000000 % 8192);
	ck_assert_uint_eq(sum.unused, sum.free);
	ck_assert(sum.touched);
	xw_ispace_group(s, 1000000 / 8192 + 1, &sum);
	ck_assert(!sum.touched);
	ck_assert_uint_eq(sum.unused, 8192);
	xw_ispace_free(s);
}
END_TEST

START_TEST(directories_of_the_source)
{
	struct xw_igroup_summary sum;
	struct xw_ispace *s;
	struct imodel m;

	imodel_init(&m, 4, 32);
	memset(m.origin + 32, 1, 10);
	ck_assert_int_eq(xw_ispace_new(4, 32, imodel_bitmap, &m, &s), 0);
	ck_assert_int_eq(xw_ispace_set_dirs(s, 1, 11), XW_ERR_CORRUPT);
	ck_assert_int_eq(xw_ispace_set_dirs(s, 4, 0), XW_ERR_CORRUPT);
	ck_assert_int_eq(xw_ispace_set_dirs(s, 0, 0), 0);
	ck_assert_int_eq(xw_ispace_set_dirs(s, 1, 1), 0);
	xw_ispace_group(s, 1, &sum);
	ck_assert_uint_eq(sum.used_dirs, 1);
	ck_assert(!sum.touched);
	ck_assert_int_eq(xw_ispace_release(s, 34, true), 0);
	ck_assert_int_eq(xw_ispace_release(s, 35, true), XW_ERR_CORRUPT);
	ck_assert_int_eq(xw_ispace_release(s, 35, false), 0);
	xw_ispace_free(s);
	imodel_free(&m);
}
END_TEST

START_TEST(bad_calls)
{
	static const struct {
		uint32_t groups, ipg;
		int rc;
	} t[] = {{0, 8, XW_ERR_USAGE},
		 {1, 0, XW_ERR_USAGE},
		 {1, 12, XW_ERR_USAGE},
		 {1 << 20, 4096, XW_ERR_LIMIT},
		 {(1 << 20) - 1, 4096, 0}};
	struct xw_ispace *s;
	struct imodel m;
	uint8_t bits[8];

	for (unsigned i = 0; i < XW_ARRAY_SIZE(t); i++) {
		ck_assert_int_eq(xw_ispace_new(t[i].groups, t[i].ipg, NULL, NULL, &s), t[i].rc);
		xw_ispace_free(s);
	}
	imodel_init(&m, 3, 32);
	m.fail_group = 2;
	ck_assert_int_eq(xw_ispace_new(3, 32, imodel_bitmap, &m, &s), XW_ERR_IO);
	ck_assert_ptr_null(s);
	m.fail_group = UINT32_MAX;
	m.origin[32 + 5] = 1;
	ck_assert_int_eq(xw_ispace_new(3, 32, imodel_bitmap, &m, &s), 0);
	m.fail_group = 1;
	ck_assert_int_eq(xw_ispace_claim(s, 40, false), XW_ERR_IO);
	ck_assert_int_eq(xw_ispace_group_bitmap(s, 0, bits, 3), XW_ERR_USAGE);
	ck_assert_uint_eq(xw_ispace_free_count(s), 95);
	xw_ispace_free(s);
	imodel_free(&m);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("inodes");
	TCase *tc = tcase_create("inodes");

	tcase_set_timeout(tc, 60);
	unit_add_table(tc, random_operations, cases);
	tcase_add_loop_test(tc, a_million_in_order, 0, 2);
	tcase_add_test(tc, directories_of_the_source);
	tcase_add_test(tc, bad_calls);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return unit_main(suite());
}
