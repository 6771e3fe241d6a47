// SPDX-License-Identifier: MIT
/*
 * itrees of the model's directories. An itree is planned when the directory is shaped, placed after
 * the directory's leaves, and written from the names in inode order.
 *
 * Inodes are numbered in stream order, so names in the order of arrival are nearly in inode order.
 * They are copied before shaping sorts them by hash. The copies (16 bytes per name) contain what
 * planning and writing need, so that these do not access the inodes in memory.
 */
#include "config.h"

#include "encode/encode.h"

#include <stdlib.h>
#include <string.h>

#include "dir/itree_build.h"
#include "disk/dirent.h"

struct name {
	const struct xw_blink *link;
	xw_ino ino;
	uint8_t len, ftype;
};

struct xw_encode_itree {
	struct xw_itree_plan plan;
	struct xw_run *runs;
	size_t n_runs;
	uint32_t n;
	struct name names[]; /* sorted by inode, hash, name once planned */
};

/* The entry of a name; its hash is known only after the directory was shaped. */
static struct xw_itree_entry entry_of(const struct name *e)
{
	return (struct xw_itree_entry){
		.key = {.ino = e->ino, .hash = e->link->hash},
		.name_len = e->len,
		.ftype = e->ftype,
		.name = e->link->name,
	};
}

static int cmp_names(const void *x, const void *y)
{
	struct xw_itree_entry a = entry_of(x), b = entry_of(y);

	return xw_itree_entry_cmp(&a, &b);
}

struct xw_encode_itree *xw_encode_itree_gather(const struct xw_dir_entry *e, uint32_t n)
{
	struct xw_encode_itree *t = malloc(sizeof(*t) + n * sizeof(t->names[0]));

	if (!t)
		return NULL;
	memset(t, 0, sizeof(*t));
	t->n = n;
	for (uint32_t i = 0; i < n; i++)
		t->names[i] =
			(struct name){xw_blink_of(&e[i]), e[i].ino, e[i].name_len, e[i].ftype};
	return t;
}

void xw_encode_itree_free(struct xw_encode_itree *t)
{
	if (!t)
		return;
	xw_itree_plan_free(&t->plan);
	free(t->runs);
	free(t);
}

/* Sort the names, unless they are sorted already, as they are without hard links. */
static void sort_names(struct xw_encode_itree *t)
{
	xw_ino last = 0;

	for (uint32_t i = 0; i < t->n; i++) {
		const xw_ino ino = t->names[i].ino;

		if (ino < last || (ino == last && cmp_names(&t->names[i - 1], &t->names[i]) > 0)) {
			qsort(t->names, t->n, sizeof(t->names[0]), cmp_names);
			return;
		}
		last = ino;
	}
}

int xw_encode_itree_plan(const struct xw_encoder *enc, struct xw_encode_itree *t)
{
	int rc = 0;

	sort_names(t);
	xw_itree_plan_begin(&t->plan, enc->block_size);
	for (uint32_t i = 0; i < t->n && !rc; i++) {
		const struct name *e = &t->names[i];
		const struct xw_itree_key key = {e->ino, e->link->hash};

		rc = xw_itree_plan_add(&t->plan, &key, e->len);
	}
	return rc ? rc : xw_itree_plan_end(&t->plan);
}

void xw_encode_itree_set_runs(struct xw_encode_itree *t, struct xw_run *runs, size_t n)
{
	t->runs = runs;
	t->n_runs = n;
}

uint64_t xw_encode_itree_blocks(const struct xw_binode *dir)
{
	return dir->dir->itree ? dir->dir->itree->plan.blocks : 0;
}

xw_blk xw_encode_itree_root(const struct xw_binode *dir)
{
	return dir->dir->itree ? dir->dir->itree->runs[0].start : 0;
}

int xw_encode_itree_emit(const struct xw_encoder *enc, const struct xw_binode *dir,
			 int (*put)(void *arg, xw_blk blk, const void *block), void *arg)
{
	const struct xw_encode_itree *t = dir->dir->itree;
	struct xw_itree_writer w = {
		.plan = &t->plan,
		.runs = t->runs,
		.n_runs = t->n_runs,
		.dir = dir->ino,
		.generation = xw_encode_generation(enc, dir),
		.inode_seed = xw_encode_seed(enc, dir),
		.csum = enc->dirfmt.csum,
		.put = put,
		.arg = arg,
	};
	int rc = xw_itree_write_begin(&w), end;

	for (uint32_t i = 0; i < t->n && !rc; i++) {
		struct xw_itree_entry e = entry_of(&t->names[i]);

		if (!enc->dirfmt.filetype)
			e.ftype = 0;
		rc = xw_itree_write_add(&w, &e);
	}
	end = xw_itree_write_end(&w);
	rc = rc ? rc : end;
	return rc == XW_ERR_NOMEM ? xw_fail_nomem(enc->diag, "itree node") : rc;
}
