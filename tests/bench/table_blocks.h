/* SPDX-License-Identifier: MIT */
/* Which blocks of an image are inode tables, and where an inode is in them. */
#ifndef XW_BENCH_TABLE_BLOCKS_H
#define XW_BENCH_TABLE_BLOCKS_H

#include "counted.h"
#include "read/image.h"

struct table_blocks {
	struct xw_image *img;
	xw_blk *start; /* by group */
	xw_blk *sorted;
};

static inline int table_blocks_order(const void *x, const void *y)
{
	const xw_blk *a = x, *b = y;

	return *a < *b ? -1 : *a > *b;
}

static inline void table_blocks_find(struct table_blocks *t, struct xw_image *img)
{
	*t = (struct table_blocks){
		.img = img,
		.start = calloc(img->groups, sizeof(*t->start)),
		.sorted = calloc(img->groups, sizeof(*t->sorted)),
	};
	MUST(t->start && t->sorted);
	for (uint64_t g = 0; g < img->groups; g++) {
		struct xw_group_desc gd;

		MUST(!xw_image_group(img, g, &gd));
		t->start[g] = t->sorted[g] = gd.inode_table;
	}
	qsort(t->sorted, img->groups, sizeof(*t->sorted), table_blocks_order);
}

static inline void table_blocks_free(struct table_blocks *t)
{
	free(t->start);
	free(t->sorted);
}

static inline xw_blk table_blocks_of(const struct table_blocks *t, xw_ino ino)
{
	const uint32_t per = t->img->sb.inodes_per_group;

	return t->start[(ino - 1) / per] +
	       (uint64_t)((ino - 1) % per) * t->img->inode_size / t->img->block_size;
}

static inline bool table_blocks_has(const struct table_blocks *t, xw_blk blk)
{
	uint64_t lo = 0, hi = t->img->groups;

	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2;

		if (t->sorted[mid] <= blk)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && blk - t->sorted[lo - 1] < t->img->itable_blocks;
}

#endif
