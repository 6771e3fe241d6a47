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
 * A set in the model is what the product's (lib/edit/xattr.c) changes in an image with
 * metadata_csum, by the same functions, without reading and writing of files, bitmaps, names and
 * counts of blocks: the attributes are read from the file's block, one is replaced, they are placed
 * and encoded into a block; the block gets there; the record of the inode is decoded, changed,
 * encoded, and gets its checksum.
 *
 * Without a cache the file has a block of its own, and getting there means a checksum over 4 KiB
 * and a copy of them, in place. With one, a block of that content is looked for by a hash and
 * compared. If there is one, it gets a reference, which changes its checksum; if not, the file's
 * old block (or a free one, if others refer to that) is written as above and inserted. The old
 * block loses a reference, likewise with its checksum, and leaves the cache with the last one.
 *
 * Prints one line: wall seconds, processor seconds, then entries at most, entries reclaimed, second
 * chances, sets that found a block.
 */
#define _GNU_SOURCE
#include "base/hash.h"
#include "disk/inode.h"
#include "disk/super.h"
#include "disk/xattrblk.h"
#include "xattr/layout.h"
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
#define INODE 256u
#define IBODY (INODE - 128 - 32)
#define SEED 0x5eed5eedu

/*
 * Of a block in use or free. Not given back to malloc, so that match may look at one that has just
 * lost its last reference. The contents are elsewhere, as in the sharer of the library and in
 * Linux.
 */
struct block {
	_Atomic uint64_t refs; /* high half: the checksum with this many, which the header gets */
	uint64_t key;
	uint32_t next_free; /* 1 + index */
};

struct bench {
	struct policy_cache *cache; /* NULL: off */
	struct xw_super sb;
	struct block *blocks;
	uint8_t (*bytes)[BS]; /* of blocks */
	uint32_t n_files, n_values, ops;
	pthread_mutex_t free_lock;
	uint32_t first_free; /* 1 + index */
	pthread_barrier_t start;
};

struct file {
	uint32_t block; /* 1 + index; 0: none yet */
	uint8_t inode[INODE];
};

struct worker {
	struct bench *b;
	pthread_t id;
	uint64_t seed;
	struct file *files;
	uint32_t first_free,
		n_free; /* a list of its own: sharing one for every set would measure that */
	struct xw_xattr_set set;
	struct xw_xattr_span span; /* of block */
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

/* The attributes of the file with value v, encoded. */
static void encode(struct worker *w, const struct file *f, uint32_t v)
{
	struct xw_xattr_slot slots[4];

	memcpy(w->value, &v, sizeof(v));
	xw_xattr_set_clear(&w->set);
	if ((f->block && xw_xattr_decode_block(w->b->bytes[f->block - 1], BS, &w->set, NULL)) ||
	    xw_xattr_set_put(&w->set, "user.blob", 9, w->value, VALUE, NULL) ||
	    xw_xattr_layout(&w->set, IBODY, BS, false, slots, NULL) ||
	    !xw_xattr_encode_block(&w->set, slots, BS, w->block, &w->span))
		die("attributes");
}

static uint64_t key_of(const struct worker *w)
{
	const uint64_t head = xw_hash_fixed(w->block, w->span.head, 0);

	return xw_hash_fixed(w->block + BS - w->span.tail, w->span.tail, head);
}

/* The encoded block gets into block i, which nobody else refers to; returns its checksum. */
static uint32_t write_block(struct worker *w, uint32_t i)
{
	struct xw_xattr_bhdr h = {0};

	xw_xattr_block_set_csum(w->block, BS, SEED, i);
	memcpy(w->b->bytes[i - 1], w->block, BS);
	xw_xattr_bhdr_decode(w->block, &h);
	return h.checksum;
}

static void write_inode(struct worker *w, struct file *f, uint32_t i)
{
	struct xw_inode in;

	if (xw_inode_decode(f->inode, &w->b->sb, &in))
		die("inode");
	in.file_acl = i;
	in.ctime.sec++;
	xw_inode_encode(&in, &w->b->sb, f->inode);
	xw_inode_set_csum(f->inode, &w->b->sb, SEED, i);
}

static unsigned count_of(uint64_t refs)
{
	return (uint32_t)refs;
}

static uint64_t recount(uint64_t refs, unsigned to)
{
	const uint32_t csum = xw_xattr_csum_recount((uint32_t)(refs >> 32), BS, count_of(refs), to);

	return (uint64_t)csum << 32 | to;
}

static bool take(void *arg, uint64_t value)
{
	struct block *k = &((struct bench *)arg)->blocks[value - 1];
	uint64_t refs = atomic_load(&k->refs);

	do {
		if (!count_of(refs) || count_of(refs) >= XW_XATTR_REFCOUNT_MAX)
			return false;
	} while (!atomic_compare_exchange_weak(&k->refs, &refs, recount(refs, count_of(refs) + 1)));
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
	uint64_t refs = atomic_load(&k->refs);

	while (!atomic_compare_exchange_weak(&k->refs, &refs, recount(refs, count_of(refs) - 1)))
		;
	if (count_of(refs) == XW_XATTR_REFCOUNT_MAX)
		policy_set_reusable(w->b->cache, key, i, true);
	if (count_of(refs) != 1)
		return;
	policy_remove(w->b->cache, key, i);
	give_free(w, i);
}

static bool same(const struct worker *w, uint32_t i)
{
	const uint8_t *bytes = w->b->bytes[i - 1];
	const uint32_t tail = BS - w->span.tail;

	return !memcmp(bytes + XW_XATTR_BHDR, w->block + XW_XATTR_BHDR,
		       w->span.head - XW_XATTR_BHDR) &&
	       !memcmp(bytes + tail, w->block + tail, w->span.tail);
}

static uint32_t find_shared(struct worker *w, uint64_t key)
{
	uint64_t value;

	while (policy_find(w->b->cache, key, take, w->b, &value)) {
		const struct block *k = &w->b->blocks[value - 1];

		/*
		 * with the reference held the block is still; it may have become another one before
		 */
		if (k->key == key && same(w, (uint32_t)value)) {
			if (count_of(atomic_load(&k->refs)) == XW_XATTR_REFCOUNT_MAX)
				policy_set_reusable(w->b->cache, key, value, false);
			return (uint32_t)value;
		}
		drop(w, (uint32_t)value);
	}
	return 0;
}

/* Returns the file's block. */
static uint32_t set_shared(struct worker *w, uint32_t old)
{
	const uint64_t key = key_of(w);
	uint32_t i = find_shared(w, key), csum;

	if (old)
		drop(w, old);
	if (i)
		return i;
	i = take_free(w);
	csum = write_block(w, i);
	w->b->blocks[i - 1].key = key;
	atomic_store(&w->b->blocks[i - 1].refs, (uint64_t)csum << 32 | 1);
	policy_insert(w->b->cache, key, i);
	return i;
}

static uint32_t set_alone(struct worker *w, uint32_t old)
{
	const uint32_t i = old ? old : take_free(w);

	write_block(w, i);
	return i;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct bench *b = w->b;

	pthread_barrier_wait(&b->start);
	for (uint32_t i = 0; i < b->ops; i++) {
		struct file *f = &w->files[rnd(&w->seed) % b->n_files];

		encode(w, f, rnd(&w->seed) % b->n_values);
		f->block = b->cache ? set_shared(w, f->block) : set_alone(w, f->block);
		write_inode(w, f, f->block);
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
	for (uint32_t k = 0; k < b->n_files; k++) {
		const struct xw_inode in = {.mode = 0100644, .links = 1, .extra_isize = 32};

		xw_inode_encode(&in, &b->sb, w->files[k].inode);
	}
	memset(w->value, 'a', VALUE);
	if (pthread_create(&w->id, NULL, work, w))
		die("thread");
}

static void make_blocks(struct bench *b, uint32_t n)
{
	b->blocks = calloc(n, sizeof(*b->blocks));
	b->bytes = aligned_alloc(BS, (size_t)n * BS);
	if (!b->blocks || !b->bytes)
		die("blocks");
	memset(b->bytes, 0, (size_t)n * BS); /* their pages are there before the clock runs */
	for (uint32_t i = 0; i + 1 < n; i++)
		b->blocks[i].next_free = i + 2;
	b->first_free = 1;
	pthread_mutex_init(&b->free_lock, NULL);
}

static int model(enum xattr_policy policy, uint32_t workers, uint32_t files, uint32_t values,
		 uint32_t ops)
{
	struct bench b = {
		.sb = {.inode_size = INODE, .feature_ro_compat = XW_RO_METADATA_CSUM},
		.n_files = files,
		.n_values = values,
		.ops = ops,
	};
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
