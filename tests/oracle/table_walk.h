/* SPDX-License-Identifier: MIT */
/*
 * Inodes by ascending number, a block of the inode tables at a time: what reading in the order of
 * an itree comes to at least.
 */
#ifndef XW_TESTS_TABLE_WALK_H
#define XW_TESTS_TABLE_WALK_H

#include <stdlib.h>

#include "read/image.h"

struct table_walk {
	struct xw_image *img;
	uint8_t *block;
	xw_blk blk; /* in `block`; 0: none */
	uint64_t group; /* whose descriptor is in gd, where blk is not 0 */
	struct xw_group_desc gd;
	uint64_t reads; /* of table blocks */
};

static inline int table_walk_begin(struct table_walk *w, struct xw_image *img)
{
	*w = (struct table_walk){.img = img, .block = malloc(img->block_size)};
	return w->block ? 0 : XW_ERR_NOMEM;
}

static inline void table_walk_end(struct table_walk *w)
{
	free(w->block);
	w->block = NULL;
}

static inline int table_walk_inode(struct table_walk *w, xw_ino ino, struct xw_inode *out)
{
	const struct xw_image *img = w->img;
	const uint64_t group = (ino - 1) / img->sb.inodes_per_group;
	const uint64_t at = (uint64_t)((ino - 1) % img->sb.inodes_per_group) * img->inode_size;
	const uint8_t *raw = w->block + at % img->block_size;
	xw_blk blk;
	int rc = w->blk && group == w->group ? 0 : xw_image_group(w->img, group, &w->gd);

	if (rc)
		return rc;
	blk = w->gd.inode_table + at / img->block_size;
	if (blk != w->blk) {
		w->blk = 0;
		rc = xw_dev_pread(img->dev, w->block, img->block_size, blk * img->block_size);
		if (rc)
			return rc;
		w->blk = blk;
		w->group = group;
		w->reads++;
	}
	rc = xw_inode_decode(raw, &img->sb, out);
	return rc ? rc : xw_inode_verify(raw, &img->sb, img->csum_seed, ino);
}

#endif
