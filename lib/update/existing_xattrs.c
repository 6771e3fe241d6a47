// SPDX-License-Identifier: MIT
/*
 * xattr blocks of existing inodes: found by one forward scan of the inode tables, bounded in
 * records and in blocks, and verified before they are shared. Sharing is only an optimization:
 * unreadable blocks are skipped.
 */
#include "config.h"

#include <stdlib.h>

#include "base/auto.h"
#include "base/hash.h"
#include "base/search.h"
#include "update/update_internal.h"
#include "update/xattrs.h"

uint64_t xw_update_xattr_key(const struct xw_update *u, const uint8_t *block)
{
	const struct xw_hash_key key = xw_hash_process_key();

	return xw_hash_secret(&key, 0, block + XW_XATTR_BHDR, u->img->block_size - XW_XATTR_BHDR);
}

/* ---- the scan ---- */

static int note(struct xw_update *u, const uint8_t *bitmap, xw_ino ino, const uint8_t *raw,
		struct xw_update_blks *out)
{
	const uint32_t at = (ino - 1) % u->img->sb.inodes_per_group;
	struct xw_inode in;

	if (!(bitmap[at / 8] >> at % 8 & 1) || xw_inode_decode(raw, &u->img->sb, &in) ||
	    !in.file_acl || !in.links || in.flags & XW_FL_EA_INODE)
		return 0;
	if (out->a.n && out->a.v[out->a.n - 1] == in.file_acl)
		return 0;
	return xw_vec_push(&out->a, in.file_acl) ? xw_fail_nomem(u->diag, "blocks of attributes")
						 : 0;
}

static int scan_group(struct xw_update *u, uint64_t group, uint8_t *bitmap, uint64_t *left,
		      struct xw_update_blks *out)
{
	struct xw_inode_scan scan;
	const uint8_t *raw;
	xw_ino ino;
	int more,
		rc = xw_ispace_group_bitmap(u->inodes, (uint32_t)group, bitmap, u->img->block_size);

	if (rc)
		return u->unchecked && rc != XW_ERR_NOMEM ? 0 : rc;
	if (xw_inode_scan_begin(u->img, group, group + 1, &scan))
		return 0;
	while (!rc && *left && (more = xw_inode_scan_next(&scan, &ino, &raw)) > 0) {
		--*left;
		rc = note(u, bitmap, ino, raw, out);
	}
	xw_inode_scan_end(&scan);
	return rc;
}

/* Was the block freed by this change, whose records are not in the tables yet? */
static bool is_freed(const struct xw_update *u, xw_blk blk)
{
	for (size_t i = 0; i < u->freed.n; i++)
		if (blk - u->freed.v[i].start < u->freed.v[i].len)
			return true;
	return false;
}

static void sort_unique(struct xw_update *u, struct xw_update_blks *out)
{
	size_t n = 0;

	if (out->a.n)
		qsort(out->a.v, out->a.n, sizeof(*out->a.v), xw_by_u64);
	for (size_t i = 0; i < out->a.n; i++)
		if ((!n || out->a.v[i] != out->a.v[n - 1]) && !is_freed(u, out->a.v[i]))
			out->a.v[n++] = out->a.v[i];
	out->a.n = n;
}

int xw_update_list_xattrs(struct xw_update *u, uint64_t inodes, struct xw_update_blks *out)
{
	auto_free uint8_t *bitmap = malloc(u->img->block_size);
	struct xw_diag *diag = u->img->diag;
	uint64_t left = inodes;
	int rc = 0;

	if (!bitmap)
		return xw_fail_nomem(u->diag, "blocks of attributes");
	u->img->diag = NULL;
	for (uint64_t g = 0; g < u->img->groups && left && !rc; g++) {
		struct xw_igroup_summary sum;

		xw_ispace_group(u->inodes, (uint32_t)g, &sum);
		if (sum.free < u->img->sb.inodes_per_group)
			rc = scan_group(u, g, bitmap, &left, out);
	}
	u->img->diag = diag;
	if (rc)
		return rc;
	if (u->diag)
		xw_diag_clear(u->diag);
	sort_unique(u, out);
	return 0;
}

/* ---- one block ---- */

bool xw_update_read_xattrs(struct xw_update *u, xw_blk blk, uint8_t *buf, struct xw_xattr_bhdr *h)
{
	struct xw_image *img = u->img;
	const uint32_t bs = img->block_size;
	bool meta;

	if (!xw_image_has_blocks(img, blk, 1) || !xw_sysmap_at(u->sysmap, blk, 1, &meta) || meta)
		return false;
	if (xw_dev_pread(img->dev, buf, bs, blk * bs)) {
		if (img->dev->diag)
			xw_diag_clear(img->dev->diag);
		return false;
	}
	return !xw_xattr_bhdr_decode(buf, h) && h->refcount &&
	       (!xw_super_has_csum(&img->sb) ||
		!xw_xattr_block_verify(buf, bs, img->csum_seed, blk));
}

xw_blk xw_update_next_xattrs(struct xw_update *u, struct xw_update_blks *list, uint8_t *buf,
			     struct xw_xattr_bhdr *h)
{
	enum { AHEAD = 256 };
	const uint32_t bs = u->img->block_size;
	xw_blk blk;

	if (list->next == list->a.n)
		return 0;
	for (; list->ahead < XW_MIN(list->next + AHEAD, list->a.n); list->ahead++)
		if (!(list->a.v[list->ahead] & XW_UPDATE_BLK_FREED))
			xw_dev_ahead(u->img->dev, list->a.v[list->ahead] * bs, bs);
	blk = list->a.v[list->next++];
	if (blk & XW_UPDATE_BLK_FREED || !xw_update_read_xattrs(u, blk, buf, h))
		return 0;
	return blk;
}

int xw_update_write_xattrs(struct xw_update *u, xw_blk blk, uint8_t *buf, uint32_t refcount)
{
	const uint32_t bs = u->img->block_size;
	struct xw_xattr_bhdr h;
	int rc = xw_xattr_bhdr_decode(buf, &h);

	if (rc)
		return rc;
	h.refcount = refcount;
	xw_xattr_bhdr_encode(buf, &h);
	if (xw_super_has_csum(&u->img->sb))
		xw_xattr_block_set_csum(buf, bs, u->img->csum_seed, blk);
	return xw_dev_pwrite(u->img->dev, buf, bs, blk * bs);
}

int xw_update_recount_xattrs(struct xw_update *u, xw_blk blk, uint8_t *buf, uint32_t refcount)
{
	const uint32_t bs = u->img->block_size;

	xw_xattr_block_recount(buf, bs, xw_super_has_csum(&u->img->sb), refcount);
	return xw_dev_pwrite(u->img->dev, buf, bs, blk * bs);
}

bool xw_update_uses_block(struct xw_update *u, xw_blk blk)
{
	const struct xw_super *sb = &u->img->sb;
	const uint32_t group = (uint32_t)((blk - sb->first_data_block) / sb->blocks_per_group);
	const uint32_t at = (uint32_t)((blk - sb->first_data_block) % sb->blocks_per_group) >>
			    xw_image_cluster_bits(u->img);
	auto_free uint8_t *bitmap = malloc(u->img->block_size);

	if (!bitmap || xw_space_group_bitmap(u->space, group, bitmap)) {
		if (u->diag)
			xw_diag_clear(u->diag);
		return false;
	}
	return bitmap[at / 8] >> at % 8 & 1;
}
