/* SPDX-License-Identifier: MIT */
/*
 * Hash table and reclaim list.
 *
 * Every entry is in one bucket's chain (guarded by the bucket's lock) and in the reclaim list
 * (guarded by the list lock), from the moment insert drops its locks until whoever takes it out
 * of the chain frees it. Invariants:
 *
 *  1. An entry leaves chain and list under both locks, and is freed by the thread that held them.
 *  2. Lock order: bucket, then list. Reclaim goes the other way round, list first, and therefore
 *     only tries the bucket's lock; a busy bucket's entry goes to the list's tail. With one
 *     thread the try never fails, so a build stays deterministic.
 *  3. The list is in insertion order but for entries that were spared. Use does not move an
 *     entry: it sets `referenced`, and reclaim, meeting that, clears it and moves the entry
 *     itself. (A perfect LRU would have every hit contend for the list.)
 *  4. No lock is held while match runs: values are copied out in batches and offered one by one.
 *
 * Bounds: entries <= 16 x buckets after every call in build mode. Otherwise the worker brings
 * them below that bound, and each insertion beyond twice the bound evicts up to RECLAIM_BATCH, so
 * that there are never more than that plus one for each thread inserting, unless their buckets
 * are busy.
 */
#include "config.h"

#include "xattr/cache.h"

#include "base/err.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#define OFFER_BATCH 16u
#define RECLAIM_BATCH 64u

struct centry {
	struct centry *chain;
	struct centry *prev, *next; /* reclaim list */
	uint64_t key, value;
	_Atomic(bool) referenced;
	bool reusable; /* under the bucket lock */
};

static_assert(sizeof(struct centry) <= 7 * sizeof(void *) || sizeof(void *) < 8,
	      "an entry is at most 7 words");

/*
 * A lock and its chains. A bucket holds 16 entries on average; in one chain nearly every look at an
 * entry on the way would wait for memory, so the key chooses one of as many chains.
 */
struct bucket {
	pthread_mutex_t lock;
	uint64_t lookups, hits;
	struct centry *chains[XW_CACHE_PER_BUCKET];
};

struct xw_cache {
	struct bucket *buckets;
	uint32_t n_buckets;
	unsigned flags;
	uint64_t max_entries;

	pthread_mutex_t list_lock;
	struct centry list; /* head of the list: list.next is the oldest */
	uint64_t entries, peak, inserts, reclaimed, second_chances;

	pthread_t worker;
	pthread_mutex_t worker_lock;
	pthread_cond_t worker_wake;
	bool stop; /* worker_lock */
	atomic_bool kicked; /* there is work; set by any thread, cleared by the worker */
};

static void list_add(struct xw_cache *c, struct centry *e)
{
	e->prev = c->list.prev;
	e->next = &c->list;
	e->prev->next = e;
	c->list.prev = e;
}

static void list_del(struct centry *e)
{
	e->prev->next = e->next;
	e->next->prev = e->prev;
}

/* Keys may be weak: multiply, and use the bits that depend on all others. */
static uint64_t spread(uint64_t key)
{
	return key * 0x9E3779B97F4A7C15u;
}

static struct bucket *bucket_of(struct xw_cache *c, uint64_t key)
{
	return &c->buckets[spread(key) >> 32 & (c->n_buckets - 1)];
}

/* The bits above those of bucket_of(), which are 24 at most. */
static struct centry **chain_of(struct bucket *b, uint64_t key)
{
	return &b->chains[(spread(key) >> 56) % XW_CACHE_PER_BUCKET];
}

static void chain_del(struct bucket *b, struct centry *e)
{
	struct centry **p = chain_of(b, e->key);

	while (*p != e)
		p = &(*p)->chain;
	*p = e->chain;
}

static struct centry *chain_find(struct bucket *b, uint64_t key, uint64_t value)
{
	struct centry *e = *chain_of(b, key);

	while (e && (e->key != key || e->value != value))
		e = e->chain;
	return e;
}

/*
 * Evict entries, oldest unreferenced first, until `goal` remain or `most` were evicted; returns the
 * number remaining.
 */
static uint64_t reclaim(struct xw_cache *c, uint64_t goal, uint64_t most)
{
	struct centry *dead = NULL;
	uint64_t left;

	pthread_mutex_lock(&c->list_lock);
	/* each entry is spared at most once and then evicted, unless its bucket is busy */
	for (uint64_t looks = 2 * c->entries; most && looks && c->entries > goal; looks--) {
		struct centry *e = c->list.next;
		struct bucket *b = bucket_of(c, e->key);

		list_del(e);
		if (atomic_exchange_explicit(&e->referenced, false, memory_order_relaxed)) {
			c->second_chances++;
			list_add(c, e);
		} else if (pthread_mutex_trylock(&b->lock)) {
			list_add(c, e);
		} else {
			chain_del(b, e);
			pthread_mutex_unlock(&b->lock);
			c->entries--;
			c->reclaimed++;
			most--;
			e->chain = dead;
			dead = e;
		}
	}
	left = c->entries;
	pthread_mutex_unlock(&c->list_lock);
	while (dead) {
		struct centry *e = dead;

		dead = e->chain;
		free(e);
	}
	return left;
}

/* The worker frees a sixteenth of the bound in advance, so that not every insertion wakes it. */
static void *worker(void *arg)
{
	struct xw_cache *c = arg;
	uint64_t goal = c->max_entries - c->max_entries / 16;

	pthread_mutex_lock(&c->worker_lock);
	while (!c->stop) {
		uint64_t left = UINT64_MAX, before;

		if (!atomic_exchange(&c->kicked, false)) {
			pthread_cond_wait(&c->worker_wake, &c->worker_lock);
			continue;
		}
		pthread_mutex_unlock(&c->worker_lock);
		do {
			before = left;
			left = reclaim(c, goal, RECLAIM_BATCH);
		} while (left > goal && left < before);
		pthread_mutex_lock(&c->worker_lock);
	}
	pthread_mutex_unlock(&c->worker_lock);
	return NULL;
}

static void kick(struct xw_cache *c)
{
	if (atomic_exchange(&c->kicked, true))
		return;
	pthread_mutex_lock(&c->worker_lock);
	pthread_cond_signal(&c->worker_wake);
	pthread_mutex_unlock(&c->worker_lock);
}

/* Signals are delivered to the program's own threads. */
static int start_worker(struct xw_cache *c)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&c->worker, NULL, worker, c);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return err;
}

struct xw_cache *xw_cache_new(uint32_t buckets, unsigned flags)
{
	struct xw_cache *c;

	if (buckets == 0)
		buckets = XW_CACHE_BUCKETS;
	if ((buckets & (buckets - 1)) || buckets > 1u << 24)
		return NULL;
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->buckets = calloc(buckets, sizeof(*c->buckets));
	if (!c->buckets) {
		free(c);
		return NULL;
	}
	c->n_buckets = buckets;
	c->flags = flags;
	c->max_entries = (uint64_t)buckets * XW_CACHE_PER_BUCKET;
	c->list.prev = c->list.next = &c->list;
	for (uint32_t i = 0; i < buckets; i++)
		pthread_mutex_init(&c->buckets[i].lock, NULL);
	pthread_mutex_init(&c->list_lock, NULL);
	pthread_mutex_init(&c->worker_lock, NULL);
	pthread_cond_init(&c->worker_wake, NULL);
	if (!(flags & XW_CACHE_BUILD) && start_worker(c)) {
		c->flags |= XW_CACHE_BUILD; /* without a worker to stop */
		xw_cache_free(c);
		return NULL;
	}
	return c;
}

void xw_cache_free(struct xw_cache *c)
{
	if (!c)
		return;
	if (!(c->flags & XW_CACHE_BUILD)) {
		pthread_mutex_lock(&c->worker_lock);
		c->stop = true;
		pthread_cond_signal(&c->worker_wake);
		pthread_mutex_unlock(&c->worker_lock);
		pthread_join(c->worker, NULL);
	}
	for (struct centry *e = c->list.next, *next; e != &c->list; e = next) {
		next = e->next;
		free(e);
	}
	for (uint32_t i = 0; i < c->n_buckets; i++)
		pthread_mutex_destroy(&c->buckets[i].lock);
	pthread_mutex_destroy(&c->list_lock);
	pthread_mutex_destroy(&c->worker_lock);
	pthread_cond_destroy(&c->worker_wake);
	free(c->buckets);
	free(c);
}

int xw_cache_insert(struct xw_cache *c, uint64_t key, uint64_t value, bool reusable)
{
	struct bucket *b = bucket_of(c, key);
	struct centry *e = malloc(sizeof(*e)), **chain;
	uint64_t count;

	if (!e)
		return XW_ERR_NOMEM;
	e->key = key;
	e->value = value;
	atomic_init(&e->referenced, false);
	e->reusable = reusable;

	pthread_mutex_lock(&b->lock);
	if (chain_find(b, key, value)) {
		pthread_mutex_unlock(&b->lock);
		free(e);
		return XW_ERR_EXISTS;
	}
	chain = chain_of(b, key);
	e->chain = *chain;
	*chain = e;
	pthread_mutex_lock(&c->list_lock);
	list_add(c, e);
	c->inserts++;
	count = ++c->entries;
	c->peak = XW_MAX(c->peak, count);
	pthread_mutex_unlock(&c->list_lock);
	pthread_mutex_unlock(&b->lock);

	if (count <= c->max_entries)
		return 0;
	if (c->flags & XW_CACHE_BUILD)
		reclaim(c, c->max_entries, UINT64_MAX);
	else if (count > 2 * c->max_entries)
		reclaim(c, c->max_entries, RECLAIM_BATCH);
	else
		kick(c);
	return 0;
}

/* Collect up to OFFER_BATCH reusable values under key, skipping the first `skip`. */
static unsigned collect(struct bucket *b, uint64_t key, uint64_t skip, uint64_t *values)
{
	unsigned n = 0;

	for (struct centry *e = *chain_of(b, key); e && n < OFFER_BATCH; e = e->chain) {
		if (e->key != key || !e->reusable)
			continue;
		if (skip)
			skip--;
		else
			values[n++] = e->value;
	}
	return n;
}

static void taken(struct bucket *b, uint64_t key, uint64_t value)
{
	struct centry *e;

	pthread_mutex_lock(&b->lock);
	b->hits++;
	e = chain_find(b, key, value);
	if (e) /* it may have been evicted during match */
		atomic_store_explicit(&e->referenced, true, memory_order_relaxed);
	pthread_mutex_unlock(&b->lock);
}

bool xw_cache_find(struct xw_cache *c, uint64_t key, bool (*match)(void *arg, uint64_t value),
		   void *arg, uint64_t *value)
{
	struct bucket *b = bucket_of(c, key);
	uint64_t values[OFFER_BATCH], skip = 0;
	unsigned n;

	do {
		pthread_mutex_lock(&b->lock);
		b->lookups += skip == 0;
		n = collect(b, key, skip, values);
		pthread_mutex_unlock(&b->lock);
		for (unsigned i = 0; i < n; i++) {
			if (!match(arg, values[i]))
				continue;
			taken(b, key, values[i]);
			*value = values[i];
			return true;
		}
		skip += n;
	} while (n == OFFER_BATCH);
	return false;
}

bool xw_cache_touch(struct xw_cache *c, uint64_t key, uint64_t value)
{
	struct bucket *b = bucket_of(c, key);
	struct centry *e;

	pthread_mutex_lock(&b->lock);
	b->lookups++;
	e = chain_find(b, key, value);
	if (e) {
		b->hits++;
		atomic_store_explicit(&e->referenced, true, memory_order_relaxed);
	}
	pthread_mutex_unlock(&b->lock);
	return e != NULL;
}

void xw_cache_set_reusable(struct xw_cache *c, uint64_t key, uint64_t value, bool reusable)
{
	struct bucket *b = bucket_of(c, key);
	struct centry *e;

	pthread_mutex_lock(&b->lock);
	e = chain_find(b, key, value);
	if (e)
		e->reusable = reusable;
	pthread_mutex_unlock(&b->lock);
}

bool xw_cache_remove(struct xw_cache *c, uint64_t key, uint64_t value)
{
	struct bucket *b = bucket_of(c, key);
	struct centry *e;

	pthread_mutex_lock(&b->lock);
	e = chain_find(b, key, value);
	if (e) {
		chain_del(b, e);
		pthread_mutex_lock(&c->list_lock);
		list_del(e);
		c->entries--;
		pthread_mutex_unlock(&c->list_lock);
	}
	pthread_mutex_unlock(&b->lock);
	free(e);
	return e != NULL;
}

void xw_cache_stats(struct xw_cache *c, struct xw_cache_stats *out)
{
	*out = (struct xw_cache_stats){.max_entries = c->max_entries};
	for (uint32_t i = 0; i < c->n_buckets; i++) {
		struct bucket *b = &c->buckets[i];

		pthread_mutex_lock(&b->lock);
		out->lookups += b->lookups;
		out->hits += b->hits;
		pthread_mutex_unlock(&b->lock);
	}
	pthread_mutex_lock(&c->list_lock);
	out->entries = c->entries;
	out->peak = c->peak;
	out->inserts = c->inserts;
	out->reclaimed = c->reclaimed;
	out->second_chances = c->second_chances;
	pthread_mutex_unlock(&c->list_lock);
}
