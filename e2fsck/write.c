// SPDX-License-Identifier: MIT
/* Reading and writing single objects of the overlay. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "fsck.h"

int fsck_read(struct fsck *f, xw_blk blk, uint64_t n, void *buf)
{
	const uint32_t bs = f->img->block_size;

	return xw_dev_pread(f->dev, buf, n * bs, blk * bs);
}

int fsck_write(struct fsck *f, xw_blk blk, uint64_t n, const void *buf)
{
	const uint32_t bs = f->img->block_size;

	f->changed = true;
	xw_image_forget(f->img);
	return xw_dev_pwrite(f->dev, buf, n * bs, blk * bs);
}

int fsck_inode_read(struct fsck *f, xw_ino ino, struct xw_inode *in, uint8_t *raw)
{
	const int rc = xw_image_inode(f->img, ino, in, raw);

	xw_diag_clear(&f->diag);
	return rc == XW_ERR_CORRUPT || rc == XW_ERR_CHECKSUM ? 0 : rc;
}

static int put_record(struct fsck *f, xw_ino ino, const uint8_t *raw)
{
	struct xw_image *img = f->img;
	const uint64_t group = (ino - 1) / img->sb.inodes_per_group;
	const uint64_t index = (ino - 1) % img->sb.inodes_per_group;
	struct xw_group_desc gd;
	int rc = xw_image_group(img, group, &gd);

	if (rc && rc != XW_ERR_CHECKSUM)
		return rc;
	f->changed = true;
	rc = xw_dev_pwrite(f->dev, raw, img->inode_size,
			   gd.inode_table * img->block_size + index * img->inode_size);
	xw_image_forget(img);
	return rc;
}

int fsck_inode_write(struct fsck *f, xw_ino ino, const struct xw_inode *in, uint8_t *raw)
{
	xw_inode_encode(in, &f->img->sb, raw);
	xw_inode_set_csum(raw, &f->img->sb, f->img->csum_seed, ino);
	return put_record(f, ino, raw);
}

int fsck_inode_clear(struct fsck *f, xw_ino ino)
{
	auto_free uint8_t *raw = calloc(1, f->img->inode_size);
	struct fsck_inode *facts = fsck_inode(f, ino);
	struct xw_inode in;
	uint32_t generation;
	int rc = raw ? fsck_inode_read(f, ino, &in, raw) : xw_fail_nomem(&f->diag, "inode");

	if (rc)
		return rc;
	generation = in.generation;
	memset(raw, 0, f->img->inode_size);
	in = (struct xw_inode){.generation = generation, .dtime = (uint32_t)f->opts.now};
	if (facts)
		*facts = (struct fsck_inode){0};
	return fsck_inode_write(f, ino, &in, raw);
}
