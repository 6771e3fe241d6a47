// SPDX-License-Identifier: MIT
/*
 * Rewrites a whole directory from a list of entries, ignoring the contents of its blocks.
 *
 * The directory keeps its blocks, in their order and without holes between them; missing blocks are
 * allocated, unneeded blocks are freed. So a rebuild on a full filesystem succeeds if the entries
 * need no more blocks than before. With bigalloc, where a block's position in its cluster depends
 * on its logical number, the directory gets new blocks instead.
 *
 * The itree is dropped; xw_update_build_itree() builds a new one from the new directory. A damaged
 * itree cannot be freed here: only its flag is cleared, and a check of the bitmaps finds its
 * blocks.
 */
#include "config.h"

#include "edit/dir.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/search.h"
#include "disk/itree.h"
#include "edit/edit_internal.h"

struct rebuild {
	struct xw_update *u;
	xw_ino ino;
	struct xw_inode in;
	uint8_t *raw;
	struct xw_update_map m; /* the new map */
	uint64_t nodes; /* blocks of the itree */
};

static void free_rebuild(struct rebuild *r)
{
	xw_update_map_end(&r->m);
	free(r->raw);
}

static int fail(struct rebuild *r, int code, const char *why)
{
	return xw_update_fail_dir(r->u, r->ino, code, why);
}

/* ---- dropping the itree ---- */

static int count_node(void *arg, xw_blk blk, unsigned level)
{
	struct rebuild *r = arg;

	(void)blk;
	(void)level;
	r->nodes++;
	return 0;
}

static int free_node(void *arg, xw_blk blk, unsigned level)
{
	struct rebuild *r = arg;

	(void)level;
	return xw_update_free_one(r->u, blk);
}

static int free_nodes(struct rebuild *r, uint64_t held)
{
	struct xw_update *u = r->u;
	int rc = xw_update_itree_nodes(u, r->ino, &r->in, free_node, r);

	if (!rc)
		rc = xw_inode_set_blocks(&r->in, &u->img->sb, held - r->nodes);
	return rc ? rc : xw_update_charge(u, &r->in, 0, -(int64_t)(r->nodes * u->img->block_size));
}

static int drop_itree(struct rebuild *r)
{
	struct xw_update *u = r->u;
	uint64_t held;
	int rc;

	if (!(r->in.flags & XW_FL_ITREE))
		return 0;
	held = xw_update_bytes(u, &r->in) / u->img->block_size;
	rc = xw_update_itree_nodes(u, r->ino, &r->in, count_node, r);
	if (!rc && held >= r->nodes)
		rc = free_nodes(r, held);
	if (rc == XW_ERR_CORRUPT || rc == XW_ERR_CHECKSUM) {
		xw_diag_clear(u->diag);
		rc = 0;
	}
	r->in.flags &= ~XW_FL_ITREE;
	return rc;
}

/* ---- blocks ---- */

/* Map the old blocks contiguously in logical order; *same: no block moved. */
static int close_holes(struct rebuild *r, uint32_t want, bool *same)
{
	struct xw_update_map old = {0};
	uint64_t at = 0;
	int rc = xw_update_map_load(r->u, r->ino, &r->in, &old);

	r->m.nodes.v = old.nodes.v;
	r->m.nodes.n = old.nodes.n;
	r->m.nodes.cap = old.nodes.cap;
	*same = true;
	for (size_t i = 0; i < old.e.n && !rc; i++) {
		const struct xw_extent *e = &old.e.v[i];
		const uint64_t keep = at < want ? XW_MIN((uint64_t)e->len, want - at) : 0;

		*same &= e->lblk == at && !e->unwritten && keep == e->len;
		if (keep)
			rc = xw_update_map_add(r->u, &r->m,
					       (struct xw_map_run){at, keep, e->pblk, false});
		if (!rc && keep < e->len)
			rc = xw_update_free(r->u, e->pblk + keep, e->len - keep);
		at += keep;
	}
	free(old.e.v);
	return rc;
}

static int add_blocks(struct rebuild *r, uint64_t have, uint64_t want)
{
	const struct xw_alloc_req req = {.goal = xw_update_map_goal(r->u, r->ino, &r->m),
					 .len = want - have};
	auto_free struct xw_run *runs = NULL;
	size_t n;
	int rc = xw_space_alloc_all(r->u->space, &req, &runs, &n);

	if (rc)
		return fail(r, rc, "no free block");
	for (size_t i = 0; i < n && !rc; i++) {
		const uint64_t len = XW_MIN(runs[i].len, want - have);

		rc = xw_update_map_add(r->u, &r->m,
				       (struct xw_map_run){have, len, runs[i].start, false});
		have += len;
	}
	return rc;
}

/* Bigalloc: free each cluster of the map once; in a damaged map blocks may be misaligned. */
static int free_clusters(struct rebuild *r)
{
	const uint32_t bits = r->u->place.enc.cluster_bits;
	XW_VEC(xw_blk) list = {0};
	struct xw_update_map old;
	uint64_t n = 0, held = xw_update_bytes(r->u, &r->in) / r->u->img->block_size;
	int rc = xw_update_map_load(r->u, r->ino, &r->in, &old);

	for (size_t i = 0; i < old.e.n && !rc; i++)
		for (xw_blk c = old.e.v[i].pblk >> bits;
		     c <= (old.e.v[i].pblk + old.e.v[i].len - 1) >> bits && !rc; c++)
			rc = xw_vec_push(&list, c) ? xw_fail_nomem(r->u->diag, "clusters") : 0;
	for (size_t i = 0; i < old.nodes.n && !rc; i++)
		rc = xw_vec_push(&list, old.nodes.v[i] >> bits)
			     ? xw_fail_nomem(r->u->diag, "clusters")
			     : 0;
	if (list.n)
		qsort(list.v, list.n, sizeof(*list.v), xw_by_u64);
	for (size_t i = 0; i < list.n && !rc; i++) {
		if (i && list.v[i] == list.v[i - 1])
			continue;
		rc = xw_update_free(r->u, list.v[i] << bits, UINT64_C(1) << bits);
		n++;
	}
	r->m.other = held > n << bits ? held - (n << bits) : 0;
	xw_vec_free(&list);
	xw_update_map_end(&old);
	return rc;
}

static int place(struct rebuild *r, uint32_t want, bool *same)
{
	uint64_t have = 0;
	int rc;

	if (r->u->place.enc.cluster_bits) {
		*same = false;
		rc = free_clusters(r);
		return rc ? rc : add_blocks(r, 0, want);
	}
	rc = close_holes(r, want, same);
	for (size_t i = 0; i < r->m.e.n; i++)
		have += r->m.e.v[i].len;
	if (rc || have >= want)
		return rc;
	*same = false;
	return add_blocks(r, have, want);
}

static int put_block(void *arg, uint32_t lblk, const void *block)
{
	const struct rebuild *r = arg;
	const uint32_t bs = r->u->img->block_size;
	const xw_blk blk = xw_update_map_at(&r->m, lblk);

	return blk ? xw_dev_pwrite(r->u->img->dev, block, bs, blk * bs) : XW_ERR_INTERNAL;
}

/* ---- the directory ---- */

/* The format of the directory: the hash of a casefolded name needs Unicode tables. */
static struct xw_dir_format format_of(const struct rebuild *r, const struct xw_update_rebuild *o)
{
	struct xw_dir_format f = r->u->place.enc.dirfmt;

	f.dir_index &= !(r->in.flags & XW_FL_CASEFOLD) && !o->no_index;
	return f;
}

static int write_dir(struct rebuild *r, const struct xw_update_rebuild *o)
{
	struct xw_update *u = r->u;
	const struct xw_dir_format f = format_of(r, o);
	const struct xw_dir_self self = {
		.ino = r->ino,
		.parent = o->parent,
		.generation = r->in.generation,
		.inode_seed = xw_image_inode_seed(u->img, r->ino, &r->in),
	};
	struct xw_dir_shape shape;
	bool same;
	int rc;

	rc = xw_dir_shape(&f, o->entries, o->n, o->min_blocks, &shape);
	if (rc)
		return fail(r, rc, "cannot be laid out");
	rc = place(r, shape.blocks, &same);
	if (!rc)
		rc = xw_dir_emit(&f, &shape, o->entries, o->n, &self, put_block, r);
	r->in.size = (uint64_t)shape.blocks * u->img->block_size;
	r->in.flags &= ~XW_FL_INDEX;
	r->in.flags |= shape.indexed ? XW_FL_INDEX : 0;
	if (!rc && r->in.flags & XW_FL_INLINE_DATA)
		rc = xw_update_drop_inline(u, r->ino, &r->in, r->raw);
	return rc || same ? rc : xw_update_map_write(u, r->ino, &r->in, &r->m);
}

int xw_update_rebuild_dir(struct xw_update *u, const struct xw_update_rebuild *o)
{
	auto_end(free_rebuild) struct rebuild r = {.u = u, .ino = o->ino};
	int rc = xw_update_get(u, o->ino, &r.in, &r.raw);

	if (rc)
		return rc;
	if ((r.in.mode & XW_S_IFMT) != XW_S_IFDIR)
		return fail(&r, XW_ERR_INPUT, "not a directory");
	if (r.in.flags & XW_FL_CASEFOLD && r.in.flags & XW_FL_ENCRYPT)
		return fail(&r, XW_ERR_UNSUPPORTED, "both encrypted and casefolded");
	rc = drop_itree(&r);
	if (!rc && !u->place.enc.cluster_bits)
		rc = xw_update_other_blocks(u, o->ino, &r.in, &r.m.other);
	if (!rc)
		rc = write_dir(&r, o);
	if (!rc)
		rc = xw_update_put(u, o->ino, &r.in, steal(r.raw));
	u->stats.rebuilt_directories += !rc;
	return rc;
}

/* ---- a directory that needs no rebuild ---- */

enum { DIFFERS = 1 };

struct comparison {
	struct rebuild *r;
	uint8_t *block; /* the existing one */
};

static int compare_block(void *arg, uint32_t lblk, const void *block)
{
	const struct comparison *c = arg;
	const uint32_t bs = c->r->u->img->block_size;
	const xw_blk blk = xw_update_map_at(&c->r->m, lblk);

	if (!blk || xw_dev_pread(c->r->u->img->dev, c->block, bs, blk * bs))
		return DIFFERS;
	return memcmp(c->block, block, bs) ? DIFFERS : 0;
}

/* The root node of the itree, to which block 0 refers; 0: none. */
static xw_blk itree_root(const struct comparison *c)
{
	const uint32_t bs = c->r->u->img->block_size;
	const xw_blk blk = xw_update_map_at(&c->r->m, 0);
	xw_blk root;

	if (!(c->r->in.flags & XW_FL_ITREE) || !blk ||
	    xw_dev_pread(c->r->u->img->dev, c->block, bs, blk * bs) ||
	    xw_itree_slot_get(c->block, bs, xw_super_has_csum(&c->r->u->img->sb), &root))
		return 0;
	return root;
}

/* Is every block from the first to the last one mapped to written blocks? */
static bool is_dense(const struct xw_update_map *m, uint32_t blocks)
{
	uint64_t at = 0;

	for (size_t i = 0; i < m->e.n; i++) {
		if (m->e.v[i].lblk != at || m->e.v[i].unwritten)
			return false;
		at += m->e.v[i].len;
	}
	return at == blocks;
}

static int compare(struct rebuild *r, const struct xw_update_rebuild *o, bool *same)
{
	const struct xw_dir_format f = format_of(r, o);
	auto_free uint8_t *block = malloc(r->u->img->block_size);
	struct comparison c = {r, block};
	struct xw_dir_shape shape;
	struct xw_dir_self self = {
		.ino = r->ino,
		.parent = o->parent,
		.generation = r->in.generation,
		.inode_seed = xw_image_inode_seed(r->u->img, r->ino, &r->in),
	};
	int rc = block ? 0 : xw_fail_nomem(r->u->diag, "directory");

	if (!rc)
		rc = xw_update_map_load(r->u, r->ino, &r->in, &r->m);
	if (!rc)
		rc = xw_dir_shape(&f, o->entries, o->n, o->min_blocks, &shape);
	if (rc || !is_dense(&r->m, shape.blocks) ||
	    r->in.size != (uint64_t)shape.blocks * r->u->img->block_size ||
	    shape.indexed != !!(r->in.flags & XW_FL_INDEX))
		return rc;
	self.itree = itree_root(&c);
	rc = xw_dir_emit(&f, &shape, o->entries, o->n, &self, compare_block, &c);
	*same = !rc;
	return rc == DIFFERS ? 0 : rc;
}

int xw_update_dir_is_built(struct xw_update *u, const struct xw_update_rebuild *o, bool *same)
{
	auto_end(free_rebuild) struct rebuild r = {.u = u, .ino = o->ino};
	int rc = xw_update_get(u, o->ino, &r.in, &r.raw);

	*same = false;
	if (rc || (r.in.mode & XW_S_IFMT) != XW_S_IFDIR || r.in.flags & XW_FL_INLINE_DATA)
		return rc;
	return compare(&r, o, same);
}
