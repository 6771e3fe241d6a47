/* SPDX-License-Identifier: MIT */
/*
 * Hash table and reclaim list, in parts.
 *
 * The key selects one of up to 64 parts. Each part has a lock that protects the chains of its keys,
 * its entries and their reclaim list, so every call needs one lock, and calls for different keys
 * seldom need the same one. Invariants:
 *
 *  1. An entry is either in a chain and in the list, or free; this changes only under the lock.
 *  2. The list is in insertion order except for spared entries. A use does not move an entry, it
 *     only sets `referenced`; reclaim clears that bit and moves the entry to the end.
 *  3. No lock is held while match runs: values are copied in batches and passed one by one.
 *  4. The head of a chain has a bit for the key of each entry of the chain, and may keep the bits
 *     of former entries until the chain is empty. The head may be read without the lock to see that
 *     a key is missing: missing a concurrent insertion is as if the call had come earlier.
 *
 * Bounds: a part has at most its share of 16 entries per bucket after every call. In build mode
 * there is one part, so the bound is exact and evictions are deterministic.
 *
 * The entries of a part are an array and refer to each other by indexes: this halves the memory,
 * whose latency dominates a lookup, and needs no allocation per entry.
 */
#include "config.h"

#include "xattr/cache.h"

#include "base/err.h"
#include "base/vec.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define OFFER_BATCH 16u
#define MAX_PARTS 64u

/*
 * Entry 0 is the head of the list, and its next is the oldest entry. In a chain, index 0 is the
 * end.
 */
struct centry {
	uint64_t key, value;
	uint32_t chain; /* next entry of the chain, or next free entry */
	uint32_t prev, next;
	bool referenced, reusable;
};

static_assert(sizeof(struct centry) <= 32, "two entries per cache line");

/* Low half: the first entry; high half: the bits of keys. */
typedef _Atomic uint64_t chain_head;

struct part {
	_Alignas(64) pthread_mutex_t lock;
	chain_head *chains;
	XW_VEC(struct centry) e;
	uint32_t first_free;
	uint64_t entries, peak, inserts, reclaimed, second_chances;
	atomic_ullong lookups, hits; /* also counted without the lock */
};

struct xw_cache {
	struct part *parts;
	chain_head *chains; /* of all parts */
	uint32_t n_parts, n_chains; /* number of parts, and of chains per part; powers of two */
	uint64_t part_max; /* entries in a part */
};

static void list_add(struct part *p, uint32_t i)
{
	struct centry *e = p->e.v;

	e[i].prev = e[0].prev;
	e[i].next = 0;
	e[e[i].prev].next = i;
	e[0].prev = i;
}

static void list_del(struct part *p, uint32_t i)
{
	struct centry *e = p->e.v;

	e[e[i].prev].next = e[i].next;
	e[e[i].next].prev = e[i].prev;
}

/* Keys may be weak: multiply, and use the high bits, which depend on all others. */
static uint64_t spread(uint64_t key)
{
	return key * 0x9E3779B97F4A7C15u;
}

static struct part *part_of(const struct xw_cache *c, uint64_t key)
{
	return &c->parts[(spread(key) >> 58) & (c->n_parts - 1)];
}

/* Uses at most the 28 bits below those of part_of(). */
static chain_head *chain_of(const struct xw_cache *c, const struct part *p, uint64_t key)
{
	return &p->chains[(spread(key) >> 30) & (c->n_chains - 1)];
}

static uint32_t first(const chain_head *chain)
{
	return (uint32_t)atomic_load_explicit(chain, memory_order_relaxed);
}

/* Uses bits that neither part_of() nor chain_of() uses. */
static uint64_t bit_of(uint64_t key)
{
	return UINT64_C(1) << (32 + ((spread(key) >> 25) & 31));
}

static bool may_have(const chain_head *chain, uint64_t key)
{
	return atomic_load_explicit(chain, memory_order_relaxed) & bit_of(key);
}

static void set_first(chain_head *chain, uint32_t i, uint64_t bits)
{
	atomic_store_explicit(chain, i ? bits >> 32 << 32 | i : 0, memory_order_relaxed);
}

static void count(atomic_ullong *n)
{
	atomic_fetch_add_explicit(n, 1, memory_order_relaxed);
}

static void chain_del(const struct xw_cache *c, struct part *p, uint32_t i)
{
	struct centry *e = p->e.v;
	chain_head *chain = chain_of(c, p, e[i].key);
	uint32_t at = first(chain);

	if (at == i) {
		set_first(chain, e[i].chain, *chain);
		return;
	}
	while (e[at].chain != i)
		at = e[at].chain;
	e[at].chain = e[i].chain;
}

/* Returns the index of the entry, or 0. */
static uint32_t chain_find(const struct xw_cache *c, const struct part *p, uint64_t key,
			   uint64_t value)
{
	const chain_head *chain = chain_of(c, p, key);
	const struct centry *e = p->e.v;
	uint32_t i = may_have(chain, key) ? first(chain) : 0;

	while (i && (e[i].key != key || e[i].value != value))
		i = e[i].chain;
	return i;
}

/* Remove an entry from chain and list and free it. */
static void drop(const struct xw_cache *c, struct part *p, uint32_t i)
{
	chain_del(c, p, i);
	list_del(p, i);
	p->e.v[i].chain = p->first_free;
	p->first_free = i;
	p->entries--;
}

/* Evict entries, the oldest unreferenced first. */
static void reclaim(const struct xw_cache *c, struct part *p)
{
	while (p->entries > c->part_max) {
		const uint32_t i = p->e.v[0].next;

		if (p->e.v[i].referenced) {
			p->e.v[i].referenced = false;
			p->second_chances++;
			list_del(p, i);
			list_add(p, i);
		} else {
			drop(c, p, i);
			p->reclaimed++;
		}
	}
}

/* Initialize all parts, each with entry 0; after a failure, xw_cache_free() releases them. */
static int make_parts(struct xw_cache *c)
{
	if (posix_memalign((void **)&c->parts, 64, c->n_parts * sizeof(*c->parts))) {
		c->parts = NULL;
		return XW_ERR_NOMEM;
	}
	for (uint32_t i = 0; i < c->n_parts; i++) {
		c->parts[i] = (struct part){.chains = c->chains + (size_t)i * c->n_chains};
		pthread_mutex_init(&c->parts[i].lock, NULL);
	}
	for (uint32_t i = 0; i < c->n_parts; i++)
		if (xw_vec_push(&c->parts[i].e, (struct centry){0}))
			return XW_ERR_NOMEM;
	return 0;
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
	c->n_parts = flags & XW_CACHE_BUILD ? 1 : XW_MIN(buckets, MAX_PARTS);
	c->n_chains = buckets / c->n_parts * XW_CACHE_PER_BUCKET;
	c->part_max = c->n_chains;
	c->chains = calloc((size_t)buckets * XW_CACHE_PER_BUCKET, sizeof(*c->chains));
	if (!c->chains || make_parts(c)) {
		xw_cache_free(c);
		return NULL;
	}
	return c;
}

void xw_cache_free(struct xw_cache *c)
{
	if (!c)
		return;
	for (uint32_t i = 0; c->parts && i < c->n_parts; i++) {
		pthread_mutex_destroy(&c->parts[i].lock);
		xw_vec_free(&c->parts[i].e);
	}
	free(c->parts);
	free(c->chains);
	free(c);
}

/* Get a free entry; 0: out of memory. */
static uint32_t get_entry(struct part *p)
{
	const uint32_t i = p->first_free;

	if (i) {
		p->first_free = p->e.v[i].chain;
		return i;
	}
	return xw_vec_push(&p->e, (struct centry){0}) ? 0 : (uint32_t)(p->e.n - 1);
}

static int insert(struct xw_cache *c, struct part *p, const struct centry *new)
{
	chain_head *chain = chain_of(c, p, new->key);
	uint32_t i;

	if (chain_find(c, p, new->key, new->value))
		return XW_ERR_EXISTS;
	i = get_entry(p);
	if (!i)
		return XW_ERR_NOMEM;
	p->e.v[i] = *new;
	p->e.v[i].chain = first(chain);
	set_first(chain, i, *chain | bit_of(new->key));
	list_add(p, i);
	p->inserts++;
	p->entries++;
	p->peak = XW_MAX(p->peak, p->entries);
	reclaim(c, p);
	return 0;
}

int xw_cache_insert(struct xw_cache *c, uint64_t key, uint64_t value, bool reusable)
{
	struct part *p = part_of(c, key);
	const struct centry new = {.key = key, .value = value, .reusable = reusable};
	int rc;

	pthread_mutex_lock(&p->lock);
	rc = insert(c, p, &new);
	pthread_mutex_unlock(&p->lock);
	return rc;
}

/*
 * Collect up to OFFER_BATCH reusable values under key, skipping the first `skip`. *unused is set if
 * one of them is not marked referenced.
 */
static unsigned collect(struct part *p, const chain_head *chain, uint64_t key, uint64_t skip,
			uint64_t *values, bool *unused)
{
	const struct centry *e = p->e.v;
	unsigned n = 0;

	*unused = false;
	for (uint32_t i = first(chain); i && n < OFFER_BATCH; i = e[i].chain) {
		if (e[i].key != key || !e[i].reusable)
			continue;
		if (skip) {
			skip--;
			continue;
		}
		values[n++] = e[i].value;
		*unused |= !e[i].referenced;
	}
	return n;
}

/* Mark the value referenced; false if it was not found (it may have been evicted during match). */
static bool mark(struct xw_cache *c, struct part *p, uint64_t key, uint64_t value)
{
	uint32_t i;

	pthread_mutex_lock(&p->lock);
	i = chain_find(c, p, key, value);
	if (i)
		p->e.v[i].referenced = true;
	pthread_mutex_unlock(&p->lock);
	return i != 0;
}

bool xw_cache_find(struct xw_cache *c, uint64_t key, bool (*match)(void *arg, uint64_t value),
		   void *arg, uint64_t *value)
{
	struct part *p = part_of(c, key);
	const chain_head *chain = chain_of(c, p, key);
	uint64_t values[OFFER_BATCH], skip = 0;
	bool unused;
	unsigned n;

	count(&p->lookups);
	if (!may_have(chain, key))
		return false;
	do {
		pthread_mutex_lock(&p->lock);
		n = collect(p, chain, key, skip, values, &unused);
		pthread_mutex_unlock(&p->lock);
		for (unsigned i = 0; i < n; i++) {
			if (!match(arg, values[i]))
				continue;
			count(&p->hits);
			if (unused)
				mark(c, p, key, values[i]);
			*value = values[i];
			return true;
		}
		skip += n;
	} while (n == OFFER_BATCH);
	return false;
}

bool xw_cache_touch(struct xw_cache *c, uint64_t key, uint64_t value)
{
	struct part *p = part_of(c, key);

	count(&p->lookups);
	if (!mark(c, p, key, value))
		return false;
	count(&p->hits);
	return true;
}

void xw_cache_set_reusable(struct xw_cache *c, uint64_t key, uint64_t value, bool reusable)
{
	struct part *p = part_of(c, key);
	uint32_t i;

	pthread_mutex_lock(&p->lock);
	i = chain_find(c, p, key, value);
	if (i)
		p->e.v[i].reusable = reusable;
	pthread_mutex_unlock(&p->lock);
}

bool xw_cache_remove(struct xw_cache *c, uint64_t key, uint64_t value)
{
	struct part *p = part_of(c, key);
	uint32_t i;

	if (!may_have(chain_of(c, p, key), key))
		return false;
	pthread_mutex_lock(&p->lock);
	i = chain_find(c, p, key, value);
	if (i)
		drop(c, p, i);
	pthread_mutex_unlock(&p->lock);
	return i != 0;
}

void xw_cache_stats(struct xw_cache *c, struct xw_cache_stats *out)
{
	*out = (struct xw_cache_stats){.max_entries = c->part_max * c->n_parts};
	for (uint32_t i = 0; i < c->n_parts; i++) {
		struct part *p = &c->parts[i];

		pthread_mutex_lock(&p->lock);
		out->entries += p->entries;
		out->peak += p->peak;
		out->inserts += p->inserts;
		out->reclaimed += p->reclaimed;
		out->second_chances += p->second_chances;
		pthread_mutex_unlock(&p->lock);
		out->lookups += p->lookups;
		out->hits += p->hits;
	}
}
