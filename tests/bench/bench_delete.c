/* SPDX-License-Identifier: MIT */
/*
 * Blocks that are read to remove the names of a large directory, or the whole of it, counted.
 *
 *      bench_delete IMAGE LABEL [SHARE]        of /big; a cache of SHARE % instead of 2, 10 and 25
 *
 * Beside an LRU cache that holds a share of the directory's inode table blocks there is as good as
 * none: the directory's handle keeps a block, and what the image's handle has read is forgotten
 * between two names. The image is what it was afterwards: changes are held in memory, above which
 * is counted. (The tools' own changes are held there, too, so that from a disk they read no block
 * twice that they change.)
 *
 * By the hash, which is readdir's order on ext4: a name at a time, and its inode after it; that the
 * names are known, and that tables are read again to be written, is not counted. What the library
 * does for the tools is counted whole.
 */
#include "config.h"

#include "dev/overlay.h"
#include "disk/dx_hash.h"
#include "read/dirs.h"
#include "table_blocks.h"
#include "tree/image.h"
#include "edit/dir.h"
#include "edit/edit.h"
#include "xattr/intern.h"
#include "xattr/share.h"

static const unsigned shares[] = {2, 10, 25};

struct name {
	xw_ino ino;
	struct xw_dx_hash h;
	uint8_t len;
	char *name;
};

struct bench {
	const char *label;
	struct xw_diag diag;
	struct xw_dev *file;
	uint64_t table_blocks; /* that hold the directory's inodes */
	struct name *names;
	size_t n;
	/* one removal */
	struct xw_dev *overlay;
	struct counted counted;
	struct xw_update *u;
	struct table_blocks tables;
	xw_ino big;
	/* of an import */
	struct xw_tree tree;
	struct xw_tree_image image;
	struct xw_itree_stats stats; /* where each name went alone */
};

static enum counted_kind kind_of(void *arg, xw_blk blk)
{
	const struct bench *b = arg;

	return table_blocks_has(&b->tables, blk) ? COUNTED_TABLE : COUNTED_OTHER;
}

/* The image opened for change, with its itrees or without. */
static void begin(struct bench *b, bool itree)
{
	const struct xw_update_opts opts = {
		.now = 1700000000, .mb = {-1, -1, -1, -1, -1, -1}, .jobs = 1};
	uint64_t dropped;

	MUST(!xw_overlay_open(b->file, 4096, &b->diag, &b->overlay));
	counted_init(&b->counted, b->overlay);
	MUST(!xw_update_begin(&b->counted.dev, &opts, &b->diag, &b->u));
	MUST(b->u->img->block_size == 4096);
	b->counted.bs = 4096;
	b->counted.kind = kind_of;
	b->counted.arg = b;
	table_blocks_find(&b->tables, b->u->img);
	MUST(!xw_path_resolve(b->u->img, XW_INO_ROOT, "/big", true, &b->big));
	if (itree)
		return;
	MUST(!xw_update_itree_drop(b->u, &dropped) && dropped && !xw_update_flush(b->u));
}

static void end(struct bench *b)
{
	struct xw_xintern *intern = b->u->place.intern;
	struct xw_share *share = b->u->place.share;

	table_blocks_free(&b->tables);
	xw_update_close(b->u);
	xw_xintern_free(intern);
	xw_share_free(share);
	xw_tree_image_free(&b->image);
	xw_tree_free(&b->tree);
	b->file = xw_overlay_detach(b->overlay);
}

/* ---- the names ---- */

static int by_hash(const void *x, const void *y)
{
	const struct name *a = x, *b = y;

	if (a->h.major != b->h.major)
		return a->h.major < b->h.major ? -1 : 1;
	return a->h.minor < b->h.minor ? -1 : a->h.minor > b->h.minor;
}

static int by_ino(const void *x, const void *y)
{
	const struct name *a = x, *b = y;

	return a->ino < b->ino ? -1 : a->ino > b->ino;
}

static int add_name(void *arg, const struct xw_dirent *e)
{
	struct bench *b = arg;
	const struct xw_dir_format *f = &b->u->place.enc.dirfmt;
	struct name *n;

	if (e->name[0] == '.')
		return 0;
	if (!(b->n & (b->n + 1))) {
		b->names = realloc(b->names, 2 * (b->n + 1) * sizeof(*b->names));
		MUST(b->names);
	}
	n = &b->names[b->n++];
	*n = (struct name){.ino = e->ino, .len = e->name_len};
	n->name = strndup(e->name, e->name_len);
	MUST(n->name && !xw_dx_hash(f->hash_version, f->hash_seed, n->name, n->len, &n->h));
	return 0;
}

static void read_names(struct bench *b)
{
	struct xw_update_dir ud;
	xw_blk last = 0;

	begin(b, true);
	MUST(!xw_update_dir_begin(b->u, b->big, &ud) && !xw_dir_each(&ud.d, add_name, b));
	xw_update_dir_end(&ud);
	qsort(b->names, b->n, sizeof(*b->names), by_ino);
	for (size_t i = 0; i < b->n; i++) {
		const xw_blk blk = table_blocks_of(&b->tables, b->names[i].ino);

		b->table_blocks += blk != last;
		last = blk;
	}
	end(b);
}

/* ---- ways to remove them ---- */

static void one_by_one(struct bench *b)
{
	struct xw_update_dir ud;

	MUST(!xw_update_dir_begin(b->u, b->big, &ud));
	ud.d.cache.max = 1;
	for (size_t i = 0; i < b->n; i++) {
		MUST(!xw_dir_delete(&ud.d, b->names[i].name, b->names[i].len, NULL));
		xw_image_drop_cache(b->u->img);
		MUST(!xw_update_kill(b->u, b->names[i].ino, true));
	}
	b->stats = ud.d.tree.stats;
	xw_update_dir_end(&ud);
}

static void singly_by_hash(struct bench *b)
{
	qsort(b->names, b->n, sizeof(*b->names), by_hash);
	one_by_one(b);
}

static void singly_by_ino(struct bench *b)
{
	qsort(b->names, b->n, sizeof(*b->names), by_ino);
	one_by_one(b);
}

/* Names of one directory, and all below them, as xw-debugfs removes them in one request. */
static void remove_names(struct bench *b, xw_ino dir, struct xw_dir_victim *v, size_t n)
{
	struct xw_removal g = {.u = b->u, .recursive = true, .keep_records = true};

	MUST(!xw_removal_from(&g, dir, v, n) && !xw_removal_run(&g));
	MUST(!xw_update_flush(b->u));
	MUST(b->u->stats.freed_inodes == b->n + (dir != b->big));
	xw_removal_free(&g);
}

/* rm /big/\*: the directory is read for what there is. */
static void rm_pattern(struct bench *b)
{
	struct xw_dir_victim *v = calloc(b->n, sizeof(*v));
	struct xw_dir_iter it;
	struct xw_inode in;
	struct xw_dirent e;
	size_t n = 0;

	MUST(v && !xw_image_inode(b->u->img, b->big, &in, NULL));
	MUST(!xw_dir_begin(b->u->img, b->big, &in, NULL, &it));
	while (xw_dir_next(&it, &e, NULL) == 1) {
		if (e.name[0] == '.')
			continue;
		MUST(n < b->n);
		v[n].name = strndup(e.name, e.name_len);
		MUST(v[n].name);
		v[n++].len = e.name_len;
	}
	xw_dir_end(&it);
	remove_names(b, b->big, v, n);
	for (size_t i = 0; i < n; i++)
		free((char *)v[i].name);
	free(v);
}

static void rm_recursive(struct bench *b)
{
	struct xw_dir_victim v = {.name = "big", .len = 3};

	remove_names(b, XW_INO_ROOT, &v, 1);
}

/* What a layer of an import does that has a whiteout of the directory, or for all that is in it. */
static void by_import(struct bench *b, bool opaque)
{
	const struct xw_xintern_opts xattrs = {.block_size = 4096, .cluster_size = 4096};
	struct xw_tree *t = &b->tree;
	struct xw_blink *big;

	MUST(!xw_share_new(4096, 1, &b->u->place.share));
	MUST(!xw_xintern_new(&xattrs, &b->u->place.intern));
	b->u->place.enc.intern = b->u->place.intern; /* where it looks up ea_inode values */
	MUST(!xw_tree_init(t, 1700000000, &b->diag));
	MUST(!xw_tree_image_init(&b->image, t, b->u->img) && !xw_tree_need(t, t->root));
	big = xw_tree_find(t, t->root, "big", 3);
	MUST(big);
	if (opaque) {
		MUST(!xw_tree_need(t, big->node));
		for (struct xw_blink *l = big->node->dir->first; l; l = l->next)
			MUST(!xw_tree_unlink(t, l));
	} else {
		MUST(!xw_tree_unlink(t, big));
	}
	MUST(!xw_update_tree(b->u, t) && !xw_update_flush(b->u));
	MUST(b->u->stats.freed_inodes == b->n + !opaque);
}

static void whiteout(struct bench *b)
{
	by_import(b, false);
}

static void opaque(struct bench *b)
{
	by_import(b, true);
}

/* ---- the table ---- */

static const struct way {
	const char *name;
	bool itree;
	void (*remove)(struct bench *b);
} ways[] = {
	{"by hash, no itree", false, singly_by_hash},
	{"by hash", true, singly_by_hash},
	{"singly, by inode", true, singly_by_ino},
	{"rm of all names, no itree", false, rm_pattern},
	{"rm of all names", true, rm_pattern},
	{"rm -r, no itree", false, rm_recursive},
	{"rm -r", true, rm_recursive},
	{"import, whiteout, no itree", false, whiteout},
	{"import, whiteout", true, whiteout},
	{"import, opaque, no itree", false, opaque},
	{"import, opaque", true, opaque},
};

static void put_ratio(double of, double all, int digits, const char *unit)
{
	if (of > 0 && all > 0)
		printf(" %.*f%s", digits, of / all, unit);
	printf(" |");
}

static void row(struct bench *b, const struct way *w, unsigned share, uint64_t hash[2])
{
	double all;

	begin(b, w->itree);
	xw_image_drop_cache(b->u->img);
	b->stats = (struct xw_itree_stats){0};
	counted_start(&b->counted, b->table_blocks * share / 100);
	w->remove(b);
	all = (double)(b->counted.reads[COUNTED_TABLE] + b->counted.reads[COUNTED_OTHER]);
	if (w->remove == singly_by_hash)
		hash[w->itree] = (uint64_t)all;
	printf("| %s | %u %% | %s | %" PRIu64 " | %.0f |", b->label, share, w->name,
	       b->counted.reads[COUNTED_TABLE], all);
	put_ratio((double)hash[0], all, 1, "");
	put_ratio((double)hash[1], all, 1, "");
	put_ratio(100.0 * (double)b->stats.parents, (double)b->stats.deletes, 2, " %");
	printf("\n");
	fflush(stdout);
	counted_stop(&b->counted);
	end(b);
}

int main(int argc, char **argv)
{
	struct bench b = {.label = argc > 2 ? argv[2] : ""};
	const unsigned only = argc > 3 ? (unsigned)atoi(argv[3]) : 0;

	if (argc < 3 || argc > 4) {
		fprintf(stderr, "usage: bench_delete IMAGE LABEL [SHARE]; see its source\n");
		return 2;
	}
	MUST(!xw_dev_open_file(argv[1], XW_DEV_RDONLY, &b.diag, &b.file));
	read_names(&b);
	for (unsigned k = 0; k < XW_ARRAY_SIZE(shares); k++) {
		uint64_t hash[2] = {0};

		for (unsigned i = 0; i < XW_ARRAY_SIZE(ways); i++)
			if (!only || shares[k] == only)
				row(&b, &ways[i], shares[k], hash);
	}
	for (size_t i = 0; i < b.n; i++)
		free(b.names[i].name);
	free(b.names);
	xw_dev_close(b.file);
	return 0;
}
