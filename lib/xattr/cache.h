/* SPDX-License-Identifier: MIT */
/*
 * The sharing cache, after the mbcache rewrite (Kara 2016; RESEARCH.md): a hash table from 64-bit
 * content key to a 64-bit value (a block), bounded to 16 entries a bucket; a referenced bit gives
 * used entries one more round. An entry is 32 bytes.
 *
 * The insertion that goes over the bound evicts: by its key it has the lock of a part of the cache,
 * whose share of the bound it is. In XW_CACHE_BUILD mode there is one part, so that the result
 * depends on nothing but the calls.
 *
 * All functions but new and free may be called from any number of threads. A value may be
 * reclaimed or removed by another thread while a match function looks at it: what a value stands
 * for must outlive the users of the cache.
 */
#ifndef XW_XATTR_CACHE_H
#define XW_XATTR_CACHE_H

#include "base/types.h"

struct xw_cache;

#define XW_CACHE_BUILD 0x1

#define XW_CACHE_BUCKETS 1024u /* default number of buckets */
#define XW_CACHE_PER_BUCKET 16u /* average bound */

struct xw_cache_stats {
	uint64_t entries, max_entries; /* current number; the bound */
	uint64_t peak; /* maximum so far, of each part */
	uint64_t lookups, hits; /* calls of find and touch; successful ones */
	uint64_t inserts;
	uint64_t reclaimed; /* evicted entries, not counting removed ones */
	uint64_t second_chances; /* number of times a referenced entry was spared */
};

/*
 * buckets: a power of two up to 2^24; 0 = XW_CACHE_BUCKETS. NULL: invalid number or out of memory.
 */
struct xw_cache *xw_cache_new(uint32_t buckets, unsigned flags);
void xw_cache_free(struct xw_cache *c);
/* 0, XW_ERR_NOMEM, or XW_ERR_EXISTS when (key, value) exists already. */
int xw_cache_insert(struct xw_cache *c, uint64_t key, uint64_t value, bool reusable);
/*
 * Offer each reusable value under key to `match`, the latest insertion first, until one is accepted
 * (true): that entry is marked referenced and *value set. Returns whether one was. match runs
 * without any lock held, so it may call the cache, and must compare the contents itself, since
 * different contents may have the same key.
 */
bool xw_cache_find(struct xw_cache *c, uint64_t key, bool (*match)(void *arg, uint64_t value),
		   void *arg, uint64_t *value);
/* As find for a value known to the caller: marks it referenced. Returns whether it was found. */
bool xw_cache_touch(struct xw_cache *c, uint64_t key, uint64_t value);
/*
 * Set whether the value can take further references and is offered by find. No effect if it is not
 * in the cache.
 */
void xw_cache_set_reusable(struct xw_cache *c, uint64_t key, uint64_t value, bool reusable);
/* Returns whether it was found. */
bool xw_cache_remove(struct xw_cache *c, uint64_t key, uint64_t value);
void xw_cache_stats(struct xw_cache *c, struct xw_cache_stats *out);

#endif
