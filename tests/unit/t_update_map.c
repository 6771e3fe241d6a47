/* SPDX-License-Identifier: MIT */
/* Lists of extents and clusters of existing files (update/map.h), without an image. */
#include "config.h"

#include <stdio.h>

#include "base/types.h"
#include "unit.h"
#include "update/inode.h"
#include "update/map.h"

#define RUNS 4

static struct xw_update update_of(struct xw_image *img, uint32_t cluster_bits)
{
	struct xw_update u = {.img = img};

	u.place.enc.cluster_bits = cluster_bits;
	return u;
}

START_TEST(clusters)
{
	static const struct {
		const char *name;
		uint32_t bits;
		struct xw_map_run runs[RUNS];
		struct xw_run want[RUNS]; /* len 0: no cluster of the run is new */
		int rc; /* of the last run */
	} rows[] = {
		{"blocks", 0, {{0, 3, 100}, {5, 1, 200}}, {{100, 3}, {200, 1}}, 0},
		{"whole cluster", 4, {{0, 16, 160}}, {{160, 16}}, 0},
		{"part of a cluster", 4, {{3, 2, 163}}, {{160, 16}}, 0},
		{"two runs in a cluster", 4, {{0, 4, 160}, {8, 2, 168}}, {{160, 16}, {0, 0}}, 0},
		{"run across clusters",
		 4,
		 {{4, 20, 164}, {24, 8, 184}, {32, 1, 320}},
		 {{160, 32}, {0, 0}, {320, 16}},
		 0},
		{"rest of a run", 4, {{0, 1, 160}, {2, 20, 162}}, {{160, 16}, {176, 16}}, 0},
		{"misaligned", 4, {{0, 1, 160}, {17, 1, 320}}, {{160, 16}}, XW_ERR_CORRUPT},
	};

	for (unsigned i = 0; i < XW_ARRAY_SIZE(rows); i++) {
		struct xw_dev dev = {.name = "image"};
		struct xw_image img = {.dev = &dev};
		struct xw_update u = update_of(&img, rows[i].bits);
		struct xw_update_clusters c = {.u = &u};
		struct xw_run out;

		for (unsigned k = 0; k < RUNS && rows[i].runs[k].len; k++) {
			const bool last = k + 1 == RUNS || !rows[i].runs[k + 1].len;
			const struct xw_run want = rows[i].want[k];

			ck_assert_msg(xw_update_clusters(&c, &rows[i].runs[k], &out) ==
					      (last ? rows[i].rc : 0),
				      "%s, run %u", rows[i].name, k);
			if (last && rows[i].rc)
				break;
			ck_assert_msg(out.len == want.len && (!out.len || out.start == want.start),
				      "%s, run %u: %u+%u", rows[i].name, k, (unsigned)out.start,
				      (unsigned)out.len);
		}
	}
}
END_TEST

START_TEST(adding)
{
	static const struct {
		const char *name;
		struct xw_map_run runs[RUNS];
		struct xw_extent want[RUNS];
	} rows[] = {
		{"empty run", {{0, 0, 7}}, {{0, 0, 0, false}}},
		{"adjacent runs", {{0, 3, 100}, {3, 2, 103}}, {{0, 5, 100, false}}},
		{"hole", {{0, 3, 100}, {4, 2, 103}}, {{0, 3, 100, false}, {4, 2, 103, false}}},
		{"gap on the device",
		 {{0, 3, 100}, {3, 2, 104}},
		 {{0, 3, 100, false}, {3, 2, 104, false}}},
		{"unwritten after written",
		 {{0, 3, 100}, {3, 2, 103, true}},
		 {{0, 3, 100, false}, {3, 2, 103, true}}},
		{"longest extent", {{0, 32768, 100}}, {{0, 32768, 100, false}}},
		{"longer run",
		 {{0, 32770, 100}},
		 {{0, 32768, 100, false}, {32768, 2, 32868, false}}},
		{"longer unwritten run",
		 {{0, 32768, 100, true}},
		 {{0, 32767, 100, true}, {32767, 1, 32867, true}}},
		{"rest in the last extent",
		 {{0, 32767, 100}, {32767, 3, 32867}},
		 {{0, 32768, 100, false}, {32768, 2, 32868, false}}},
	};

	for (unsigned i = 0; i < XW_ARRAY_SIZE(rows); i++) {
		auto_update_map struct xw_update_map m = {0};
		struct xw_update u = {0};
		size_t n = 0;

		for (unsigned k = 0; k < RUNS && rows[i].runs[k].len; k++)
			ck_assert_int_eq(xw_update_map_add(&u, &m, rows[i].runs[k]), 0);
		while (n < RUNS && rows[i].want[n].len)
			n++;
		ck_assert_msg(m.e.n == n, "%s: %zu extents", rows[i].name, m.e.n);
		for (size_t k = 0; k < n; k++) {
			const struct xw_extent *e = &m.e.v[k], *w = &rows[i].want[k];

			ck_assert_msg(e->lblk == w->lblk && e->len == w->len &&
					      e->pblk == w->pblk && e->unwritten == w->unwritten,
				      "%s, extent %zu: %u+%u", rows[i].name, k, e->lblk, e->len);
		}
	}
}
END_TEST

START_TEST(partners)
{
	static const struct {
		const char *name;
		uint32_t bits;
		uint64_t lblk;
		xw_blk want;
	} rows[] = {
		{"without bigalloc, mapped", 0, 2, 162},
		{"without bigalloc, a hole", 0, 4, 0},
		{"behind the blocks of the cluster", 4, 7, 167},
		{"before the blocks of the cluster", 4, 32, 320},
		{"in a cluster without blocks", 4, 16, 0},
	};
	struct xw_extent e[] = {{0, 4, 160, false}, {40, 2, 328, false}};

	for (unsigned i = 0; i < XW_ARRAY_SIZE(rows); i++) {
		const struct xw_update u = update_of(NULL, rows[i].bits);
		struct xw_update_map m = {0};
		xw_blk got;

		m.e.v = e;
		m.e.n = XW_ARRAY_SIZE(e);
		got = xw_update_map_partner(&u, &m, rows[i].lblk);
		ck_assert_msg(got == rows[i].want, "%s: %u", rows[i].name, (unsigned)got);
	}
}
END_TEST

START_TEST(goals)
{
	struct xw_image img = {
		.sb = {.first_data_block = 1, .inodes_per_group = 16, .blocks_per_group = 8192}};
	const struct xw_update u = update_of(&img, 0);
	struct xw_extent e = {0, 4, 160, false};
	struct xw_update_map m = {0};

	ck_assert_uint_eq(xw_update_map_goal(&u, 16, &m), 1);
	ck_assert_uint_eq(xw_update_map_goal(&u, 17, &m), 8193);
	m.e.v = &e;
	m.e.n = 1;
	ck_assert_uint_eq(xw_update_map_goal(&u, 17, &m), 164);
}
END_TEST

/* Messages name the image and the inode. */
START_TEST(messages)
{
	struct xw_diag diag = {0};
	struct xw_dev dev = {.name = "image"};
	struct xw_image img = {.dev = &dev};
	struct xw_update u = {.img = &img, .diag = &diag};

	ck_assert_int_eq(xw_update_fail(&u, 12, XW_ERR_LIMIT, "has too many links"), XW_ERR_LIMIT);
	ck_assert_str_eq(diag.text, "image: inode 12: has too many links");
	xw_diag_clear(&diag);
	ck_assert_int_eq(xw_update_bad(&u, 12, "is reserved"), XW_ERR_CORRUPT);
	ck_assert_str_eq(diag.text, "image: inode 12: is reserved; run xw-fsck -f");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("update_map");
	TCase *tc = tcase_create("update_map");

	tcase_add_test(tc, clusters);
	tcase_add_test(tc, adding);
	tcase_add_test(tc, partners);
	tcase_add_test(tc, goals);
	tcase_add_test(tc, messages);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
