/* SPDX-License-Identifier: MIT */
/*
 * Runs of a file: the walk of walk/map.h up to its first finding, which becomes an error with a
 * message. The logical blocks of index entries must ascend, too, since seeking relies on them.
 */
#include "config.h"

#include "base/auto.h"
#include "read/map.h"

#include <inttypes.h>

#include "disk/indirect.h"

static int map_corrupt(struct xw_map_iter *it, const char *what, uint64_t value)
{
	return xw_fail(it->img->diag, XW_ERR_CORRUPT, "%s: inode %" PRIu32 ": %s %" PRIu64,
		       it->img->dev->name, it->ino, what, value);
}

/* The error for a finding; 0 for findings that do not matter to a reader. */
static int finding_error(struct xw_map_iter *it, const struct xw_walk_map_item *f)
{
	switch (f->rule) {
	case XW_MAP_MAGIC:
	case XW_MAP_ENTRIES:
	case XW_MAP_DEPTH:
		return map_corrupt(it, "invalid extent block", f->node);
	case XW_MAP_EMPTY: /* a leaf may be empty */
		return f->level < it->walk.depth ? map_corrupt(it, "invalid extent block", f->node)
						 : 0;
	case XW_MAP_CSUM:
		return xw_fail(it->img->diag, XW_ERR_CHECKSUM,
			       "%s: inode %" PRIu32 ": extent block %" PRIu64 ": checksum mismatch",
			       it->img->dev->name, it->ino, f->node);
	case XW_MAP_READ:
		return -(int)f->num;
	case XW_MAP_NODE_RANGE:
		return map_corrupt(it, "a map block is outside the filesystem:", f->pblk);
	case XW_MAP_RANGE:
		return map_corrupt(it,
				   it->walk.extents ? "an extent is outside the filesystem: block"
						    : "a block is outside the filesystem:",
				   f->pblk);
	case XW_MAP_LENGTH:
	case XW_MAP_ORDER:
	case XW_MAP_WRAP:
	case XW_MAP_END:
	case XW_MAP_LONG:
	case XW_MAP_PLACE: /* only with `outvote` */
	case XW_MAP_INDEX:
		return map_corrupt(it, "extent out of order at logical block", f->lblk);
	case XW_MAP_BUDGET:
		return map_corrupt(it, "maps more blocks than the filesystem has, near block",
				   it->next);
	case XW_MAP_START: /* the logical blocks of the extents themselves are used */
	case XW_MAP_OK:
		break;
	}
	return 0;
}

/* The walk is about to enter a block of the map. */
static int enter(struct xw_map_iter *it, const struct xw_walk_map_item *node)
{
	const struct xw_walk_map *w = &it->walk;

	if (w->extents) {
		if (node->lblk < it->next || !node->len ||
		    node->lblk + node->len > w->at[w->level].end)
			return map_corrupt(it, "extent index out of order at logical block",
					   node->lblk);
		it->next = node->lblk;
	}
	if (!xw_image_has_blocks(it->img, node->pblk, 1))
		return map_corrupt(it, "a map block is outside the filesystem:", node->pblk);
	return it->on_node ? it->on_node(it->arg, node->pblk, w->level + 1) : 0;
}

/* As xw_map_next(), before runs are merged and clipped. */
static int next_run(struct xw_map_iter *it, struct xw_map_run *run)
{
	struct xw_walk_map_item item;
	int rc;

	while ((rc = xw_walk_map_next(&it->walk, &item)) > 0) {
		if (rc == 2)
			rc = finding_error(it, &item);
		else if (item.kind == XW_WALK_NODE)
			rc = enter(it, &item);
		else
			break;
		if (rc)
			return rc;
	}
	if (rc <= 0)
		return rc ? xw_fail_nomem(it->img->diag, "block map") : 0;
	if (!xw_image_has_blocks(it->img, item.pblk, item.len))
		return map_corrupt(it,
				   it->walk.extents ? "an extent is outside the filesystem: block"
						    : "a block is outside the filesystem:",
				   item.pblk);
	*run = (struct xw_map_run){item.lblk, item.len, item.pblk, item.unwritten};
	it->next = item.lblk + item.len;
	/* A finding about the run itself is returned after it. */
	if (it->walk.n_queue && xw_walk_map_next(&it->walk, &item) == 2) {
		rc = finding_error(it, &item);
		return rc ? rc : 1;
	}
	return 1;
}

/* Did the last run of a block map end at the end of its pointer array? */
static bool array_ended(const struct xw_walk_map *w)
{
	return w->at[w->level].index >= (w->level ? w->at[w->level].count : XW_NDIR_BLOCKS);
}

/* As next_run() for block maps; merges consecutive pointers across pointer blocks. */
static int next_pointers(struct xw_map_iter *it, struct xw_map_run *run)
{
	int rc = 1;

	*run = it->ahead;
	it->ahead.len = 0;
	if (!run->len)
		rc = next_run(it, run);
	while (rc == 1 && array_ended(&it->walk)) {
		rc = next_run(it, &it->ahead);
		if (rc < 0)
			return rc;
		if (!rc || it->ahead.lblk != run->lblk + run->len ||
		    it->ahead.pblk != run->pblk + run->len)
			return 1;
		run->len += it->ahead.len;
		it->ahead.len = 0;
	}
	return rc;
}

bool xw_inode_has_map(const struct xw_inode *inode)
{
	const unsigned type = inode->mode & XW_S_IFMT;

	if (inode->flags & XW_FL_INLINE_DATA)
		return false;
	if (type == XW_S_IFREG || type == XW_S_IFDIR)
		return true;
	if (type == XW_S_IFLNK)
		return inode->size >= sizeof(inode->block) ||
		       (inode->flags & XW_FL_EXTENTS && xw_extent_has_magic(inode->block));
	return type != XW_S_IFIFO && type != XW_S_IFCHR && type != XW_S_IFBLK &&
	       type != XW_S_IFSOCK;
}

static int read_node(void *arg, xw_blk blk, void *buf)
{
	struct xw_image *img = arg;

	return xw_image_meta(img, blk, 0, buf, img->block_size);
}

int xw_map_begin(struct xw_image *img, xw_ino ino, const struct xw_inode *inode, xw_lblk from,
		 struct xw_map_iter *it)
{
	struct xw_walk_map *w = &it->walk;

	it->img = img;
	it->ino = ino;
	it->from = from;
	it->next = 0;
	it->ahead.len = 0;
	it->on_node = NULL;
	it->arg = NULL;
	it->done = !xw_inode_has_map(inode);
	xw_walk_map_init(w, img->dev, &img->sb);
	if (it->done)
		return 0;
	w->csum = w->csum && !(img->flags & XW_IMAGE_NOCSUM);
	w->read = read_node;
	w->arg = img;
	(void)xw_walk_map_begin(w, ino, inode, -1);
	if (w->n_queue) {
		it->done = true;
		return xw_fail(img->diag, XW_ERR_CORRUPT,
			       "%s: inode %" PRIu32 ": invalid extent tree root", img->dev->name,
			       ino);
	}
	if (from)
		xw_walk_map_seek(w, from);
	return 0;
}

int xw_map_next(struct xw_map_iter *it, struct xw_map_run *run)
{
	int rc;

	if (it->done)
		return 0;
	rc = it->walk.extents ? next_run(it, run) : next_pointers(it, run);
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
	xw_walk_map_free(&it->walk);
	it->done = true;
}

int xw_map_lookup(struct xw_image *img, xw_ino ino, const struct xw_inode *inode, xw_lblk lblk,
		  struct xw_map_run *run)
{
	auto_end(xw_map_end) struct xw_map_iter it;
	int rc = xw_map_begin(img, ino, inode, lblk, &it);

	if (!rc)
		rc = xw_map_next(&it, run);
	if (rc < 0)
		return rc;
	if (!rc || run->lblk != lblk)
		*run = (struct xw_map_run){.lblk = lblk};
	return 0;
}
