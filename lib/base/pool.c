/* SPDX-License-Identifier: MIT */
/*
 * The worker pool.
 *
 * Invariants:
 * 1. `loop` is set (under lock) only while xw_pool_for runs, and a worker that has joined it is
 *    counted in `busy`. xw_pool_for clears it and waits for busy = 0 before it returns, so no
 *    worker accesses the loop, which is on the caller's stack, after its end.
 * 2. Blocks are claimed in ascending order and the iterations of a block run in order. An
 *    iteration is skipped only if it lies above one that has failed already; so everything below
 *    the lowest failure is run, and its code is the result for any number of threads.
 */
#include "config.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/pool.h"
#include "base/thread.h"

#define JOBS_MAX 256

struct loop {
	int (*fn)(void *arg, size_t i);
	void *arg;
	size_t n, grain;
	size_t next; /* first unclaimed iteration; atomic */
	size_t fail_at; /* lowest failed iteration so far, n = none; atomic, written under lock */
	int code; /* error code of iteration fail_at; under lock */
};

struct xw_pool {
	unsigned jobs, threads; /* threads: created so far; jobs - 1 once the pool is complete */
	pthread_mutex_t lock;
	pthread_cond_t wake; /* signaled when a loop was set, or on stop */
	pthread_cond_t idle; /* signaled when busy reached 0 */
	struct loop *loop;
	uint64_t serial; /* number of the loop: a worker joins each loop once */
	unsigned busy;
	bool stop;
	pthread_t tid[];
};

static void note_failure(struct xw_pool *p, struct loop *l, size_t i, int code)
{
	pthread_mutex_lock(&p->lock);
	if (i < l->fail_at) {
		__atomic_store_n(&l->fail_at, i, __ATOMIC_RELAXED);
		l->code = code;
	}
	pthread_mutex_unlock(&p->lock);
}

static void run_blocks(struct xw_pool *p, struct loop *l)
{
	for (;;) {
		size_t i = __atomic_load_n(&l->next, __ATOMIC_RELAXED), end;

		do {
			if (i >= __atomic_load_n(&l->fail_at, __ATOMIC_RELAXED))
				return; /* also the end of the loop: fail_at is n in that case */
			end = l->n - i > l->grain ? i + l->grain : l->n;
		} while (!__atomic_compare_exchange_n(&l->next, &i, end, false, __ATOMIC_RELAXED,
						      __ATOMIC_RELAXED));
		for (; i < end && i < __atomic_load_n(&l->fail_at, __ATOMIC_RELAXED); i++) {
			int code = l->fn(l->arg, i);

			if (code) {
				note_failure(p, l, i, code);
				break;
			}
		}
	}
}

static void *worker(void *arg)
{
	struct xw_pool *p = arg;
	uint64_t seen = 0;

	pthread_mutex_lock(&p->lock);
	for (;;) {
		struct loop *l;

		while (!p->stop && (!p->loop || p->serial == seen))
			pthread_cond_wait(&p->wake, &p->lock);
		if (p->stop)
			break;
		l = p->loop;
		seen = p->serial;
		p->busy++;
		pthread_mutex_unlock(&p->lock);
		run_blocks(p, l);
		pthread_mutex_lock(&p->lock);
		if (--p->busy == 0)
			pthread_cond_signal(&p->idle);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

/* In a container this may be fewer processors than are online. */
unsigned xw_pool_processors(void)
{
	cpu_set_t set;
	long n;

	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		n = CPU_COUNT(&set);
	else
		n = sysconf(_SC_NPROCESSORS_ONLN);
	return n < 1 ? 1 : (unsigned)n;
}

struct xw_pool *xw_pool_new(unsigned jobs)
{
	struct xw_pool *p;
	int err = 0;

	if (jobs == 0)
		jobs = xw_pool_processors();
	if (jobs > JOBS_MAX)
		jobs = JOBS_MAX;
	p = calloc(1, sizeof(*p) + (jobs - 1) * sizeof(p->tid[0]));
	if (!p)
		return NULL;
	p->jobs = jobs;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->wake, NULL);
	pthread_cond_init(&p->idle, NULL);
	for (; p->threads < jobs - 1 && !err; p->threads += !err)
		err = xw_thread_start(&p->tid[p->threads], worker, p);
	if (err) {
		xw_pool_free(p);
		return NULL;
	}
	return p;
}

unsigned xw_pool_jobs(const struct xw_pool *p)
{
	return p->jobs;
}

int xw_pool_for(struct xw_pool *p, size_t n, size_t grain, int (*fn)(void *arg, size_t i),
		void *arg)
{
	struct loop l = {.fn = fn, .arg = arg, .n = n, .grain = grain ? grain : 1, .fail_at = n};

	if (p->jobs == 1 || n <= l.grain) {
		for (size_t i = 0; i < n; i++) {
			int code = fn(arg, i);

			if (code)
				return code;
		}
		return 0;
	}
	pthread_mutex_lock(&p->lock);
	p->loop = &l;
	p->serial++;
	pthread_cond_broadcast(&p->wake);
	pthread_mutex_unlock(&p->lock);
	run_blocks(p, &l);
	pthread_mutex_lock(&p->lock);
	p->loop = NULL;
	while (p->busy)
		pthread_cond_wait(&p->idle, &p->lock);
	pthread_mutex_unlock(&p->lock);
	return l.code;
}

void xw_pool_free(struct xw_pool *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_broadcast(&p->wake);
	pthread_mutex_unlock(&p->lock);
	for (unsigned i = 0; i < p->threads; i++)
		pthread_join(p->tid[i], NULL);
	pthread_cond_destroy(&p->idle);
	pthread_cond_destroy(&p->wake);
	pthread_mutex_destroy(&p->lock);
	free(p);
}
