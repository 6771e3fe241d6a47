/* SPDX-License-Identifier: MIT */
/*
 * What itrees cost and what they save. It measures, and asserts nothing.
 *
 *   bench_itree tar N [BYTES]        an archive of N files of BYTES in one directory, to stdout
 *   bench_itree walk IMAGE PATH      readdir and stat, or reading, of every file in a directory:
 *                                    blocks read through a bounded cache, by order of the names
 *   bench_itree create N             a directory filled one name at a time, with and without
 *   bench_itree age N                the same by the rule 0.8 create, 0.2 delete
 *   bench_itree delete N             and emptied: blocks read, by the order of the names
 *
 * The cache is LRU over block numbers and holds a share of the directory's inode table blocks; all
 * blocks that a walk reads go through it: inode tables, directory, itree.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "../unit/dir_store.h"
#include "dir/itree_check.h"
#include "disk/inode.h"
#include "read/dirs.h"
#include "read/itree.h"

#define MUST(x)                                                                                    \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			fprintf(stderr, "bench_itree: %s, line %d\n", #x, __LINE__);               \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* Of this process: wall time says little on a machine that has more to do. */
static double cpu(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
	       (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) * 1e-6;
}

/* ---- a cache that counts ---- */

struct lru {
	uint32_t *newer, *older; /* by slot; slot 0 is the ring's head */
	uint64_t *blk;
	uint32_t *table; /* open addressing: slot, or 0 */
	uint32_t size, n, mask;
	uint64_t hits, reads;
};

static void lru_init(struct lru *c, uint32_t size)
{
	uint32_t t = 64;

	memset(c, 0, sizeof(*c));
	c->size = XW_MAX(size, 1u);
	while (t < 4 * c->size)
		t *= 2;
	c->mask = t - 1;
	c->newer = calloc(c->size + 1, sizeof(*c->newer));
	c->older = calloc(c->size + 1, sizeof(*c->older));
	c->blk = calloc(c->size + 1, sizeof(*c->blk));
	c->table = calloc(t, sizeof(*c->table));
	MUST(c->newer && c->older && c->blk && c->table);
}

static void lru_free(struct lru *c)
{
	free(c->newer);
	free(c->older);
	free(c->blk);
	free(c->table);
}

static uint32_t lru_home(const struct lru *c, uint64_t blk)
{
	return (uint32_t)(blk * 0x9E3779B97F4A7C15u >> 32) & c->mask;
}

static uint32_t lru_find(const struct lru *c, uint64_t blk)
{
	uint32_t i = lru_home(c, blk);

	while (c->table[i] && c->blk[c->table[i]] != blk)
		i = (i + 1) & c->mask;
	return i;
}

/* Take the entry at i out of the table, and close the gap. */
static void lru_remove(struct lru *c, uint32_t i)
{
	uint32_t j = i;

	for (;;) {
		uint32_t home;

		c->table[i] = 0;
		do {
			j = (j + 1) & c->mask;
			if (!c->table[j])
				return;
			home = lru_home(c, c->blk[c->table[j]]);
		} while (i <= j ? i < home && home <= j : i < home || home <= j);
		c->table[i] = c->table[j];
		i = j;
	}
}

static void lru_unlink(struct lru *c, uint32_t s)
{
	c->older[c->newer[s]] = c->older[s];
	c->newer[c->older[s]] = c->newer[s];
}

static void lru_link(struct lru *c, uint32_t s)
{
	c->older[s] = c->older[0];
	c->newer[s] = 0;
	c->newer[c->older[0]] = s;
	c->older[0] = s;
}

/* One access. Returns whether it was a read. */
static bool lru_touch(struct lru *c, uint64_t blk)
{
	uint32_t i = lru_find(c, blk), s = c->table[i];

	if (s) {
		c->hits++;
		lru_unlink(c, s);
		lru_link(c, s);
		return false;
	}
	c->reads++;
	if (c->n < c->size) {
		s = ++c->n;
	} else {
		s = c->newer[0]; /* the oldest */
		lru_unlink(c, s);
		lru_remove(c, lru_find(c, c->blk[s]));
	}
	c->blk[s] = blk;
	i = lru_find(c, blk);
	c->table[i] = s;
	lru_link(c, s);
	return true;
}

/* ---- an archive ---- */

static void tar_header(char *h, const char *name, unsigned long long size, char type)
{
	unsigned sum = 0;

	memset(h, 0, 512);
	snprintf(h, 100, "%s", name);
	memcpy(h + 100, "0000644\0000000000\0000000000\0", 24);
	snprintf(h + 124, 12, "%011llo", size);
	memcpy(h + 136, "14000000000\0", 12);
	memset(h + 148, ' ', 8);
	h[156] = type;
	memcpy(h + 257, "ustar\00000", 8);
	for (unsigned i = 0; i < 512; i++)
		sum += (unsigned char)h[i];
	snprintf(h + 148, 8, "%06o", sum);
}

static void name_of(char *buf, uint64_t i)
{
	sprintf(buf, "file-of-the-bench-%08" PRIu64, i);
}

static int make_tar(uint64_t n, unsigned bytes)
{
	const size_t rounded = (bytes + 511u) / 512 * 512;
	char *h = calloc(1, 512 + rounded), path[64] = "big/";

	MUST(h);
	memset(h + 512, 'x', bytes);
	tar_header(h, "big/", 0, '5');
	MUST(fwrite(h, 512, 1, stdout) == 1);
	for (uint64_t i = 0; i < n; i++) {
		name_of(path + 4, i);
		tar_header(h, path, bytes, '0');
		MUST(fwrite(h, 512 + rounded, 1, stdout) == 1);
	}
	memset(h, 0, 512);
	MUST(fwrite(h, 512, 1, stdout) == 1 && fwrite(h, 512, 1, stdout) == 1 && !fflush(stdout));
	free(h);
	return 0;
}

/* ---- walks over an image ---- */

struct name {
	xw_ino ino;
	uint32_t major, minor;
	uint32_t lblk; /* of the directory block, or number of the itree leaf */
};

struct walk {
	struct xw_image *img;
	struct name *hash, *block, *tree; /* the same names in each order */
	size_t n, n_tree;
	uint64_t dir_blocks, tree_nodes;
	uint32_t itable_blocks; /* that hold the directory's inodes */
};

static uint64_t itable_block(struct walk *w, xw_ino ino)
{
	static struct xw_group_desc gd;
	static uint64_t have = UINT64_MAX;
	const uint64_t g = (ino - 1) / w->img->sb.inodes_per_group;

	if (g != have)
		MUST(!xw_image_group(w->img, g, &gd));
	have = g;
	return gd.inode_table + (uint64_t)((ino - 1) % w->img->sb.inodes_per_group) *
					w->img->inode_size / w->img->block_size;
}

static int by_hash(const void *x, const void *y)
{
	const struct name *a = x, *b = y;

	if (a->major != b->major)
		return a->major < b->major ? -1 : 1;
	return a->minor < b->minor ? -1 : a->minor > b->minor;
}

static void read_names(struct walk *w, xw_ino ino, const struct xw_inode *in)
{
	const struct xw_super *sb = &w->img->sb;
	enum xw_dx_version v = sb->def_hash_version + (sb->flags & XW_FLAG_UNSIGNED_HASH ? 3u : 0u);
	uint32_t seed[4];
	struct xw_dir_iter it;
	struct xw_dirent e;
	struct xw_dir_pos pos;
	size_t cap = 0;

	for (int i = 0; i < 4; i++)
		seed[i] = peek32(sb->hash_seed + 4 * i);
	MUST(!xw_dir_begin(w->img, ino, in, NULL, &it));
	while (xw_dir_next(&it, &e, &pos) == 1) {
		struct xw_dx_hash h;

		if (e.name[0] == '.')
			continue;
		if (w->n == cap) {
			cap = cap ? 2 * cap : 1024;
			w->block = realloc(w->block, cap * sizeof(*w->block));
			MUST(w->block);
		}
		MUST(!xw_dx_hash(v, seed, e.name, e.name_len, &h));
		w->block[w->n++] = (struct name){e.ino, h.major, h.minor, (uint32_t)pos.lblk};
	}
	xw_dir_end(&it);
	w->dir_blocks = in->size / w->img->block_size;
	w->hash = malloc((w->n + 1) * sizeof(*w->hash));
	MUST(w->hash);
	memcpy(w->hash, w->block, w->n * sizeof(*w->hash));
	qsort(w->hash, w->n, sizeof(*w->hash), by_hash);
}

static void read_tree(struct walk *w, xw_ino ino, const struct xw_inode *in)
{
	struct xw_itree_iter it;
	struct xw_itree_entry e;
	uint64_t last = 0;
	double t = now();
	int rc = xw_itree_begin(w->img, ino, in, &it);

	if (rc == XW_ERR_NOTFOUND) {
		xw_itree_end(&it);
		return;
	}
	w->tree = malloc((w->n + 1) * sizeof(*w->tree));
	MUST(w->tree);
	while (!rc && xw_itree_next(&it, &e) == 1) {
		struct xw_inode child;
		uint64_t b = itable_block(w, e.key.ino);

		MUST(w->n_tree < w->n);
		w->tree[w->n_tree++] =
			(struct name){.ino = e.key.ino, .lblk = (uint32_t)it.at[0].blk};
		w->itable_blocks += b != last;
		last = b;
		rc = xw_itree_inode(&it, e.key.ino, &child, NULL);
	}
	MUST(!rc && w->n_tree == w->n);
	w->tree_nodes = it.nodes_read;
	printf("itree order: %" PRIu64 " nodes and %" PRIu64 " inode table blocks read by the "
	       "library's reader, of %u there; %.2f s\n",
	       it.nodes_read, it.tables_read, w->itable_blocks, now() - t);
	xw_itree_end(&it);
}

struct counts {
	uint64_t tables, all; /* blocks read */
	uint64_t seek; /* blocks between one table block read and the next */
};

/* Every name in that order: its directory (or itree) block, then its inode. */
static struct counts run(struct walk *w, const struct name *v, uint32_t cache)
{
	struct counts r = {0};
	uint64_t last = 0;
	struct lru c;

	lru_init(&c, cache);
	for (size_t i = 0; i < w->n; i++) {
		const uint64_t blk = itable_block(w, v[i].ino);

		lru_touch(&c, UINT64_C(1) << 40 | v[i].lblk);
		if (!lru_touch(&c, blk))
			continue;
		r.tables++;
		r.seek += !last ? 0 : blk > last ? blk - last - 1 : last - blk + 1;
		last = blk;
	}
	r.all = c.reads;
	lru_free(&c);
	return r;
}

static void say(const char *what, const struct counts *r, const struct counts *hash)
{
	printf("  %-11s %9" PRIu64 " table blocks (%.3g blocks apart), %9" PRIu64 " in all", what,
	       r->tables, (double)r->seek / (double)XW_MAX(r->tables, 1u), r->all);
	if (r != hash)
		printf(": %.1f and %.1f times fewer", (double)hash->tables / (double)r->tables,
		       (double)hash->all / (double)r->all);
	printf("\n");
}

static int walk(const char *path, const char *dir)
{
	static const unsigned shares[] = {2, 10, 25};
	struct xw_diag diag = {0};
	struct walk w = {0};
	struct xw_inode in;
	struct xw_dev *dev;
	xw_ino ino;

	MUST(!xw_dev_open_file(path, XW_DEV_RDONLY, &diag, &dev));
	MUST(!xw_image_open(dev, 0, &diag, &w.img));
	MUST(!xw_path_resolve(w.img, XW_INO_ROOT, dir, true, &ino));
	MUST(!xw_image_inode(w.img, ino, &in, NULL));
	read_names(&w, ino, &in);
	read_tree(&w, ino, &in);
	if (!w.tree)
		w.itable_blocks = (uint32_t)xw_div_up(w.n * w.img->inode_size, w.img->block_size);
	printf("%zu names, %" PRIu64 " directory blocks, %u inode table blocks\n", w.n,
	       w.dir_blocks, w.itable_blocks);
	for (unsigned k = 0; k < 3; k++) {
		uint32_t cache = (uint32_t)((uint64_t)w.itable_blocks * shares[k] / 100);
		struct counts h = run(&w, w.hash, cache), b = run(&w, w.block, cache), t;

		printf("cache of %u %% of them:\n", shares[k]);
		say("hash order", &h, &h);
		say("block order", &b, &h);
		if (!w.tree)
			continue;
		t = run(&w, w.tree, cache);
		t.all = t.tables + w.tree_nodes; /* index nodes, too */
		say("itree order", &t, &h);
	}
	free(w.hash);
	free(w.block);
	free(w.tree);
	xw_image_close(w.img);
	xw_dev_close(dev);
	return 0;
}

/* ---- one name at a time ---- */

static struct xw_dir_format format(bool itree)
{
	return (struct xw_dir_format){
		.block_size = 4096,
		.filetype = true,
		.csum = true,
		.dir_index = true,
		.large_dir = true,
		.itree = itree,
		.hash_version = XW_DX_HALF_MD4,
		.hash_seed = {1, 2, 3, 4},
	};
}

static void say_tree(const struct xw_dir *d, const struct dir_store *s)
{
	const struct xw_itree_stats *t = &d->tree.stats;

	printf("   %u directory blocks, %" PRIu64 " other; itree: %" PRIu64 " appends, %" PRIu64
	       " splits, %" PRIu64 " merges, %" PRIu64 " freed",
	       d->now.blocks, s->used - d->now.blocks, t->appends, t->splits, t->merges, t->freed);
	if (t->deletes)
		printf("; parents changed in %.2f %% of %" PRIu64 " deletes",
		       100.0 * (double)t->parents / (double)t->deletes, t->deletes);
	printf("\n");
}

static double create_once(uint64_t n, bool itree, bool say)
{
	struct xw_dir_format f = format(itree);
	struct dir_store s;
	struct xw_dir d;
	char name[64];
	double t;

	dir_store_init(&s, &f, 0, &d);
	t = cpu();
	for (uint64_t i = 0; i < n; i++) {
		name_of(name, i);
		MUST(!xw_dir_insert(&d, name, strlen(name), (xw_ino)(12 + i), 1));
	}
	MUST(!xw_dir_flush(&d));
	t = cpu() - t;
	if (say)
		say_tree(&d, &s);
	dir_store_free(&s, &d);
	return t;
}

static int create(uint64_t n)
{
	double best[2] = {1e9, 1e9};

	for (unsigned i = 0; i < 6; i++) {
		double t = create_once(n, i & 1, i == 1);

		best[i & 1] = XW_MIN(best[i & 1], t);
	}
	printf("create %" PRIu64 ", one at a time: %.2f s without, %.2f s with itree: %.3f\n", n,
	       best[0], best[1], best[1] / best[0]);
	return 0;
}

static int age(uint64_t n)
{
	double t[2];

	for (unsigned k = 0; k < 2; k++) {
		struct xw_dir_format f = format(k);
		uint64_t *live = malloc(n * sizeof(*live)), state = 1, next = 0, count = 0,
			 freed = 0;
		xw_ino *free_ino = malloc(n * sizeof(*free_ino));
		xw_ino *ino = malloc(n * sizeof(*ino));
		struct dir_store s;
		struct xw_dir d;
		char name[64];

		MUST(live && free_ino && ino);
		dir_store_init(&s, &f, 0, &d);
		t[k] = cpu();
		while (next < n) {
			state = state * 6364136223846793005u + 1442695040888963407u;
			if (!count || (state >> 33) % 10 < 8) {
				/* as allocators do: the lowest of what was freed, here the last */
				ino[next] = freed ? free_ino[--freed] : (xw_ino)(12 + next);
				name_of(name, next);
				MUST(!xw_dir_insert(&d, name, strlen(name), ino[next], 1));
				live[count++] = next++;
			} else {
				uint64_t i = (state >> 20) % count;

				name_of(name, live[i]);
				MUST(!xw_dir_delete(&d, name, strlen(name), &free_ino[freed++]));
				live[i] = live[--count];
			}
		}
		t[k] = cpu() - t[k];
		if (k)
			say_tree(&d, &s);
		dir_store_free(&s, &d);
		free(live);
		free(free_ino);
		free(ino);
	}
	printf("age to %" PRIu64 " creations: %.2f s without, %.2f s with itree: %.3f\n", n, t[0],
	       t[1], t[1] / t[0]);
	return 0;
}

/* ---- deletion ---- */

struct victim {
	uint64_t i;
	struct xw_dx_hash h;
};

static int by_victim_hash(const void *x, const void *y)
{
	const struct victim *a = x, *b = y;

	if (a->h.major != b->h.major)
		return a->h.major < b->h.major ? -1 : 1;
	return a->h.minor < b->h.minor ? -1 : a->h.minor > b->h.minor;
}

static void count_read(void *arg, xw_blk blk)
{
	lru_touch(arg, blk);
}

/*
 * Delete all names, `batch` in inode order at a time, each batch in hash order, inode tables with
 * each name; or (apart) behind the names of each batch, in their own order, as a tool can that
 * deletes many at once.
 */
static void delete_by(uint64_t n, uint64_t batch, bool apart, unsigned share, const char *what)
{
	const uint64_t tables = xw_div_up(n, 4096 / 256);
	struct xw_dir_format f = format(true);
	struct victim *v = malloc(n * sizeof(*v));
	struct dir_store s;
	struct lru c;
	struct xw_dir d;
	char name[64];
	double t;

	MUST(v);
	dir_store_init(&s, &f, 1, &d);
	for (uint64_t i = 0; i < n; i++) {
		name_of(name, i);
		MUST(!xw_dir_insert(&d, name, strlen(name), (xw_ino)(12 + i), 1));
		v[i].i = i;
		MUST(!xw_dx_hash(f.hash_version, f.hash_seed, name, strlen(name), &v[i].h));
	}
	MUST(!xw_dir_flush(&d));
	for (uint64_t i = 0; i < n; i += batch)
		qsort(v + i, XW_MIN(batch, n - i), sizeof(*v), by_victim_hash);
	lru_init(&c, (uint32_t)(tables * share / 100));
	s.on_read = count_read;
	s.on_read_arg = &c;
	d.tree.stats = (struct xw_itree_stats){0};
	t = now();
	for (uint64_t i = 0; i < n; i++) {
		name_of(name, v[i].i);
		if (!apart)
			lru_touch(&c, UINT64_C(1) << 40 | v[i].i / 16);
		MUST(!xw_dir_delete(&d, name, strlen(name), NULL));
		if (apart && (i + 1 == n || (i + 1) % batch == 0))
			for (uint64_t k = i / batch * batch; k <= i; k++)
				lru_touch(&c, UINT64_C(1) << 40 | k / 16);
	}
	printf("delete %" PRIu64 ", cache %u %%, %s: %" PRIu64
	       " blocks read, %.1f s; parents changed "
	       "in %.2f %%\n",
	       n, share, what, c.reads, now() - t,
	       100.0 * (double)d.tree.stats.parents / (double)d.tree.stats.deletes);
	lru_free(&c);
	free(v);
	dir_store_free(&s, &d);
}

int main(int argc, char **argv)
{
	uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 0) : 0;

	if (argc > 2 && !strcmp(argv[1], "tar"))
		return make_tar(n, argc > 3 ? (unsigned)atoi(argv[3]) : 0);
	if (argc > 3 && !strcmp(argv[1], "walk"))
		return walk(argv[2], argv[3]);
	if (argc > 2 && !strcmp(argv[1], "create"))
		return create(n);
	if (argc > 2 && !strcmp(argv[1], "age"))
		return age(n);
	if (argc > 2 && !strcmp(argv[1], "delete")) {
		delete_by(n, n, false, 10, "hash order");
		delete_by(n, 1, false, 10, "itree order");
		delete_by(n, XW_MAX(n / 8, 1u), true, 10, "an eighth of the itree at a time");
		return 0;
	}
	fprintf(stderr, "usage: bench_itree tar|walk|create|age|delete ...; see its source\n");
	return 2;
}
