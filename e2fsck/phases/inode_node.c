// SPDX-License-Identifier: MIT
/*
 * Finds extent nodes to which no index entry points. The candidates are blocks that are in use
 * according to the block bitmaps, unclaimed, and look like a node. They are listed once in a round,
 * when a walk misses a node; the checksum tells to which inode a node belongs.
 */
#include "config.h"

#include <stdlib.h>

#include "base/auto.h"
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
		struct fsck_node node = {.blk = blk + i};

		if (xw_walk_map_node_like(&l->walk, s->blocks + i * bs, &node.depth, &node.lblk) &&
		    xw_vec_push(&l->found, node))
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
	xw_diag_clear(&l->f->ses.diag);
	return rc;
}

bool fsck_look_find_node(void *arg, struct xw_walk_map *w, const struct xw_walk_node *want,
			 xw_blk *blk)
{
	struct fsck_look *l = arg;

	if (!l->searched && search(l))
		l->found.n = 0; /* out of memory: no node is found */
	l->searched = true;
	for (size_t i = 0; i < l->found.n; i++) {
		const struct fsck_node *n = &l->found.v[i];

		if (n->depth == want->depth && n->lblk == want->lblk &&
		    xw_walk_map_is_node(w, n->blk, want)) {
			*blk = n->blk;
			return true;
		}
	}
	return false;
}
