/* SPDX-License-Identifier: MIT */
/*
 * Collects ranges to read ahead. Two ranges with a gap of up to GAP bytes become one, since reading
 * the gap costs less than a second request.
 */
#include "export/ahead.h"

#include "read/map.h"

#define GAP (32u << 10)
#define HEAD (256u << 10)
#define DIRECTORY_MAX (64u << 10)

void xw_ahead_begin(struct xw_image *img, struct xw_ahead *a)
{
	*a = (struct xw_ahead){.img = img, .diag = img->diag};
	img->diag = NULL;
}

/* Pass the pending range to the device. */
static void announce(struct xw_ahead *a)
{
	const uint64_t len = a->end - a->from;

	if (!len)
		return;
	xw_dev_ahead(a->img->dev, a->from, a->forward ? XW_MIN(len, HEAD) : len);
	a->last = a->end;
	a->from = a->end = 0;
}

void xw_ahead_end(struct xw_ahead *a)
{
	announce(a);
	a->img->diag = a->diag;
}

static void add(struct xw_ahead *a, xw_blk blk, uint64_t blocks)
{
	const uint64_t from = blk * a->img->block_size, len = blocks * a->img->block_size;

	if (a->end > a->from && from >= a->from && from <= a->end + GAP) {
		a->end = XW_MAX(a->end, from + len);
		return;
	}
	announce(a);
	if (a->forward && from >= a->last && from <= a->last + GAP) {
		a->last = from + len;
		return;
	}
	a->from = from;
	a->end = from + len;
}

void xw_ahead_inode(struct xw_ahead *a, xw_ino ino)
{
	struct xw_image *img = a->img;
	struct xw_group_desc gd;
	uint64_t off;

	if (!ino || ino > img->sb.inodes_count ||
	    xw_image_group(img, (ino - 1) / img->sb.inodes_per_group, &gd) ||
	    !xw_image_has_blocks(img, gd.inode_table, img->itable_blocks))
		return;
	off = (uint64_t)((ino - 1) % img->sb.inodes_per_group) * img->inode_size;
	add(a, gd.inode_table + off / img->block_size, 1);
}

static uint64_t add_map(struct xw_ahead *a, xw_ino ino, const struct xw_inode *inode, uint64_t max)
{
	struct xw_map_iter it;
	struct xw_map_run run;
	uint64_t done = 0;
	int rc = xw_map_begin(a->img, ino, inode, 0, &it);

	while (!rc && done < max && xw_map_next(&it, &run) == 1) {
		uint64_t left = xw_div_up(max - done, a->img->block_size);

		if (run.unwritten)
			continue;
		run.len = XW_MIN(run.len, left);
		add(a, run.pblk, run.len);
		done += run.len * a->img->block_size;
	}
	xw_map_end(&it);
	return done;
}

void xw_ahead_directory(struct xw_ahead *a, xw_ino ino)
{
	struct xw_inode inode;

	if (!xw_image_inode(a->img, ino, &inode, NULL))
		add_map(a, ino, &inode, DIRECTORY_MAX);
}

uint64_t xw_ahead_file(struct xw_ahead *a, xw_ino ino, const struct xw_inode *inode, uint64_t max)
{
	if (xw_image_has_blocks(a->img, inode->file_acl, 1))
		add(a, inode->file_acl, 1);
	return add_map(a, ino, inode, XW_MIN(max, inode->size));
}

xw_blk xw_first_block(struct xw_image *img, xw_ino ino, const struct xw_inode *inode)
{
	struct xw_diag *diag = img->diag;
	struct xw_map_iter it;
	struct xw_map_run run = {0};
	int rc;

	img->diag = NULL;
	rc = xw_map_begin(img, ino, inode, 0, &it);
	while (!rc && (rc = xw_map_next(&it, &run)) == 1 && run.unwritten)
		rc = 0;
	xw_map_end(&it);
	img->diag = diag;
	return rc == 1 ? run.pblk : 0;
}
