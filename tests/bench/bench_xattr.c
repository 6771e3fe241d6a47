/* SPDX-License-Identifier: MIT */
/*
 * bench_xattr [OPS]: the sharing cache under load.
 *
 * First the xattr-bench of the mbcache rewrite (RESEARCH.md): P threads, each setting an attribute
 * OPS times (50,000) on files drawn from F, to values drawn from V; seconds with the cache and
 * without. With it, a set looks for a block of that content and takes a reference, else writes one
 * and inserts it; a block left without references is removed. Without it, each file has a block of
 * its own, and a set writes that. Then what a build does: how fast equal sets meet.
 */
#include "base/crc.h"
#include "base/hash.h"
#include "disk/xattrblk.h"
#include "xattr/cache.h"
#include "xattr/intern.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BS 4096u
#define NAME_AND_VALUE 64u /* bytes of content that are compared */

/* Blocks are never freed, so that a match may look at one that has just lost its last reference. */
struct block {
	atomic_uint refs;
	uint32_t next_free;
	uint64_t key;
	uint8_t bytes[BS];
};

struct file {
	pthread_mutex_t lock;
	uint32_t block; /* 1 + index; 0: none yet */
};

struct bench {
	struct xw_cache *cache; /* NULL: off */
	struct block *blocks;
	struct file *files;
	uint32_t n_files, n_values, ops;
	pthread_mutex_t free_lock;
	uint32_t first_free;
};

struct thread {
	struct bench *b;
	pthread_t id;
	uint64_t seed;
	struct block scratch;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint32_t rnd(uint64_t *s)
{
	*s = *s * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*s >> 33);
}

static uint32_t take_free(struct bench *b)
{
	uint32_t i;

	pthread_mutex_lock(&b->free_lock);
	i = b->first_free;
	b->first_free = b->blocks[i - 1].next_free;
	pthread_mutex_unlock(&b->free_lock);
	return i;
}

static void give_free(struct bench *b, uint32_t i)
{
	pthread_mutex_lock(&b->free_lock);
	b->blocks[i - 1].next_free = b->first_free;
	b->first_free = i;
	pthread_mutex_unlock(&b->free_lock);
}

struct want {
	struct bench *b;
	const uint8_t *bytes;
	uint64_t key;
};

static bool take(void *arg, uint64_t value)
{
	struct want *w = arg;
	struct block *k = &w->b->blocks[value - 1];
	unsigned refs = atomic_load(&k->refs);

	do {
		if (refs == 0 || refs >= XW_XATTR_REFCOUNT_MAX)
			return false;
	} while (!atomic_compare_exchange_weak(&k->refs, &refs, refs + 1));
	return true;
}

static void drop(struct bench *b, uint32_t i)
{
	struct block *k = &b->blocks[i - 1];
	uint64_t key = k->key;
	unsigned refs = atomic_fetch_sub(&k->refs, 1);

	if (refs == XW_XATTR_REFCOUNT_MAX)
		xw_cache_set_reusable(b->cache, key, i, true);
	if (refs != 1)
		return;
	xw_cache_remove(b->cache, key, i);
	give_free(b, i);
}

static uint32_t shared_block(struct bench *b, const uint8_t *bytes)
{
	struct want w = {b, bytes, xw_hash64(bytes, NAME_AND_VALUE, 0)};
	uint64_t value;
	uint32_t i;

	while (xw_cache_find(b->cache, w.key, take, &w, &value)) {
		struct block *k = &b->blocks[value - 1];

		/*
		 * with the reference held the block is still; it may have become another one before
		 */
		if (k->key == w.key && !memcmp(k->bytes, bytes, NAME_AND_VALUE)) {
			if (atomic_load(&k->refs) == XW_XATTR_REFCOUNT_MAX)
				xw_cache_set_reusable(b->cache, w.key, value, false);
			return (uint32_t)value;
		}
		drop(b, (uint32_t)value);
	}
	i = take_free(b);
	memcpy(b->blocks[i - 1].bytes, bytes, BS);
	b->blocks[i - 1].key = w.key;
	atomic_store(&b->blocks[i - 1].refs, 1);
	xw_cache_insert(b->cache, w.key, i, true);
	return i;
}

static void *run(void *arg)
{
	struct thread *t = arg;
	struct bench *b = t->b;

	for (uint32_t i = 0; i < b->ops; i++) {
		struct file *f = &b->files[rnd(&t->seed) % b->n_files];
		uint32_t old, value = rnd(&t->seed) % b->n_values;

		memcpy(t->scratch.bytes + 32, &value, sizeof(value));
		pthread_mutex_lock(&f->lock);
		old = f->block;
		if (b->cache) {
			f->block = shared_block(b, t->scratch.bytes);
			if (old)
				drop(b, old);
		} else {
			if (!old)
				f->block = take_free(b);
			memcpy(b->blocks[f->block - 1].bytes, t->scratch.bytes, BS);
		}
		pthread_mutex_unlock(&f->lock);
	}
	return NULL;
}

static double xattr_bench(uint32_t threads, uint32_t files, uint32_t values, uint32_t ops,
			  bool cached)
{
	struct bench b = {.n_files = files, .n_values = values, .ops = ops, .first_free = 1};
	uint32_t n_blocks = files + 2 * threads + 1;
	struct thread *t = calloc(threads, sizeof(*t));
	double start;

	b.blocks = calloc(n_blocks, sizeof(*b.blocks));
	b.files = calloc(files, sizeof(*b.files));
	b.cache = cached ? xw_cache_new(0, 0) : NULL;
	if (!t || !b.blocks || !b.files || (cached && !b.cache))
		abort();
	pthread_mutex_init(&b.free_lock, NULL);
	for (uint32_t i = 0; i < n_blocks; i++)
		b.blocks[i].next_free = i + 2;
	for (uint32_t i = 0; i < files; i++)
		pthread_mutex_init(&b.files[i].lock, NULL);
	start = now();
	for (uint32_t i = 0; i < threads; i++) {
		t[i].b = &b;
		t[i].seed = i + 1;
		if (pthread_create(&t[i].id, NULL, run, &t[i]))
			abort();
	}
	for (uint32_t i = 0; i < threads; i++)
		pthread_join(t[i].id, NULL);
	start = now() - start;
	xw_cache_free(b.cache);
	free(b.blocks);
	free(b.files);
	free(t);
	return start;
}

/* 755,000 files with one of `distinct` sets, as the synthetic archive has them. */
static void build_bench(uint32_t distinct)
{
	const struct xw_xintern_opts o = {.ibody = 96, .block_size = BS};
	struct xw_xattr_set s = {0};
	struct xw_xintern_stats st;
	struct xw_xintern *x;
	struct xw_share *share;
	uint64_t seed = 1;
	double start;

	if (xw_xintern_new(&o, &x) || xw_share_new(BS, XW_CACHE_BUILD, &share))
		abort();
	start = now();
	for (unsigned i = 0; i < 755000; i++) {
		const struct xw_xplaced *p;
		struct xw_share_block *b;
		char value[160];
		uint32_t n = rnd(&seed) % distinct;

		memset(value, 'a', sizeof(value));
		memcpy(value, &n, sizeof(n));
		xw_xattr_set_clear(&s);
		xw_xattr_set_put(&s, "security.selinux", 16, "system_u:object_r:usr_t:s0", 26,
				 NULL);
		xw_xattr_set_put(&s, "user.blob", 9, value, sizeof(value), NULL);
		if (xw_xintern_get(x, &s, NULL, &p) || xw_share_get_packed(share, &p->block, &b))
			abort();
	}
	start = now() - start;
	xw_xintern_stats(x, &st);
	printf("755,000 files, %u sets: %.3f s, %llu distinct, %zu blocks, %llu KiB\n", distinct,
	       start, (unsigned long long)st.sets, xw_share_count(share),
	       (unsigned long long)st.bytes / 1024);
	xw_xattr_set_free(&s);
	xw_share_free(share);
	xw_xintern_free(x);
}

/* The same without the interning front: whole blocks. */
static void share_bench(uint32_t distinct)
{
	struct xw_share *share;
	uint8_t block[BS] = {0}, bytes[BS];
	struct xw_share_content c = {.bytes = bytes, .head_len = 32 + 20 + 4, .tail_len = 160};
	uint64_t seed = 1;
	double start;

	if (xw_share_new(BS, XW_CACHE_BUILD, &share))
		abort();
	xw_xattr_bhdr_encode(block, &(struct xw_xattr_bhdr){.refcount = 1, .blocks = 1});
	xw_xattr_entry_encode(block, 32,
			      &(struct xw_xattr_entry){.name_len = 4,
						       .name_index = 1,
						       .value_offs = BS - 160,
						       .value_size = 160,
						       .name = "blob"});
	start = now();
	for (unsigned i = 0; i < 755000; i++) {
		struct xw_share_block *b;
		uint32_t n = rnd(&seed) % distinct;

		memcpy(block + BS - 160, &n, sizeof(n));
		memcpy(bytes, block, c.head_len);
		memcpy(bytes + c.head_len, block + BS - c.tail_len, c.tail_len);
		c.key = xw_share_key(bytes, c.head_len + c.tail_len);
		if (xw_share_get_packed(share, &c, &b))
			abort();
	}
	printf("755,000 blocks, %u contents: %.3f s, %zu blocks\n", distinct, now() - start,
	       xw_share_count(share));
	xw_share_free(share);
}

int main(int argc, char **argv)
{
	static const uint32_t values[] = {10, 100, 1000, 10000, 100000}, files[] = {10, 100, 1000};
	uint32_t ops = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 50000;

	for (size_t v = 0; v < XW_ARRAY_SIZE(values); v++) {
		printf("V = %u, %u sets a thread, seconds: cache / none\n   F \\ P", values[v],
		       ops);
		for (uint32_t p = 1; p <= 64; p *= 2)
			printf(" | %13u", p);
		printf("\n");
		for (size_t f = 0; f < XW_ARRAY_SIZE(files); f++) {
			printf("%8u", files[f]);
			for (uint32_t p = 1; p <= 64; p *= 2) {
				double on = xattr_bench(p, files[f], values[v], ops, true);

				printf(" | %.3f / %.3f", on,
				       xattr_bench(p, files[f], values[v], ops, false));
				fflush(stdout);
			}
			printf("\n");
		}
	}
	share_bench(10000);
	for (uint32_t n = 50; n <= 50000; n *= 10)
		build_bench(n);
	return 0;
}
