/* SPDX-License-Identifier: MIT */
/*
 * The block allocator: each criterion by itself, then random operations against a model of one
 * byte per block.
 */
#include "space_model.h"
#include "unit.h"

/* Geometries */

static const struct geometry {
	const char *name;
	uint32_t fdb, bpg;
	uint64_t blocks;
	uint64_t max_used, max_free; /* 0 = empty at first */
	bool known;
	int scan;
	unsigned ops, max_len;
} geometries[] = {
	{"one group", 0, 256, 256, 0, 0, true, -1, 3000, 40},
	{"tiny groups", 0, 8, 1003, 3, 9, true, 1, 2000, 60},
	{"1k blocks, short last group", 1, 8192, 12 * 8192 - 77, 40, 90, false, 0, 600, 20000},
	{"1k blocks, indexed", 1, 8192, 12 * 8192 - 77, 40, 90, false, 1, 600, 20000},
	{"empty, few groups", 0, 1024, 20 * 1024 + 5, 0, 0, true, 1, 3000, 4000},
	{"many small groups", 0, 72, 300 * 72 - 31, 30, 50, false, 1, 2500, 500},
	{"many small groups, linear", 0, 72, 300 * 72 - 31, 30, 50, false, 0, 2500, 500},
	{"summaries known", 1, 512, 400 * 512 - 100, 60, 60, true, 1, 1500, 900},
	{"long runs over groups", 0, 64, 400 * 64, 9, 400, false, 1, 2000, 900},
	{"long runs over groups, known", 0, 64, 400 * 64, 9, 400, true, 1, 2000, 900},
};

/* Random operations */

struct fuzz {
	struct model m;
	struct xw_space *s;
	uint64_t seed;
	unsigned max_len;
	XW_VEC(struct xw_run) held;
};

static void hold(struct fuzz *f, struct xw_run run)
{
	model_set(&f->m, run.start, run.len, true);
	ck_assert_int_eq(xw_vec_push(&f->held, run), 0);
}

static xw_blk random_goal(struct fuzz *f)
{
	return rnd(&f->seed) % 3 ? rnd(&f->seed) % (f->m.blocks + 3) : 0;
}

static void op_alloc(struct fuzz *f)
{
	static const unsigned flags[] = {0, 0, 0, XW_ALLOC_STREAM, XW_ALLOC_EXACT, XW_ALLOC_WHOLE};
	struct xw_alloc_req req = {random_goal(f), 1 + rnd(&f->seed) % f->max_len,
				   flags[rnd(&f->seed) % XW_ARRAY_SIZE(flags)]};
	struct xw_run run;
	int rc = xw_space_alloc(f->s, &req, &run);

	if (rc) {
		ck_assert_int_eq(rc, XW_ERR_NOSPC);
		if (!req.flags || req.flags == XW_ALLOC_STREAM)
			ck_assert_uint_eq(f->m.free, 0);
		if (req.flags == XW_ALLOC_EXACT)
			ck_assert(model_run_at(&f->m, req.goal, req.len) < req.len ||
				  (req.goal - f->m.fdb) % f->m.bpg + req.len > f->m.bpg);
		if (req.flags == XW_ALLOC_WHOLE)
			ck_assert_uint_ne(model_fewest(&f->m, req.len, true), 1);
		return;
	}
	ck_assert_uint_ge(run.len, 1);
	ck_assert_uint_le(run.len, req.len);
	ck_assert_uint_eq((run.start - f->m.fdb) / f->m.bpg,
			  (run.start + run.len - 1 - f->m.fdb) / f->m.bpg);
	if (req.flags & (XW_ALLOC_EXACT | XW_ALLOC_WHOLE))
		ck_assert_uint_eq(run.len, req.len);
	if (req.flags & XW_ALLOC_EXACT)
		ck_assert_uint_eq(run.start, req.goal);
	hold(f, run);
}

static void op_alloc_all(struct fuzz *f, bool exact_ends)
{
	unsigned flags = rnd(&f->seed) % 8   ? 0
			 : rnd(&f->seed) % 2 ? XW_ALLOC_EXACT
					     : XW_ALLOC_WHOLE;
	struct xw_alloc_req req = {random_goal(f), 1 + rnd(&f->seed) % f->max_len, flags};
	size_t fewest = model_fewest(&f->m, req.len, false), n;
	size_t fewest_in_groups = model_fewest(&f->m, req.len, true);
	struct xw_run *runs;
	uint64_t sum = 0;
	int rc = xw_space_alloc_all(f->s, &req, &runs, &n);

	if (rc) {
		ck_assert_int_eq(rc, XW_ERR_NOSPC);
		ck_assert_ptr_null(runs);
		ck_assert_uint_eq(xw_space_free_blocks(f->s), f->m.free);
		if (flags == XW_ALLOC_EXACT)
			ck_assert_uint_lt(model_run_at(&f->m, req.goal, req.len), req.len);
		else if (flags == XW_ALLOC_WHOLE && exact_ends)
			ck_assert_uint_ne(fewest, 1);
		else if (!flags)
			ck_assert_uint_eq(fewest, 0);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		sum += runs[i].len;
		if (i)
			ck_assert_uint_gt(runs[i].start, runs[i - 1].start + runs[i - 1].len);
		hold(f, runs[i]);
	}
	free(runs);
	ck_assert_uint_eq(sum, req.len);
	ck_assert_uint_le(n, fewest_in_groups);
	if (exact_ends)
		ck_assert_uint_eq(n, fewest);
}

static void op_release(struct fuzz *f)
{
	struct xw_run *run, part;
	size_t i;

	if (!f->held.n)
		return;
	i = rnd(&f->seed) % f->held.n;
	run = &f->held.v[i];
	part = *run;
	if (rnd(&f->seed) % 2) { /* the front of it, so that runs of every shape come back */
		part.len = 1 + rnd(&f->seed) % run->len;
		run->start += part.len;
		run->len -= part.len;
	} else {
		run->len = 0;
	}
	if (!run->len)
		*run = f->held.v[--f->held.n];
	ck_assert_int_eq(xw_space_release(f->s, part.start, part.len), 0);
	model_set(&f->m, part.start, part.len, false);
	ck_assert_int_eq(xw_space_release(f->s, part.start, part.len), XW_ERR_CORRUPT);
}

static void op_claim(struct fuzz *f)
{
	struct xw_run run = {rnd(&f->seed) % f->m.blocks, 1 + rnd(&f->seed) % (f->max_len / 4 + 1)};
	bool is_free = model_run_at(&f->m, run.start, run.len) == run.len;

	ck_assert_int_eq(xw_space_claim(f->s, run.start, run.len), is_free ? 0 : XW_ERR_CORRUPT);
	if (is_free) {
		hold(f, run);
		ck_assert_int_eq(xw_space_claim(f->s, run.start, run.len), XW_ERR_CORRUPT);
	}
}

static void op_ask(struct fuzz *f)
{
	xw_blk at = rnd(&f->seed) % (f->m.blocks + 2), next = XW_MAX(at, f->m.fdb);

	ck_assert_uint_eq(xw_space_run_at(f->s, at, f->max_len),
			  model_run_at(&f->m, at, f->max_len));
	while (next < f->m.blocks && f->m.used[next])
		next++;
	ck_assert_uint_eq(xw_space_next_free(f->s, at), next < f->m.blocks ? next : XW_BLK_MAX);
}

START_TEST(random_operations)
{
	const struct geometry *geo = &geometries[_i];
	struct fuzz f = {.seed = 4711 + (uint64_t)_i, .max_len = geo->max_len};

	model_init(&f.m, geo->fdb, geo->bpg, geo->blocks);
	f.m.known = geo->known;
	if (geo->max_free)
		model_fragment(&f.m, &f.seed, geo->max_used, geo->max_free);
	f.s = model_space(&f.m, geo->scan);
	for (unsigned i = 0; i < geo->ops; i++) {
		/* Swing between nearly empty and nearly full. */
		bool filling = f.m.free * 8 > f.m.blocks &&
			       (i / 200 % 2 == 0 || f.m.free * 2 > f.m.blocks);
		unsigned what = rnd(&f.seed) % 10;

		if (what < 2)
			op_alloc(&f);
		else if (what < 4)
			op_alloc_all(&f, !geo->known || !geo->max_free);
		else if (what < 5)
			op_claim(&f);
		else if (what < 6)
			op_ask(&f);
		else if (!filling)
			op_release(&f);
		if (i % 97 == 0)
			model_compare(&f.m, f.s);
	}
	while (f.held.n)
		op_release(&f);
	model_compare(&f.m, f.s);
	xw_vec_free(&f.held);
	xw_space_free(f.s);
	model_free(&f.m);
}
END_TEST

/* 1,000 groups of 8,192 blocks, allocated until full: too large to compare after each step. */
START_TEST(fill_to_the_brim)
{
	struct fuzz f = {.seed = 99, .max_len = 60000};
	struct xw_alloc_req req = {0};
	struct xw_run *runs;
	size_t n;

	model_init(&f.m, 1, 8192, 1000 * 8192 - 1234);
	model_fragment(&f.m, &f.seed, 3000, 9000);
	f.s = model_space(&f.m, -1);
	while (f.m.free) {
		req.goal = rnd(&f.seed) % f.m.blocks;
		req.len = 1 + rnd(&f.seed) % 60000;
		req.len = XW_MIN(req.len, f.m.free);
		ck_assert_int_eq(xw_space_alloc_all(f.s, &req, &runs, &n), 0);
		for (size_t i = 0; i < n; i++)
			model_set(&f.m, runs[i].start, runs[i].len, true);
		free(runs);
	}
	ck_assert_int_eq(xw_space_alloc_all(f.s, &req, &runs, &n), XW_ERR_NOSPC);
	model_compare(&f.m, f.s);
	xw_space_free(f.s);
	model_free(&f.m);
}
END_TEST

/* The index changes what a search costs, never its answer. */
START_TEST(index_and_walk_agree)
{
	struct fuzz f = {.seed = 5 + (uint64_t)_i};
	struct xw_space *walk;
	struct xw_space_stats a, b;

	model_init(&f.m, 0, 256, 500 * 256 - 9);
	f.m.known = _i % 2;
	model_fragment(&f.m, &f.seed, 40, 80);
	f.s = model_space(&f.m, 1);
	f.s->budget = f.m.groups; /* what is not read may make a difference */
	walk = model_space(&f.m, 0);
	for (int i = 0; i < 400; i++) {
		struct xw_alloc_req req = {random_goal(&f), 1 + rnd(&f.seed) % 300, 0};
		struct xw_run *x, *y;
		size_t nx, ny;
		int rx = xw_space_alloc_all(f.s, &req, &x, &nx);

		ck_assert_int_eq(rx, xw_space_alloc_all(walk, &req, &y, &ny));
		ck_assert_uint_eq(nx, ny);
		if (nx)
			ck_assert_mem_eq(x, y, nx * sizeof(*x));
		for (size_t k = 0; k < nx; k += 2) {
			ck_assert_int_eq(xw_space_release(f.s, x[k].start, x[k].len), 0);
			ck_assert_int_eq(xw_space_release(walk, x[k].start, x[k].len), 0);
		}
		free(x);
		free(y);
	}
	xw_space_stats(f.s, &a);
	xw_space_stats(walk, &b);
	ck_assert_uint_eq(a.requests, b.requests);
	ck_assert_uint_eq(a.cr[XW_CR_GOAL_FAST].hits, b.cr[XW_CR_GOAL_FAST].hits);
	ck_assert_uint_lt(a.cr[XW_CR_GOAL_FAST].groups_considered * 4,
			  b.cr[XW_CR_GOAL_FAST].groups_considered);
	xw_space_free(walk);
	xw_space_free(f.s);
	model_free(&f.m);
}
END_TEST

/*
 * One criterion at a time: free runs laid out by hand, one request, the run and the criterion
 * expected.
 */

static const struct layout {
	const char *name;
	int scan;
	struct {
		uint32_t group, at, len; /* free runs; everything else is used */
	} runs[6];
	struct xw_alloc_req req;
	enum xw_criteria cr;
	xw_blk start; /* group * 1024 + index */
	uint64_t len;
} layouts[] = {
	{"power of two, aligned",
	 1,
	 {{3, 5, 40}, {4, 5, 100}},
	 {0, 32, 0},
	 XW_CR_P2_ALIGNED,
	 4 * 1024 + 32,
	 32},
	{"power of two, smallest buddy",
	 1,
	 {{3, 64, 64}, {3, 256, 16}, {3, 300, 1}},
	 {0, 16, 0},
	 XW_CR_P2_ALIGNED,
	 3 * 1024 + 256,
	 16},
	{"power of two, nothing aligned",
	 1,
	 {{3, 5, 40}, {4, 7, 33}},
	 {0, 32, 0},
	 XW_CR_GOAL_FAST,
	 3 * 1024 + 5,
	 32},
	{"below mb_order2_req", 1, {{3, 5, 7}}, {0, 2, 0}, XW_CR_GOAL_FAST, 3 * 1024 + 5, 2},
	{"average suffices",
	 1,
	 {{2, 0, 30}, {2, 40, 2}, {5, 9, 21}, {5, 50, 19}},
	 {0, 20, 0},
	 XW_CR_GOAL_FAST,
	 5 * 1024 + 9,
	 20},
	{"from the goal on",
	 1,
	 {{2, 0, 30}, {7, 3, 30}},
	 {4 * 1024, 20, 0},
	 XW_CR_GOAL_FAST,
	 7 * 1024 + 3,
	 20},
	{"round the end", 1, {{2, 0, 30}}, {4 * 1024, 20, 0}, XW_CR_GOAL_FAST, 2 * 1024, 20},
	{"best fit in the group",
	 1,
	 {{2, 0, 50}, {2, 60, 22}, {2, 90, 40}},
	 {0, 21, 0},
	 XW_CR_GOAL_FAST,
	 2 * 1024 + 60,
	 21},
	{"whole, average too low",
	 1,
	 {{2, 0, 30}, {2, 40, 1}, {2, 50, 1}},
	 {0, 20, 0},
	 XW_CR_BEST_AVAIL,
	 2 * 1024,
	 20},
	{"trimmed",
	 1,
	 {{2, 0, 30}, {2, 40, 30}, {5, 0, 7}},
	 {0, 100, 0},
	 XW_CR_BEST_AVAIL,
	 2 * 1024,
	 30},
	{"trimmed too far, too little free",
	 1,
	 {{2, 0, 5}, {3, 0, 60}, {3, 61, 60}},
	 {0, 1000, 0},
	 XW_CR_ANY,
	 3 * 1024,
	 60},
	{"slow",
	 1,
	 {{2, 0, 5}, {3, 0, 60}, {3, 61, 60}, {3, 122, 890}},
	 {0, 1000, 0},
	 XW_CR_BEST_AVAIL,
	 3 * 1024 + 122,
	 890},
	{"linear: slow",
	 0,
	 {{2, 0, 5}, {3, 0, 60}, {3, 61, 62}},
	 {0, 100, 0},
	 XW_CR_GOAL_SLOW,
	 3 * 1024 + 61,
	 62},
	{"linear: any",
	 0,
	 {{2, 0, 50}, {3, 0, 40}, {3, 61, 42}},
	 {0, 100, 0},
	 XW_CR_ANY,
	 2 * 1024,
	 50},
	{"linear: aligned",
	 0,
	 {{3, 5, 40}, {4, 5, 100}},
	 {0, 32, 0},
	 XW_CR_P2_ALIGNED,
	 4 * 1024 + 32,
	 32},
};

START_TEST(criteria)
{
	const struct layout *l = &layouts[_i];
	struct xw_space_stats st;
	struct model m;
	struct xw_space *s;
	struct xw_run run;

	model_init(&m, 0, 1024, 20 * 1024);
	m.known = true;
	memset(m.origin, 1, m.blocks);
	for (unsigned i = 0; i < XW_ARRAY_SIZE(l->runs); i++)
		memset(m.origin + l->runs[i].group * 1024 + l->runs[i].at, 0, l->runs[i].len);
	s = model_space(&m, l->scan);
	ck_assert_int_eq(xw_space_alloc(s, &l->req, &run), 0);
	ck_assert_msg(run.start == l->start && run.len == l->len, "%s: %llu+%llu", l->name,
		      (unsigned long long)run.start, (unsigned long long)run.len);
	xw_space_stats(s, &st);
	for (unsigned c = 0; c < XW_CR_COUNT; c++)
		ck_assert_msg(st.cr[c].hits == (c == l->cr), "%s: %s", l->name,
			      xw_criteria_name(c));
	ck_assert_uint_eq(st.success, run.len == l->req.len);
	xw_space_free(s);
	model_free(&m);
}
END_TEST

/* 300 runs of 3 blocks in each of 20 groups: GOAL_SLOW stops at max_to_scan, and says so. */
START_TEST(slow_breaks)
{
	struct xw_alloc_req req = {0, 300, 0};
	struct xw_space_stats st;
	struct model m;
	struct xw_space *s;
	struct xw_run run;

	model_init(&m, 0, 2048, 20 * 2048);
	m.known = true;
	for (xw_blk b = 0; b < m.blocks; b++)
		m.origin[b] = b % 2048 >= 1200 || b % 4 == 0;
	s = model_space(&m, _i);
	ck_assert_int_eq(xw_space_alloc(s, &req, &run), 0);
	ck_assert_uint_eq(run.len, 3);
	xw_space_stats(s, &st);
	ck_assert_uint_eq(st.breaks, 1);
	ck_assert_uint_eq(st.cr[XW_CR_GOAL_SLOW].hits, 1);
	ck_assert_uint_eq(st.cr[XW_CR_GOAL_SLOW].extents_scanned, 200);
	ck_assert_uint_eq(st.cr[XW_CR_GOAL_FAST].useless_loops, !_i);
	ck_assert_uint_eq(st.cr[XW_CR_GOAL_FAST].groups_considered, _i ? 0 : 20);
	ck_assert_uint_eq(st.success, 0);
	xw_space_free(s);
	model_free(&m);
}
END_TEST

START_TEST(linear_limit_counts)
{
	struct xw_space_params p = {.blocks = 100 * 64,
				    .blocks_per_group = 64,
				    .groups = 100,
				    .optimize_scan = 1,
				    .linear_limit = 10,
				    .order2_req = -1,
				    .stream_req = -1,
				    .min_to_scan = -1,
				    .max_to_scan = -1,
				    .best_avail_max_trim_order = -1};
	struct xw_alloc_req req = {0, 60, 0};
	struct xw_space_stats st;
	struct xw_space *s;
	struct xw_run run;

	ck_assert_int_eq(xw_space_new(&p, NULL, NULL, &s), 0);
	ck_assert_int_eq(xw_space_claim(s, 0, 50 * 64), 0);
	ck_assert_int_eq(xw_space_alloc(s, &req, &run), 0);
	ck_assert_uint_eq(run.start, 50 * 64);
	xw_space_stats(s, &st);
	ck_assert_uint_eq(st.cr[XW_CR_GOAL_FAST].groups_considered, 11);
	xw_space_free(s);
}
END_TEST

START_TEST(goals_and_streams)
{
	struct xw_alloc_req at = {1000, 10, 0}, stream = {0, 20, 0}, flag = {5, 3, XW_ALLOC_STREAM},
			    exact = {1005, 2, XW_ALLOC_EXACT};
	struct xw_space_stats st;
	struct xw_space *s;
	struct xw_run run, *runs;
	struct model m;
	size_t n;

	model_init(&m, 0, 1024, 20 * 1024);
	m.known = true;
	s = model_space(&m, -1);
	ck_assert_int_eq(xw_space_alloc(s, &at, &run), 0);
	ck_assert_uint_eq(run.start, 1000);
	ck_assert_int_eq(xw_space_alloc(s, &exact, &run), XW_ERR_NOSPC);
	ck_assert_int_eq(xw_space_alloc(s, &stream, &run), 0);
	ck_assert_uint_eq(run.start, 0);
	ck_assert_int_eq(xw_space_alloc(s, &flag, &run), 0);
	ck_assert_uint_eq(run.start, 20);
	/* Over a group boundary alloc_all may go, alloc may not. */
	at = (struct xw_alloc_req){1020, 10, 0};
	ck_assert_int_eq(xw_space_alloc(s, &at, &run), 0);
	ck_assert_uint_ne(run.start, 1020);
	at.flags = XW_ALLOC_EXACT;
	ck_assert_int_eq(xw_space_alloc(s, &at, &run), XW_ERR_NOSPC);
	ck_assert_int_eq(xw_space_alloc_all(s, &at, &runs, &n), 0);
	ck_assert_uint_eq(n, 1);
	ck_assert_uint_eq(runs[0].start, 1020);
	free(runs);
	xw_space_stats(s, &st);
	ck_assert_uint_eq(st.goal_hits, 2);
	ck_assert_uint_eq(st.stream_hits, 2);
	xw_space_free(s);
	model_free(&m);
}
END_TEST

/* What costs memory: nothing but groups with several runs that somebody touched. */
START_TEST(bitmaps_come_and_go)
{
	struct xw_space_structs st;
	struct xw_space *s;
	struct model m;

	model_init(&m, 0, 4096, 1000 * 4096);
	m.known = true;
	s = model_space(&m, -1);
	ck_assert_int_eq(xw_space_claim(s, 0, 500 * 4096 + 77), 0);
	xw_space_structs(s, &st);
	ck_assert_uint_eq(st.loaded, 0);
	ck_assert_uint_eq(st.full, 500);
	ck_assert_uint_eq(st.largest_order[12], 499);
	ck_assert_uint_eq(st.avg_order[12], 499);
	ck_assert_int_eq(xw_space_release(s, 5 * 4096 + 100, 10), 0);
	ck_assert_int_eq(xw_space_release(s, 5 * 4096 + 200, 10), 0);
	xw_space_structs(s, &st);
	ck_assert_uint_eq(st.loaded, 1);
	ck_assert_int_eq(xw_space_claim(s, 5 * 4096 + 100, 10), 0);
	xw_space_structs(s, &st);
	ck_assert_uint_eq(st.loaded, 0);
	ck_assert_uint_eq(m.loads, 0);
	ck_assert(xw_space_group_touched(s, 500));
	ck_assert(!xw_space_group_touched(s, 501));
	ck_assert_ptr_null(xw_space_check(s));
	xw_space_free(s);
	model_free(&m);
}
END_TEST

/* Looking at 3,000 fragmented groups does not keep 3,000 bitmaps. */
START_TEST(clean_bitmaps_are_dropped)
{
	struct xw_space_structs st;
	uint64_t seed = 8;
	struct xw_space *s;
	struct model m;

	model_init(&m, 0, 256, 3000 * 256);
	model_fragment(&m, &seed, 20, 20);
	s = model_space(&m, -1);
	model_compare(&m, s);
	xw_space_structs(s, &st);
	ck_assert_uint_le(st.loaded, 2 * XW_CLEAN_MAX + 1);
	ck_assert_uint_eq(st.unresolved, 0);
	ck_assert_int_eq(xw_space_claim(s, xw_space_next_free(s, 0), 1), 0);
	xw_space_free(s);
	model_free(&m);
}
END_TEST

START_TEST(only_wanted_groups_are_loaded)
{
	struct xw_alloc_req req = {500 * 256 + 3, 5, 0};
	uint64_t seed = 8;
	struct xw_space *s;
	struct xw_run run;
	struct model m;

	model_init(&m, 0, 256, 3000 * 256);
	model_fragment(&m, &seed, 20, 20);
	s = model_space(&m, -1);
	ck_assert_int_eq(xw_space_alloc(s, &req, &run), 0);
	ck_assert_uint_le(m.loads, 3);
	xw_space_free(s);
	model_free(&m);
}
END_TEST

START_TEST(read_errors_take_nothing)
{
	struct xw_alloc_req req = {0, 3000, 0};
	uint64_t seed = 8;
	struct xw_space *s;
	struct xw_run *runs;
	struct model m;
	size_t n;

	model_init(&m, 0, 256, 50 * 256);
	model_fragment(&m, &seed, 20, 20);
	m.fail_group = 30;
	s = model_space(&m, 1);
	ck_assert_int_eq(xw_space_alloc_all(s, &req, &runs, &n), XW_ERR_IO);
	ck_assert_ptr_null(runs);
	ck_assert_int_eq(xw_space_claim(s, 29 * 256, 3 * 256), XW_ERR_CORRUPT);
	ck_assert_int_eq(xw_space_claim(s, 30 * 256, 1), XW_ERR_IO);
	ck_assert_uint_eq(xw_space_run_at(s, 30 * 256, 4), 0);
	/* The call that could not say so is followed by one that does. */
	ck_assert_int_eq(xw_space_alloc_all(s, &req, &runs, &n), XW_ERR_IO);
	m.fail_group = UINT32_MAX;
	model_compare(&m, s);
	xw_space_free(s);
	model_free(&m);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("space");
	TCase *tc = tcase_create("space");

	tcase_set_timeout(tc, 120);
	unit_add_rows(tc, random_operations, geometries, name);
	tcase_add_test(tc, fill_to_the_brim);
	tcase_add_loop_test(tc, index_and_walk_agree, 0, 2);
	unit_add_rows(tc, criteria, layouts, name);
	unit_add_cases(tc, slow_breaks, "fast", "slow");
	tcase_add_test(tc, linear_limit_counts);
	tcase_add_test(tc, goals_and_streams);
	tcase_add_test(tc, bitmaps_come_and_go);
	tcase_add_test(tc, clean_bitmaps_are_dropped);
	tcase_add_test(tc, only_wanted_groups_are_loaded);
	tcase_add_test(tc, read_errors_take_nothing);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	return unit_main(suite());
}
