/* SPDX-License-Identifier: MIT */
/*
 * A directory listed with the inode of each name (ls -l, the first pass of tar), one way a process;
 * tests/bench/itree runs it.
 *
 *      bench_list IMAGE DIRECTORY hash|linux|sorted|itree SHARE TRACE
 *
 *   hash    what readdir on ext4 does: a leaf of the directory, the inodes of its names, the next
 *           leaf. Which leaf has which names is read beforehand and not counted.
 *   linux   the same on a machine with memory for all of it: nothing is read twice, and a missing
 *           block of an inode table comes with the 32 around it (inode_readahead_blks)
 *   sorted  no itree, inodes sorted in memory: all blocks of the directory, then its inodes by
 *           number. It is xw-export's own list (export/children.h) of a directory without itree,
 *           and what tar --sort=inode does.
 *   itree   a leaf of the itree, the inodes of its names, the next leaf
 *
 * Reads go through an LRU cache of SHARE percent of the inode table blocks that the names are in.
 * TRACE gets a line for each block read: offset and length in bytes. Printed is one JSON object:
 * first_reads is the number of blocks read when the first name and its inode are known, seconds
 * are of this machine, memory is what the resident set grew by, in KiB (hash: unknown).
 */
#include "config.h"

#include <time.h>

#include "../oracle/table_walk.h"
#include "export/children.h"
#include "names.h"
#include "table_blocks.h"

#define TRACED ((size_t)1 << 20)
#define AHEAD 32u

struct list {
	struct xw_diag diag;
	struct xw_dev *file;
	struct counted counted;
	struct xw_image *img;
	xw_ino ino;
	struct xw_inode in;
	struct table_blocks tables;
	XW_VEC(xw_blk) trace;
	struct names names; /* by hash */
	/* the result */
	uint64_t n;
	size_t first_reads;
	double began, first;
};

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* The peak since this program was loaded; ru_maxrss would begin with that of the parent. */
static long resident(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[128];
	long kib = 0;

	MUST(f);
	while (!kib && fgets(line, sizeof(line), f))
		if (!strncmp(line, "VmHWM:", 6))
			kib = strtol(line + 6, NULL, 10);
	fclose(f);
	return kib;
}

static enum counted_kind on_read(void *arg, xw_blk blk)
{
	struct list *l = arg;

	MUST(!xw_vec_push(&l->trace, blk));
	return table_blocks_has(&l->tables, blk) ? COUNTED_TABLE : COUNTED_OTHER;
}

static void on_entry(struct list *l)
{
	if (l->n++)
		return;
	l->first_reads = l->trace.n;
	l->first = now() - l->began;
}

/* ---- the names, uncounted ---- */

/* Blocks of the inode tables that the names are in. */
static uint64_t count_tables(struct list *l)
{
	uint64_t n = 0;
	xw_blk last = 0;

	qsort(l->names.a.v, l->names.a.n, sizeof(*l->names.a.v), by_ino);
	for (size_t i = 0; i < l->names.a.n; i++) {
		const xw_blk blk = table_blocks_of(&l->tables, l->names.a.v[i].ino);

		n += blk != last;
		last = blk;
	}
	qsort(l->names.a.v, l->names.a.n, sizeof(*l->names.a.v), by_hash);
	return n;
}

/* ---- the ways ---- */

static void read_block(struct list *l, xw_blk blk)
{
	uint8_t block[65536];

	MUST(!xw_dev_pread(&l->counted.dev, block, l->img->block_size, blk * l->img->block_size));
}

/* Linux reads aligned pieces of an inode table; none beyond its end. */
static void read_window(struct list *l, xw_ino ino)
{
	const xw_blk start = l->tables.start[(ino - 1) / l->img->sb.inodes_per_group];
	const xw_blk blk = table_blocks_of(&l->tables, ino), from = blk / AHEAD * AHEAD;
	const struct lru *cache = &l->counted.lru;

	if (cache->table[lru_find(cache, blk)])
		return;

	for (xw_blk b = XW_MAX(from, start); b < from + AHEAD && b < start + l->img->itable_blocks;
	     b++)
		read_block(l, b);
}

static void list_hash(struct list *l, bool ahead)
{
	for (size_t i = 0; i < l->names.a.n; i++) {
		if (!i || l->names.a.v[i].leaf != l->names.a.v[i - 1].leaf)
			read_block(l, l->names.a.v[i].leaf);
		if (ahead)
			read_window(l, l->names.a.v[i].ino);
		else
			read_block(l, table_blocks_of(&l->tables, l->names.a.v[i].ino));
		on_entry(l);
	}
}

static void list_sorted(struct list *l)
{
	struct xw_inode plain = l->in, child;
	struct xw_children c;
	struct table_walk w;
	const char *name;
	size_t len;
	xw_ino ino;

	plain.flags &= ~XW_FL_ITREE;
	MUST(!table_walk_begin(&w, l->img));
	MUST(!xw_children_open(l->img, XW_ORDER_INODE, SIZE_MAX, l->ino, &plain, NULL, &c));
	while (xw_children_next(&c, &ino, &name, &len) == 1) {
		MUST(!table_walk_inode(&w, ino, &child));
		on_entry(l);
	}
	xw_children_free(&c);
	table_walk_end(&w);
}

static void list_itree(struct list *l)
{
	struct xw_itree_iter it;
	struct xw_itree_entry e;
	struct xw_inode child;
	struct table_walk w;

	MUST(!table_walk_begin(&w, l->img));
	MUST(!xw_itree_begin(l->img, l->ino, &l->in, &it));
	while (xw_itree_next(&it, &e) == 1) {
		MUST(!table_walk_inode(&w, e.key.ino, &child));
		on_entry(l);
	}
	xw_itree_end(&it);
	table_walk_end(&w);
}

static void print(const struct list *l, const char *trace, long memory)
{
	const double seconds = now() - l->began;
	FILE *f = fopen(trace, "we");

	MUST(f);
	for (size_t i = 0; i < l->trace.n; i++)
		fprintf(f, "%" PRIu64 " %u\n", l->trace.v[i] * l->counted.bs, l->counted.bs);
	MUST(!fclose(f));
	printf("{\"names\": %" PRIu64 ", \"reads\": %zu, \"table_reads\": %" PRIu64
	       ", \"first_reads\": %zu, \"seconds\": %.6f, \"first_seconds\": %.6f, \"memory\": "
	       "%ld}\n",
	       l->n, l->trace.n, l->counted.reads[COUNTED_TABLE], l->first_reads, seconds, l->first,
	       memory);
}

int main(int argc, char **argv)
{
	uint64_t cache, n;
	struct list l = {0};
	long before;

	if (argc != 6 || !strchr("hlsi", argv[3][0])) {
		fprintf(stderr, "usage: bench_list IMAGE DIRECTORY WAY SHARE TRACE\n");
		return 2;
	}
	MUST(!xw_dev_open_file(argv[1], XW_DEV_RDONLY, &l.diag, &l.file));
	counted_init(&l.counted, l.file);
	MUST(!xw_image_open(&l.counted.dev, 0, &l.diag, &l.img));
	l.counted.bs = l.img->block_size;
	l.counted.kind = on_read;
	l.counted.arg = &l;
	table_blocks_find(&l.tables, l.img);
	MUST(!xw_path_resolve(l.img, XW_INO_ROOT, argv[2], true, &l.ino));
	MUST(!xw_image_inode(l.img, l.ino, &l.in, NULL));
	cache = 64; /* enough for those who read nothing twice */
	if (strchr("hl", argv[3][0])) {
		names_read(l.img, l.ino, &l.in, &l.names);
		MUST(l.names.a.n);
		cache = count_tables(&l) * strtoul(argv[4], NULL, 0) / 100;
	}
	n = l.names.a.n;
	xw_image_drop_cache(l.img);
	counted_start(&l.counted, cache);
	MUST(!xw_vec_reserve(&l.trace, TRACED));
	memset(l.trace.v, 1, TRACED * sizeof(*l.trace.v)); /* its pages are not to count */
	before = resident();
	l.began = now();
	switch (argv[3][0]) {
	case 'h':
	case 'l':
		list_hash(&l, argv[3][0] == 'l');
		break;
	case 's':
		list_sorted(&l);
		break;
	default:
		list_itree(&l);
	}
	MUST(!n || l.n == n);
	print(&l, argv[5], resident() - before);
	counted_stop(&l.counted);
	xw_vec_free(&l.names.a);
	xw_vec_free(&l.trace);
	table_blocks_free(&l.tables);
	xw_image_close(l.img);
	xw_dev_close(l.file);
	return 0;
}
