// SPDX-License-Identifier: MIT
/*
 * Rewrites extent trees from their valid runs. Nodes outside of the inode need blocks, and a
 * block's owner is known only when all inodes have been read. So trees are rewritten when the owner
 * map is complete: first into their old nodes that no other inode claims, then into free blocks.
 * i_blocks and the usage of the round already include the new nodes.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "repairs/repairs.h"

struct tree {
	struct fsck *f;
	const struct fsck_rebuild *r;
	struct xw_extent_idx *up; /* index entries for the level that was written last */
	size_t n;
	xw_blk *blocks; /* blocks for the nodes, in the order of writing */
	size_t used; /* number of blocks used so far */
	uint32_t seed;
	uint8_t *block;
};

/* Fill a node with entries [first, first + n) of the level below it: up, or runs at depth 0. */
void fsck_map_fill(const struct xw_map_run *runs, const struct xw_extent_idx *up, uint8_t *node,
		   size_t first, size_t n, unsigned max, unsigned depth)
{
	xw_extent_hdr_encode(node, &(struct xw_extent_hdr){.entries = (uint16_t)n,
							   .max = (uint16_t)max,
							   .depth = (uint16_t)depth});
	for (size_t i = 0; i < n; i++) {
		const struct xw_map_run *r = &runs[first + i];
		const struct xw_extent e = {(uint32_t)r->lblk, (uint32_t)r->len, r->pblk,
					    r->unwritten};

		if (depth)
			xw_extent_idx_encode(node, (unsigned)i, &up[first + i]);
		else
			xw_extent_leaf_encode(node, (unsigned)i, &e);
	}
}

/* Number of nodes outside of the inode for n runs, and their levels. */
size_t fsck_map_nodes(const struct fsck *f, size_t n, unsigned *depth)
{
	const unsigned max = xw_extent_node_max(f->ses.img->block_size);
	size_t all = 0;

	for (*depth = 0; n > XW_EXT_INODE_ENTRIES; ++*depth) {
		n = xw_div_up(n, max);
		all += n;
	}
	return all;
}

/* Claim blocks for all nodes. XW_ERR_NOSPC: no free block stays claimed. */
static int take_blocks(struct fsck *f, const struct fsck_rebuild *r, xw_blk *blocks, size_t n)
{
	size_t have = 0, own;
	int rc = 0;

	for (size_t i = 0; i < r->n_nodes && have < n; i++)
		if (fsck_owns(f, FSCK_O_MAP, r->nodes[i], 1))
			blocks[have++] = r->nodes[i];
	own = have;
	while (have < n && !rc) {
		rc = fsck_claim_free(f, FSCK_O_MAP, r->runs[0].pblk, &blocks[have]);
		have += !rc;
	}
	while (rc && have > own)
		fsck_unclaim(f, FSCK_O_MAP, blocks[--have], 1);
	return rc;
}

/* Write one level of nodes for n entries: their index entries replace those in t->up. */
static int write_level(struct tree *t, size_t n, unsigned depth)
{
	const struct xw_image *img = t->f->ses.img;
	const unsigned max = xw_extent_node_max(img->block_size);
	size_t nodes = 0;

	for (size_t at = 0; at < n; at += max, nodes++) {
		const size_t count = XW_MIN(n - at, max);
		const uint32_t lblk = depth ? t->up[at].lblk : (uint32_t)t->r->runs[at].lblk;
		const xw_blk blk = t->blocks[t->used++];
		int rc;

		memset(t->block, 0, img->block_size);
		fsck_map_fill(t->r->runs, t->up, t->block, at, count, max, depth);
		if (xw_super_has_csum(&img->sb))
			xw_extent_block_set_csum(t->block, img->block_size, t->seed);
		t->up[nodes] = (struct xw_extent_idx){lblk, blk};
		rc = fsck_write(t->f, FSCK_O_MAP, blk, t->block);
		if (rc)
			return rc;
	}
	t->n = nodes;
	return 0;
}

static int write_tree(struct fsck *f, const struct fsck_rebuild *r, uint8_t *raw)
{
	unsigned depth;
	const size_t nodes = fsck_map_nodes(f, r->n, &depth);
	auto_free uint8_t *block = malloc(f->ses.img->block_size);
	auto_free struct xw_extent_idx *up = calloc(r->n + 1, sizeof(*up));
	auto_free xw_blk *blocks = calloc(nodes + 1, sizeof(*blocks));
	struct tree t = {.f = f, .r = r, .up = up, .block = block, .blocks = blocks};
	struct xw_inode in;
	size_t n = r->n;
	int rc = block && up && blocks ? fsck_inode_read(f, r->ino, &in, raw)
				       : xw_fail_nomem(&f->ses.diag, "extent tree");

	if (rc || !in.mode) /* cleared for another reason */
		return rc;
	if (!fsck_inode_may_write(f, r->ino)) /* rewritten when the contested blocks are copied */
		return 0;
	rc = take_blocks(f, r, blocks, nodes);
	if (rc) /* without free space: the next round finds the damage again, and may find space */
		return rc == XW_ERR_NOSPC ? 0 : rc;
	t.seed = xw_image_inode_seed(f->ses.img, r->ino, &in);
	for (unsigned level = 0; level < depth && !rc; level++, n = t.n)
		rc = write_level(&t, n, level);
	if (rc)
		return rc;
	in.flags |= XW_FL_EXTENTS; /* a block map becomes a tree */
	memset(in.block, 0, sizeof(in.block));
	fsck_map_fill(r->runs, up, in.block, 0, n, XW_EXT_INODE_ENTRIES, depth);
	return fsck_inode_write(f, r->ino, &in, raw);
}

static int rebuild_maps(struct fsck *f)
{
	auto_free uint8_t *raw = f->facts.rebuilds.n ? malloc(f->ses.img->inode_size) : NULL;
	int rc = raw || !f->facts.rebuilds.n ? 0 : xw_fail_nomem(&f->ses.diag, "extent trees");

	for (size_t i = 0; i < f->facts.rebuilds.n && !rc; i++)
		rc = write_tree(f, &f->facts.rebuilds.v[i], raw);
	return rc;
}

int fsck_finish_claims(struct fsck *f)
{
	int rc;

	f->facts.owners.complete = true;
	rc = rebuild_maps(f);
	return rc ? rc : fsck_write_kept(f);
}
