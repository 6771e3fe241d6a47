/* SPDX-License-Identifier: MIT */
/*
 * The claim of the group order lists, on the research's disk: an allocation considers a handful of
 * groups where the linear search considers all 491,520, several times a request. Statistics are
 * printed as the research prints them.
 */
#include "model_65tb.h"
#include "space/priv.h"
#include "space_check.h"
#include "unit.h"

#define CONSIDERED_MAX 10
#define INDEX_STEPS_MAX 2000 /* a request; the walk would be 491,520 groups a criterion */

/* One whole request; its cost is checked against the limits. Returns the number of runs. */
static size_t request(struct xw_space *s, xw_blk goal, uint64_t len, unsigned limit)
{
	struct xw_alloc_req req = {goal, len, 0};
	struct xw_space_stats before, after;
	uint64_t considered = big_considered(s), reqs, sum = 0;
	struct xw_run *runs;
	size_t n;

	xw_space_stats(s, &before);
	ck_assert_int_eq(xw_space_alloc_all(s, &req, &runs, &n), 0);
	xw_space_stats(s, &after);
	considered = big_considered(s) - considered;
	reqs = after.requests - before.requests;
	for (size_t i = 0; i < n; i++)
		sum += runs[i].len;
	free(runs);
	ck_assert_uint_eq(sum, len);
	/* A request that takes several runs is several requests to the allocator, as in mballoc. */
	ck_assert_uint_le(considered, limit * reqs);
	ck_assert_uint_le(after.index_steps - before.index_steps, INDEX_STEPS_MAX * reqs);
	ck_assert_uint_le(reqs, n + 1);
	return n;
}

static const struct {
	uint64_t len;
	size_t fewest; /* with runs of 300 blocks at most */
} wants[] = {
	{1, 1},   {7, 1},   {16, 1},  {64, 1},  {128, 1},  {256, 1},   {299, 1},    {300, 1},
	{301, 2}, {512, 2}, {600, 2}, {601, 3}, {1000, 4}, {5000, 17}, {25600, 86}, {262144, 874},
};

START_TEST(fragmented)
{
	struct big_model *m = big_model_new(BIG_GROUPS);
	struct xw_space *s = big_space(m, -1);
	uint64_t seed = 1;

	for (unsigned i = 0; i < XW_ARRAY_SIZE(wants); i++)
		for (unsigned k = 0; k < 3; k++) {
			xw_blk goal = k ? big_rnd(&seed) % ((uint64_t)BIG_GROUPS * BIG_BPG) : 0;
			size_t n = request(s, goal, wants[i].len, CONSIDERED_MAX);

			ck_assert_uint_eq(n, wants[i].fewest);
		}
	/* dd bs=2M count=10: every write considers ten groups at most, all its runs together. */
	for (unsigned i = 0; i < 10; i++) {
		uint64_t before = big_considered(s);

		ck_assert_uint_eq(request(s, 0, 512, CONSIDERED_MAX), 2);
		ck_assert_uint_le(big_considered(s) - before, CONSIDERED_MAX);
	}
	big_print(s, "# ", "fragmented, indexed: 58 requests for 1 to 262,144 blocks");
	ck_assert_uint_le(xw_space_memory(s), 36u << 20);
	xw_space_free(s);
	free(m);
}
END_TEST

START_TEST(a_few_clean_groups)
{
	static const uint32_t clean[] = {77777, 123456, 200000, 200001, 400000, 491519};
	static const struct {
		xw_blk goal;
		uint64_t len;
		size_t fewest;
	} t[] = {
		{0, 512, 1},   {0, 512, 1},   {0, 2048, 1},
		{0, 700, 1},   {0, 30000, 1}, {1, 65536, 1}, /* two groups */
		{0, 32768, 1}, {0, 32768, 1}, {0, 32768, 6}, /* 28,996 and 2,768 are left */
	};
	struct big_model *m = big_model_new(BIG_GROUPS);
	struct xw_space_stats st;
	struct xw_space *s;

	m->nclean = XW_ARRAY_SIZE(clean);
	memcpy(m->clean, clean, sizeof(clean));
	s = big_space(m, -1);
	for (unsigned i = 0; i < XW_ARRAY_SIZE(t); i++) {
		uint64_t before = big_considered(s);

		ck_assert_uint_eq(request(s, t[i].goal, t[i].len, CONSIDERED_MAX), t[i].fewest);
		if (t[i].fewest == 1)
			ck_assert_uint_le(big_considered(s) - before, CONSIDERED_MAX);
	}
	big_print(s, "# ", "a few clean groups, indexed");
	xw_space_stats(s, &st);
	ck_assert_uint_eq(st.cr[XW_CR_P2_ALIGNED].hits, 3);
	ck_assert_uint_eq(st.stream_hits, 3);
	ck_assert_uint_ge(st.cr[XW_CR_GOAL_FAST].hits, 1);
	ck_assert_uint_eq(st.cr[XW_CR_GOAL_SLOW].hits, 0);
	ck_assert_uint_eq(st.cr[XW_CR_ANY].hits, 5);
	xw_space_free(s);
	free(m);
}
END_TEST

/* The experiment of RESEARCH.md: dd bs=2M count=2, request by request, and its table. */
START_TEST(the_table)
{
	struct big_model *m = big_model_new(BIG_GROUPS);
	struct xw_space_stats st[2];
	uint64_t runs[2], considered[2];

	for (int scan = 0; scan < 2; scan++) {
		struct xw_space *s = big_space(m, scan);

		runs[scan] = big_dd(s, 512, 2);
		ck_assert_uint_gt(runs[scan], 0);
		xw_space_stats(s, &st[scan]);
		considered[scan] = big_considered(s);
		big_print(s, "# ",
			  scan ? "dd bs=2M count=2, with group order lists"
			       : "dd bs=2M count=2, without");
		xw_space_free(s);
	}
	/* Without: all groups in GOAL_FAST for every request that finds no average so high. */
	ck_assert_uint_gt(considered[0], st[0].cr[XW_CR_GOAL_FAST].useless_loops * BIG_GROUPS);
	ck_assert_uint_ge(st[0].cr[XW_CR_P2_ALIGNED].useless_loops, 2);
	ck_assert_uint_gt(st[0].breaks, 0);
	ck_assert_uint_gt(considered[0], 20000000);
	/* With. */
	ck_assert_uint_le(considered[1], CONSIDERED_MAX * st[1].requests);
	ck_assert_uint_le(runs[1], runs[0]);
	free(m);
}
END_TEST

/* Whole requests: the same runs from both, at costs that differ by orders of magnitude. */
START_TEST(contrast)
{
	static const uint64_t lens[] = {512, 1, 100, 300, 700};
	struct big_model *m = big_model_new(BIG_GROUPS);
	struct xw_space *with, *without;

	m->nclean = 1;
	m->clean[0] = 300000;
	with = big_space(m, 1);
	without = big_space(m, 0);
	for (unsigned i = 0; i < XW_ARRAY_SIZE(lens); i++) {
		struct xw_alloc_req req = {(xw_blk)(i + 1) * 50000 * BIG_BPG, lens[i], 0};
		struct xw_run *a, *b;
		size_t na, nb;

		ck_assert_int_eq(xw_space_alloc_all(with, &req, &a, &na), 0);
		ck_assert_int_eq(xw_space_alloc_all(without, &req, &b, &nb), 0);
		ck_assert_uint_eq(na, nb);
		ck_assert_mem_eq(a, b, na * sizeof(*a));
		free(a);
		free(b);
	}
	big_print(without, "# ", "whole requests, one clean group, linear");
	big_print(with, "# ", "whole requests, one clean group, indexed");
	ck_assert_uint_gt(big_considered(without), 300000);
	ck_assert_uint_le(big_considered(with), CONSIDERED_MAX * XW_ARRAY_SIZE(lens));
	xw_space_free(with);
	xw_space_free(without);
	free(m);
}
END_TEST

/*
 * As the research's first run: nobody has read the bitmaps. They are read on a budget, once, and
 * not kept.
 */
START_TEST(bitmaps_unread)
{
	struct big_model *m = big_model_new(16384);
	struct xw_space_stats st;
	struct xw_space *s;

	m->known = false;
	s = big_space(m, -1);
	ck_assert_uint_eq(m->loads, 0);
	ck_assert_uint_eq(request(s, 12345, 20, CONSIDERED_MAX), 1);
	ck_assert_uint_le(m->loads, XW_READS_MAX + 2);
	xw_space_free(s);
	/* One run more costs 64 bitmaps, once; later requests read a few. */
	m->loads = 0;
	s = big_space(m, -1);
	ck_assert_uint_eq(request(s, 0, 512, XW_UNREAD_FIRST / 2 + CONSIDERED_MAX), 2);
	ck_assert_uint_le(m->loads, XW_UNREAD_FIRST);
	for (unsigned i = 1; i <= 30; i++) {
		ck_assert_uint_eq(request(s, 0, 512, XW_UNREAD_MORE + CONSIDERED_MAX), 2);
		ck_assert_uint_le(m->loads, 2 * XW_UNREAD_FIRST + i * XW_UNREAD_MORE);
	}
	xw_space_free(s);
	/* Many runs are worth many bitmaps, and there is an end to that. */
	m->loads = 0;
	s = big_space(m, -1);
	ck_assert_uint_eq(request(s, 0, 3000, XW_UNREAD_MAX), 10);
	ck_assert_uint_gt(m->loads, 2 * XW_UNREAD_FIRST);
	ck_assert_uint_le(m->loads, 12 * XW_UNREAD_FIRST);
	request(s, 0, 128 * 1024, XW_UNREAD_MAX);
	ck_assert_uint_le(m->groups - s->unread, XW_UNREAD_MAX + 13 * XW_UNREAD_FIRST);
	xw_space_stats(s, &st);
	ck_assert_uint_le(st.buddies_generated, 16384 + 100);
	ck_assert_uint_lt(xw_space_memory(s), 8u << 20);
	big_print(s, "# ", "16,384 groups, bitmaps never read before");
	xw_space_free(s);
	free(m);
}
END_TEST

/*
 * More groups that nobody has read than the budget allows: the one clean group is found at once
 * where its descriptor says so, and one run is found at any price when nothing else will do.
 */
START_TEST(bitmaps_unread_clean)
{
	struct big_model *m = big_model_new(65536);
	struct xw_alloc_req whole = {0, 512, XW_ALLOC_WHOLE};
	struct xw_space *s;
	struct xw_run *runs;
	size_t n;

	m->known = false;
	m->nclean = 1;
	m->clean[0] = 60000;
	s = big_space(m, -1);
	ck_assert_uint_eq(request(s, 0, 512, CONSIDERED_MAX + 2), 1);
	ck_assert_uint_le(m->loads, XW_READS_MAX + 2);
	xw_space_free(s);
	/* A group that is not clean, and of which a tenth more is free than of others. */
	m->loads = 0;
	m->nclean = 0;
	m->better = 50000;
	s = big_space(m, -1);
	ck_assert_uint_eq(request(s, 0, 2500, XW_UNREAD_FIRST), 1);
	ck_assert_uint_le(m->loads, XW_UNREAD_FIRST);
	xw_space_free(s);
	m->better = 0;
	/* Fewer groups, still four budgets of them: xw_space_check() counts each bit. */
	m->groups = 16384;
	m->nclean = 0;
	m->loads = 0;
	s = big_space(m, -1);
	ck_assert_int_eq(xw_space_alloc_all(s, &whole, &runs, &n), XW_ERR_NOSPC);
	ck_assert_uint_eq(m->loads, 16384);
	ck_assert_ptr_null(xw_space_check(s));
	xw_space_free(s);
	free(m);
}
END_TEST

/* xw-mkfs of 60 TiB: heads of flex groups from the plan, then streaming. */
static int flex_summary(void *arg, uint32_t g, struct xw_group_summary *out, bool *known)
{
	(void)arg;
	(void)known;
	if (g % 16 == 0)
		*out = (struct xw_group_summary){BIG_BPG - 8224, 1, BIG_BPG - 8224, 8224};
	return 0;
}

START_TEST(empty_60tib)
{
	struct xw_space_params p = {.blocks = (uint64_t)BIG_GROUPS * BIG_BPG - 5,
				    .blocks_per_group = BIG_BPG,
				    .groups = BIG_GROUPS,
				    .optimize_scan = -1,
				    .linear_limit = -1,
				    .order2_req = -1,
				    .stream_req = -1,
				    .min_to_scan = -1,
				    .max_to_scan = -1,
				    .best_avail_max_trim_order = -1};
	struct xw_space_source src = {flex_summary, NULL, NULL, NULL};
	struct xw_stream st = {0, 0, 100};
	struct xw_alloc_req journal = {(xw_blk)BIG_GROUPS / 2 * BIG_BPG, 262144, XW_ALLOC_WHOLE};
	struct xw_space *s;
	struct xw_run run, *runs;
	size_t n;

	ck_assert_int_eq(xw_space_new(&p, &src, NULL, &s), 0);
	ck_assert_uint_le(xw_space_memory(s), 12u << 20);
	ck_assert_int_eq(xw_space_alloc_all(s, &journal, &runs, &n), 0);
	ck_assert_uint_eq(n, 1);
	free(runs);
	for (uint64_t i = 0; i < 100000; i++)
		if (xw_stream_alloc_one(s, &st, 1 + i % 400, &run) != 1)
			ck_abort_msg("file %llu", (unsigned long long)i);
	ck_assert_int_eq(xw_space_claim(s, (xw_blk)400001 * BIG_BPG, 10 * BIG_BPG), 0);
	ck_assert_uint_le(xw_space_memory(s), 12u << 20);
	printf("# 60 TiB, empty: %zu bytes\n", xw_space_memory(s));
	fflush(stdout);
	xw_space_reindex(s);
	ck_assert_ptr_null(space_check_index(s));
	xw_space_free(s);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("space_65tb");
	TCase *tc = tcase_create("space_65tb");

	tcase_set_timeout(tc, 300);
	tcase_add_test(tc, fragmented);
	tcase_add_test(tc, a_few_clean_groups);
	tcase_add_test(tc, the_table);
	tcase_add_test(tc, contrast);
	tcase_add_test(tc, bitmaps_unread);
	tcase_add_test(tc, bitmaps_unread_clean);
	tcase_add_test(tc, empty_60tib);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return unit_main(suite());
}
