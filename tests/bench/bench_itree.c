/* SPDX-License-Identifier: MIT */
/*
 * What itrees cost and what they save, counted. It measures, and asserts nothing; tests/bench/itree
 * runs it.
 *
 *   bench_itree tar N BYTES fresh|aged an archive of N files of BYTES: in big/ when fresh; in pool/
 *                                      for `age`, beside an empty big/
 *   bench_itree age IMAGE N            give the files of /pool names in /big, one at a time and
 *                                      some taken back, by the rule of ager.h
 *   bench_itree walk IMAGE LABEL       blocks read of /big through bounded caches
 *   bench_itree cold IMAGE stat|copy hash|itree
 *                                      seconds that takes the library
 *   bench_itree create N fresh|aged    seconds to fill a directory in memory, with and without
 *
 * The cache is LRU over block numbers and holds a share of the directory's inode table blocks; all
 * blocks that are read go through it. In the order of hashes, which is readdir's on ext4, they are
 * those that a kernel touches: for each name its leaf, its inode, its contents. In the order of
 * the itree they are what the library's reader, or the export, asks its device for.
 */
#include "config.h"

#include <sys/resource.h>
#include <time.h>

#include "../oracle/table_walk.h"
#include "../unit/dir_store.h"
#include "ager.h"
#include "counted.h"
#include "edit/dir.h"
#include "export/export.h"
#include "names.h"
#include "read/itree.h"
#include "table_blocks.h"

static const unsigned shares[] = {2, 10, 25};

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

static int make_tar(uint64_t n, unsigned bytes, bool aged)
{
	const size_t rounded = (bytes + 511u) / 512 * 512;
	char *h = calloc(1, 512 + rounded), path[64] = "big/";

	MUST(h);
	memset(h + 512, 'x', bytes);
	tar_header(h, "big/", 0, '5');
	MUST(fwrite(h, 512, 1, stdout) == 1);
	strcpy(path, aged ? "pool/" : "big/");
	for (uint64_t i = 0; i < n; i++) {
		ager_name(path + (aged ? 5 : 4), i);
		tar_header(h, path, bytes, '0');
		MUST(fwrite(h, 512 + rounded, 1, stdout) == 1);
	}
	memset(h, 0, 512);
	MUST(fwrite(h, 512, 1, stdout) == 1 && fwrite(h, 512, 1, stdout) == 1 && !fflush(stdout));
	free(h);
	return 0;
}

/* ---- an image ---- */

struct bench {
	struct xw_diag diag;
	struct xw_dev *file;
	struct counted counted;
	struct xw_image *img;
	xw_ino ino;
	struct xw_inode in; /* of /big */
	struct name *names; /* by hash */
	size_t n;
	struct table_blocks tables;
	uint8_t *is_data; /* bitmap of blocks */
	uint64_t table_blocks; /* that hold the directory's inodes */
};

static void open_image(struct bench *b, const char *path)
{
	memset(b, 0, sizeof(*b));
	MUST(!xw_dev_open_file(path, XW_DEV_RDONLY, &b->diag, &b->file));
	counted_init(&b->counted, b->file);
	MUST(!xw_image_open(&b->counted.dev, 0, &b->diag, &b->img));
	b->counted.bs = b->img->block_size;
	MUST(!xw_path_resolve(b->img, XW_INO_ROOT, "/big", true, &b->ino));
	MUST(!xw_image_inode(b->img, b->ino, &b->in, NULL));
}

static void close_image(struct bench *b)
{
	free(b->names);
	table_blocks_free(&b->tables);
	free(b->is_data);
	xw_image_close(b->img);
	xw_dev_close(b->file);
}

static void read_names(struct bench *b)
{
	struct names names = {0};

	names_read(b->img, b->ino, &b->in, &names);
	b->names = names.a.v;
	b->n = names.a.n;
}

static void find_data(struct bench *b)
{
	xw_blk last = 0;

	qsort(b->names, b->n, sizeof(*b->names), by_ino);
	b->is_data = calloc(1, b->img->sb.blocks_count / 8 + 1);
	MUST(b->is_data);
	for (size_t i = 0; i < b->n; i++) {
		const xw_blk blk = table_blocks_of(&b->tables, b->names[i].ino);
		struct xw_map_run run = {0};
		struct xw_inode in;

		b->table_blocks += blk != last;
		last = blk;
		MUST(!xw_image_inode(b->img, b->names[i].ino, &in, NULL));
		if (!in.size)
			continue;
		MUST(!xw_map_lookup(b->img, b->names[i].ino, &in, 0, &run) && run.len == 1);
		b->names[i].data = run.pblk;
		b->is_data[run.pblk / 8] |= (uint8_t)(1u << run.pblk % 8);
	}
	qsort(b->names, b->n, sizeof(*b->names), by_hash);
}

static enum counted_kind kind_of(void *arg, xw_blk blk)
{
	const struct bench *b = arg;

	if (table_blocks_has(&b->tables, blk))
		return COUNTED_TABLE;
	return b->is_data[blk / 8] >> blk % 8 & 1 ? COUNTED_DATA : COUNTED_OTHER;
}

/* ---- the walks ---- */

static void by_names(struct bench *b, bool copy)
{
	for (size_t i = 0; i < b->n; i++) {
		const struct name *e = &b->names[i];

		counted_touch(&b->counted, e->leaf);
		counted_touch(&b->counted, table_blocks_of(&b->tables, e->ino));
		if (copy && e->data)
			counted_touch(&b->counted, e->data);
	}
}

static int to_nowhere(void *arg, const void *buf, size_t len)
{
	(void)arg;
	(void)buf;
	(void)len;
	return 0;
}

static void by_itree(struct bench *b, bool copy)
{
	const struct xw_export_opts o = {.top = "big"};
	struct xw_export_stats done;
	struct table_walk tables;
	struct xw_itree_iter it;
	struct xw_itree_entry e;
	struct xw_inode child;
	size_t n = 0;
	int rc;

	if (copy) {
		MUST(!xw_image_to_tar(b->img, &o, to_nowhere, NULL, &done) &&
		     (!b->n || done.files == b->n));
		return;
	}
	MUST(!table_walk_begin(&tables, b->img));
	rc = xw_itree_begin(b->img, b->ino, &b->in, &it);
	while (!rc && (rc = xw_itree_next(&it, &e)) == 1) {
		rc = table_walk_inode(&tables, e.key.ino, &child);
		n++;
	}
	MUST(!rc && (!b->n || n == b->n));
	xw_itree_end(&it);
	table_walk_end(&tables);
}

static uint64_t all_of(const struct counted *c)
{
	return c->reads[COUNTED_TABLE] + c->reads[COUNTED_DATA] + c->reads[COUNTED_OTHER];
}

static double apart(const struct counted *c)
{
	return (double)c->travel / (double)XW_MAX(all_of(c), 1u);
}

static void walk_one(struct bench *b, const char *label, bool copy, unsigned share)
{
	const uint64_t cache = b->table_blocks * share / 100;
	struct counted h, t;

	counted_start(&b->counted, cache);
	by_names(b, copy);
	h = b->counted;
	counted_stop(&b->counted);
	/* nothing of what was read before is to help */
	xw_image_drop_cache(b->img);
	counted_start(&b->counted, cache);
	by_itree(b, copy);
	t = b->counted;
	counted_stop(&b->counted);
	printf("| %s | %s | %u %% | %" PRIu64 " | %" PRIu64 " | %.0f | %" PRIu64 " | %" PRIu64
	       " | %" PRIu64 " | %.1f | %.1f | %.1f |\n",
	       label, copy ? "copy out" : "stat", share, h.reads[COUNTED_TABLE], all_of(&h),
	       apart(&h), b->table_blocks, t.reads[COUNTED_TABLE], all_of(&t), apart(&t),
	       (double)h.reads[COUNTED_TABLE] / (double)t.reads[COUNTED_TABLE],
	       (double)all_of(&h) / (double)all_of(&t));
}

static int walk(const char *path, const char *label)
{
	struct bench b;

	open_image(&b, path);
	table_blocks_find(&b.tables, b.img);
	read_names(&b);
	find_data(&b);
	b.counted.kind = kind_of;
	b.counted.arg = &b;
	for (unsigned copy = 0; copy < 2; copy++)
		for (unsigned k = 0; k < XW_ARRAY_SIZE(shares); k++)
			walk_one(&b, label, copy, shares[k]);
	close_image(&b);
	return 0;
}

static int cold(const char *path, bool copy, bool itree)
{
	struct bench b;
	double t;

	open_image(&b, path);
	t = now();
	if (itree) {
		by_itree(&b, copy);
	} else {
		/* what readdir gives: leaves are read for it, and lie in the order of hashes */
		read_names(&b);
		qsort(b.names, b.n, sizeof(*b.names), by_hash);
	}
	for (size_t i = 0; i < b.n && !itree; i++) {
		uint8_t block[65536];
		struct xw_map_run run;
		struct xw_inode in;

		MUST(!xw_image_inode(b.img, b.names[i].ino, &in, NULL));
		if (!copy || !in.size)
			continue;
		MUST(!xw_map_lookup(b.img, b.names[i].ino, &in, 0, &run));
		MUST(!xw_dev_pread(b.file, block, b.img->block_size, run.pblk * b.img->block_size));
	}
	printf("%.3f\n", now() - t);
	close_image(&b);
	return 0;
}

/* ---- aging ---- */

static int each_pool(void *arg, const struct xw_dirent *e)
{
	xw_ino **next = arg;

	if (e->name[0] != '.')
		*(*next)++ = e->ino;
	return 0;
}

static int by_number(const void *x, const void *y)
{
	const xw_ino *a = x, *b = y;

	return *a < *b ? -1 : *a > *b;
}

static void begin_dir(struct xw_update *u, const char *path, struct xw_update_dir *ud)
{
	xw_ino ino;

	MUST(!xw_path_resolve(u->img, XW_INO_ROOT, path, true, &ino));
	MUST(!xw_update_dir_begin(u, ino, ud));
}

/* Names for the files of /pool; blocks that were freed can be taken again now and then. */
static int age_image(const char *path, uint64_t n)
{
	const struct xw_update_opts opts = {.now = 1700000000, .mb = {-1, -1, -1, -1, -1, -1}};
	xw_ino *pool = calloc(n, sizeof(*pool)), *next = pool;
	struct xw_diag diag = {0};
	struct xw_update_dir ud;
	struct xw_update *u;
	struct xw_dev *dev;
	struct ager_op op;
	struct ager a;
	char name[64];

	MUST(pool && !xw_dev_open_file(path, 0, &diag, &dev));
	MUST(!xw_update_begin(dev, &opts, &diag, &u));
	begin_dir(u, "/pool", &ud);
	MUST(!xw_dir_each(&ud.d, each_pool, &next) && next == pool + n);
	xw_update_dir_end(&ud);
	qsort(pool, n, sizeof(*pool), by_number);
	ager_init(&a, n, true);
	begin_dir(u, "/big", &ud);
	for (uint64_t i = 1; ager_next(&a, &op); i++) {
		const unsigned len = ager_name(name, op.name);

		if (op.create)
			MUST(!xw_dir_insert(&ud.d, name, len, pool[op.index], XW_FT_REG));
		else
			MUST(!xw_dir_delete(&ud.d, name, len, NULL));
		if (i % (n / 8 + 1))
			continue;
		MUST(!xw_update_dir_put(&ud));
		xw_update_dir_end(&ud);
		MUST(!xw_update_flush(u));
		begin_dir(u, "/big", &ud);
	}
	MUST(!xw_update_dir_put(&ud));
	xw_update_dir_end(&ud);
	MUST(!xw_update_flush(u) && !xw_dev_flush(dev));
	xw_update_close(u);
	xw_dev_close(dev);
	ager_free(&a);
	free(pool);
	return 0;
}

/* ---- one name at a time, in memory ---- */

static struct xw_dir_format format(bool itree, bool csum)
{
	return (struct xw_dir_format){
		.block_size = 4096,
		.filetype = true,
		.csum = csum,
		.dir_index = true,
		.large_dir = true,
		.itree = itree,
		.hash_version = XW_DX_HALF_MD4,
		.hash_seed = {1, 2, 3, 4},
	};
}

static void fill(struct xw_dir *d, struct ager *a)
{
	struct ager_op op;
	char name[64];

	while (ager_next(a, &op)) {
		const unsigned len = ager_name(name, op.name);

		if (op.create)
			MUST(!xw_dir_insert(d, name, len, 12 + op.index, XW_FT_REG));
		else
			MUST(!xw_dir_delete(d, name, len, NULL));
	}
	MUST(!xw_dir_flush(d));
}

static double create_once(uint64_t n, bool aged, bool itree, struct xw_itree_stats *stats)
{
	struct xw_dir_format f = format(itree, true);
	struct dir_store s;
	struct xw_dir d;
	struct ager a;
	double t;

	ager_init(&a, n, aged);
	dir_store_init(&s, &f, 0, &d);
	t = cpu();
	fill(&d, &a);
	t = cpu() - t;
	*stats = d.tree.stats;
	dir_store_free(&s, &d);
	ager_free(&a);
	return t;
}

static int by_seconds(const void *x, const void *y)
{
	const double *a = x, *b = y;

	return *a < *b ? -1 : *a > *b;
}

static int create(uint64_t n, const char *how)
{
	struct xw_itree_stats s, none;
	double t[2][5];

	for (unsigned i = 0; i < 10; i++)
		t[i & 1][i / 2] = create_once(n, how[0] == 'a', i & 1, i & 1 ? &s : &none);
	for (unsigned i = 0; i < 2; i++)
		qsort(t[i], 5, sizeof(t[i][0]), by_seconds);
	printf("| %" PRIu64 " %s | %.3f | %.3f | %.3f | %" PRIu64 " | %" PRIu64 " | %" PRIu64
	       " | %" PRIu64 " | %.2f %% |\n",
	       n, how, t[0][2], t[1][2], t[1][2] / t[0][2], s.appends, s.splits, s.merges, s.freed,
	       100.0 * (double)s.parents / (double)XW_MAX(s.deletes, 1u));
	return 0;
}

int main(int argc, char **argv)
{
	const char *verb = argc > 2 ? argv[1] : "";

	if (argc == 5 && !strcmp(verb, "tar"))
		return make_tar(strtoull(argv[2], NULL, 0), (unsigned)atoi(argv[3]),
				argv[4][0] == 'a');
	if (argc == 4 && !strcmp(verb, "age"))
		return age_image(argv[2], strtoull(argv[3], NULL, 0));
	if (argc == 4 && !strcmp(verb, "walk"))
		return walk(argv[2], argv[3]);
	if (argc == 5 && !strcmp(verb, "cold"))
		return cold(argv[2], argv[3][0] == 'c', argv[4][0] == 'i');
	if (argc == 4 && !strcmp(verb, "create"))
		return create(strtoull(argv[2], NULL, 0), argv[3]);
	fprintf(stderr, "usage: bench_itree tar|age|walk|cold|create ...; see its source\n");
	return 2;
}
