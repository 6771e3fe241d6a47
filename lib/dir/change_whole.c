/* SPDX-License-Identifier: MIT */
/*
 * Whole directories through the handle: every entry, and an itree built for one that has none.
 *
 * Building does not go through the cache, which keeps what a change touches until its end: entries
 * are collected leaf by leaf, and nodes written as they are made, to blocks that nobody refers to
 * before dx_root does. Only dx_root is part of the change.
 */
#include "config.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/auto.h"
#include "dir/change_internal.h"
#include "dir/itree_build.h"

/* Leaves visited between two chances for the cache to let go of blocks. */
#define LEAVES_AT_ONCE 64u

typedef int each_fn(void *arg, const struct xw_dirent *e);

static int each_in_block(struct xw_dir *d, uint32_t lblk, each_fn *each, void *arg)
{
	struct xw_dbuf *leaf;
	struct xw_dirent e;
	int ret = xw_dir_block(d, lblk, XW_DBUF_LEAF, &leaf);

	for (uint32_t off = 0; off < xw_dir_room(d) && !ret; off += e.rec_len) {
		ret = xw_dirent_decode(leaf->data, xw_dir_room(d), off, &e);
		if (!ret && e.ino)
			ret = each(arg, &e);
	}
	return ret;
}

static int each_dot(struct xw_dir *d, each_fn *each, void *arg)
{
	struct xw_dbuf *root;
	struct xw_dirent e;
	int ret = xw_dir_block(d, 0, XW_DBUF_ROOT, &root);

	for (uint32_t off = 0; off <= 12 && !ret; off += 12) {
		ret = xw_dirent_decode(root->data, d->f.block_size, off, &e);
		if (!ret)
			ret = each(arg, &e);
	}
	return ret;
}

/* The blocks with entries, in order; malloc'd. */
static int entry_blocks(struct xw_dir *d, uint32_t **lblks, size_t *n)
{
	if (d->now.indexed)
		return xw_htree_leaves(d, lblks, n);
	*n = d->now.blocks;
	*lblks = malloc(*n * sizeof(**lblks));
	if (!*lblks)
		return XW_ERR_NOMEM;
	for (uint32_t i = 0; i < *n; i++)
		(*lblks)[i] = i;
	return 0;
}

int xw_dir_each(struct xw_dir *d, each_fn *each, void *arg)
{
	auto_free uint32_t *lblks = NULL;
	size_t n = 0;
	int ret = xw_dir_change_begin(d);

	if (ret)
		return ret;
	ret = entry_blocks(d, &lblks, &n);
	if (!ret && d->now.indexed)
		ret = each_dot(d, each, arg);
	for (size_t i = 0; i < n && !ret; i++) {
		ret = each_in_block(d, lblks[i], each, arg);
		if (!ret && i % LEAVES_AT_ONCE == LEAVES_AT_ONCE - 1) {
			ret = xw_dir_change_end(d, 0);
			if (ret)
				return ret;
			ret = xw_dir_change_begin(d);
		}
	}
	return xw_dir_change_end(d, ret);
}

int xw_dir_expand(struct xw_dir *d)
{
	struct xw_dbuf *leaf;
	uint32_t lblk;
	int ret = xw_dir_change_begin(d);

	if (ret)
		return ret;
	d->cache.why = "an index, whose leaves its blocks are";
	ret = d->now.indexed ? XW_ERR_UNSUPPORTED : xw_dir_append(d, XW_DBUF_LEAF, &lblk, &leaf);
	return xw_dir_change_end(d, ret);
}

/* ---- building an itree ---- */

struct collect {
	struct xw_dir *d;
	struct xw_arena names;
	XW_VEC(struct xw_itree_entry) v;
};

static int collect_one(void *arg, const struct xw_dirent *e)
{
	struct collect *c = arg;
	struct xw_itree_entry t = {.key.ino = e->ino, .name_len = e->name_len, .ftype = e->ftype};
	struct xw_dx_hash hash;
	int ret;

	if (xw_name_is_dots(e->name, e->name_len))
		return 0;
	ret = xw_dx_hash(c->d->hash_version, c->d->f.hash_seed, e->name, e->name_len, &hash);
	if (ret)
		return ret;
	t.name = xw_arena_dup(&c->names, e->name, e->name_len);
	if (!t.name)
		return XW_ERR_NOMEM;
	t.key.hash = hash.major;
	return xw_vec_push(&c->v, t);
}

static int cmp_entries(const void *a, const void *b)
{
	return xw_itree_entry_cmp(a, b);
}

static int plan(struct collect *c, struct xw_itree_plan *p)
{
	int ret = 0;

	if (c->v.n)
		qsort(c->v.v, c->v.n, sizeof(*c->v.v), cmp_entries);
	xw_itree_plan_begin(p, c->d->f.block_size);
	for (size_t i = 0; i < c->v.n && !ret; i++) {
		if (i && cmp_entries(&c->v.v[i - 1], &c->v.v[i]) == 0)
			return xw_dir_corrupt(c->d, "a name is there twice");
		ret = xw_itree_plan_add(p, &c->v.v[i].key, c->v.v[i].name_len);
	}
	return ret ? ret : xw_itree_plan_end(p);
}

struct runs {
	XW_VEC(struct xw_run) v;
};

/* As consecutive as the allocator gives them. */
static int take_blocks(struct xw_dir *d, uint32_t n, struct runs *runs)
{
	xw_blk goal = d->map.v[d->now.blocks - 1] + 1;
	int ret = 0;

	for (uint32_t i = 0; i < n && !ret; i++) {
		struct xw_run *last = runs->v.n ? &runs->v.v[runs->v.n - 1] : NULL;
		struct xw_run one = {.len = 1};

		ret = xw_dcache_reserve(&d->cache, goal, &one.start);
		if (ret)
			break;
		goal = one.start + 1;
		if (last && last->start + last->len == one.start)
			last->len++;
		else
			ret = xw_vec_push(&runs->v, one);
	}
	return ret;
}

static int put_node(void *arg, xw_blk blk, const void *block)
{
	struct xw_dir *d = arg;

	d->cache.writes++;
	return d->cache.io.write(d->cache.io.arg, blk, block);
}

static int write_nodes(struct collect *c, const struct xw_itree_plan *p, const struct runs *runs)
{
	struct xw_dir *d = c->d;
	struct xw_itree_writer w = {
		.plan = p,
		.runs = runs->v.v,
		.n_runs = runs->v.n,
		.dir = d->self.ino,
		.generation = d->self.generation,
		.inode_seed = d->self.inode_seed,
		.csum = d->f.csum,
		.put = put_node,
		.arg = d,
	};
	int ret = xw_itree_write_begin(&w), end;

	for (size_t i = 0; i < c->v.n && !ret; i++)
		ret = xw_itree_write_add(&w, &c->v.v[i]);
	end = xw_itree_write_end(&w);
	if (ret || end)
		return ret ? ret : end;
	d->tree.root = xw_itree_writer_root(&w);
	d->now.itree = true;
	return 0;
}

static int build(struct collect *c)
{
	struct xw_itree_plan p = {0};
	struct runs runs = {0};
	int ret = plan(c, &p);

	if (!ret)
		ret = xw_htree_make_slot(c->d);
	if (!ret)
		ret = take_blocks(c->d, p.blocks, &runs);
	if (!ret)
		ret = write_nodes(c, &p, &runs);
	xw_vec_free(&runs.v);
	xw_itree_plan_free(&p);
	return ret;
}

int xw_dir_itree_build(struct xw_dir *d)
{
	struct collect c = {.d = d};
	int ret;

	if (d->now.itree || !d->now.indexed)
		return d->now.itree ? 0 : XW_ERR_LIMIT;
	ret = xw_dir_each(d, collect_one, &c);
	if (!ret)
		ret = xw_dir_change_begin(d);
	if (!ret) {
		ret = build(&c);
		/* that it can have none is an answer, not a failure */
		if (ret == XW_ERR_LIMIT)
			ret = xw_dir_change_end(d, XW_ERR_NOTFOUND) == XW_ERR_NOTFOUND
				      ? XW_ERR_LIMIT
				      : XW_ERR_STATE;
		else
			ret = xw_dir_change_end(d, ret);
	}
	xw_vec_free(&c.v);
	xw_arena_free(&c.names);
	return ret;
}
