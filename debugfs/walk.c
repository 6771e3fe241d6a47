/* SPDX-License-Identifier: MIT */
/*
 * The walk over extent trees and block maps.
 *
 * Why it ends on any input: a child is one level below its parent, and every block seen, of data or
 * of the map, is taken from a budget of the filesystem's size.
 */
#include "config.h"

#include "walk.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/auto.h"
#include "base/endian.h"
#include "disk/extent.h"
#include "disk/indirect.h"
#include "read/map.h"

enum { NODES = XW_EXT_MAX_DEPTH + 1 };

struct walk {
	struct dbg *d;
	xw_ino ino;
	const struct xw_inode *in;
	uint32_t seed;
	dbg_piece_fn *fn;
	void *arg;
	uint64_t budget;
	bool spent; /* and said so */
	uint8_t *nodes; /* a block a level */
};

static uint8_t *node(const struct walk *w, unsigned level)
{
	return w->nodes + (size_t)level * w->d->img->block_size;
}

static void complain(const struct walk *w, const char *what, uint64_t value)
{
	dbg_complain(w->d, "inode %" PRIu32 ": %s %" PRIu64, w->ino, what, value);
}

/* Is there budget for so many blocks? */
static bool spend(struct walk *w, uint64_t blocks, xw_lblk at)
{
	if (blocks <= w->budget) {
		w->budget -= blocks;
		return true;
	}
	if (!w->spent)
		complain(w, "maps more blocks than the filesystem has, near block", at);
	w->spent = true;
	return false;
}

/* Read a block of the map: false when it was complained of. */
static bool load(struct walk *w, unsigned level, xw_blk blk)
{
	int rc;

	if (!xw_image_has_blocks(w->d->img, blk, 1)) {
		complain(w, "a map block is outside the filesystem:", blk);
		return false;
	}
	rc = xw_image_meta(w->d->img, blk, 0, node(w, level), w->d->img->block_size);
	if (rc)
		dbg_complain_diag(w->d, rc);
	return !rc;
}

/* ---- extents ---- */

static int extent_node(struct walk *w, const uint8_t *n, size_t size, unsigned level,
		       unsigned depth, uint64_t end);

static int extent_leaf(struct walk *w, const uint8_t *n, unsigned level,
		       const struct xw_extent_hdr *h)
{
	for (unsigned i = 0; i < h->entries; i++) {
		struct xw_extent x;
		struct dbg_piece p = {.kind = DBG_DATA, .extents = true, .level = level};
		int rc;

		xw_extent_leaf_decode(n, i, &x);
		if (!xw_image_has_blocks(w->d->img, x.pblk, x.len) || !x.len) {
			dbg_complain(w->d,
				     "inode %" PRIu32 ": extent at %" PRIu32 " (%" PRIu32
				     " blocks from %" PRIu64 ") is outside the filesystem",
				     w->ino, x.lblk, x.len, x.pblk);
			continue;
		}
		if (!spend(w, x.len, x.lblk))
			return 0;
		p.depth = level;
		p.index = i;
		p.count = h->entries;
		p.lblk = x.lblk;
		p.len = x.len;
		p.pblk = x.pblk;
		p.unwritten = x.unwritten;
		rc = w->fn(w->arg, &p);
		if (rc)
			return rc;
	}
	return 0;
}

static int extent_child(struct walk *w, unsigned level, unsigned depth, const struct dbg_piece *p)
{
	int rc = w->fn(w->arg, p);

	if (rc || !load(w, level + 1, p->pblk))
		return rc;
	if (xw_super_has_csum(&w->d->img->sb) && !w->d->how.no_csum &&
	    xw_extent_block_verify(node(w, level + 1), w->d->img->block_size, w->seed))
		complain(w, "extent block: checksum mismatch:", p->pblk);
	return extent_node(w, node(w, level + 1), w->d->img->block_size, level + 1, depth - 1,
			   p->lblk + p->len);
}

/* `depth`: what the node's header must say, or XW_EXT_MAX_DEPTH + 1 for the root. */
static int extent_node(struct walk *w, const uint8_t *n, size_t size, unsigned level,
		       unsigned depth, uint64_t end)
{
	struct xw_extent_hdr h;
	int rc = xw_extent_hdr_decode(n, size, &h);

	if (!rc && level && h.depth != depth)
		rc = XW_ERR_CORRUPT;
	if (rc) {
		complain(w, "no extent header at level", level);
		return 0;
	}
	if (!h.depth)
		return extent_leaf(w, n, level, &h);
	for (unsigned i = 0; i < h.entries; i++) {
		struct dbg_piece p = {.kind = DBG_NODE, .extents = true, .level = level};
		struct xw_extent_idx x, next = {0};

		xw_extent_idx_decode(n, i, &x);
		if (i + 1u < h.entries)
			xw_extent_idx_decode(n, i + 1u, &next);
		else
			next.lblk = (uint32_t)XW_MIN(end, DBG_LBLK_END - 1);
		if (!spend(w, 1, x.lblk))
			return 0;
		p.depth = level + h.depth;
		p.index = i;
		p.count = h.entries;
		p.lblk = x.lblk;
		p.len = next.lblk > x.lblk ? next.lblk - x.lblk : 0;
		p.pblk = x.pblk;
		rc = extent_child(w, level, h.depth, &p);
		if (rc)
			return rc;
	}
	return 0;
}

/* ---- block maps ---- */

static uint64_t blocks_below(const struct walk *w, unsigned height)
{
	uint64_t n = 1;

	while (height--)
		n *= xw_indirect_per_block(w->d->img->block_size);
	return n;
}

static int map_slot(struct walk *w, xw_blk blk, xw_lblk lblk, unsigned height)
{
	const unsigned per_block = xw_indirect_per_block(w->d->img->block_size);
	const struct dbg_piece p = {.kind = height ? DBG_NODE : DBG_DATA,
				    .level = height,
				    .lblk = lblk,
				    .len = height ? blocks_below(w, height) : 1,
				    .pblk = blk};
	int rc;

	if (!blk || lblk >= DBG_LBLK_END)
		return 0;
	if (!height && !xw_image_has_blocks(w->d->img, blk, 1)) {
		complain(w, "a block is outside the filesystem:", blk);
		return 0;
	}
	if (!spend(w, 1, lblk))
		return 0;
	rc = w->fn(w->arg, &p);
	if (rc || !height || !load(w, height, blk))
		return rc;
	for (unsigned i = 0; i < per_block && !rc && !w->spent; i++) {
		le32 at = *(const le32 *)(node(w, height) + (size_t)i * 4);

		rc = map_slot(w, get32(at), lblk + i * blocks_below(w, height - 1), height - 1);
	}
	return rc;
}

static int block_map(struct walk *w)
{
	const le32 *slots = (const le32 *)w->in->block;
	xw_lblk lblk = 0;
	int rc = 0;

	for (unsigned i = 0; i <= XW_TIND_SLOT && !rc; i++) {
		const unsigned height = i < XW_NDIR_BLOCKS ? 0 : i - XW_NDIR_BLOCKS + 1;

		rc = map_slot(w, get32(slots[i]), lblk, height);
		lblk += blocks_below(w, height);
	}
	return rc;
}

int dbg_walk(struct dbg *d, xw_ino ino, const struct xw_inode *in, dbg_piece_fn *fn, void *arg)
{
	struct walk w = {.d = d, .ino = ino, .in = in, .fn = fn, .arg = arg};
	auto_free uint8_t *nodes = NULL;

	if (!xw_inode_has_map(in))
		return 0;
	nodes = malloc((size_t)NODES * d->img->block_size);
	if (!nodes)
		return xw_fail_nomem(&d->diag, "map blocks");
	w.nodes = nodes;
	w.budget = xw_image_blocks_here(d->img);
	w.seed = xw_image_inode_seed(d->img, ino, in);
	if (in->flags & XW_FL_EXTENTS)
		/* where the last entry of a node ends is not said: not behind the size */
		return extent_node(&w, in->block, sizeof(in->block), 0, 0,
				   xw_div_up(in->size, d->img->block_size));
	return block_map(&w);
}
