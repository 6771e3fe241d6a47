// SPDX-License-Identifier: MIT
/*
 * Rewrites an extent tree from its valid runs, in the blocks of the old one.
 *
 * These are always sufficient: no old node held more entries than a new one can, and no run is
 * split. Nodes are filled from the left, each level from the one below it.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "inodes.h"

struct tree {
	struct fsck_look *l;
	struct xw_extent_idx *up; /* index entries for the level that was written last */
	size_t n;
	size_t used; /* number of map blocks used */
	uint32_t seed;
	uint8_t *block;
};

/* Fill a node with entries [first, first + n) of the level below it: t->up, or runs at depth 0. */
static void fill(const struct tree *t, uint8_t *node, size_t first, size_t n, unsigned max,
		 unsigned depth)
{
	const struct xw_map_run *run = t->l->map.runs.v;

	xw_extent_hdr_encode(node, &(struct xw_extent_hdr){.entries = (uint16_t)n,
							   .max = (uint16_t)max,
							   .depth = (uint16_t)depth});
	for (size_t i = 0; i < n; i++) {
		const struct xw_map_run *r = &run[first + i];
		const struct xw_extent e = {(uint32_t)r->lblk, (uint32_t)r->len, r->pblk,
					    r->unwritten};

		if (depth)
			xw_extent_idx_encode(node, (unsigned)i, &t->up[first + i]);
		else
			xw_extent_leaf_encode(node, (unsigned)i, &e);
	}
}

/* Write one level of nodes for n entries: their index entries replace those in t->up. */
static int write_level(struct tree *t, size_t n, unsigned depth)
{
	struct fsck_look *l = t->l;
	const uint32_t bs = l->f->img->block_size;
	const unsigned max = xw_extent_node_max(bs);
	size_t nodes = 0;

	for (size_t at = 0; at < n; at += max, nodes++) {
		const size_t count = XW_MIN(n - at, max);
		const uint32_t lblk = depth ? t->up[at].lblk : (uint32_t)l->map.runs.v[at].lblk;
		int rc;

		if (t->used == l->map.nodes.n)
			return xw_fail(&l->f->diag, XW_ERR_INTERNAL,
				       "inode %u: no block for its extents", l->ino);
		memset(t->block, 0, bs);
		fill(t, t->block, at, count, max, depth);
		if (xw_super_has_csum(&l->f->img->sb))
			xw_extent_block_set_csum(t->block, bs, t->seed);
		t->up[nodes] = (struct xw_extent_idx){lblk, l->map.nodes.v[t->used++].pblk};
		rc = fsck_write(l->f, t->up[nodes].pblk, 1, t->block);
		if (rc)
			return rc;
	}
	t->n = nodes;
	return 0;
}

int fsck_look_rebuild(struct fsck_look *l)
{
	struct fsck_map *m = &l->map;
	auto_free uint8_t *block = malloc(l->f->img->block_size);
	auto_free struct xw_extent_idx *up = calloc(m->runs.n + 1, sizeof(*up));
	struct tree t = {.l = l, .up = up, .block = block};
	unsigned depth = 0;
	size_t n = m->runs.n;

	if (!block || !up)
		return xw_fail_nomem(&l->f->diag, "extent tree");
	t.seed = xw_image_inode_seed(l->f->img, l->ino, &l->in);
	while (n > XW_EXT_INODE_ENTRIES) {
		const int rc = write_level(&t, n, depth);

		if (rc)
			return rc;
		n = t.n;
		depth++;
	}
	memset(l->in.block, 0, sizeof(l->in.block));
	fill(&t, l->in.block, 0, n, XW_EXT_INODE_ENTRIES, depth);
	l->dirty = true;
	m->nodes.n = t.used;
	m->depth = depth;
	return 0;
}
