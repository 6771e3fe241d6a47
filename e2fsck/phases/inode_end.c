// SPDX-License-Identifier: MIT
/* The last extent of a map, compared with i_size and i_blocks. */
#include "config.h"

#include "phases/inodes.h"

/* Units of i_blocks for the map and a block of attributes. Not with clusters. */
uint64_t fsck_look_held(const struct fsck_look *l)
{
	const struct fsck_map *m = &l->map;
	uint64_t blocks = m->nodes.n + (l->in.file_acl != 0);

	for (size_t i = 0; i < m->runs.n; i++)
		blocks += m->runs.v[i].len;
	return blocks * (l->f->img->block_size / 512);
}

/*
 * The last extent reaches past the size, and i_blocks agrees with the size: its length is wrong.
 * Blocks past the size that are legal, be they unwritten or of a Merkle tree, are in i_blocks.
 */
static void cut_end(struct fsck_look *l)
{
	const struct fsck *f = l->f;
	const uint64_t bs = f->img->block_size, end = xw_div_up(l->in.size, bs);
	struct fsck_map *m = &l->map;
	struct xw_map_run *last = m->runs.n ? &m->runs.v[m->runs.n - 1] : NULL;
	uint64_t beyond;

	if (!last || last->lblk >= end || last->lblk + last->len <= end)
		return;
	beyond = last->lblk + last->len - end;
	if (xw_inode_fs_blocks_512(&l->in, &f->img->sb) + beyond * (bs / 512) !=
		    fsck_look_held(l) ||
	    !FSCK_FOUND(l->f, EXTENT_LONG, .ino = l->ino, .lblk = last->lblk, .num = end))
		return;
	last->len -= beyond;
	m->damaged = true;
}

void fsck_look_end_of_map(struct fsck_look *l)
{
	if (l->in.flags & XW_FL_EXTENTS && !xw_image_cluster_bits(l->f->img))
		cut_end(l);
}
