/* SPDX-License-Identifier: MIT */
/*
 * Requests as Linux serves them. The first table is what the trace event ext4_mballoc_alloc of
 * Linux 6.18 showed on a fresh image of 1 GiB; the others are the rules one by one.
 */
#include "config.h"

#include <check.h>

#include "space/linux.h"
#include "unit.h"

#define GROUP 32768

static struct xw_space *space;
static struct xw_diag diag;

/* Groups of so many blocks, all of them free. */
static void make(uint32_t groups, uint32_t per_group, int optimize_scan)
{
	const struct xw_space_source none = {0};
	const struct xw_space_params p = {.blocks = (uint64_t)groups * per_group,
					  .blocks_per_group = per_group,
					  .groups = groups,
					  .optimize_scan = optimize_scan,
					  .linear_limit = -1,
					  .order2_req = -1,
					  .stream_req = -1,
					  .min_to_scan = -1,
					  .max_to_scan = -1,
					  .best_avail_max_trim_order = -1};

	ck_assert_int_eq(xw_space_new(&p, &none, &diag, &space), 0);
}

static void claim(xw_blk start, uint64_t len)
{
	ck_assert_int_eq(xw_space_claim(space, start, len), 0);
}

/* The run that a request without a goal gets; start * 100000 + len. */
static uint64_t got(struct xw_linux_req req)
{
	struct xw_run run;

	req.max_order = 13;
	req.least = req.least ? req.least : req.len;
	req.then = req.then ? req.then : req.len;
	if (xw_space_alloc_linux(space, &req, &run))
		return 0;
	return run.start * 100000 + run.len;
}

static const struct {
	struct xw_linux_req req;
	uint32_t at, len; /* in group 1 */
} seen[] = {
	{{.from = GROUP, .len = 512}, 512, 512},
	{{.from = GROUP, .len = 18}, 129, 18},
	{{.from = GROUP, .len = 74}, 147, 74},
	{{.from = GROUP, .len = 733}, 1024, 733},
	{{.from = 0, .len = 2048}, 2048, 2048},
	{{.goal = GROUP + 4096, .from = 0, .len = 2048}, 4096, 2048},
	{{.from = GROUP + 6144, .len = 787}, 6144, 787},
	{{.from = GROUP + 513, .len = 512}, 7168, 512},
	{{.from = GROUP + 221, .len = 1}, 221, 1},
	{{.from = GROUP + 222, .len = 1}, 1757, 1},
	{{.from = GROUP + 1757, .len = 2}, 222, 2},
};

START_TEST(as_traced)
{
	make(8, GROUP, 0);
	claim(0, 12439);
	claim(GROUP, 129);
	for (size_t i = 0; i < XW_ARRAY_SIZE(seen); i++) {
		struct xw_linux_req req = seen[i].req;

		req.flex = 16;
		ck_assert_uint_eq(got(req),
				  (GROUP + UINT64_C(1) * seen[i].at) * 100000 + seen[i].len);
	}
	xw_space_free(space);
}
END_TEST

/* A goal that is not wholly free is not used at all. */
START_TEST(goal)
{
	make(1, 1024, 0);
	claim(0, 8);
	claim(20, 1);
	ck_assert_uint_eq(got((struct xw_linux_req){.goal = 12, .len = 8}), 1200008);
	ck_assert_uint_eq(got((struct xw_linux_req){.goal = 16, .len = 5}), 2100005);
	ck_assert_uint_eq(got((struct xw_linux_req){.goal = 1020, .len = 5}), 2600005);
	xw_space_free(space);
}
END_TEST

/* The nearest group, or, with lists, the one that barely serves the request. */
START_TEST(groups)
{
	for (int lists = 0; lists < 2; lists++) {
		make(4, 1024, lists);
		claim(3 * 1024, 960);
		ck_assert_uint_eq(got((struct xw_linux_req){.from = 1024, .len = 64}),
				  lists ? (3 * 1024 + 960) * UINT64_C(100000) + 64 : 102400064);
		xw_space_free(space);
	}
}
END_TEST

/* Among runs that are too short, the longest of the first 201. */
START_TEST(bounded)
{
	make(1, 1024, 0);
	for (uint32_t i = 0; i < 256; i++)
		claim(4 * i, i == 7 ? 2 : 3); /* one of two blocks */
	claim(4 * 220 + 3, 1);
	ck_assert_int_eq(xw_space_release(space, 4 * 210 + 1, 2), 0); /* three, behind them */
	ck_assert_uint_eq(got((struct xw_linux_req){.len = 5}), 3000002);
	ck_assert_uint_eq(xw_space_free_blocks(space), 256 + 1 - 1 + 2 - 2);
	xw_space_free(space);
}
END_TEST

/* With lists: shorter, but not below the least; then of another length. */
START_TEST(shorter)
{
	for (uint32_t least = 1; least <= 16; least *= 16) {
		make(16, 64, 1);
		for (uint32_t i = 0; i < 16; i++)
			claim(64 * i, 56);
		ck_assert_uint_eq(got((struct xw_linux_req){.len = 64, .least = least, .then = 3}) %
					  100000,
				  least == 1 ? 8 : 3);
		xw_space_free(space);
	}
}
END_TEST

START_TEST(full)
{
	make(1, 1024, 0);
	claim(0, 1023);
	ck_assert_uint_eq(got((struct xw_linux_req){.len = 9}), 102300001);
	ck_assert_uint_eq(got((struct xw_linux_req){.len = 9}), 0);
	ck_assert_uint_eq(got((struct xw_linux_req){.len = 0}), 0);
	xw_space_free(space);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("space_linux");
	TCase *t = tcase_create("space_linux");

	tcase_add_test(t, as_traced);
	tcase_add_test(t, goal);
	tcase_add_test(t, groups);
	tcase_add_test(t, bounded);
	tcase_add_test(t, shorter);
	tcase_add_test(t, full);
	suite_add_tcase(s, t);
	return unit_main(s);
}
