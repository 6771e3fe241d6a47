// SPDX-License-Identifier: MIT
/* Recognizes blocks that cannot be nodes of a map. */
#include "config.h"

#include <stdlib.h>

#include "base/auto.h"
#include "disk/indirect.h"
#include "facts/facts.h"

enum { FOREIGN_MIN = 8 }; /* up to this many wrong pointers, the block may be a damaged node */

/*
 * Are most pointers outside of the filesystem? Then the block is no indirect block. Nodes of extent
 * trees are recognized by their headers instead.
 */
static bool is_foreign(struct fsck *f, xw_blk blk)
{
	const uint32_t bs = f->ses.img->block_size;
	auto_free uint8_t *block = malloc(bs);
	unsigned good = 0, bad = 0;

	if (!block || fsck_read(f, blk, 1, block)) {
		xw_diag_clear(&f->ses.diag);
		return false;
	}
	for (uint32_t i = 0; i < xw_indirect_per_block(bs); i++) {
		const uint32_t to = xw_indirect_pointer(block, i);

		good += to && xw_image_has_blocks(f->ses.img, to, 1);
		bad += to && !xw_image_has_blocks(f->ses.img, to, 1);
	}
	return bad > FOREIGN_MIN && bad > good;
}

bool fsck_node_is_foreign(struct fsck *f, const struct xw_inode *in, xw_blk blk)
{
	return fsck_is_metadata(f, blk, 1) || (!(in->flags & XW_FL_EXTENTS) && is_foreign(f, blk));
}
