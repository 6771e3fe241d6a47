/* SPDX-License-Identifier: MIT */
/*
 * Bulk building of itrees, bottom-up.
 *
 * The plan records the first key and the fill of each leaf, 16 bytes per leaf: enough to write the
 * whole index before the first leaf, so that nodes are written in one forward pass, and a reader
 * that descends once and then walks the leaves reads forward, too.
 *
 * Nodes are filled completely, leaves next-fit in key order. This suits images that are written
 * once and read often. Insertion into full nodes splits them in halves.
 */
#include "config.h"

#include "dir/itree_build.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

void xw_itree_plan_begin(struct xw_itree_plan *p, uint32_t block_size)
{
	memset(p, 0, sizeof(*p));
	p->block_size = block_size;
}

void xw_itree_plan_free(struct xw_itree_plan *p)
{
	xw_vec_free(&p->leaves);
}

int xw_itree_plan_add(struct xw_itree_plan *p, const struct xw_itree_key *key, unsigned name_len)
{
	uint32_t rec_len = xw_itree_rec_len(name_len);
	struct xw_itree_leaf *leaf = p->leaves.n ? &p->leaves.v[p->leaves.n - 1] : NULL;

	if (!leaf || leaf->used + rec_len > xw_itree_cap(p->block_size)) {
		/* the hash is omitted where the inode changes: see itree_change.c */
		struct xw_itree_leaf fresh = {
			.first = *key,
			.sep_hash = key->ino == p->last ? key->hash : 0,
		};

		if (p->leaves.n == UINT32_MAX || xw_vec_push(&p->leaves, fresh))
			return XW_ERR_NOMEM;
		leaf = &p->leaves.v[p->leaves.n - 1];
	}
	leaf->used = (uint16_t)(leaf->used + rec_len);
	leaf->count++;
	p->last = key->ino;
	return 0;
}

static uint32_t fanout(const struct xw_itree_plan *p)
{
	return xw_itree_cap(p->block_size) / XW_ITREE_IDX;
}

int xw_itree_plan_end(struct xw_itree_plan *p)
{
	uint64_t width = XW_MAX(p->leaves.n, 1u), sum = 0;

	for (p->levels = 0;; width = xw_div_up(width, fanout(p))) {
		if (p->levels == XW_ITREE_LEVELS)
			return XW_ERR_LIMIT;
		p->nodes[p->levels++] = (uint32_t)width;
		sum += width;
		if (width == 1)
			break;
	}
	if (sum > UINT32_MAX)
		return XW_ERR_LIMIT;
	p->blocks = (uint32_t)sum;
	return 0;
}

/* Block number of the i-th node: index levels from the root down, then leaves. */
static xw_blk node_blk(const struct xw_itree_writer *w, unsigned level, uint64_t i)
{
	for (unsigned l = w->plan->levels - 1; l > level; l--)
		i += w->plan->nodes[l];
	for (size_t k = 0; k < w->n_runs; k++) {
		if (i < w->runs[k].len)
			return w->runs[k].start + i;
		i -= w->runs[k].len;
	}
	return 0;
}

/* Complete the header and checksum of the block and write it to the next location. */
static int put_node(struct xw_itree_writer *w, unsigned level, uint32_t count, uint32_t used)
{
	const uint32_t bs = w->plan->block_size;
	struct xw_itree_hdr h = {
		.level = (uint8_t)level,
		.count = (uint16_t)count,
		.used = (uint16_t)used,
		.dir = w->dir,
		.generation = w->generation,
	};
	int rc;

	while (w->run < w->n_runs && w->at == w->runs[w->run].len) {
		w->run++;
		w->at = 0;
	}
	if (w->run == w->n_runs)
		return XW_ERR_INTERNAL;
	h.self = w->runs[w->run].start + w->at++;
	xw_itree_hdr_encode(w->block, bs, &h);
	xw_itree_set_csum(w->block, bs, w->csum, w->inode_seed);
	rc = w->put(w->arg, h.self, w->block);
	memset(w->block, 0, bs);
	return rc;
}

/* The separator of node i of a level. On the leftmost path it is 0. */
static struct xw_itree_key separator(const struct xw_itree_plan *p, unsigned level, uint64_t i)
{
	if (!i)
		return (struct xw_itree_key){0};
	for (; level; level--)
		i *= fanout(p);
	return (struct xw_itree_key){p->leaves.v[i].first.ino, p->leaves.v[i].sep_hash};
}

/* Bytes used in node i of a level. */
static uint32_t node_used(const struct xw_itree_plan *p, unsigned level, uint64_t i)
{
	uint64_t first = i * fanout(p);

	if (!level)
		return p->leaves.n ? p->leaves.v[i].used : 0;
	return (uint32_t)XW_MIN(p->nodes[level - 1] - first, fanout(p)) * XW_ITREE_IDX;
}

static int put_index(struct xw_itree_writer *w, unsigned level, uint32_t i)
{
	const struct xw_itree_plan *p = w->plan;
	const uint32_t used = node_used(p, level, i), count = used / XW_ITREE_IDX;
	const uint64_t first = (uint64_t)i * fanout(p);
	xw_blk blk = 0;

	for (uint32_t k = 0; k < count; k++) {
		struct xw_itree_idx e = {
			.key = separator(p, level - 1, first + k),
			.quartile = xw_itree_quartile(xw_itree_cap(p->block_size),
						      node_used(p, level - 1, first + k)),
		};

		/* With one run, the usual case, children are adjacent: no search for each. */
		blk = k && w->n_runs == 1 ? blk + 1 : node_blk(w, level - 1, first + k);
		e.blk = blk;
		xw_itree_idx_encode(w->block, k, &e);
	}
	return put_node(w, level, count, used);
}

int xw_itree_write_begin(struct xw_itree_writer *w)
{
	const struct xw_itree_plan *p = w->plan;

	w->run = 0;
	w->at = 0;
	w->leaf = w->count = w->used = 0;
	w->block = calloc(1, p->block_size);
	if (!w->block)
		return XW_ERR_NOMEM;
	for (unsigned level = p->levels; level-- > 1;) {
		for (uint32_t i = 0; i < p->nodes[level]; i++) {
			int rc = put_index(w, level, i);

			if (rc)
				return rc;
		}
	}
	return 0;
}

int xw_itree_write_add(struct xw_itree_writer *w, const struct xw_itree_entry *e)
{
	const struct xw_itree_leaf *leaf = &w->plan->leaves.v[w->leaf];
	int rc;

	if (w->leaf >= w->plan->leaves.n || xw_itree_rec_len(e->name_len) + w->used > leaf->used ||
	    (!w->count && xw_itree_key_cmp(&e->key, &leaf->first)))
		return XW_ERR_INTERNAL;
	w->used += xw_itree_leaf_encode(w->block, w->used, e);
	w->count++;
	if (w->used < leaf->used)
		return 0;
	rc = w->count == leaf->count ? put_node(w, 0, w->count, w->used) : XW_ERR_INTERNAL;
	w->leaf++;
	w->count = w->used = 0;
	return rc;
}

int xw_itree_write_end(struct xw_itree_writer *w)
{
	int rc = w->leaf == w->plan->leaves.n ? 0 : XW_ERR_INTERNAL;

	if (!rc && !w->plan->leaves.n)
		rc = put_node(w, 0, 0, 0);
	free(w->block);
	w->block = NULL;
	return rc;
}
