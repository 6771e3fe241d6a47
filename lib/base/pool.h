/* SPDX-License-Identifier: MIT */
/*
 * A fixed pool of worker threads for loops whose iterations are independent. Workers compute; the
 * caller decides the order. Results must go to slots indexed by the iteration number, which keeps
 * the output identical for any number of threads.
 */
#ifndef XW_BASE_POOL_H
#define XW_BASE_POOL_H

#include <stddef.h>

struct xw_pool;

/*
 * jobs = 0: one per available processor. jobs = 1: no threads are created and loops run in the
 * caller. At most 256. NULL when out of memory or when threads cannot be created.
 */
struct xw_pool *xw_pool_new(unsigned jobs);
/* Processors that this process may run on, at least 1. */
unsigned xw_pool_processors(void);
unsigned xw_pool_jobs(const struct xw_pool *p);
/*
 * fn(arg, i) for every i in [0, n), in blocks of `grain`, on all workers and the caller; returns
 * when all are done: 0, or the failure code of the lowest failing i. After a failure, iterations
 * above it may be skipped. Not reentrant.
 */
int xw_pool_for(struct xw_pool *p, size_t n, size_t grain, int (*fn)(void *arg, size_t i),
		void *arg);
/* p may be NULL */
void xw_pool_free(struct xw_pool *p);

#endif
