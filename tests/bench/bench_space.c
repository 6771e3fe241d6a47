/* SPDX-License-Identifier: MIT */
/*
 * How fast the allocator is: streaming into an empty image, whole and piecewise requests on the
 * research's 65 TB disk with and without group order lists, and the research's table for both.
 * Not part of make check: it measures, and asserts nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../unit/model_65tb.h"
#include "space/inodes.h"

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static void report(const char *what, double seconds, uint64_t n)
{
	printf("%-58s %9llu in %8.4f s %12.0f/s\n", what, (unsigned long long)n, seconds,
	       (double)n / seconds);
	fflush(stdout);
}

static void bench_stream(void)
{
	struct big_model m = {.groups = 512, .known = true};
	struct xw_stream st = {0, 0, 100};
	struct xw_space *s;
	struct xw_run run;
	uint64_t seed = 3, n = 755000;
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

static void bench_inodes(void)
{
	struct xw_ispace *s;
	xw_ino ino = 0;
	double t;

	if (xw_ispace_new(200, 8192, NULL, NULL, &s))
		abort();
	t = now();
	for (unsigned i = 0; i < 1000000; i++)
		if (xw_ispace_alloc(s, ino + 1, false, &ino))
			abort();
	report("xw_ispace_alloc, in order", now() - t, 1000000);
	xw_ispace_free(s);
}

static void bench_whole(struct big_model *m, int scan, uint64_t len, unsigned n)
{
	struct xw_space *s = big_space(m, scan);
	uint64_t seed = 11;
	char what[80];
	double t = now();

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
	snprintf(what, sizeof(what), "alloc_all of %llu, fragmented, %s", (unsigned long long)len,
		 scan ? "indexed" : "linear");
	report(what, t, n);
	xw_space_free(s);
}

/* Allocations and releases in turn, as aging makes them. */
static void bench_aging(struct big_model *m)
{
	struct xw_space *s = big_space(m, 1);
	struct xw_run *held = calloc(100000, sizeof(*held));
	uint64_t seed = 11, n = 300000;
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

int main(void)
{
	struct big_model *m = big_model_new(BIG_GROUPS);

	bench_stream();
	bench_inodes();
	bench_unread(m);
	bench_aging(m);
	bench_whole(m, 1, 20, 200000);
	bench_whole(m, 1, 512, 100000);
	bench_whole(m, 0, 512, 20);
	bench_whole(m, 1, 25600, 1000);
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
	free(m);
	return 0;
}
