// SPDX-License-Identifier: MIT
/*
 * Builds the block map of a file in bulk: an extent tree with full nodes or, without the feature
 * extent, indirect blocks. Up to four extents are stored in the inode and need no map blocks.
 *
 * Extent tree blocks are laid out level by level from the top, so that the tree is read forward.
 */
#include "config.h"

#include "encode/encode.h"

#include <stdlib.h>
#include <string.h>

#include "disk/indirect.h"

/* The bad blocks inode always has an indirect map. */
static bool uses_extents(const struct xw_encoder *enc, const struct xw_binode *n)
{
	return xw_has_incompat(&enc->features, XW_INCOMPAT_EXTENTS) && n->ino != XW_INO_BAD;
}

/* ---- extent trees ---- */

struct levels {
	unsigned depth; /* number of block levels below the inode */
	uint32_t count[XW_EXT_MAX_DEPTH + 1]; /* nodes per level; level 0 are the leaves */
	uint32_t base[XW_EXT_MAX_DEPTH + 1]; /* index of the level's first block in the map */
};

static void extent_levels(const struct xw_encoder *enc, uint32_t n_ext, struct levels *l)
{
	unsigned max = xw_extent_node_max(enc->block_size);
	uint32_t n = n_ext, base = 0;

	memset(l, 0, sizeof(*l));
	while (n > XW_EXT_INODE_ENTRIES) {
		n = (uint32_t)xw_div_up(n, max);
		l->count[l->depth++] = n;
	}
	for (unsigned i = l->depth; i-- > 0; base += l->count[i])
		l->base[i] = base;
}

xw_blk xw_map_block(const struct xw_bmap *map, uint64_t index, uint32_t cluster_bits)
{
	index <<= cluster_bits;
	for (size_t i = 0; i < map->n_runs; i++) {
		if (index < map->runs[i].len)
			return map->runs[i].start + index;
		index -= map->runs[i].len;
	}
	return 0;
}

/* First logical block that node j of a level maps. */
static uint32_t first_lblk(const struct xw_encoder *enc, const struct xw_binode *n, unsigned level,
			   uint32_t j)
{
	uint64_t max = xw_extent_node_max(enc->block_size), i = j;

	for (unsigned k = 0; k <= level; k++)
		i *= max;
	return xw_binode_extents(n)[i].lblk;
}

static void encode_index(const struct xw_encoder *enc, const struct xw_binode *n,
			 const struct levels *l, void *node, unsigned level, uint32_t from,
			 uint32_t count)
{
	for (uint32_t k = 0; k < count; k++) {
		struct xw_extent_idx e = {
			.lblk = first_lblk(enc, n, level, from + k),
			.pblk = xw_map_block(n->map, l->base[level] + from + k, enc->cluster_bits),
		};

		xw_extent_idx_encode(node, k, &e);
	}
}

static void extent_root(const struct xw_encoder *enc, const struct xw_binode *n, uint8_t *node)
{
	struct xw_extent_hdr h = {.max = XW_EXT_INODE_ENTRIES};
	struct levels l;

	extent_levels(enc, n->n_ext, &l);
	h.depth = (uint16_t)l.depth;
	h.entries = (uint16_t)(l.depth ? l.count[l.depth - 1] : n->n_ext);
	xw_extent_hdr_encode(node, &h);
	if (l.depth) {
		encode_index(enc, n, &l, node, l.depth - 1, 0, h.entries);
		return;
	}
	for (uint32_t i = 0; i < n->n_ext; i++)
		xw_extent_leaf_encode(node, i, &xw_binode_extents(n)[i]);
}

static void extent_blocks(const struct xw_encoder *enc, const struct xw_binode *n, uint8_t *buf)
{
	uint32_t bs = enc->block_size, max = xw_extent_node_max(bs), seed = xw_encode_seed(enc, n);
	struct levels l;

	extent_levels(enc, n->n_ext, &l);
	for (unsigned level = 0; level < l.depth; level++) {
		uint32_t below = level ? l.count[level - 1] : n->n_ext;

		for (uint32_t j = 0; j < l.count[level]; j++) {
			uint8_t *node = buf + (size_t)(l.base[level] + j) * bs;
			uint32_t from = j * max, count = XW_MIN(max, below - from);
			struct xw_extent_hdr h = {
				.entries = (uint16_t)count,
				.max = (uint16_t)max,
				.depth = (uint16_t)level,
			};

			xw_extent_hdr_encode(node, &h);
			if (level)
				encode_index(enc, n, &l, node, level - 1, from, count);
			for (uint32_t k = 0; !level && k < count; k++)
				xw_extent_leaf_encode(node, k, &xw_binode_extents(n)[from + k]);
			if (enc->dirfmt.csum)
				xw_extent_block_set_csum(node, bs, seed);
		}
	}
}

/* ---- indirect maps ---- */

/*
 * A walk over the mapped blocks in logical order. Pointer blocks are numbered in the order in which
 * they are first visited, which is their order in the map: parents precede their children.
 */
struct ind_walk {
	uint32_t bs;
	uint64_t next; /* index of the next new pointer block */
	unsigned last[4]; /* path of the previous blocks */
	unsigned depth;
	uint64_t
		at[4]; /* map index of the pointer block at each level of the path, from at[1] on */
	uint8_t *buf; /* NULL: only counting */
	uint32_t *slots; /* words of i_block, or NULL */
	const struct xw_bmap *map;
};

static void ind_point(struct ind_walk *w, unsigned level, const unsigned *path, xw_blk blk)
{
	if (level == 0) {
		if (w->slots)
			w->slots[path[0]] = (uint32_t)blk;
	} else if (w->buf) {
		poke32(w->buf + w->at[level] * w->bs + 4ul * path[level], (uint32_t)blk);
	}
}

/* Number the pointer blocks of this path that are new, and set the pointers to them. */
static void ind_enter(struct ind_walk *w, const unsigned *path, unsigned depth)
{
	bool fresh = depth != w->depth;

	for (unsigned k = 0; k < depth; k++) {
		fresh = fresh || path[k] != w->last[k];
		if (!fresh)
			continue;
		w->at[k + 1] = w->next++;
		ind_point(w, k, path,
			  w->map && w->map->n_runs ? xw_map_block(w->map, w->at[k + 1], 0) : 0);
	}
	memcpy(w->last, path, sizeof(w->last));
	w->depth = depth;
}

static void ind_range(struct ind_walk *w, const struct xw_extent *e)
{
	uint64_t lblk = e->lblk, end = lblk + e->len;

	while (lblk < end) {
		unsigned path[4] = {0}, depth = 0;
		uint64_t step = 1;

		if (xw_indirect_path(w->bs, lblk, path, &depth))
			return; /* the size limit was checked before */
		if (depth) {
			ind_enter(w, path, depth);
			step = XW_MIN(end - lblk, w->bs / 4 - path[depth]);
		}
		for (uint64_t k = 0; k < step; k++, path[depth]++)
			ind_point(w, depth, path, e->pblk + (lblk - e->lblk) + k);
		lblk += step;
	}
}

static uint64_t ind_walk(const struct xw_encoder *enc, const struct xw_binode *n, uint8_t *buf,
			 uint32_t *slots)
{
	struct ind_walk w = {.bs = enc->block_size, .buf = buf, .slots = slots, .map = n->map};

	for (uint32_t i = 0; i < n->n_ext; i++)
		ind_range(&w, &xw_binode_extents(n)[i]);
	return w.next;
}

/* ---- both kinds ---- */

uint64_t xw_map_blocks(const struct xw_encoder *enc, const struct xw_binode *n)
{
	struct levels l;
	uint64_t sum = 0;

	if (!uses_extents(enc, n))
		return ind_walk(enc, n, NULL, NULL);
	extent_levels(enc, n->n_ext, &l);
	for (unsigned i = 0; i < l.depth; i++)
		sum += l.count[i];
	return sum;
}

void xw_map_encode_inode(const struct xw_encoder *enc, const struct xw_binode *n,
			 struct xw_inode *in)
{
	uint32_t slots[15] = {0};

	if (uses_extents(enc, n)) {
		in->flags |= XW_FL_EXTENTS;
		extent_root(enc, n, in->block);
		return;
	}
	ind_walk(enc, n, NULL, slots);
	for (int i = 0; i < 15; i++)
		poke32(in->block + 4 * i, slots[i]);
}

void xw_map_encode_blocks(const struct xw_encoder *enc, const struct xw_binode *n, uint8_t *buf)
{
	if (uses_extents(enc, n))
		extent_blocks(enc, n, buf);
	else
		ind_walk(enc, n, buf, NULL);
}
