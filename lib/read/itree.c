/* SPDX-License-Identifier: MIT */
/*
 * The entries of a directory from its itree: the walk of walk/itree.h up to its first finding, with
 * the entries of each leaf, which must ascend strictly over the whole tree.
 *
 * Several leaves are read at a time, since callers alternate between leaves and inode tables.
 */
#include "config.h"

#include "read/itree.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "read/map.h"

#define AHEAD_BYTES (128u << 10)

static int damaged(struct xw_itree_iter *it, int code, xw_blk blk, const char *why)
{
	it->levels = 0;
	return xw_fail(it->img->diag, code,
		       "%s: directory inode %" PRIu32 ": itree block %" PRIu64 ": %s",
		       it->img->dev->name, it->ino, blk, why);
}

static unsigned ahead_max(const struct xw_itree_iter *it)
{
	return XW_MAX(AHEAD_BYTES / it->img->block_size, 1u);
}

static uint8_t *place(const struct xw_itree_iter *it, unsigned i)
{
	return it->ahead + (size_t)i * it->img->block_size;
}

static int read_blocks(struct xw_itree_iter *it, xw_blk blk, unsigned n, void *buf)
{
	const uint32_t bs = it->img->block_size;

	return xw_dev_pread(it->img->dev, buf, (size_t)n * bs, blk * bs);
}

/* Number of children of the lowest index node, from child i on, that lie in consecutive blocks. */
static unsigned run_of_children(const struct xw_itree_iter *it, unsigned i, unsigned max)
{
	const uint8_t *index = it->walk.at[1].block;
	struct xw_itree_idx first, e;
	unsigned n = 1;

	xw_itree_idx_decode(index, i, &first);
	for (; n < max; n++) {
		xw_itree_idx_decode(index, i + n, &e);
		if (e.blk != first.blk + n || !xw_image_has_blocks(it->img, e.blk, 1))
			break;
	}
	return n;
}

/*
 * Read ahead the children of the lowest index node from the current one on. A read error is
 * reported only when the walk reaches the unreadable leaf.
 */
static int read_leaves(struct xw_itree_iter *it)
{
	const struct xw_walk_itree_frame *f = &it->walk.at[1];
	const unsigned want = XW_MIN(ahead_max(it), f->h.count - it->walk.child.entry);

	it->ahead_first = it->walk.child.entry;
	it->ahead_n = 0;
	while (it->ahead_n < want) {
		const unsigned i = it->ahead_first + it->ahead_n;
		const unsigned n = run_of_children(it, i, want - it->ahead_n);
		struct xw_itree_idx e;
		int rc = XW_ERR_CORRUPT;

		xw_itree_idx_decode(f->block, i, &e);
		if (xw_image_has_blocks(it->img, e.blk, n))
			rc = read_blocks(it, e.blk, n, place(it, it->ahead_n));
		if (rc && !it->ahead_n)
			return rc;
		if (rc) {
			xw_diag_clear(it->img->diag);
			break;
		}
		it->ahead_n += n;
	}
	return 0;
}

/* Read a block for the walk; leaves below an index node come from `ahead`. */
static int read_node(void *arg, xw_blk blk, void *buf)
{
	struct xw_itree_iter *it = arg;
	const struct xw_walk_itree_item *child = &it->walk.child;
	int rc;

	if (child->root || child->level) {
		it->ahead_n = 0;
		return read_blocks(it, blk, 1, buf);
	}
	if (child->entry - it->ahead_first >= it->ahead_n) {
		rc = read_leaves(it);
		if (rc)
			return rc;
	}
	memcpy(buf, place(it, child->entry - it->ahead_first), it->img->block_size);
	return 0;
}

/* Advance to the next node. 1, 0 at the end. */
static int next_node(struct xw_itree_iter *it, struct xw_walk_itree_item *item)
{
	int rc;

	while ((rc = xw_walk_itree_next(&it->walk, item)) == 1)
		if (item->kind == XW_WALK_ITREE_NODE)
			break;
	if (rc == 2)
		return damaged(it, item->code, item->blk, item->what);
	if (rc < 0)
		return xw_fail_nomem(it->img->diag, "itree");
	if (rc && !item->level) {
		it->leaf = item->block;
		it->used = item->h.used;
		it->off = 0;
	}
	return rc;
}

/* Advance to the next leaf. 1, 0 at the end. */
static int next_leaf(struct xw_itree_iter *it)
{
	struct xw_walk_itree_item item;
	int rc;

	do {
		rc = next_node(it, &item);
		if (rc == 1 && it->on_node) {
			const int ended = it->on_node(it->arg, item.blk, item.level);

			if (ended)
				return ended;
		}
	} while (rc == 1 && item.level);
	if (!rc)
		it->levels = 0;
	return rc;
}

static int begin_walk(struct xw_itree_iter *it, const struct xw_inode *inode)
{
	const struct xw_super *sb = &it->img->sb;
	const struct xw_walk_itree_env env = {
		.block_size = it->img->block_size,
		.csum = xw_super_has_csum(sb),
		.unverified = it->img->flags & XW_IMAGE_NOCSUM,
		.any_names = inode->flags & XW_FL_ENCRYPT,
		.dir = it->ino,
		.generation = inode->generation,
		.seed = xw_image_inode_seed(it->img, it->ino, inode),
		.first_data_block = sb->first_data_block,
		.blocks_count = sb->blocks_count,
		.read = read_node,
		.arg = it,
	};
	struct xw_walk_itree_item item;
	int rc;

	if (xw_walk_itree_begin(&it->walk, &env, it->root))
		return xw_fail_nomem(it->img->diag, "itree");
	rc = next_node(it, &item);
	if (rc == 1)
		it->levels = item.level + 1u;
	return XW_MIN(rc, 0);
}

int xw_itree_root(struct xw_image *img, xw_ino ino, const struct xw_inode *inode, xw_blk *root)
{
	auto_free uint8_t *block0 = malloc(img->block_size);
	struct xw_map_run run;
	int rc;

	if (!block0)
		return xw_fail_nomem(img->diag, "itree");
	rc = xw_map_lookup(img, ino, inode, 0, &run);
	if (rc)
		return rc;
	if (!run.len || run.unwritten)
		return xw_fail(img->diag, XW_ERR_CORRUPT,
			       "%s: directory inode %" PRIu32 ": no first block; run xw-fsck -f",
			       img->dev->name, ino);
	rc = xw_dev_pread(img->dev, block0, img->block_size, run.pblk * img->block_size);
	if (rc)
		return rc;
	if (xw_itree_slot_get(block0, img->block_size, xw_super_has_csum(&img->sb), root))
		return xw_fail(img->diag, XW_ERR_CORRUPT,
			       "%s: directory inode %" PRIu32
			       ": its index has no pointer to an itree; run xw-fsck -f",
			       img->dev->name, ino);
	return 0;
}

int xw_itree_begin(struct xw_image *img, xw_ino ino, const struct xw_inode *inode,
		   struct xw_itree_iter *it)
{
	int rc;

	memset(it, 0, sizeof(*it));
	it->img = img;
	it->ino = ino;
	if (!(img->sb.feature_ro_compat & XW_RO_ITREE) || !(inode->flags & XW_FL_ITREE) ||
	    !(inode->flags & XW_FL_INDEX) || inode->flags & XW_FL_INLINE_DATA ||
	    (inode->mode & XW_S_IFMT) != XW_S_IFDIR)
		return XW_ERR_NOTFOUND;
	it->ahead = malloc((size_t)ahead_max(it) * img->block_size);
	if (!it->ahead)
		return xw_fail_nomem(img->diag, "itree");
	rc = xw_itree_root(img, ino, inode, &it->root);
	return rc ? rc : begin_walk(it, inode);
}

void xw_itree_end(struct xw_itree_iter *it)
{
	xw_walk_itree_end(&it->walk);
	free(it->ahead);
	it->ahead = NULL;
	it->levels = 0;
}

int xw_itree_next(struct xw_itree_iter *it, struct xw_itree_entry *e)
{
	bool first;
	int rc;

	if (!it->levels)
		return 0;
	while (it->off >= it->used) {
		rc = next_leaf(it);
		if (rc <= 0)
			return rc;
	}
	/* The order inside a leaf was checked; compare its first entry with the previous leaf. */
	first = !it->off;
	rc = xw_itree_leaf_decode(it->leaf, it->used, it->off, e, &it->off);
	if (!rc && first && it->has_last && xw_itree_entry_cmp(&it->last, e) >= 0)
		return damaged(it, XW_ERR_CORRUPT, it->walk.at[0].blk, "entries do not ascend");
	if (rc || e->key.ino > it->img->sb.inodes_count)
		return damaged(it, XW_ERR_CORRUPT, it->walk.at[0].blk, "damaged entry");
	if (it->off >= it->used) {
		it->last = *e;
		memcpy(it->last_name, e->name, e->name_len);
		it->last.name = it->last_name;
		it->has_last = true;
	}
	return 1;
}

bool xw_itree_is_trusted(const struct xw_image *img)
{
	return img->sb.feature_ro_compat & XW_RO_METADATA_CSUM && !img->sb.error_count &&
	       !(img->flags & XW_IMAGE_NOCSUM) && !img->sb.mtime &&
	       (img->sb.state & (XW_STATE_VALID | XW_STATE_ERROR)) == XW_STATE_VALID;
}
