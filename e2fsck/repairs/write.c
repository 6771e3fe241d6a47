// SPDX-License-Identifier: MIT
/*
 * Reading and writing single objects of the overlay. Nothing is written to a block whose owner is
 * not known: see fsck_write().
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "repairs/repairs.h"

/* ---- blocks ---- */

static int put(struct fsck *f, xw_blk blk, const void *buf)
{
	const uint32_t bs = f->ses.img->block_size;

	f->round.changed = true;
	xw_image_drop_cache(f->ses.img);
	return xw_dev_pwrite(f->ses.dev, buf, bs, blk * bs);
}

static int refuse(struct fsck *f, enum fsck_owner owner, xw_blk blk)
{
	return xw_fail(&f->ses.diag, XW_ERR_INTERNAL,
		       "%s: refused to write block %llu of %s, since it has another owner, too",
		       f->opts.image, (unsigned long long)blk, fsck_owner_name(owner));
}

int fsck_write(struct fsck *f, enum fsck_owner owner, xw_blk blk, const void *buf)
{
	if (f->facts.owners.complete && fsck_owns(f, owner, blk, 1))
		return put(f, blk, buf);
	if (f->facts.owners.complete || !blk)
		return refuse(f, owner, blk);
	return fsck_keep(f, owner, blk, buf);
}

int fsck_try_write(struct fsck *f, enum fsck_owner owner, xw_blk blk, const void *buf)
{
	if (f->facts.owners.complete && !fsck_owns(f, owner, blk, 1))
		return 0;
	return fsck_write(f, owner, blk, buf);
}

int fsck_write_kept(struct fsck *f)
{
	auto_free struct fsck_kept *v = NULL;
	size_t n;
	int rc = fsck_kept_list(f, &v, &n);

	for (size_t i = 0; i < n && !rc; i++)
		if (fsck_owns(f, v[i].owner, v[i].blk, 1))
			rc = put(f, v[i].blk, v[i].data);
	fsck_kept_free(&f->facts.owners);
	return rc;
}

/* ---- inodes ---- */

/* Get the byte offset of an inode's record on the device. */
static int find_record(struct fsck *f, xw_ino ino, uint64_t *at)
{
	struct xw_image *img = f->ses.img;
	const uint64_t group = (ino - 1) / img->sb.inodes_per_group;
	const uint64_t index = (ino - 1) % img->sb.inodes_per_group;
	struct xw_group_desc gd;
	const int rc = xw_image_group(img, group, &gd);

	*at = gd.inode_table * img->block_size + index * img->inode_size;
	return rc == XW_ERR_CHECKSUM ? 0 : rc;
}

bool fsck_inode_may_write(struct fsck *f, xw_ino ino)
{
	uint64_t at;

	return !find_record(f, ino, &at) &&
	       fsck_owns(f, FSCK_O_GROUP, at / f->ses.img->block_size, 1);
}

static int put_record(struct fsck *f, xw_ino ino, const uint8_t *raw)
{
	struct xw_image *img = f->ses.img;
	uint64_t at;
	int rc = find_record(f, ino, &at);

	if (rc)
		return rc;
	if (f->facts.owners.complete && !fsck_owns(f, FSCK_O_GROUP, at / img->block_size, 1))
		return refuse(f, FSCK_O_GROUP, at / img->block_size);
	f->round.changed = true;
	rc = xw_dev_pwrite(f->ses.dev, raw, img->inode_size, at);
	xw_image_drop_cache(img);
	return rc;
}

int fsck_inode_write(struct fsck *f, xw_ino ino, const struct xw_inode *in, uint8_t *raw)
{
	xw_inode_encode(in, &f->ses.img->sb, raw);
	xw_inode_set_csum(raw, &f->ses.img->sb, f->ses.img->csum_seed, ino);
	return put_record(f, ino, raw);
}

int fsck_inode_clear(struct fsck *f, xw_ino ino)
{
	auto_free uint8_t *raw = calloc(1, f->ses.img->inode_size);
	struct fsck_inode *facts = fsck_inode(f, ino);
	struct xw_inode in;
	uint32_t generation;
	int rc = raw ? fsck_inode_read(f, ino, &in, raw) : xw_fail_nomem(&f->ses.diag, "inode");

	if (rc)
		return rc;
	generation = in.generation;
	memset(raw, 0, f->ses.img->inode_size);
	in = (struct xw_inode){.generation = generation,
			       .dtime = xw_inode_dtime(f->opts.now, &f->ses.img->sb)};
	if (facts)
		*facts = (struct fsck_inode){0};
	return fsck_inode_write(f, ino, &in, raw);
}

int fsck_super_write(struct fsck *f)
{
	uint8_t raw[XW_SUPER_SIZE], old[XW_SUPER_SIZE];
	int rc = xw_dev_pread(f->ses.dev, old, sizeof(old), XW_SUPER_OFFSET);

	if (rc)
		memset(old, 0, sizeof(old)); /* unreadable: write it */
	memcpy(raw, old, sizeof(raw));
	xw_super_encode(&f->ses.img->sb, raw);
	if (!rc && !memcmp(raw, old, sizeof(raw)))
		return 0;
	f->round.changed = true;
	xw_image_drop_cache(f->ses.img);
	return xw_dev_pwrite(f->ses.dev, raw, sizeof(raw), XW_SUPER_OFFSET);
}

int fsck_super_renew(struct fsck *f)
{
	f->ses.renew_backups = true;
	return fsck_super_write(f);
}

int fsck_group_write(struct fsck *f, uint64_t group, const struct xw_group_desc *gd)
{
	const struct xw_image *img = f->ses.img;
	const uint64_t per_block = img->block_size / img->desc_size;
	const uint64_t at = xw_image_desc_block(img, group) * img->block_size +
			    group % per_block * img->desc_size;
	struct fsck_quiet quiet = fsck_quiet(&f->ses.dev->diag);
	uint8_t raw[XW_DESC_SIZE_MAX] = {0};

	if (xw_dev_pread(f->ses.dev, raw, img->desc_size, at))
		memset(raw, 0, sizeof(raw));
	fsck_quiet_end(&quiet);
	xw_group_encode(gd, &img->sb, img->csum_seed, (uint32_t)group, raw);
	f->round.changed = f->ses.renew_backups = true;
	xw_image_drop_cache(f->ses.img);
	return xw_dev_pwrite(f->ses.dev, raw, img->desc_size, at);
}
