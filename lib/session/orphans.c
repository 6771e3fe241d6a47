/* SPDX-License-Identifier: MIT */
/*
 * The state bit of the orphan file after a recovery. Linux sets ORPHAN_PRESENT for as long as the
 * filesystem is mounted, so that every copy of a mounted one has it. If the orphan file is empty,
 * no orphan is left to be processed, and the bit is cleared as a mount and an unmount would.
 */
#include "config.h"

#include <stdlib.h>

#include "base/auto.h"
#include "disk/orphan.h"
#include "read/image.h"
#include "read/map.h"
#include "session/journal.h"

static void close_image(struct xw_image **img)
{
	xw_image_close(*img);
}

/* Is it a valid block of the orphan file with all slots free? */
static bool block_is_empty(struct xw_image *img, uint32_t seed, xw_blk blk, uint8_t *buf)
{
	const uint32_t bs = img->block_size, slots = xw_orphan_slots(bs);

	if (xw_dev_pread(img->dev, buf, bs, blk * bs) ||
	    xw_orphan_verify(buf, bs, xw_super_has_csum(&img->sb), seed, blk))
		return false;
	for (uint32_t i = 0; i < slots; i++)
		if (xw_orphan_slot(buf, i))
			return false;
	return true;
}

/* Is the orphan file valid, and has it no orphans? */
static bool file_is_empty(struct xw_image *img)
{
	const xw_ino ino = img->sb.orphan_file_inum;
	auto_free uint8_t *buf = malloc(img->block_size);
	auto_end(xw_map_end) struct xw_map_iter it = {0};
	uint64_t blocks = 0;
	struct xw_map_run run;
	struct xw_inode in;
	int more = -1;

	if (!buf || ino < img->sb.first_ino || xw_image_inode(img, ino, &in, NULL) || !in.links ||
	    (in.mode & XW_S_IFMT) != XW_S_IFREG || xw_map_begin(img, ino, &in, 0, &it))
		return false;
	while ((more = xw_map_next(&it, &run)) > 0) {
		if (run.unwritten)
			return false;
		for (uint64_t i = 0; i < run.len; i++)
			if (!block_is_empty(img, xw_image_inode_seed(img, ino, &in), run.pblk + i,
					    buf))
				return false;
		blocks += run.len;
	}
	return !more && blocks && blocks * img->block_size == in.size;
}

int xw_journal_settle_orphans(struct xw_dev *overlay)
{
	struct xw_diag quiet = {0};
	auto_end(close_image) struct xw_image *img = NULL;
	uint8_t super[XW_SUPER_SIZE];
	struct xw_super sb;
	int rc = xw_dev_pread(overlay, super, sizeof(super), XW_SUPER_OFFSET);

	if (rc)
		return rc;
	if (xw_super_decode(super, &sb) || sb.last_orphan ||
	    !(sb.feature_compat & XW_COMPAT_ORPHAN_FILE) ||
	    !(sb.feature_ro_compat & XW_RO_ORPHAN_PRESENT) ||
	    xw_image_open(overlay, 0, &quiet, &img) || !file_is_empty(img))
		return 0;
	sb.feature_ro_compat &= ~XW_RO_ORPHAN_PRESENT;
	xw_super_encode(&sb, super);
	rc = xw_dev_pwrite(overlay, super, sizeof(super), XW_SUPER_OFFSET);
	return rc ? rc : 1;
}
