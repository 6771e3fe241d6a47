// SPDX-License-Identifier: MIT
/*
 * The journal and the resize inode.
 *
 * The resize inode (7) owns the reserved descriptor blocks: a block-mapped file whose
 * double-indirect block refers, at the index of descriptor block i, to the primary's reserved block
 * i, which in turn lists the same block in every backup.
 */
#include "config.h"

#include "fill/builder.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "disk/indirect.h"
#include "disk/jsb.h"

/* Claim the free run at or after `at`. *around: the search has wrapped around already. */
static int next_run(struct xw_builder *b, xw_blk at, bool *around, uint64_t most,
		    struct xw_run *out)
{
	xw_blk start = xw_space_next_free(b->place.space, at);

	if (start == XW_BLK_MAX && !*around) {
		*around = true;
		start = xw_space_next_free(b->place.space, b->geo.first_data_block);
	}
	if (start == XW_BLK_MAX)
		return xw_fail(b->place.enc.diag, XW_ERR_INTERNAL,
			       "journal: free blocks miscounted");
	*out = (struct xw_run){start, xw_space_run_at(b->place.space, start, most)};
	return xw_space_claim(b->place.space, out->start, out->len);
}

int xw_journal_alloc_at(struct xw_builder *b)
{
	XW_VEC(struct xw_run) runs = {0};
	uint64_t left = b->geo.journal_blocks;
	struct xw_run run = {b->params->journal_at, 0};
	bool around = false;
	int rc = 0;

	if (left > xw_space_free_blocks(b->place.space)) {
		b->place.missing += left - xw_space_free_blocks(b->place.space);
		return 0;
	}
	while (left && !rc) {
		rc = next_run(b, run.start + run.len, &around, left, &run);
		if (!rc && xw_vec_push(&runs, run))
			rc = xw_fail_nomem(b->place.enc.diag, "journal");
		left -= XW_MIN(run.len, left);
	}
	if (!rc && xw_binode_set_runs(&b->journal, runs.v, runs.n))
		rc = xw_fail_nomem(b->place.enc.diag, "journal");
	xw_vec_free(&runs);
	return rc;
}

static uint32_t count_backups(const struct xw_geo *geo)
{
	uint32_t n = 0;

	for (uint32_t g = xw_geo_next_super(geo, 1); g < geo->groups;
	     g = xw_geo_next_super(geo, g + 1))
		n++;
	return n;
}

void xw_resize_encode(const struct xw_builder *b, struct xw_inode *in)
{
	uint64_t apb = xw_indirect_per_block(b->geo.block_size);
	struct xw_time now = {b->place.enc.now, 0};

	memset(in, 0, sizeof(*in));
	in->mode = XW_S_IFREG | 0600;
	in->links = 1;
	in->atime = in->mtime = in->ctime = in->crtime = now;
	in->extra_isize =
		(uint16_t)XW_MIN(b->geo.inode_size - XW_INODE_BODY, XW_INODE_EXTRA_WANTED);
	in->size = (XW_NDIR_BLOCKS + apb + apb * apb) * b->geo.block_size;
	poke32(in->block + 4 * XW_DIND_SLOT, (uint32_t)b->resize_dind);
	xw_inode_set_blocks(in, &b->place.enc.sb,
			    (1 + (uint64_t)b->geo.reserved_gdt * (1 + count_backups(&b->geo)))
				    << b->geo.cluster_bits);
}

/* index 0: the double-indirect block; 1 .. reserved_gdt: the primary's reserved blocks. */
static int write_resize_block(struct xw_builder *b, uint64_t index)
{
	uint32_t bs = b->geo.block_size, apb = xw_indirect_per_block(bs);
	/*
	 * Other tools expect every copy at the position in its group that the primary has in group
	 * 0, even after a boot block: with bigalloc and blocks of 1 KiB, that is one block too far
	 * in all other groups.
	 */
	const uint64_t in = xw_geo_super_at(&b->geo, 0) - b->geo.first_data_block + 1;
	uint64_t first = b->geo.desc_blocks, slot = 0;
	auto_free uint8_t *buf = calloc(1, bs);
	xw_blk at = b->resize_dind;

	if (!buf)
		return xw_fail_nomem(b->place.enc.diag, "resize inode");
	if (!index) {
		for (uint64_t i = first; i < first + b->geo.reserved_gdt; i++)
			poke32(buf + 4 * (i % apb),
			       (uint32_t)(xw_geo_super_at(&b->geo, 0) + 1 + i));
	} else {
		uint64_t i = first + index - 1;

		at = xw_geo_super_at(&b->geo, 0) + 1 + i;
		for (uint32_t g = xw_geo_next_super(&b->geo, 1); g < b->geo.groups && slot < apb;
		     g = xw_geo_next_super(&b->geo, g + 1)) {
			poke32(buf + 4 * slot++, (uint32_t)(xw_geo_super_at(&b->geo, g) + in + i));
		}
	}
	return xw_place_write(&b->place, at, buf, bs);
}

int xw_special_items(struct xw_builder *b)
{
	const struct xw_binode *j = &b->journal;
	const int rc = j->n_ext ? xw_place_item(&b->place, XW_ITEM_JOURNAL,
						xw_binode_extents(j)[0].pblk, 0)
				: 0;

	return rc ? rc : xw_hidden_items(b);
}

int xw_resize_write(struct xw_builder *b)
{
	int rc = 0;

	for (uint64_t i = 1; i <= b->geo.reserved_gdt && !rc; i++)
		rc = write_resize_block(b, i);
	return rc ? rc : write_resize_block(b, 0);
}
