/* SPDX-License-Identifier: MIT */
/*
 * How fast the allocator is: streaming into an empty image, whole and piecewise requests on the
 * research's 65 TB disk with and without group order lists, and the research's table for both.
 * Not part of make check: it measures, and asserts nothing. With "quick" the slow ones have fewer
 * rounds, with "smoke" all of them do. tests/bench/alloc reads what it prints.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../unit/model_65tb.h"
#include "space/inodes.h"

/* Processor time: one thread, which shall not pay for what else the machine does. */
static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static void report(const char *what, double seconds, uint64_t n)
{
	printf("%-58s %9llu in %8.4f s %12.0f/s\n", what, (unsigned long long)n, seconds,
	       (double)n / seconds);
	fflush(stdout);
}

static void bench_stream(uint64_t n)
{
	struct big_model m = {.groups = 512, .known = true};
	struct xw_stream st = {0, 0, 100};
	struct xw_space *s;
	struct xw_run run;
	uint64_t seed = 3;
	double t;

	m.nclean = 0;
	s = big_space(&m, -1); /* no patterns: all groups are full; free the lot */
	xw_space_release(s, 0, (uint64_t)m.groups * BIG_BPG);
	t = now();
	for (uint64_t i = 0; i < n; i++)
		if (xw_stream_alloc_one(s, &st, 1 + big_rnd(&seed) % 20, &run) != 1)
			abort();
	report("xw_stream_alloc_one, empty image", now() - t, n);
	xw_space_free(s);
}

static void bench_inodes(unsigned n)
{
	struct xw_ispace *s;
	xw_ino ino = 0;
	double t;

	if (xw_ispace_new(200, 8192, NULL, NULL, &s))
		abort();
	t = now();
	for (unsigned i = 0; i < n; i++)
		if (xw_ispace_alloc(s, ino + 1, false, &ino))
			abort();
	report("xw_ispace_alloc, in order", now() - t, n);
	xw_ispace_free(s);
}

/* warm: every bitmap was read before, so that both ends of every group are known. */
static void bench_whole(struct big_model *m, int scan, uint64_t len, unsigned n, bool warm)
{
	struct xw_space *s = big_space(m, scan);
	uint64_t seed = 11;
	char what[80];
	double t;

	if (warm && xw_space_resolve(s))
		abort();
	t = now();
	for (unsigned i = 0; i < n; i++) {
		struct xw_alloc_req req = {big_rnd(&seed) % ((uint64_t)m->groups * BIG_BPG), len,
					   0};
		struct xw_run *runs;
		size_t k;

		if (xw_space_alloc_all(s, &req, &runs, &k))
			abort();
		free(runs);
	}
	t = now() - t;
	snprintf(what, sizeof(what), "alloc_all of %llu, fragmented, %s%s", (unsigned long long)len,
		 scan ? "indexed" : "linear", warm ? ", ends known" : "");
	report(what, t, n);
	xw_space_free(s);
}

/*
 * The same requests with both searches: in how many runs they come, whether those are the same
 * ones, and how far from their goals they lie. One run a request, as mballoc has it, or the whole
 * request, as the tools have it.
 */
static void bench_locality(struct big_model *m, uint64_t len, bool whole)
{
	enum { N = 100 };
	struct xw_space *s[2] = {big_space(m, 0), big_space(m, 1)};
	uint64_t seed = 17, runs[2] = {0, 0}, same = 0;
	double far[2] = {0, 0};

	for (unsigned i = 0; i < N; i++) {
		const xw_blk goal = 1 + big_rnd(&seed) % ((uint64_t)m->groups * BIG_BPG - 1);
		const struct xw_alloc_req req = {goal, len, 0};
		struct xw_run first[2];

		for (unsigned k = 0; k < 2; k++) {
			struct xw_run *all = NULL;
			size_t n = 1;

			if (whole ? xw_space_alloc_all(s[k], &req, &all, &n)
				  : xw_space_alloc(s[k], &req, &first[k]))
				abort();
			if (whole)
				first[k] = all[0];
			free(all);
			runs[k] += n;
			far[k] += first[k].start > goal ? (double)(first[k].start - goal)
							: (double)(goal - first[k].start);
		}
		same += first[0].start == first[1].start && first[0].len == first[1].len;
	}
	printf("goal of %llu blocks, %s: linear %.2f runs, %.1f groups away; indexed %.2f runs, "
	       "%.1f groups away; the same place %llu of %u\n",
	       (unsigned long long)len, whole ? "whole" : "one run", (double)runs[0] / N,
	       far[0] / N / BIG_BPG, (double)runs[1] / N, far[1] / N / BIG_BPG,
	       (unsigned long long)same, N);
	fflush(stdout);
	xw_space_free(s[0]);
	xw_space_free(s[1]);
}

/* Every group in alternating runs of 1 MiB: no 2 MiB in one piece anywhere. */
static void alternate(struct big_model *m)
{
	memset(m->bits[0], 0xff, sizeof(m->bits[0]));
	for (unsigned at = 0; at < BIG_BPG / 8; at += 64)
		memset(m->bits[0] + at + 32, 0, 32);
	m->sum[0] = (struct xw_group_summary){BIG_BPG / 2, 64, 256, 256};
	for (unsigned p = 1; p < BIG_PATTERNS; p++) {
		memcpy(m->bits[p], m->bits[0], sizeof(m->bits[0]));
		m->sum[p] = m->sum[0];
	}
}

/* 2 MiB at a time, as dd writes them, in that state: each takes two runs. */
static void bench_alternate(struct big_model *m, int scan, unsigned n)
{
	struct xw_space *s = big_space(m, scan);
	struct xw_space_stats st;
	double t = now();

	for (unsigned i = 0; i < n; i++) {
		const struct xw_alloc_req req = {0, 512, 0};
		struct xw_run *runs;
		size_t k;

		if (xw_space_alloc_all(s, &req, &runs, &k) || k != 2)
			abort();
		free(runs);
	}
	t = now() - t;
	report(scan ? "2 MiB, runs of 1 MiB by turns, indexed"
		    : "2 MiB, runs of 1 MiB by turns, linear",
	       t, n);
	xw_space_stats(s, &st);
	printf("  groups considered a request %.2f\n", (double)big_considered(s) / n);
	xw_space_free(s);
}

/* Allocations and releases in turn, as aging makes them. */
static void bench_aging(struct big_model *m, uint64_t n)
{
	struct xw_space *s = big_space(m, 1);
	struct xw_run *held = calloc(100000, sizeof(*held));
	uint64_t seed = 11;
	double t = now();

	if (!held)
		abort();
	for (uint64_t i = 0; i < n; i++) {
		struct xw_run *slot = &held[big_rnd(&seed) % 100000];
		struct xw_alloc_req req = {big_rnd(&seed) % (1000 * (uint64_t)BIG_BPG),
					   1 + big_rnd(&seed) % 30, 0};

		if (slot->len) {
			xw_space_release(s, slot->start, slot->len);
			slot->len = 0;
		} else if (xw_space_alloc(s, &req, slot)) {
			abort();
		}
	}
	report("alloc and release in 1,000 fragmented groups", now() - t, n);
	free(held);
	xw_space_free(s);
}

static void bench_unread(struct big_model *m)
{
	struct xw_alloc_req req = {0, 512, 0};
	struct xw_space *s;
	struct xw_run *runs;
	double t = now();
	size_t n;

	s = big_space(m, 1);
	report("xw_space_new", now() - t, m->groups);
	xw_space_free(s);
	m->known = false;
	s = big_space(m, 1);
	t = now();
	if (xw_space_alloc_all(s, &req, &runs, &n))
		abort();
	free(runs);
	report("first request, bitmaps never read (groups)", now() - t, m->groups);
	m->known = true;
	xw_space_free(s);
}

int main(int argc, char **argv)
{
	struct big_model *m = big_model_new(BIG_GROUPS);
	const bool smoke = argc > 1 && !strcmp(argv[1], "smoke");
	const unsigned share = smoke || (argc > 1 && !strcmp(argv[1], "quick")) ? 20 : 1;
	const unsigned all = smoke ? 100 : 1;

	bench_stream(755000 / all);
	bench_inodes(1000000 / all);
	bench_unread(m);
	bench_aging(m, 300000 / all);
	bench_whole(m, 1, 20, 200000 / share / all, false);
	bench_whole(m, 1, 512, 100000 / share / all, false);
	if (!smoke)
		bench_whole(m, 1, 512, 100000 / share, true);
	bench_whole(m, 0, 512, smoke ? 2 : 20, false);
	bench_whole(m, 1, 25600, 1000 / share / (smoke ? 10 : 1), false);
	for (int scan = 0; scan < 2; scan++) {
		struct xw_space *s = big_space(m, scan);
		double t = now();
		uint64_t runs = big_dd(s, 512, 2);

		report(scan ? "dd bs=2M count=2, indexed (runs)"
			    : "dd bs=2M count=2, linear (runs)",
		       now() - t, runs);
		big_print(s, "  ", scan ? "with group order lists" : "without");
		xw_space_free(s);
	}
	for (unsigned whole = 0; whole < 2; whole++)
		for (uint64_t len = 16; len <= 512; len *= 32)
			bench_locality(m, len, whole);
	alternate(m);
	bench_locality(m, 512, true);
	bench_alternate(m, 1, 1000000 / all);
	bench_alternate(m, 0, smoke ? 2 : 20);
	free(m);
	return 0;
}
