/* SPDX-License-Identifier: MIT */
/* Streaming allocation: against a plain restatement of its policy, and the cases it exists for. */
#include "space_model.h"
#include "unit.h"

static bool sparse_super_group(uint32_t g)
{
	static const uint32_t base[] = {3, 5, 7};

	if (g <= 1)
		return true;
	for (unsigned i = 0; i < XW_ARRAY_SIZE(base); i++) {
		uint64_t p = base[i];

		while (p < g)
			p *= base[i];
		if (p == g)
			return true;
	}
	return false;
}

/* An empty filesystem with superblock and `desc` descriptor blocks where sparse_super puts them. */
static struct xw_space *sparse_space(struct model *m, uint32_t bpg, uint32_t groups, uint32_t desc)
{
	struct xw_space *s;

	model_init(m, bpg == 8192, bpg, (uint64_t)bpg * groups);
	m->known = true;
	s = model_space(m, -1);
	for (uint32_t g = 0; g < m->groups; g++)
		if (sparse_super_group(g)) {
			xw_blk base = m->fdb + (xw_blk)g * bpg;

			ck_assert_int_eq(xw_space_claim(s, base, 1 + desc), 0);
			model_set(m, base, 1 + desc, true);
		}
	return s;
}

/*
 * The policy for requests of at most one extent, told block by block. Returns the place, 0 when
 * there is none ahead.
 */
static xw_blk policy(const struct model *m, struct xw_stream *st, uint64_t len)
{
	xw_blk at;
	uint64_t gap;

	if (st->pos < st->end && model_run_at(m, st->pos, len) == len) {
		at = st->pos;
		st->pos += len;
		if (m->used[st->pos])
			st->pos = st->end;
		return at;
	}
	st->pos = XW_MAX(st->pos, st->end);
	gap = model_run_at(m, st->pos, len);
	for (at = st->pos; at + len <= m->blocks; at++) {
		uint64_t run = model_run_at(m, at, len);

		if (run == len)
			break;
		at += run;
	}
	if (at + len > m->blocks)
		return 0;
	st->end = at + len;
	if (at == st->pos || !gap || gap < st->gap_keep)
		st->pos = st->end;
	return at;
}

static const struct {
	uint32_t bpg, groups, desc;
	uint64_t gap_keep, max_len;
} streams[] = {
	{8192, 60, 8, 1, 60},    {8192, 60, 8, 100, 600},   {1024, 300, 3, 1, 500},
	{1024, 300, 3, 64, 900}, {1024, 300, 3, 5000, 700}, {256, 900, 0, 1, 200},
};

START_TEST(follows_the_policy)
{
	struct xw_stream st, want;
	uint64_t seed = 77 + (uint64_t)_i, max = streams[_i].max_len;
	unsigned back = 0, obstacles = 0, placed = 0, hits = 0;
	struct xw_space_stats stats;
	struct xw_space *s;
	struct model m;
	xw_blk last = 0;

	s = sparse_space(&m, streams[_i].bpg, streams[_i].groups, streams[_i].desc);
	for (uint32_t g = 0; g < m.groups; g++)
		obstacles += sparse_super_group(g);
	st = (struct xw_stream){m.fdb, 0, streams[_i].gap_keep};
	want = st;
	for (;;) {
		uint64_t len =
			rnd(&seed) % 16 ? 1 + rnd(&seed) % (max / 20 + 1) : 1 + rnd(&seed) % max;
		const struct xw_stream before = want;
		xw_blk at = policy(&m, &want, len);
		struct xw_run run = {0, 0};
		int rc = xw_stream_alloc_one(s, &st, len, &run);

		ck_assert_int_eq(rc, at != 0);
		if (!rc)
			break;
		ck_assert_uint_eq(run.start, at);
		ck_assert_uint_eq(run.len, len);
		ck_assert_uint_eq(st.pos, want.pos);
		ck_assert_uint_eq(st.end, want.end);
		model_set(&m, at, len, true);
		back += at < last;
		last = at;
		placed++;
		hits += at == before.pos || at == XW_MAX(before.pos, before.end);
	}
	xw_space_stats(s, &stats);
	ck_assert_uint_eq(stats.requests, placed);
	ck_assert_uint_eq(stats.success, placed);
	ck_assert_uint_eq(stats.stream_hits, hits);
	ck_assert_uint_lt(hits, placed);
	ck_assert_uint_gt(want.end, m.blocks - max - 1);
	ck_assert_uint_le(back, obstacles);
	if (streams[_i].gap_keep == 1 && max > 100)
		ck_assert_uint_gt(back, 0);
	model_compare(&m, s);
	xw_space_free(s);
	model_free(&m);
}
END_TEST

/* When nothing ahead is long enough: every free block is still found, and NOSPC takes nothing. */
START_TEST(uses_the_last_block)
{
	struct xw_stream st = {0, 0, 1000};
	uint64_t seed = 5;
	struct xw_space *s;
	struct model m;

	s = sparse_space(&m, 1024, 40, 3);
	while (m.free) {
		uint64_t len = 1 + rnd(&seed) % 700, sum = 0;
		struct xw_run *runs;
		size_t n;
		int rc = xw_stream_alloc(s, &st, len, &runs, &n);

		if (len > m.free) {
			ck_assert_int_eq(rc, XW_ERR_NOSPC);
			ck_assert_uint_eq(xw_space_free_blocks(s), m.free);
			continue;
		}
		ck_assert_int_eq(rc, 0);
		for (size_t i = 0; i < n; i++) {
			model_set(&m, runs[i].start, runs[i].len, true);
			sum += runs[i].len;
		}
		ck_assert_uint_eq(sum, len);
		free(runs);
	}
	model_compare(&m, s);
	xw_space_free(s);
	model_free(&m);
}
END_TEST

/*
 * Requests longer than an extent, in groups of 32,768 blocks with backups of 65 blocks; the
 * stream begins at `pos`.
 */
#define G(g) ((xw_blk)(g)*32768)
static const struct {
	const char *name;
	uint32_t groups;
	xw_blk pos;
	uint64_t len;
	size_t n;
	struct xw_run runs[4];
} longs[] = {
	{"fits before the next backup", 30, G(1), 60000, 1, {{G(1) + 65, 60000}}},
	{"one run over 14 groups", 30, G(9), 400000, 1, {{G(9) + 65, 400000}}},
	{"cut costs no extent more", 30, 65, 51200, 2, {{65, 32703}, {G(1) + 65, 18497}}},
	{"cut stays in the inode, no large gap",
	 30,
	 20000,
	 51200,
	 2,
	 {{20000, 12768}, {G(1) + 65, 38432}}},
	{"small gap: whole", 30, G(1) - 100, 60000, 1, {{G(1) + 65, 60000}}},
	{"fits in one extent: whole, whatever the gap",
	 30,
	 65 + 10000,
	 32768,
	 1,
	 {{G(1) + 65, 32768}}},
	{"small gap, but the jump is over 218 groups: cut",
	 700,
	 G(125) - 100,
	 G(136),
	 3,
	 {{G(125) - 100, 100},
	  {G(125) + 65, G(118) - 65},
	  {G(243) + 65, G(136) - 100 - (G(118) - 65)}}},
	{"longer than every run ahead",
	 9,
	 G(4),
	 100000,
	 3,
	 {{G(4), 32768}, {G(5) + 65, 65471}, {G(7) + 65, 1761}}},
	{"and longer",
	 9,
	 65,
	 200000,
	 4,
	 {{65, 32703}, {G(1) + 65, 65471}, {G(3) + 65, 65471}, {G(5) + 65, 36355}}},
};

START_TEST(long_requests)
{
	struct xw_stream st = {longs[_i].pos, 0, 1000};
	struct xw_run *runs, one;
	uint64_t sum = 0;
	struct xw_space *s;
	struct model m;
	size_t n;

	s = sparse_space(&m, 32768, longs[_i].groups, 64);
	if (longs[_i].n > 1)
		ck_assert_int_eq(xw_stream_alloc_one(s, &st, longs[_i].len, &one), 0);
	ck_assert_int_eq(xw_stream_alloc(s, &st, longs[_i].len, &runs, &n), 0);
	for (size_t i = 0; i < n; i++) {
		model_set(&m, runs[i].start, runs[i].len, true);
		sum += runs[i].len;
	}
	ck_assert_uint_eq(sum, longs[_i].len);
	ck_assert_msg(n == longs[_i].n, "%s: %zu runs", longs[_i].name, n);
	ck_assert_mem_eq(runs, longs[_i].runs, n * sizeof(*runs));
	ck_assert_uint_eq(st.end, runs[n - 1].start + runs[n - 1].len);
	free(runs);
	model_compare(&m, s);
	xw_space_free(s);
	model_free(&m);
}
END_TEST

/*
 * The hot path: 755,000 files. No bitmap, no index walk, no load; the layout is one forward line.
 */
START_TEST(many_files_cost_nothing)
{
	struct xw_stream st = {0, 0, 1000};
	struct xw_space_structs structs;
	struct xw_space_stats stats;
	struct xw_run run;
	xw_blk last = 0;
	uint64_t seed = 3;
	unsigned jumps = 0;
	struct xw_space *s;
	struct model m;

	s = sparse_space(&m, 32768, 256, 64);
	for (unsigned i = 0; i < 755000; i++) {
		if (xw_stream_alloc_one(s, &st, 1 + rnd(&seed) % 20, &run) != 1)
			ck_abort_msg("call %u", i);
		jumps += run.start != last;
		last = run.start + run.len;
	}
	xw_space_structs(s, &structs);
	xw_space_stats(s, &stats);
	ck_assert_uint_eq(structs.loaded, 0);
	ck_assert_uint_eq(stats.buddies_generated, 0);
	ck_assert_uint_lt(stats.index_steps, 10000);
	ck_assert_uint_le(jumps, 13 + 1); /* one a backup */
	ck_assert_uint_lt(xw_space_memory(s), 100000);
	ck_assert_ptr_null(xw_space_check(s));
	xw_space_free(s);
	model_free(&m);
}
END_TEST

/* A gap in every other group, filled later: no group keeps a bitmap once it is full. */
START_TEST(full_groups_need_no_bitmap)
{
	struct xw_stream st = {0, 0, 1};
	struct xw_space_structs structs;
	struct xw_space *s;
	struct model m;
	struct xw_run run;

	model_init(&m, 0, 256, 600 * 256);
	m.known = true;
	s = model_space(&m, -1);
	for (uint32_t g = 0; g < 600; g += 2)
		ck_assert_int_eq(xw_space_claim(s, g * 256 + 100, 5), 0);
	while (xw_stream_alloc_one(s, &st, 3, &run) == 1)
		;
	xw_space_structs(s, &structs);
	ck_assert_uint_le(structs.loaded, 1);
	ck_assert_uint_lt(xw_space_free_blocks(s), 600 * 3);
	xw_space_free(s);
	model_free(&m);
}
END_TEST

/* SIZE left out: room for 4,096 groups, of which a few are used, then cut. */
START_TEST(stream_then_truncate)
{
	struct xw_space_params p = {.blocks = G(4096),
				    .blocks_per_group = 32768,
				    .groups = 4096,
				    .optimize_scan = -1,
				    .linear_limit = -1,
				    .order2_req = -1,
				    .stream_req = -1,
				    .min_to_scan = -1,
				    .max_to_scan = -1,
				    .best_avail_max_trim_order = -1};
	struct xw_stream st = {0, 0, 1};
	struct xw_space *s;
	struct xw_run run;

	ck_assert_int_eq(xw_space_new(&p, NULL, NULL, &s), 0);
	for (uint32_t g = 0; g < 4096; g++)
		if (sparse_super_group(g))
			ck_assert_int_eq(xw_space_claim(s, G(g), 65), 0);
	for (int i = 0; i < 1000; i++)
		ck_assert_int_eq(xw_stream_alloc_one(s, &st, 100, &run), 1);
	ck_assert_int_eq(xw_space_truncate(s, st.end), 0);
	ck_assert_uint_lt(xw_space_free_blocks(s), 5 * 100);
	ck_assert_ptr_null(xw_space_check(s));
	ck_assert_int_eq(xw_stream_alloc_one(s, &st, 1, &run), 0);
	xw_space_free(s);
}
END_TEST

START_TEST(zero_is_refused)
{
	struct xw_stream st = {0, 0, 1};
	struct xw_run run, *runs;
	struct xw_space *s;
	struct model m;
	size_t n;

	s = sparse_space(&m, 1024, 3, 0);
	ck_assert_int_eq(xw_stream_alloc_one(s, &st, 0, &run), XW_ERR_USAGE);
	ck_assert_int_eq(xw_stream_alloc(s, &st, 0, &runs, &n), XW_ERR_USAGE);
	ck_assert_int_eq(xw_stream_alloc(s, &st, UINT64_MAX, &runs, &n), XW_ERR_NOSPC);
	ck_assert_uint_eq(xw_space_free_blocks(s), m.free);
	xw_space_free(s);
	model_free(&m);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("stream");
	TCase *tc = tcase_create("stream");

	tcase_set_timeout(tc, 120);
	unit_add_table(tc, follows_the_policy, streams);
	tcase_add_test(tc, uses_the_last_block);
	unit_add_rows(tc, long_requests, longs, name);
	tcase_add_test(tc, many_files_cost_nothing);
	tcase_add_test(tc, full_groups_need_no_bitmap);
	tcase_add_test(tc, stream_then_truncate);
	tcase_add_test(tc, zero_is_refused);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return unit_main(suite());
}
