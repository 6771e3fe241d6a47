/* SPDX-License-Identifier: MIT */
/*
 * The sharing cache, modelled on mbcache (Kara 2016; RESEARCH.md): a hash table from 64-bit content
 * keys to 64-bit values (blocks), bounded to 16 entries per bucket; a referenced bit gives used
 * entries a second chance. An entry is 32 bytes.
 *
 * The cache consists of parts, selected by the key, each with a lock and its share of the bound; an
 * insertion that exceeds the share evicts entries of its part. In XW_CACHE_BUILD mode there is only
 * one part, so that the result is deterministic.
 *
 * All functions but new and free may be called from several threads. Another thread may evict or
 * remove a value while a match function examines it, so the object that a value refers to must
 * outlive all users of the cache.
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
	uint64_t peak; /* sum of the maxima of all parts */
	uint64_t lookups, hits; /* calls of find and touch; successful ones */
	uint64_t inserts;
	uint64_t reclaimed; /* evicted entries, without those removed by xw_cache_remove() */
	uint64_t second_chances; /* number of times a referenced entry was spared */
};

/*
 * buckets: a power of two up to 2^24; 0 = XW_CACHE_BUCKETS. NULL: invalid number or out of memory.
 */
struct xw_cache *xw_cache_new(uint32_t buckets, unsigned flags);
void xw_cache_free(struct xw_cache *c);
/* 0, XW_ERR_NOMEM, or XW_ERR_EXISTS if (key, value) exists already. */
int xw_cache_insert(struct xw_cache *c, uint64_t key, uint64_t value, bool reusable);
/*
 * Pass each reusable value under key to `match`, the latest insertion first, until it returns true:
 * that entry is marked referenced, *value is set, and the result is true. match runs without any
 * lock held, so it may call the cache. It must compare the contents, since different contents may
 * have the same key.
 */
bool xw_cache_find(struct xw_cache *c, uint64_t key, bool (*match)(void *arg, uint64_t value),
		   void *arg, uint64_t *value);
/* As find for a known value: marks it referenced. Returns whether it was found. */
bool xw_cache_touch(struct xw_cache *c, uint64_t key, uint64_t value);
/*
 * Set whether the value can take further references, so that find considers it. No effect if it is
 * not in the cache.
 */
void xw_cache_set_reusable(struct xw_cache *c, uint64_t key, uint64_t value, bool reusable);
/* Returns whether the value was found. */
bool xw_cache_remove(struct xw_cache *c, uint64_t key, uint64_t value);
void xw_cache_stats(struct xw_cache *c, struct xw_cache_stats *out);

#endif
