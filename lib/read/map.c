/* SPDX-License-Identifier: MIT */
/*
 * Runs of a file from its extent tree; the entry points for block maps too (blockmap.c).
 *
 * Why a walk ends on any input:
 * 1. Logical order only grows: an entry that begins below what has been passed, or reaches beyond
 * the range its parent gave it, is corruption.
 * 2. A child's depth is its parent's minus one, and a root is at most XW_EXT_MAX_DEPTH deep.
 * 3. Every block seen, of data or of the map, is taken from a budget of the filesystem's size: no
 * file owns more, and a map that leads to the same block again and again runs out.
 */
#include "read/map.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "read/map_internal.h"

#define LBLK_END ((uint64_t)1 << 32)

int xw_map_corrupt(struct xw_map_iter *it, const char *what, uint64_t value)
{
	return xw_fail(it->img->diag, XW_ERR_CORRUPT, "%s: inode %" PRIu32 ": %s %" PRIu64,
		       it->img->dev->name, it->ino, what, value);
}

int xw_map_spend(struct xw_map_iter *it, uint64_t blocks)
{
	if (blocks > it->budget)
		return xw_map_corrupt(it, "maps more blocks than the filesystem has, near block",
				      it->next);
	it->budget -= blocks;
	return 0;
}

int xw_map_load(struct xw_map_iter *it, unsigned level, xw_blk blk)
{
	int rc;

	if (!xw_image_has_blocks(it->img, blk, 1))
		return xw_map_corrupt(it, "a map block is outside the filesystem:", blk);
	rc = xw_map_spend(it, 1);
	if (rc)
		return rc;
	if (it->on_node) {
		rc = it->on_node(it->arg, blk, level);
		if (rc)
			return rc;
	}
	it->at[level].blk = 0;
	rc = xw_image_meta(it->img, blk, 0, xw_map_node(it, level), it->img->block_size);
	if (!rc)
		it->at[level].blk = blk;
	return rc;
}

static int extents_root(struct xw_map_iter *it)
{
	struct xw_extent_hdr h;

	if (xw_extent_hdr_decode(it->root, sizeof(it->root), &h))
		return xw_fail(it->img->diag, XW_ERR_CORRUPT,
			       "%s: inode %" PRIu32 ": invalid extent tree root",
			       it->img->dev->name, it->ino);
	it->depth = h.depth;
	it->at[0] = (struct xw_map_level){.count = h.entries, .end = LBLK_END};
	return 0;
}

/* Descend into the child at blk, which covers logical blocks up to `end`. */
static int extents_enter(struct xw_map_iter *it, xw_blk blk, uint64_t end)
{
	const unsigned level = it->level + 1;
	struct xw_extent_hdr h;
	int rc = xw_map_load(it, level, blk);

	if (rc)
		return rc;
	if (xw_extent_hdr_decode(xw_map_node(it, level), it->img->block_size, &h) ||
	    h.depth != it->depth - level || (!h.entries && h.depth))
		return xw_map_corrupt(it, "invalid extent block", blk);
	if (xw_super_has_csum(&it->img->sb) && !(it->img->flags & XW_IMAGE_NOCSUM) &&
	    xw_extent_block_verify(xw_map_node(it, level), it->img->block_size, it->seed))
		return xw_fail(it->img->diag, XW_ERR_CHECKSUM,
			       "%s: inode %" PRIu32 ": extent block %" PRIu64 ": checksum mismatch",
			       it->img->dev->name, it->ino, blk);
	it->at[level].index = 0;
	it->at[level].count = h.entries;
	it->at[level].end = end;
	it->level = level;
	return 0;
}

/* Take the next index entry of the current node, descending unless all below it is before `from`.
 */
static int extents_index(struct xw_map_iter *it)
{
	struct xw_map_level *at = &it->at[it->level];
	const uint8_t *node = xw_map_node(it, it->level);
	struct xw_extent_idx e, after;
	uint64_t end = at->end;

	xw_extent_idx_decode(node, at->index++, &e);
	if (at->index < at->count) {
		xw_extent_idx_decode(node, at->index, &after);
		end = after.lblk;
	}
	if (e.lblk < it->next || end <= e.lblk || end > at->end)
		return xw_map_corrupt(it, "extent index out of order at logical block", e.lblk);
	if (end <= it->from) {
		it->next = end;
		return 0;
	}
	it->next = e.lblk;
	return extents_enter(it, e.pblk, end);
}

static int extents_next(struct xw_map_iter *it, struct xw_map_run *run)
{
	for (;;) {
		struct xw_map_level *at = &it->at[it->level];
		struct xw_extent e;
		int rc;

		if (at->index >= at->count) {
			if (!it->level)
				return 0;
			it->level--;
			continue;
		}
		if (it->level < it->depth) {
			rc = extents_index(it);
			if (rc)
				return rc;
			continue;
		}
		xw_extent_leaf_decode(xw_map_node(it, it->level), at->index++, &e);
		if (!e.len || e.lblk < it->next || (uint64_t)e.lblk + e.len > at->end)
			return xw_map_corrupt(it, "extent out of order at logical block", e.lblk);
		if (!xw_image_has_blocks(it->img, e.pblk, e.len))
			return xw_map_corrupt(it, "an extent is outside the filesystem: block",
					      e.pblk);
		rc = xw_map_spend(it, e.len);
		if (rc)
			return rc;
		it->next = (uint64_t)e.lblk + e.len;
		if (it->next <= it->from)
			continue;
		*run = (struct xw_map_run){
			.lblk = e.lblk, .len = e.len, .pblk = e.pblk, .unwritten = e.unwritten};
		return 1;
	}
}

bool xw_inode_has_map(const struct xw_inode *inode)
{
	switch (inode->mode & XW_S_IFMT) {
	case XW_S_IFIFO:
	case XW_S_IFCHR:
	case XW_S_IFBLK:
	case XW_S_IFSOCK:
		return false;
	case XW_S_IFLNK:
		if (inode->size < sizeof(inode->block) && !(inode->flags & XW_FL_EXTENTS))
			return false;
		break;
	default:
		break;
	}
	return !(inode->flags & XW_FL_INLINE_DATA);
}

int xw_map_begin(struct xw_image *img, xw_ino ino, const struct xw_inode *inode, xw_lblk from,
		 struct xw_map_iter *it)
{
	unsigned levels = XW_MAP_INDIRECT_LEVELS;
	int rc = 0;

	memset(it, 0, sizeof(*it));
	it->img = img;
	it->ino = ino;
	it->from = from;
	it->done = !xw_inode_has_map(inode);
	it->extents = inode->flags & XW_FL_EXTENTS;
	it->budget = img->sb.blocks_count;
	if (it->done)
		return 0;
	it->seed = xw_image_inode_seed(img, ino, inode);
	memcpy(it->root, inode->block, sizeof(it->root));
	if (it->extents) {
		rc = extents_root(it);
		levels = it->depth;
	} else {
		it->next = from;
	}
	if (!rc && levels) {
		it->nodes = malloc((size_t)levels * img->block_size);
		if (!it->nodes)
			rc = xw_fail_nomem(img->diag, "block map");
	}
	it->done = rc;
	return rc;
}

int xw_map_next(struct xw_map_iter *it, struct xw_map_run *run)
{
	int rc;

	if (it->done)
		return 0;
	rc = it->extents ? extents_next(it, run) : xw_blockmap_next(it, run);
	if (rc != 1) {
		it->done = true;
		return rc;
	}
	if (run->lblk < it->from) {
		uint64_t cut = it->from - run->lblk;

		run->lblk += cut;
		run->pblk += cut;
		run->len -= cut;
	}
	return 1;
}

void xw_map_end(struct xw_map_iter *it)
{
	free(it->nodes);
	it->nodes = NULL;
	it->done = true;
}

int xw_map_lookup(struct xw_image *img, xw_ino ino, const struct xw_inode *inode, xw_lblk lblk,
		  struct xw_map_run *run)
{
	struct xw_map_iter it;
	int rc = xw_map_begin(img, ino, inode, lblk, &it);

	if (!rc)
		rc = xw_map_next(&it, run);
	xw_map_end(&it);
	if (rc < 0)
		return rc;
	if (!rc || run->lblk != lblk)
		*run = (struct xw_map_run){.lblk = lblk};
	return 0;
}
