/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "base/pool.h"
#include "base/types.h"
#include "unit.h"

#define N 5000

struct work {
	unsigned char ran[N]; /* times; each iteration has its own slot */
	size_t last; /* with one job: the iteration before */
	size_t bad[3]; /* failing iterations */
	pthread_t caller;
	bool same_thread;
};

static int run(void *arg, size_t i)
{
	struct work *w = arg;

	w->ran[i]++;
	for (int k = 0; k < 3; k++)
		if (w->bad[k] == i)
			return -100 - (int)i;
	return 0;
}

static bool ran_between(const struct work *w, size_t from, size_t to, unsigned min, unsigned max)
{
	for (size_t i = from; i < to; i++)
		if (w->ran[i] < min || w->ran[i] > max)
			return false;
	return true;
}

static const unsigned jobs[] = {1, 2, 3, 8, 0};
static const size_t grains[] = {0, 1, 7, 64, N - 1, N, N * 2};

START_TEST(every_iteration_once)
{
	struct xw_pool *p = xw_pool_new(jobs[_i]);

	ck_assert_ptr_nonnull(p);
	ck_assert_uint_ge(xw_pool_jobs(p), 1);
	if (jobs[_i])
		ck_assert_uint_eq(xw_pool_jobs(p), jobs[_i]);
	for (size_t g = 0; g < XW_ARRAY_SIZE(grains); g++) {
		for (size_t n = 0; n <= N; n += n < 10 ? 1 : 499) {
			struct work w = {.bad = {N, N, N}};

			ck_assert_int_eq(xw_pool_for(p, n, grains[g], run, &w), 0);
			ck_assert(ran_between(&w, 0, n, 1, 1));
			ck_assert(ran_between(&w, n, N, 0, 0));
		}
	}
	xw_pool_free(p);
}
END_TEST

/* The lowest failure is the result, and nothing below it is left out, however threads run. */
START_TEST(lowest_failure)
{
	struct xw_pool *p = xw_pool_new(jobs[_i]);

	for (int round = 0; round < 200; round++) {
		struct work w = {.bad = {(size_t)(round * 37 % N), 3000, 3001}};
		size_t low = XW_MIN(w.bad[0], (size_t)3000);
		size_t grain = grains[round % (int)XW_ARRAY_SIZE(grains)];

		ck_assert_int_eq(xw_pool_for(p, N, grain, run, &w), -100 - (int)low);
		ck_assert(ran_between(&w, 0, low + 1, 1, 1));
		ck_assert(ran_between(&w, low + 1, N, 0, 1));
	}
	xw_pool_free(p);
}
END_TEST

static int run_alone(void *arg, size_t i)
{
	struct work *w = arg;

	w->same_thread &= pthread_equal(pthread_self(), w->caller) != 0;
	ck_assert(i == 0 || w->last == i - 1);
	w->last = i;
	return 0;
}

START_TEST(one_job_is_the_caller)
{
	struct work w = {.caller = pthread_self(), .same_thread = true};
	struct xw_pool *p = xw_pool_new(1);

	ck_assert_int_eq(xw_pool_for(p, N, 3, run_alone, &w), 0);
	ck_assert(w.same_thread);
	ck_assert_uint_eq(w.last, N - 1);
	xw_pool_free(p);
}
END_TEST

struct meet {
	pthread_barrier_t b;
};

static int wait_for_others(void *arg, size_t i)
{
	struct meet *m = arg;

	(void)i;
	pthread_barrier_wait(&m->b);
	return 0;
}

/* Four iterations that can only end together: the pool has four threads at work. */
START_TEST(threads_run_together)
{
	struct xw_pool *p = xw_pool_new(4);
	struct meet m;

	for (int round = 0; round < 50; round++) {
		pthread_barrier_init(&m.b, NULL, 4);
		ck_assert_int_eq(xw_pool_for(p, 4, 1, wait_for_others, &m), 0);
		pthread_barrier_destroy(&m.b);
	}
	xw_pool_free(p);
}
END_TEST

static int add(void *arg, size_t i)
{
	__atomic_add_fetch((uint64_t *)arg, i, __ATOMIC_RELAXED);
	return 0;
}

/* Loops in close sequence: a worker that wakes late must not find the loop that has ended. */
START_TEST(many_short_loops)
{
	struct xw_pool *p = xw_pool_new(3);

	for (uint64_t n = 0; n < 5000; n++) {
		uint64_t sum = 0;

		ck_assert_int_eq(xw_pool_for(p, n % 50, 1, add, &sum), 0);
		ck_assert_uint_eq(sum, n % 50 ? (n % 50) * (n % 50 - 1) / 2 : 0);
	}
	xw_pool_free(p);
	xw_pool_free(NULL);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("pool");
	TCase *t = tcase_create("pool");

	unit_add_table(t, every_iteration_once, jobs);
	unit_add_table(t, lowest_failure, jobs);
	tcase_add_test(t, one_job_is_the_caller);
	tcase_add_test(t, threads_run_together);
	tcase_add_test(t, many_short_loops);
	tcase_set_timeout(t, 120);
	suite_add_tcase(s, t);
	return unit_main(s);
}
