// SPDX-License-Identifier: MIT
/*
 * Finds extent nodes to which no index entry points. The candidates are blocks that are in use
 * according to the block bitmaps, unclaimed, and look like a node. They are listed once in a round,
 * when a walk misses a node. The checksum tells to which inode a node belongs: they are sorted by
 * the seed with which it matches, so that nobody looks at the nodes of all other inodes.
 */
#include "config.h"

#include <stdlib.h>

#include "base/auto.h"
#include "base/search.h"
#include "phases/inodes.h"

enum { LOOK_MAX = 1 << 20, READ_BYTES = 256 << 10 };

struct search {
	struct fsck_look *l;
	uint8_t *bits, *blocks; /* a bitmap; up to `most` blocks */
	uint64_t most, looked; /* blocks of one read, and read so far */
};

static int search_run(struct search *s, xw_blk blk, uint64_t n)
{
	struct fsck_look *l = s->l;
	const uint32_t bs = l->f->ses.img->block_size;

	s->looked += n;
	if (fsck_read(l->f, blk, n, s->blocks))
		return 0;
	for (uint64_t i = 0; i < n; i++) {
		const uint8_t *const p = s->blocks + i * bs;
		struct fsck_node node = {.blk = blk + i, .at = l->found.n};

		if (xw_walk_map_node_like(&l->walk, p, &node.depth, &node.lblk) &&
		    xw_extent_block_seed(p, bs, &node.seed) && xw_vec_push(&l->found, node))
			return XW_ERR_NOMEM;
	}
	return 0;
}

static int search_group(struct search *s, uint64_t group)
{
	struct fsck *f = s->l->f;
	const struct xw_image *img = f->ses.img;
	const unsigned cluster = xw_image_cluster_bits(img);
	const xw_blk start = img->sb.first_data_block + group * img->sb.blocks_per_group;
	const uint64_t n = XW_MIN(img->sb.blocks_per_group, img->sb.blocks_count - start);
	struct xw_group_desc gd;
	uint64_t from = 0;
	int rc = 0;

	if (xw_image_group(f->ses.img, group, &gd) || xw_image_block_uninit(img, &gd) ||
	    !xw_image_has_blocks(img, gd.block_bitmap, 1) ||
	    fsck_read(f, gd.block_bitmap, 1, s->bits))
		return 0;
	for (uint64_t i = 0; i <= n && !rc; i++) {
		const uint64_t bit = i >> cluster;
		const bool used =
			i < n && s->bits[bit / 8] >> bit % 8 & 1 && !fsck_is_claimed(f, start + i);

		if (i > from && (!used || i - from == s->most))
			rc = search_run(s, start + from, i - from);
		if (!used)
			from = i + 1;
		else if (i - from == s->most)
			from = i;
	}
	return rc;
}

/* Is x before y, or the same wanted node? The result is as of memcmp(). */
static int compare(const struct fsck_node *x, const struct fsck_node *y)
{
	if (x->seed != y->seed)
		return x->seed < y->seed ? -1 : 1;
	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	return (x->lblk > y->lblk) - (x->lblk < y->lblk);
}

static int by_owner(const void *a, const void *b)
{
	const struct fsck_node *x = a, *y = b;
	const int order = compare(x, y);

	return order ? order : (x->at > y->at) - (x->at < y->at);
}

/* List all candidates, from the group of the inode on. Unreadable blocks are skipped. */
static int search(struct fsck_look *l)
{
	const struct xw_image *img = l->f->ses.img;
	auto_free uint8_t *bits = malloc(img->block_size);
	auto_free uint8_t *blocks = malloc(READ_BYTES);
	struct search s = {l, bits, blocks, READ_BYTES / img->block_size, 0};
	const uint64_t first = (l->ino - 1) / img->sb.inodes_per_group;
	int rc = bits && blocks ? 0 : XW_ERR_NOMEM;

	if (img->sb.blocks_per_group >> xw_image_cluster_bits(img) > 8 * img->block_size)
		return rc;
	for (uint64_t i = 0; i < img->groups && s.looked < LOOK_MAX && !rc; i++)
		rc = search_group(&s, (first + i) % img->groups);
	if (l->found.n)
		qsort(l->found.v, l->found.n, sizeof(*l->found.v), by_owner);
	xw_diag_clear(&l->f->ses.diag);
	return rc;
}

bool fsck_look_find_node(void *arg, struct xw_walk_map *w, const struct xw_walk_node *want,
			 xw_blk *blk)
{
	struct fsck_look *l = arg;
	const struct fsck_node key = {
		.seed = xw_walk_map_seed(w), .depth = want->depth, .lblk = want->lblk};
	size_t i;

	if (!l->searched && search(l))
		l->found.n = 0; /* out of memory: no node is found */
	l->searched = true;
	i = XW_LOWER_BOUND(k, l->found.n, compare(&l->found.v[k], &key) >= 0);
	for (; i < l->found.n && !compare(&l->found.v[i], &key); i++)
		if (xw_walk_map_is_node(w, l->found.v[i].blk, want)) {
			*blk = l->found.v[i].blk;
			return true;
		}
	return false;
}
