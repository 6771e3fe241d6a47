// SPDX-License-Identifier: MIT
/* Locks: bucket, then list. Reclaim has the list and only tries the bucket. */
#include "xattr_policy.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define BUCKETS XW_CACHE_BUCKETS
#define MAX_LISTS 16u
#define BATCH 64u /* evicted at once by the thread whose insertion went over the bound */

const char *const xattr_policy_names[POLICIES] = {"off",     "product",    "published", "lru",
						  "sharded", "referenced", "sieve"};

struct entry {
	struct entry *chain, *prev, *next;
	uint64_t key, value;
	atomic_bool referenced;
	bool reusable;
};

struct list {
	_Alignas(64) pthread_mutex_t lock;
	struct entry head; /* head.next is the oldest */
	struct entry *hand; /* SIEVE: where the next eviction looks; the head: at the oldest */
	uint64_t entries, peak, inserts, reclaimed, second_chances;
};

struct policy_bucket {
	_Alignas(64) pthread_mutex_t lock;
	uint64_t lookups, hits;
	struct entry *chains[XW_CACHE_PER_BUCKET];
};

struct policy_cache {
	enum xattr_policy policy;
	struct xw_cache *product;
	uint32_t n_lists;
	struct list lists[MAX_LISTS];
	struct policy_bucket buckets[BUCKETS];
};

struct policy_cache *policy_new(enum xattr_policy p)
{
	struct policy_cache *c = aligned_alloc(64, (sizeof(*c) + 63) / 64 * 64);

	if (!c)
		abort();
	*c = (struct policy_cache){.policy = p, .n_lists = p == POLICY_SHARDED ? MAX_LISTS : 1};
	if (p == POLICY_PRODUCT) {
		c->product = xw_cache_new(0, 0);
		if (!c->product)
			abort();
	}
	for (uint32_t i = 0; i < c->n_lists; i++) {
		struct list *l = &c->lists[i];

		pthread_mutex_init(&l->lock, NULL);
		l->head.prev = l->head.next = l->hand = &l->head;
	}
	for (uint32_t i = 0; i < BUCKETS; i++)
		pthread_mutex_init(&c->buckets[i].lock, NULL);
	return c;
}

void policy_free(struct policy_cache *c)
{
	for (uint32_t i = 0; i < c->n_lists; i++) {
		for (struct entry *e = c->lists[i].head.next, *next; e != &c->lists[i].head;
		     e = next) {
			next = e->next;
			free(e);
		}
	}
	xw_cache_free(c->product);
	free(c);
}

static uint32_t index_of(uint64_t key)
{
	return (uint32_t)(key * 0x9E3779B97F4A7C15u >> 32) & (BUCKETS - 1);
}

static struct entry **chain_of(struct policy_cache *c, uint64_t key)
{
	const uint64_t chain = (key * 0x9E3779B97F4A7C15u >> 56) % XW_CACHE_PER_BUCKET;

	return &c->buckets[index_of(key)].chains[c->policy == POLICY_PUBLISHED ? 0 : chain];
}

static struct list *list_of(struct policy_cache *c, uint64_t key)
{
	return &c->lists[index_of(key) % c->n_lists];
}

static void list_add(struct list *l, struct entry *e)
{
	e->prev = l->head.prev;
	e->next = &l->head;
	e->prev->next = e;
	l->head.prev = e;
}

static void list_del(struct list *l, struct entry *e)
{
	if (l->hand == e)
		l->hand = e->next;
	e->prev->next = e->next;
	e->next->prev = e->prev;
}

static struct entry **chain_find(struct policy_cache *c, uint64_t key, uint64_t value)
{
	struct entry **e = chain_of(c, key);

	while (*e && ((*e)->key != key || (*e)->value != value))
		e = &(*e)->chain;
	return e;
}

/* Take e out of list and chain, unless its bucket is busy. */
static bool evict(struct policy_cache *c, struct list *l, struct entry *e)
{
	struct policy_bucket *b = &c->buckets[index_of(e->key)];

	if (pthread_mutex_trylock(&b->lock))
		return false;
	*chain_find(c, e->key, e->value) = e->chain;
	pthread_mutex_unlock(&b->lock);
	list_del(l, e);
	l->entries--;
	l->reclaimed++;
	return true;
}

static bool uses_bit(const struct policy_cache *c)
{
	return c->policy == POLICY_PUBLISHED || c->policy == POLICY_REFERENCED ||
	       c->policy == POLICY_SIEVE;
}

/* The next candidate; NULL: it was spared and something else is to be tried. */
static struct entry *candidate(struct policy_cache *c, struct list *l)
{
	const bool sieve = c->policy == POLICY_SIEVE, bits = uses_bit(c);
	struct entry *e = sieve ? l->hand : l->head.next;

	if (e == &l->head)
		e = l->hand = l->head.next;
	if (sieve)
		l->hand = e->next;
	if (!bits)
		return e;
	if (!atomic_exchange_explicit(&e->referenced, false, memory_order_relaxed))
		return e;
	l->second_chances++;
	if (!sieve) {
		list_del(l, e);
		list_add(l, e);
	}
	return NULL;
}

static void reclaim(struct policy_cache *c, struct list *l)
{
	struct entry *dead = NULL;

	pthread_mutex_lock(&l->lock);
	for (uint64_t n = 0, looks = 2 * l->entries; n < BATCH && looks && l->entries; looks--) {
		struct entry *e = candidate(c, l);

		if (!e)
			continue;
		if (evict(c, l, e)) {
			e->chain = dead;
			dead = e;
			n++;
		} else if (c->policy != POLICY_SIEVE) {
			list_del(l, e);
			list_add(l, e);
		}
	}
	pthread_mutex_unlock(&l->lock);
	while (dead) {
		struct entry *e = dead;

		dead = e->chain;
		free(e);
	}
}

void policy_insert(struct policy_cache *c, uint64_t key, uint64_t value)
{
	struct policy_bucket *b = &c->buckets[index_of(key)];
	struct list *l = list_of(c, key);
	struct entry *e, **chain;
	uint64_t count;

	if (c->product) {
		if (xw_cache_insert(c->product, key, value, true))
			abort();
		return;
	}
	e = malloc(sizeof(*e));
	if (!e)
		abort();
	e->key = key;
	e->value = value;
	e->reusable = true;
	atomic_init(&e->referenced, false);
	pthread_mutex_lock(&b->lock);
	chain = chain_of(c, key);
	e->chain = *chain;
	*chain = e;
	pthread_mutex_lock(&l->lock);
	list_add(l, e);
	l->inserts++;
	count = ++l->entries;
	l->peak = XW_MAX(l->peak, count);
	pthread_mutex_unlock(&l->lock);
	pthread_mutex_unlock(&b->lock);
	if (count > (uint64_t)BUCKETS * XW_CACHE_PER_BUCKET / c->n_lists)
		reclaim(c, l);
}

/* Under the bucket's lock. */
static void hit(struct policy_cache *c, struct entry *e)
{
	struct list *l = list_of(c, e->key);

	if (uses_bit(c)) {
		atomic_store_explicit(&e->referenced, true, memory_order_relaxed);
		return;
	}
	pthread_mutex_lock(&l->lock);
	list_del(l, e);
	list_add(l, e);
	pthread_mutex_unlock(&l->lock);
}

bool policy_find(struct policy_cache *c, uint64_t key, bool (*match)(void *arg, uint64_t value),
		 void *arg, uint64_t *value)
{
	struct policy_bucket *b = &c->buckets[index_of(key)];
	bool found = false;

	if (c->product)
		return xw_cache_find(c->product, key, match, arg, value);
	/* unlike the product's, match runs under the lock: here it only takes a reference */
	pthread_mutex_lock(&b->lock);
	b->lookups++;
	for (struct entry *e = *chain_of(c, key); e && !found; e = e->chain) {
		if (e->key != key || !e->reusable || !match(arg, e->value))
			continue;
		b->hits++;
		*value = e->value;
		found = true;
		hit(c, e);
	}
	pthread_mutex_unlock(&b->lock);
	return found;
}

void policy_remove(struct policy_cache *c, uint64_t key, uint64_t value)
{
	struct policy_bucket *b = &c->buckets[index_of(key)];
	struct list *l = list_of(c, key);
	struct entry **p, *e;

	if (c->product) {
		xw_cache_remove(c->product, key, value);
		return;
	}
	pthread_mutex_lock(&b->lock);
	p = chain_find(c, key, value);
	e = *p;
	if (e) {
		*p = e->chain;
		pthread_mutex_lock(&l->lock);
		list_del(l, e);
		l->entries--;
		pthread_mutex_unlock(&l->lock);
	}
	pthread_mutex_unlock(&b->lock);
	free(e);
}

void policy_set_reusable(struct policy_cache *c, uint64_t key, uint64_t value, bool reusable)
{
	struct policy_bucket *b = &c->buckets[index_of(key)];
	struct entry *e;

	if (c->product) {
		xw_cache_set_reusable(c->product, key, value, reusable);
		return;
	}
	pthread_mutex_lock(&b->lock);
	e = *chain_find(c, key, value);
	if (e)
		e->reusable = reusable;
	pthread_mutex_unlock(&b->lock);
}

void policy_stats(struct policy_cache *c, struct xw_cache_stats *out)
{
	if (c->product) {
		xw_cache_stats(c->product, out);
		return;
	}
	*out = (struct xw_cache_stats){.max_entries = (uint64_t)BUCKETS * XW_CACHE_PER_BUCKET};
	for (uint32_t i = 0; i < BUCKETS; i++) {
		out->lookups += c->buckets[i].lookups;
		out->hits += c->buckets[i].hits;
	}
	for (uint32_t i = 0; i < c->n_lists; i++) {
		out->entries += c->lists[i].entries;
		out->peak += c->lists[i].peak;
		out->inserts += c->lists[i].inserts;
		out->reclaimed += c->lists[i].reclaimed;
		out->second_chances += c->lists[i].second_chances;
	}
}
