/* SPDX-License-Identifier: MIT */
/*
 * What decides which cached attribute block is evicted. The product has one policy
 * (lib/xattr/cache.h, the referenced bit); the others are here to be measured beside it. All have
 * the bound of the mbcache rewrite, 16 entries for each of 1,024 buckets. The others have its table
 * and one list for all, a lock a bucket and one for the list, and but for POLICY_PUBLISHED 16
 * chains a bucket. The product has 64 parts with a table, a list and a lock each.
 */
#ifndef XW_BENCH_XATTR_POLICY_H
#define XW_BENCH_XATTR_POLICY_H

#include "xattr/cache.h"

enum xattr_policy {
	POLICY_OFF, /* no cache: a block for every file */
	POLICY_PRODUCT, /* lib/xattr/cache.c */
	POLICY_PUBLISHED, /* referenced bit, one chain per bucket: the mbcache rewrite */
	POLICY_LRU, /* every hit moves its entry to the end of one list */
	POLICY_SHARDED, /* the same with 16 lists, each of 64 buckets */
	POLICY_REFERENCED, /* a hit sets a bit; reclaim gives such an entry one more round */
	POLICY_SIEVE, /* a hit sets a bit, a hand scans the list (Zhang and others, 2024) */
	POLICIES
};

extern const char *const xattr_policy_names[POLICIES];

struct policy_cache;

/* Not POLICY_OFF. Ends the program when out of memory. */
struct policy_cache *policy_new(enum xattr_policy p);
void policy_free(struct policy_cache *c);
/* As the functions of lib/xattr/cache.h. */
void policy_insert(struct policy_cache *c, uint64_t key, uint64_t value);
bool policy_find(struct policy_cache *c, uint64_t key, bool (*match)(void *arg, uint64_t value),
		 void *arg, uint64_t *value);
void policy_remove(struct policy_cache *c, uint64_t key, uint64_t value);
void policy_set_reusable(struct policy_cache *c, uint64_t key, uint64_t value, bool reusable);
void policy_stats(struct policy_cache *c, struct xw_cache_stats *out);

#endif
