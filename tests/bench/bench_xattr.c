/* SPDX-License-Identifier: MIT */
/*
 * The xattr-bench of the mbcache rewrite (RESEARCH.md), once in memory over the sharing cache and
 * once through a mount.
 *
 *   bench_xattr model POLICY P F V OPS    P threads, each with F files of its own, OPS sets each, V
 *       values
 *   bench_xattr kernel DIR P F V OPS      the same by P processes with setxattr(2) on files below
 *       DIR
 *
 * A set in the model encodes the attribute into a block with the library's encoder, as every
 * filesystem must. Without a cache the file has a block of its own, and the 4 KiB go there. With
 * one, a block of that content is looked for and gets a reference; if there is none, the file's old
 * block (or a free one, if others refer to that) is filled and inserted. A block without references
 * leaves the cache.
 *
 * Prints one line: wall seconds, processor seconds, then entries at most, entries reclaimed, second
 * chances, sets that found a block.
 */
#define _GNU_SOURCE
#include "base/hash.h"
#include "disk/xattrblk.h"
#include "xattr_policy.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#define BS 4096u
#define VALUE 200u /* bytes: more than an inode of 256 bytes holds */
#define KEEP 16u /* free blocks that a worker keeps for itself */
#define HEAD (XW_XATTR_BHDR + XW_XATTR_ENTRY + 4)

/* Not given back to malloc, so that match may look at one that has just lost its last reference. */
struct block {
	_Alignas(64) atomic_uint refs;
	uint32_t next_free; /* 1 + index */
	uint64_t key;
	uint8_t bytes[BS];
};

struct bench {
	struct policy_cache *cache; /* NULL: off */
	struct block *blocks;
	uint32_t n_files, n_values, ops;
	pthread_mutex_t free_lock;
	uint32_t first_free; /* 1 + index */
	pthread_barrier_t start;
};

struct worker {
	struct bench *b;
	pthread_t id;
	uint64_t seed;
	uint32_t *files; /* 1 + index of their blocks; 0: none yet */
	uint32_t first_free,
		n_free; /* a list of its own: sharing one for every set would measure that */
	uint8_t value[VALUE], block[BS];
};

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static double now(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint32_t rnd(uint64_t *s)
{
	*s = *s * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*s >> 33);
}

/* ---- the model ---- */

/* The block of value v; the middle of w->block stays zero. */
static uint64_t encode(struct worker *w, uint32_t v)
{
	struct xw_xattr_entry e = {.name_len = 4,
				   .name_index = XW_XI_USER,
				   .value_offs = BS - VALUE,
				   .value_size = VALUE,
				   .name = "blob"};
	uint8_t packed[HEAD + VALUE];

	memcpy(w->value, &v, sizeof(v));
	e.hash = xw_xattr_entry_hash("blob", 4, w->value, VALUE);
	xw_xattr_bhdr_encode(w->block,
			     &(struct xw_xattr_bhdr){.refcount = 1, .blocks = 1, .hash = e.hash});
	xw_xattr_entry_encode(w->block, XW_XATTR_BHDR, &e);
	memcpy(w->block + BS - VALUE, w->value, VALUE);
	if (!w->b->cache)
		return 0;
	memcpy(packed, w->block, HEAD);
	memcpy(packed + HEAD, w->block + BS - VALUE, VALUE);
	return xw_hash64(packed, sizeof(packed), 0);
}

static bool take(void *arg, uint64_t value)
{
	struct block *k = &((struct bench *)arg)->blocks[value - 1];
	unsigned refs = atomic_load(&k->refs);

	do {
		if (refs == 0 || refs >= XW_XATTR_REFCOUNT_MAX)
			return false;
	} while (!atomic_compare_exchange_weak(&k->refs, &refs, refs + 1));
	return true;
}

/*
 * Total free blocks are more than all workers keep, so the shared list is not empty when a worker's
 * own is.
 */
static uint32_t take_free(struct worker *w)
{
	struct bench *b = w->b;
	uint32_t i = w->first_free;

	if (i) {
		w->first_free = b->blocks[i - 1].next_free;
		w->n_free--;
		return i;
	}
	pthread_mutex_lock(&b->free_lock);
	i = b->first_free;
	b->first_free = b->blocks[i - 1].next_free;
	pthread_mutex_unlock(&b->free_lock);
	return i;
}

static void give_free(struct worker *w, uint32_t i)
{
	struct bench *b = w->b;

	if (w->n_free < KEEP) {
		b->blocks[i - 1].next_free = w->first_free;
		w->first_free = i;
		w->n_free++;
		return;
	}
	pthread_mutex_lock(&b->free_lock);
	b->blocks[i - 1].next_free = b->first_free;
	b->first_free = i;
	pthread_mutex_unlock(&b->free_lock);
}

static void drop(struct worker *w, uint32_t i)
{
	struct block *k = &w->b->blocks[i - 1];
	const uint64_t key = k->key;
	const unsigned refs = atomic_fetch_sub(&k->refs, 1);

	if (refs == XW_XATTR_REFCOUNT_MAX)
		policy_set_reusable(w->b->cache, key, i, true);
	if (refs != 1)
		return;
	policy_remove(w->b->cache, key, i);
	give_free(w, i);
}

static uint32_t find_shared(struct worker *w, uint64_t key)
{
	uint64_t value;

	while (policy_find(w->b->cache, key, take, w->b, &value)) {
		const struct block *k = &w->b->blocks[value - 1];

		/*
		 * with the reference held the block is still; it may have become another one before
		 */
		if (k->key == key && !memcmp(k->bytes + BS - VALUE, w->value, VALUE)) {
			if (atomic_load(&k->refs) == XW_XATTR_REFCOUNT_MAX)
				policy_set_reusable(w->b->cache, key, value, false);
			return (uint32_t)value;
		}
		drop(w, (uint32_t)value);
	}
	return 0;
}

static void set_shared(struct worker *w, uint32_t *file, uint64_t key)
{
	const uint32_t found = find_shared(w, key), old = *file;
	struct block *k;

	if (old)
		drop(w, old);
	*file = found;
	if (found)
		return;
	*file = take_free(w);
	k = &w->b->blocks[*file - 1];
	memcpy(k->bytes, w->block, BS);
	k->key = key;
	atomic_store(&k->refs, 1);
	policy_insert(w->b->cache, key, *file);
}

static void set_alone(struct worker *w, uint32_t *file)
{
	if (!*file)
		*file = take_free(w);
	memcpy(w->b->blocks[*file - 1].bytes, w->block, BS);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct bench *b = w->b;

	pthread_barrier_wait(&b->start);
	for (uint32_t i = 0; i < b->ops; i++) {
		uint32_t *file = &w->files[rnd(&w->seed) % b->n_files];
		const uint64_t key = encode(w, rnd(&w->seed) % b->n_values);

		if (b->cache)
			set_shared(w, file, key);
		else
			set_alone(w, file);
	}
	return NULL;
}

static void start(struct worker *w, struct bench *b, uint32_t i)
{
	w->b = b;
	w->seed = i + 1;
	w->files = calloc(b->n_files, sizeof(*w->files));
	if (!w->files)
		die("files");
	memset(w->value, 'a', VALUE);
	if (pthread_create(&w->id, NULL, work, w))
		die("thread");
}

static void make_blocks(struct bench *b, uint32_t n)
{
	b->blocks = aligned_alloc(64, n * sizeof(*b->blocks));
	if (!b->blocks)
		die("blocks");
	memset(b->blocks, 0,
	       n * sizeof(*b->blocks)); /* their pages are there before the clock runs */
	for (uint32_t i = 0; i + 1 < n; i++)
		b->blocks[i].next_free = i + 2;
	b->first_free = 1;
	pthread_mutex_init(&b->free_lock, NULL);
}

static int model(enum xattr_policy policy, uint32_t workers, uint32_t files, uint32_t values,
		 uint32_t ops)
{
	struct bench b = {.n_files = files, .n_values = values, .ops = ops};
	struct worker *w = calloc(workers, sizeof(*w));
	struct xw_cache_stats st = {0};
	double wall, cpu;

	if (!w)
		die("workers");
	make_blocks(&b, workers * (files + KEEP + 4));
	if (policy != POLICY_OFF)
		b.cache = policy_new(policy);
	pthread_barrier_init(&b.start, NULL, workers + 1);
	for (uint32_t i = 0; i < workers; i++)
		start(&w[i], &b, i);
	wall = now(CLOCK_MONOTONIC);
	cpu = now(CLOCK_PROCESS_CPUTIME_ID);
	pthread_barrier_wait(&b.start);
	for (uint32_t i = 0; i < workers; i++)
		pthread_join(w[i].id, NULL);
	wall = now(CLOCK_MONOTONIC) - wall;
	cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	if (b.cache)
		policy_stats(b.cache, &st);
	printf("%.6f %.6f %llu %llu %llu %llu\n", wall, cpu, (unsigned long long)st.peak,
	       (unsigned long long)st.reclaimed, (unsigned long long)st.second_chances,
	       (unsigned long long)st.hits);
	return 0;
}

/* ---- the kernel ---- */

static void sets_of(const char *dir, uint32_t self, uint32_t files, uint32_t values, uint32_t ops,
		    int go)
{
	uint64_t seed = self + 1;
	int *fd = calloc(files, sizeof(*fd));
	uint8_t value[VALUE];
	char path[512], c;

	if (!fd)
		die("files");
	memset(value, 'a', VALUE);
	for (uint32_t i = 0; i < files; i++) {
		snprintf(path, sizeof(path), "%s/%u-%u", dir, self, i);
		fd[i] = open(path, O_CREAT | O_RDWR, 0644);
		if (fd[i] < 0)
			die(path);
	}
	if (read(go, &c, 1) < 0) /* until the parent closes its end */
		die("pipe");
	for (uint32_t i = 0; i < ops; i++) {
		const int f = fd[rnd(&seed) % files];
		const uint32_t v = rnd(&seed) % values;

		memcpy(value, &v, sizeof(v));
		if (fsetxattr(f, "user.blob", value, VALUE, 0))
			die("setxattr");
	}
	exit(0);
}

static int kernel(const char *dir, uint32_t workers, uint32_t files, uint32_t values, uint32_t ops)
{
	int go[2], status;
	double wall;

	if (pipe(go))
		die("pipe");
	for (uint32_t i = 0; i < workers; i++) {
		if (!fork()) {
			close(go[1]);
			sets_of(dir, i, files, values, ops, go[0]);
		}
	}
	close(go[0]);
	usleep(200000); /* their files are open by then */
	wall = now(CLOCK_MONOTONIC);
	close(go[1]);
	for (uint32_t i = 0; i < workers; i++) {
		if (wait(&status) < 0 || status)
			return 1;
	}
	printf("%.6f 0 0 0 0 0\n", now(CLOCK_MONOTONIC) - wall);
	return 0;
}

static uint32_t num(const char *s)
{
	return (uint32_t)strtoul(s, NULL, 10);
}

int main(int argc, char **argv)
{
	if (argc == 7 && !strcmp(argv[1], "kernel"))
		return kernel(argv[2], num(argv[3]), num(argv[4]), num(argv[5]), num(argv[6]));
	for (unsigned p = 0; argc == 7 && !strcmp(argv[1], "model") && p < POLICIES; p++)
		if (!strcmp(argv[2], xattr_policy_names[p]))
			return model((enum xattr_policy)p, num(argv[3]), num(argv[4]), num(argv[5]),
				     num(argv[6]));
	fprintf(stderr, "usage: bench_xattr model|kernel ...; see its source\n");
	return 2;
}
