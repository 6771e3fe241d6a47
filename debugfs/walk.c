/* SPDX-License-Identifier: MIT */
/*
 * Walks the map of an inode by walk/map.h, and reports the findings. Extents out of order are
 * passed to the caller as well, since a debugger shows what is on disk.
 */
#include "config.h"

#include "walk.h"

#include <inttypes.h>

#include "read/map.h"

struct walk {
	struct dbg *d;
	xw_ino ino;
	uint64_t blocks; /* size of the file in blocks */
	struct xw_walk_map w;
	dbg_piece_fn *fn;
	void *arg;
};

static void complain(const struct walk *w, const char *what, uint64_t value)
{
	dbg_complain(w->d, "inode %" PRIu32 ": %s %" PRIu64, w->ino, what, value);
}

static void complain_of_range(const struct walk *w, const struct xw_walk_map_item *item)
{
	if (!w->w.extents)
		complain(w, "a block is outside the filesystem:", item->pblk);
	else
		dbg_complain(w->d,
			     "inode %" PRIu32 ": extent at %" PRIu64 " (%" PRIu64
			     " blocks from %" PRIu64 ") is outside the filesystem",
			     w->ino, item->lblk, item->len, item->pblk);
}

/* Pass a run or a node to the caller. */
static int emit(struct walk *w, const struct xw_walk_map_item *item)
{
	const bool node = item->kind == XW_WALK_NODE, extents = w->w.extents;
	struct dbg_piece p = {
		.kind = node ? DBG_NODE : DBG_DATA,
		.extents = extents,
		.level = extents ? item->level : item->height,
		.depth = extents ? w->w.depth : 0,
		.index = extents ? item->index : 0,
		.count = extents ? w->w.at[item->level].count : 0,
		.lblk = item->lblk,
		.len = item->len,
		.pblk = item->pblk,
		.unwritten = item->unwritten,
	};

	/* the length of the last index entry is not stored: it ends with the file */
	if (node && extents && item->lblk + item->len >= DBG_LBLK_END - 1)
		p.len = w->blocks > item->lblk ? w->blocks - item->lblk : 0;
	return w->fn(w->arg, &p);
}

/* Is this an extent out of order, but inside the filesystem? */
static int out_of_order(struct walk *w, const struct xw_walk_map_item *item)
{
	if (!w->w.extents)
		return 0;
	if (!xw_image_has_blocks(w->d->img, item->pblk, item->len)) {
		complain_of_range(w, item);
		return 0;
	}
	if (item->len > w->w.budget) {
		complain(w, "maps more blocks than the filesystem has, near block", item->lblk);
		w->w.over = true;
		return 0;
	}
	w->w.budget -= item->len;
	return emit(w, item);
}

static int on_finding(struct walk *w, const struct xw_walk_map_item *item)
{
	int rc = 0;

	switch (item->rule) {
	case XW_MAP_MAGIC:
	case XW_MAP_ENTRIES:
	case XW_MAP_DEPTH:
		complain(w, "no extent header at level", item->level);
		break;
	case XW_MAP_CSUM:
		complain(w, "extent block: checksum mismatch:", item->node);
		break;
	case XW_MAP_READ:
		dbg_complain_diag(w->d, -(int)item->num);
		break;
	case XW_MAP_NODE_RANGE:
		rc = emit(w, item);
		complain(w, "a map block is outside the filesystem:", item->pblk);
		break;
	case XW_MAP_RANGE:
	case XW_MAP_LENGTH:
		complain_of_range(w, item);
		break;
	case XW_MAP_ORDER:
	case XW_MAP_WRAP:
		return out_of_order(w, item);
	case XW_MAP_BUDGET:
		complain(w, "maps more blocks than the filesystem has, near block", item->lblk);
		break;
	case XW_MAP_EMPTY: /* the map is shown as it is stored */
	case XW_MAP_START:
	case XW_MAP_END:
	case XW_MAP_LONG:
	case XW_MAP_PLACE:
	case XW_MAP_INDEX:
	case XW_MAP_OK:
		break;
	}
	return rc;
}

static int on_item(struct walk *w, struct xw_walk_map_item *item)
{
	if (xw_image_has_blocks(w->d->img, item->pblk, 1))
		return emit(w, item);
	xw_walk_map_skip(&w->w);
	item->rule = item->kind == XW_WALK_NODE ? XW_MAP_NODE_RANGE : XW_MAP_RANGE;
	return on_finding(w, item);
}

static int read_node(void *arg, xw_blk blk, void *buf)
{
	struct xw_image *img = arg;

	return xw_image_meta(img, blk, 0, buf, img->block_size);
}

int dbg_walk(struct dbg *d, xw_ino ino, const struct xw_inode *in, dbg_piece_fn *fn, void *arg)
{
	struct xw_image *img = d->img;
	struct walk w = {.d = d, .ino = ino, .fn = fn, .arg = arg};
	struct xw_walk_map_item item;
	int more, rc = 0;

	if (!xw_inode_has_map(in))
		return 0;
	w.blocks = xw_div_up(in->size, img->block_size);
	xw_walk_map_init(&w.w, img->dev, &img->sb);
	w.w.csum = w.w.csum && !d->how.no_csum;
	w.w.deep = true;
	w.w.read = read_node;
	w.w.arg = img;
	(void)xw_walk_map_begin(&w.w, ino, in, -1);
	w.w.budget = xw_image_blocks_here(img);
	while (!rc && (more = xw_walk_map_next(&w.w, &item)) != 0) {
		if (more < 0)
			rc = xw_fail_nomem(&d->diag, "map blocks");
		else
			rc = more == 2 ? on_finding(&w, &item) : on_item(&w, &item);
	}
	xw_walk_map_free(&w.w);
	return rc;
}
