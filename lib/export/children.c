/* SPDX-License-Identifier: MIT */
/*
 * A directory with an itree gives its entries in inode order by itself, and they are taken from it
 * in batches; others are read whole and sorted. A damaged itree is told, and the rest comes from
 * the directory's own blocks: what has an inode number below the last one given was given.
 *
 * Inodes and subdirectories of a batch are asked of the device before they are looked at one by
 * one, so that reading them is not a chain of single waits.
 */
#include "config.h"

#include "export/children.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/ahead.h"
#include "read/dirs.h"

#define BATCH 512

int xw_children_add(struct xw_children *c, xw_ino ino, bool is_dir, const char *name, size_t len)
{
	const struct xw_child e = {
		.ino = ino,
		.name_off = (uint32_t)c->names.n,
		.name_len = (uint32_t)len,
		.is_dir = is_dir,
	};

	if (c->names.n + len > UINT32_MAX)
		return xw_fail(c->img->diag, XW_ERR_LIMIT, "%s: too many names in a directory",
			       c->img->dev->name);
	if (xw_vec_reserve(&c->names, c->names.n + len) || xw_vec_push(&c->v, e))
		return xw_fail_nomem(c->img->diag, "directory");
	memcpy(c->names.v + c->names.n, name, len);
	c->names.n += len;
	return 0;
}

static int by_ino(const void *a, const void *b)
{
	const struct xw_child *x = a, *y = b;

	if (x->ino != y->ino)
		return x->ino < y->ino ? -1 : 1;
	return x->name_off < y->name_off ? -1 : x->name_off > y->name_off;
}

static int by_name(const void *a, const void *b, void *names)
{
	const struct xw_child *x = a, *y = b;
	const char *base = names;
	int d = memcmp(base + x->name_off, base + y->name_off, XW_MIN(x->name_len, y->name_len));

	if (d)
		return d;
	if (x->name_len != y->name_len)
		return x->name_len < y->name_len ? -1 : 1;
	return by_ino(a, b);
}

/* Keep what diag says now, to be told when its turn comes. The first one stays. */
static void keep_line(struct xw_children *c, int code)
{
	struct xw_diag *d = c->img->diag;

	if (!c->code) {
		c->code = code;
		c->line = d ? strdup(d->text) : NULL;
	}
	if (d)
		xw_diag_clear(d);
}

static bool is_dots(const struct xw_dirent *e)
{
	return e->name[0] == '.' && (e->name_len == 1 || (e->name_len == 2 && e->name[1] == '.'));
}

/* What was given of an itree before it turned out to be damaged: by number, and the names of the
 * last one. */
struct given {
	xw_ino ino;
	const struct xw_child *v;
	size_t n;
	const char *names;
};

static bool was_given(const struct given *g, const struct xw_dirent *e)
{
	if (e->ino != g->ino)
		return e->ino < g->ino;
	for (size_t i = 0; i < g->n; i++) {
		if (g->v[i].ino == e->ino && g->v[i].name_len == e->name_len &&
		    !memcmp(g->names + g->v[i].name_off, e->name, e->name_len))
			return true;
	}
	return false;
}

/* All that the directory's blocks say. */
static int read_blocks(struct xw_children *c, const struct xw_inode *inode, const uint8_t *raw,
		       const struct given *given)
{
	struct xw_dir_iter it;
	struct xw_dirent e;
	int rc = xw_dir_begin(c->img, c->ino, inode, raw, &it);

	if (rc && rc != XW_ERR_NOMEM)
		keep_line(c, rc);
	while (rc != XW_ERR_NOMEM && (rc = xw_dir_next(&it, &e, NULL))) {
		if (rc > 0)
			rc = is_dots(&e) || was_given(given, &e)
				     ? 0
				     : xw_children_add(c, e.ino, e.ftype == XW_FT_DIR, e.name,
						       e.name_len);
		if (rc < 0 && rc != XW_ERR_NOMEM)
			keep_line(c, rc);
	}
	xw_dir_end(&it);
	if (rc == XW_ERR_NOMEM)
		return rc;
	if (c->v.n && c->order == XW_ORDER_NAME)
		qsort_r(c->v.v, c->v.n, sizeof(*c->v.v), by_name, c->names.v);
	else if (c->v.n)
		qsort(c->v.v, c->v.n, sizeof(*c->v.v), by_ino);
	return 0;
}

/* ---- itree ---- */

static void close_itree(struct xw_children *c)
{
	if (c->itree)
		xw_itree_end(c->itree);
	free(c->itree);
	c->itree = NULL;
}

/* The itree failed: go on with the directory's blocks. */
static int fall_back(struct xw_children *c)
{
	struct xw_children old = *c;
	struct given given = {.v = old.v.v, .n = old.v.n, .names = old.names.v};
	uint8_t *raw = malloc(c->img->inode_size);
	struct xw_inode inode;
	int rc;

	if (old.v.n)
		given.ino = old.v.v[old.v.n - 1].ino;
	close_itree(c);
	memset(&c->v, 0, sizeof(c->v));
	memset(&c->names, 0, sizeof(c->names));
	c->next = c->fetched = 0;
	rc = raw ? xw_image_inode(c->img, c->ino, &inode, raw)
		 : xw_fail_nomem(c->img->diag, "inode");
	if (!rc)
		rc = read_blocks(c, &inode, raw, &given);
	else if (rc != XW_ERR_NOMEM)
		keep_line(c, rc);
	xw_vec_free(&old.v);
	xw_vec_free(&old.names);
	free(raw);
	return rc == XW_ERR_NOMEM ? rc : 0;
}

/* All of v was given: forget it, but for the names of its last inode, and take the next batch. */
static int next_batch(struct xw_children *c)
{
	const xw_ino last = c->v.n ? c->v.v[c->v.n - 1].ino : 0;
	struct xw_itree_entry e;
	size_t keep = c->v.n, base;
	int rc = 1;

	if (c->broken)
		return fall_back(c);
	while (keep && c->v.v[keep - 1].ino == last)
		keep--;
	base = keep < c->v.n ? c->v.v[keep].name_off : c->names.n;
	for (size_t i = keep; i < c->v.n; i++) {
		c->v.v[i - keep] = c->v.v[i];
		c->v.v[i - keep].name_off -= (uint32_t)base;
	}
	if (c->names.n > base)
		memmove(c->names.v, c->names.v + base, c->names.n - base);
	c->names.n -= base;
	c->v.n -= keep;
	c->next = c->fetched = c->v.n;
	for (unsigned i = 0; i < BATCH && rc == 1; i++) {
		rc = xw_itree_next(c->itree, &e);
		if (rc == 1 &&
		    xw_children_add(c, e.key.ino, e.ftype == XW_FT_DIR, e.name, e.name_len))
			return XW_ERR_NOMEM;
	}
	if (rc < 0) {
		keep_line(c, rc);
		c->broken = true;
	} else if (!rc) {
		close_itree(c);
	}
	return 0;
}

/* 1: the entries come from the itree; 0: it has none, or a damaged one (which is kept to be told).
 */
static int open_itree(struct xw_children *c, const struct xw_inode *inode)
{
	int rc;

	c->itree = malloc(sizeof(*c->itree));
	if (!c->itree)
		return xw_fail_nomem(c->img->diag, "itree");
	rc = xw_itree_begin(c->img, c->ino, inode, c->itree);
	if (!rc)
		return 1;
	close_itree(c);
	if (rc == XW_ERR_NOMEM)
		return rc;
	if (rc != XW_ERR_NOTFOUND)
		keep_line(c, rc);
	return 0;
}

/* ---- the list ---- */

int xw_children_open(struct xw_image *img, enum xw_export_order order, bool may_stream, xw_ino ino,
		     const struct xw_inode *inode, const uint8_t *raw, struct xw_children *c)
{
	const struct given none = {0};
	int rc = 0;

	*c = (struct xw_children){.img = img, .order = order, .ino = ino};
	if (may_stream && order != XW_ORDER_NAME)
		rc = open_itree(c, inode);
	if (!rc)
		rc = read_blocks(c, inode, raw, &none);
	return XW_MIN(rc, 0);
}

/* Hints for the next batch: the inodes, and the blocks of the subdirectories among them. */
static void fetch(struct xw_children *c)
{
	const size_t end = XW_MIN(c->v.n, c->next + BATCH);
	struct xw_ahead a;

	c->fetched = end;
	if (end - c->next < 2)
		return;
	xw_ahead_begin(c->img, &a);
	for (size_t i = c->next; i < end; i++)
		xw_ahead_inode(&a, c->v.v[i].ino);
	xw_ahead_end(&a);
	xw_ahead_begin(c->img, &a);
	for (size_t i = c->next; i < end; i++) {
		if (c->v.v[i].is_dir)
			xw_ahead_directory(&a, c->v.v[i].ino);
	}
	xw_ahead_end(&a);
}

int xw_children_next(struct xw_children *c, xw_ino *ino, const char **name, size_t *len)
{
	const struct xw_child *e;
	int rc;

	while (c->next == c->v.n && c->itree) {
		rc = next_batch(c);
		if (rc)
			return rc;
	}
	if (c->code) {
		rc = xw_fail(c->img->diag, c->code, "%s", c->line ? c->line : "");
		c->code = 0;
		return rc;
	}
	if (c->next == c->v.n)
		return 0;
	if (c->next == c->fetched)
		fetch(c);
	e = &c->v.v[c->next++];
	*ino = e->ino;
	*name = c->names.v + e->name_off;
	*len = e->name_len;
	return 1;
}

bool xw_children_none(const struct xw_children *c)
{
	return !c->v.n && !c->code && !c->itree;
}

int xw_children_hide(struct xw_children *c, const char *why)
{
	char line[256];

	if (xw_children_none(c))
		return 0;
	snprintf(line, sizeof(line), "%.100s: inode %" PRIu32 ": %s", c->img->dev->name, c->ino,
		 why);
	close_itree(c);
	c->v.n = c->next = 0;
	c->code = XW_ERR_UNSUPPORTED;
	free(c->line);
	c->line = strdup(line);
	return c->line ? 0 : xw_fail_nomem(c->img->diag, "directory");
}

void xw_children_free(struct xw_children *c)
{
	close_itree(c);
	xw_vec_free(&c->v);
	xw_vec_free(&c->names);
	free(c->line);
	c->line = NULL;
}
