/* SPDX-License-Identifier: MIT */
/*
 * The sharing cache, after the mbcache rewrite (Kara 2016; RESEARCH.md): a hash table from 64-bit content key to a 64-bit
 * value (a block), bounded to 16 entries a bucket; a referenced bit gives used entries one more round; above the bound
 * a worker reclaims, above twice the bound the inserting thread does. In XW_CACHE_BUILD mode reclaim is always
 * direct and by count, so that the result depends on nothing but the calls. An entry is at most 7 words. Thread-safe.
 */
#ifndef XW_XATTR_CACHE_H
#define XW_XATTR_CACHE_H

#include "base/types.h"

struct xw_cache;

#define XW_CACHE_BUILD 0x1

struct xw_cache_stats {
	uint64_t entries, max_entries;
	uint64_t lookups, hits, inserts, reclaimed, second_chances;
};

/* buckets: a power of two; 0 = 1024. */
struct xw_cache *xw_cache_new(uint32_t buckets, unsigned flags);
void xw_cache_free(struct xw_cache *c);
/* 0, XW_ERR_NOMEM, or XW_ERR_EXISTS when (key, value) is already there. */
int xw_cache_insert(struct xw_cache *c, uint64_t key, uint64_t value, bool reusable);
/*
 * Offer each reusable value under key to `match` until one is taken (true): that entry is marked referenced and *value set. Returns whether one
 * was. match runs without the bucket lock held and must check the content itself.
 */
bool xw_cache_find(struct xw_cache *c, uint64_t key, bool (*match)(void *arg, uint64_t value), void *arg, uint64_t *value);
/* The value can (not) take further references. */
void xw_cache_set_reusable(struct xw_cache *c, uint64_t key, uint64_t value, bool reusable);
void xw_cache_remove(struct xw_cache *c, uint64_t key, uint64_t value);
void xw_cache_stats(struct xw_cache *c, struct xw_cache_stats *out);

#endif
