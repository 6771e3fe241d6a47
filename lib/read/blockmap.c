/* SPDX-License-Identifier: MIT */
/*
 * Runs of a block-mapped file. The position is one number, it->next: its path through the map is
 * computed anew whenever the walk leaves a pointer array, and the blocks on the path are kept while
 * the path goes through them. A zero pointer is a hole of all the blocks below it and is stepped
 * over as one.
 */
#include "base/endian.h"
#include "disk/indirect.h"
#include "read/map_internal.h"

static uint32_t pointer(struct xw_map_iter *it, unsigned level, unsigned i)
{
	return peek32(xw_map_node(it, level) + (size_t)4 * i);
}

/* Where it->next lies. */
struct place {
	unsigned path[4], depth;
	unsigned level; /* where the walk down ended: depth, or above it at a hole */
	uint64_t hole; /* logical blocks from it->next to the hole's end; 0 = none */
};

/* Follow the path of it->next as far as there are blocks. 1, or 0 beyond the last block a map can
 * hold. */
static int walk_down(struct xw_map_iter *it, struct place *p)
{
	const uint64_t per = xw_indirect_per_block(it->img->block_size);
	int rc;

	if (xw_indirect_path(it->img->block_size, it->next, p->path, &p->depth))
		return 0;
	p->hole = 0;
	for (p->level = 0; p->level < p->depth; p->level++) {
		uint32_t blk = pointer(it, p->level, p->path[p->level]);

		if (!blk) {
			uint64_t span = 1, passed = 0;

			for (unsigned i = p->depth; i > p->level; i--) {
				passed += span * p->path[i];
				span *= per;
			}
			p->hole = span - passed;
			return 1;
		}
		if (it->at[p->level + 1].blk == blk)
			continue;
		rc = xw_map_load(it, p->level + 1, blk);
		if (rc)
			return rc;
	}
	return 1;
}

/* Gather a run from the pointer array that it->next lies in; stays empty when only holes are left
 * there. */
static int gather(struct xw_map_iter *it, const struct place *p, struct xw_map_run *run)
{
	const unsigned end = p->level ? xw_indirect_per_block(it->img->block_size) : XW_NDIR_BLOCKS;

	for (unsigned i = p->path[p->level]; i < end; i++, it->next++) {
		uint32_t blk = pointer(it, p->level, i);
		int rc;

		if (run->len && blk != run->pblk + run->len)
			return 1;
		if (!blk)
			continue;
		if (!xw_image_has_blocks(it->img, blk, 1))
			return xw_map_corrupt(it, "a block is outside the filesystem:", blk);
		rc = xw_map_spend(it, 1);
		if (rc)
			return rc;
		if (!run->len)
			*run = (struct xw_map_run){.lblk = it->next, .pblk = blk};
		run->len++;
	}
	return 0;
}

int xw_blockmap_next(struct xw_map_iter *it, struct xw_map_run *run)
{
	struct place p;
	int rc;

	run->len = 0;
	for (;;) {
		rc = walk_down(it, &p);
		if (rc < 0)
			return rc;
		if (!rc || (p.hole && run->len))
			return run->len > 0;
		if (p.hole) {
			it->next += p.hole;
			continue;
		}
		rc = gather(it, &p, run);
		if (rc)
			return rc;
	}
}
