/* SPDX-License-Identifier: MIT */
/*
 * Whole directories through the handle: visiting every entry, and building an itree for a directory
 * without one.
 *
 * Building bypasses the cache, which holds all blocks of a change until its end: entries are
 * collected leaf by leaf, and nodes are written as they are built, to blocks that nothing refers to
 * before dx_root does. Only dx_root is part of the change.
 */
#include "config.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/auto.h"
#include "dir/change_internal.h"
#include "dir/itree_build.h"

/* Leaves visited before the cache may evict blocks again. */
#define LEAVES_AT_ONCE 64u

typedef int each_fn(void *arg, const struct xw_dirent *e);

static int each_in_block(struct xw_dir *d, uint32_t lblk, each_fn *each, void *arg)
{
	struct xw_dbuf *leaf;
	struct xw_dirent e;
	int rc = xw_dir_block(d, lblk, XW_DBUF_LEAF, &leaf);

	for (uint32_t off = 0; off < xw_dir_room(d) && !rc; off += e.rec_len) {
		rc = xw_dirent_decode(leaf->data, xw_dir_room(d), off, &e);
		if (!rc && e.ino)
			rc = each(arg, &e);
	}
	return rc;
}

static int each_dot(struct xw_dir *d, each_fn *each, void *arg)
{
	struct xw_dbuf *root;
	struct xw_dirent e;
	int rc = xw_dir_block(d, 0, XW_DBUF_ROOT, &root);

	for (uint32_t off = 0; off <= 12 && !rc; off += 12) {
		rc = xw_dirent_decode(root->data, d->f.block_size, off, &e);
		if (!rc)
			rc = each(arg, &e);
	}
	return rc;
}

/* The blocks that contain entries, in order; malloc'd. */
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
	int rc = xw_dir_change_begin(d);

	if (rc)
		return rc;
	rc = entry_blocks(d, &lblks, &n);
	if (!rc && d->now.indexed)
		rc = each_dot(d, each, arg);
	for (size_t i = 0; i < n && !rc; i++) {
		rc = each_in_block(d, lblks[i], each, arg);
		if (!rc && i % LEAVES_AT_ONCE == LEAVES_AT_ONCE - 1) {
			rc = xw_dir_change_end(d, 0);
			if (rc)
				return rc;
			rc = xw_dir_change_begin(d);
		}
	}
	return xw_dir_change_end(d, rc);
}

int xw_dir_expand(struct xw_dir *d)
{
	struct xw_dbuf *leaf;
	uint32_t lblk;
	int rc = xw_dir_change_begin(d);

	if (rc)
		return rc;
	d->cache.why = "has an index";
	rc = d->now.indexed ? XW_ERR_UNSUPPORTED : xw_dir_append(d, XW_DBUF_LEAF, &lblk, &leaf);
	return xw_dir_change_end(d, rc);
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
	int rc;

	if (xw_name_is_dots(e->name, e->name_len))
		return 0;
	rc = xw_dx_hash(c->d->hash_version, c->d->f.hash_seed, e->name, e->name_len, &hash);
	if (rc)
		return rc;
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
	int rc = 0;

	if (c->v.n)
		qsort(c->v.v, c->v.n, sizeof(*c->v.v), cmp_entries);
	xw_itree_plan_begin(p, c->d->f.block_size);
	for (size_t i = 0; i < c->v.n && !rc; i++) {
		if (i && cmp_entries(&c->v.v[i - 1], &c->v.v[i]) == 0)
			return xw_dir_corrupt(c->d, "a duplicate name");
		rc = xw_itree_plan_add(p, &c->v.v[i].key, c->v.v[i].name_len);
	}
	return rc ? rc : xw_itree_plan_end(p);
}

struct runs {
	XW_VEC(struct xw_run) v;
};

/* Allocate n blocks, as contiguous as the allocator provides them. */
static int alloc_blocks(struct xw_dir *d, uint32_t n, struct runs *runs)
{
	xw_blk goal = d->map.v[d->now.blocks - 1] + 1;
	int rc = 0;

	for (uint32_t i = 0; i < n && !rc; i++) {
		struct xw_run *last = runs->v.n ? &runs->v.v[runs->v.n - 1] : NULL;
		struct xw_run one = {.len = 1};

		rc = xw_dcache_reserve(&d->cache, goal, &one.start);
		if (rc)
			break;
		goal = one.start + 1;
		if (last && last->start + last->len == one.start)
			last->len++;
		else
			rc = xw_vec_push(&runs->v, one);
	}
	return rc;
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
	int rc = xw_itree_write_begin(&w), end;

	for (size_t i = 0; i < c->v.n && !rc; i++)
		rc = xw_itree_write_add(&w, &c->v.v[i]);
	end = xw_itree_write_end(&w);
	if (rc || end)
		return rc ? rc : end;
	d->tree.root = xw_itree_writer_root(&w);
	d->now.itree = true;
	return 0;
}

static int build(struct collect *c)
{
	struct xw_itree_plan p = {0};
	struct runs runs = {0};
	int rc = plan(c, &p);

	if (!rc)
		rc = xw_htree_make_slot(c->d);
	if (!rc)
		rc = alloc_blocks(c->d, p.blocks, &runs);
	if (!rc)
		rc = write_nodes(c, &p, &runs);
	xw_vec_free(&runs.v);
	xw_itree_plan_free(&p);
	return rc;
}

int xw_dir_itree_build(struct xw_dir *d)
{
	struct collect c = {.d = d};
	int rc;

	if (d->now.itree || !d->now.indexed)
		return d->now.itree ? 0 : XW_ERR_LIMIT;
	rc = xw_dir_each(d, collect_one, &c);
	if (!rc)
		rc = xw_dir_change_begin(d);
	if (!rc) {
		rc = build(&c);
		/* XW_ERR_LIMIT is a result, not a failure: the directory cannot have an itree */
		if (rc == XW_ERR_LIMIT)
			rc = xw_dir_change_end(d, XW_ERR_NOTFOUND) == XW_ERR_NOTFOUND
				     ? XW_ERR_LIMIT
				     : XW_ERR_INTERNAL;
		else
			rc = xw_dir_change_end(d, rc);
	}
	xw_vec_free(&c.v);
	xw_arena_free(&c.names);
	return rc;
}
