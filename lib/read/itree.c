/* SPDX-License-Identifier: MIT */
/*
 * Walking an itree.
 *
 * Bounds: levels fall by one with each step down; no node but the root may be empty; entries ascend
 * strictly over the whole walk. A node that is pointed at twice therefore ends it, and it is as
 * long as the tree.
 *
 * Leaves are read several at a time, wherever they lie: for each of them one goes to the inode
 * tables and back otherwise.
 */
#include "config.h"

#include "read/itree.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

/* Check a node that was read. want: its level, -1 for any. */
static int check_node(struct xw_itree_iter *it, const uint8_t *block, xw_blk blk, int want,
		      struct xw_itree_hdr *h)
{
	const uint32_t bs = it->img->block_size;
	struct xw_itree_flaw flaw;
	int rc;

	rc = xw_itree_node_check(block, bs, it->any_names, h, &flaw);
	if (!rc)
		rc = xw_itree_hdr_belongs(h, it->ino, it->generation, blk, &flaw);
	if (rc)
		return damaged(it, rc, blk, flaw.what);
	if (want >= 0 && h->level != want)
		return damaged(it, XW_ERR_CORRUPT, blk, "the node is of another level");
	if (want >= 0 && !h->count)
		return damaged(it, XW_ERR_CORRUPT, blk, "an empty node");
	if (!(it->img->flags & XW_IMAGE_NOCSUM) &&
	    xw_itree_verify(block, bs, xw_super_has_csum(&it->img->sb), it->seed))
		return damaged(it, XW_ERR_CHECKSUM, blk, "checksum mismatch");
	return it->on_node ? it->on_node(it->arg, blk, h->level) : 0;
}

static int read_blocks(struct xw_itree_iter *it, xw_blk blk, unsigned n, uint8_t *buf)
{
	const uint32_t bs = it->img->block_size;
	int rc;

	if (!xw_image_has_blocks(it->img, blk, n))
		return damaged(it, XW_ERR_CORRUPT, blk, "outside the filesystem");
	rc = xw_dev_pread(it->img->dev, buf, (size_t)n * bs, blk * bs);
	return rc ? damaged(it, rc, blk, "cannot be read") : 0;
}

static uint8_t *node(const struct xw_itree_iter *it, unsigned level)
{
	return it->nodes + (size_t)level * it->img->block_size;
}

/* Make the leaf at blk current, which has been read into that place of `ahead`. */
static int enter_leaf(struct xw_itree_iter *it, xw_blk blk, unsigned place, int want)
{
	struct xw_itree_hdr h;
	int rc;

	it->leaf = it->ahead + (size_t)place * it->img->block_size;
	rc = check_node(it, it->leaf, blk, want, &h);
	if (rc)
		return rc;
	it->at[0] = (struct xw_itree_level){.blk = blk, .count = h.count};
	it->off = 0;
	it->used = h.used;
	return 0;
}

/* How many children of the lowest index node, from child i on, lie in consecutive blocks. */
static unsigned run_of_children(const struct xw_itree_iter *it, unsigned i, unsigned max)
{
	struct xw_itree_idx first, e;
	unsigned n = 1;

	xw_itree_idx_decode(node(it, 1), i, &first);
	for (; n < max; n++) {
		xw_itree_idx_decode(node(it, 1), i + n, &e);
		if (e.blk != first.blk + n || !xw_image_has_blocks(it->img, e.blk, 1))
			break;
	}
	return n;
}

/* Read the next children of the lowest index node. One that cannot be read ends the walk when its
 * turn comes, not now. */
static int read_leaves(struct xw_itree_iter *it)
{
	const struct xw_itree_level *l = &it->at[1];
	const unsigned want = XW_MIN(ahead_max(it), l->count - l->index);
	const uint32_t bs = it->img->block_size;

	it->ahead_first = l->index;
	it->ahead_n = 0;
	while (it->ahead_n < want) {
		const unsigned i = it->ahead_first + it->ahead_n;
		const unsigned n = run_of_children(it, i, want - it->ahead_n);
		struct xw_itree_idx e;

		xw_itree_idx_decode(node(it, 1), i, &e);
		if (!it->ahead_n) {
			int rc = read_blocks(it, e.blk, n, it->ahead);

			if (rc)
				return rc;
		} else if (!xw_image_has_blocks(it->img, e.blk, n) ||
			   xw_dev_pread(it->img->dev, it->ahead + (size_t)it->ahead_n * bs,
					(size_t)n * bs, e.blk * bs)) {
			xw_diag_clear(it->img->diag);
			break;
		}
		it->ahead_n += n;
	}
	return 0;
}

static int next_child(struct xw_itree_iter *it)
{
	struct xw_itree_level *l = &it->at[1];
	struct xw_itree_idx e;

	if (l->index - it->ahead_first >= it->ahead_n) {
		int rc = read_leaves(it);

		if (rc)
			return rc;
	}
	xw_itree_idx_decode(node(it, 1), l->index, &e);
	return enter_leaf(it, e.blk, l->index++ - it->ahead_first, 0);
}

static int load_index(struct xw_itree_iter *it, xw_blk blk, unsigned level)
{
	struct xw_itree_hdr h;
	int rc = read_blocks(it, blk, 1, node(it, level));

	if (!rc)
		rc = check_node(it, node(it, level), blk, (int)level, &h);
	if (rc)
		return rc;
	it->at[level] = (struct xw_itree_level){.blk = blk, .count = h.count};
	it->ahead_n = 0;
	return 0;
}

/* Go to the next leaf: up to where a child is left, then down along first children. 1, 0 at the
 * end. */
static int next_leaf(struct xw_itree_iter *it)
{
	unsigned level = 1;
	int rc;

	while (level < it->levels && it->at[level].index == it->at[level].count)
		level++;
	if (level >= it->levels) {
		it->levels = 0;
		return 0;
	}
	for (; level > 1; level--) {
		struct xw_itree_idx e;

		xw_itree_idx_decode(node(it, level), it->at[level].index++, &e);
		rc = load_index(it, e.blk, level - 1);
		if (rc)
			return rc;
	}
	rc = next_child(it);
	return rc ? rc : 1;
}

static int load_root(struct xw_itree_iter *it, xw_blk root)
{
	struct xw_itree_hdr h;
	int rc = read_blocks(it, root, 1, it->ahead);

	if (!rc)
		rc = check_node(it, it->ahead, root, -1, &h);
	if (rc)
		return rc;
	it->levels = h.level + 1u;
	if (h.level) {
		memcpy(node(it, h.level), it->ahead, it->img->block_size);
		it->at[h.level] = (struct xw_itree_level){.blk = root, .count = h.count};
		return 0;
	}
	return enter_leaf(it, root, 0, -1);
}

/* Block 0 of the directory, and the pointer in it. */
static int find_root(struct xw_itree_iter *it, const struct xw_inode *inode, xw_blk *root)
{
	struct xw_image *img = it->img;
	struct xw_map_run run;
	int rc = xw_map_lookup(img, it->ino, inode, 0, &run);

	if (rc)
		return rc;
	if (!run.len || run.unwritten)
		return damaged(it, XW_ERR_CORRUPT, 0, "the directory has no first block");
	rc = xw_dev_pread(img->dev, it->ahead, img->block_size, run.pblk * img->block_size);
	if (rc)
		return rc;
	if (xw_itree_slot_get(it->ahead, img->block_size, xw_super_has_csum(&img->sb), root))
		return damaged(it, XW_ERR_CORRUPT, run.pblk, "the pointer to the root is none");
	return 0;
}

int xw_itree_begin(struct xw_image *img, xw_ino ino, const struct xw_inode *inode,
		   struct xw_itree_iter *it)
{
	xw_blk root;
	int rc;

	memset(it, 0, sizeof(*it));
	it->img = img;
	it->ino = ino;
	if (!(img->sb.feature_ro_compat & XW_RO_ITREE) || !(inode->flags & XW_FL_ITREE) ||
	    !(inode->flags & XW_FL_INDEX) || inode->flags & XW_FL_INLINE_DATA ||
	    (inode->mode & XW_S_IFMT) != XW_S_IFDIR)
		return XW_ERR_NOTFOUND;
	it->generation = inode->generation;
	it->seed = xw_image_inode_seed(img, ino, inode);
	it->any_names = inode->flags & XW_FL_ENCRYPT;
	it->nodes = malloc((size_t)XW_ITREE_LEVELS * img->block_size);
	it->ahead = malloc((size_t)ahead_max(it) * img->block_size);
	if (!it->nodes || !it->ahead)
		return xw_fail_nomem(img->diag, "itree");
	rc = find_root(it, inode, &root);
	return rc ? rc : load_root(it, root);
}

void xw_itree_end(struct xw_itree_iter *it)
{
	free(it->nodes);
	free(it->ahead);
	it->nodes = it->ahead = NULL;
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
	/* Inside a leaf order was checked; its first entry is compared with the last one before. */
	first = !it->off;
	rc = xw_itree_leaf_decode(it->leaf, it->used, it->off, e, &it->off);
	if (!rc && first && it->has_last && xw_itree_entry_cmp(&it->last, e) >= 0)
		return damaged(it, XW_ERR_CORRUPT, it->at[0].blk, "entries do not ascend");
	if (rc || e->key.ino > it->img->sb.inodes_count)
		return damaged(it, XW_ERR_CORRUPT, it->at[0].blk, "damaged entry");
	if (it->off >= it->used) {
		it->last = *e;
		memcpy(it->last_name, e->name, e->name_len);
		it->last.name = it->last_name;
		it->has_last = true;
	}
	return 1;
}

bool xw_itree_is_believed(const struct xw_image *img)
{
	return img->sb.feature_ro_compat & XW_RO_METADATA_CSUM && !img->sb.error_count &&
	       !(img->flags & XW_IMAGE_NOCSUM) && !img->sb.mtime &&
	       (img->sb.state & (XW_STATE_VALID | XW_STATE_ERROR)) == XW_STATE_VALID;
}
