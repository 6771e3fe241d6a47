// SPDX-License-Identifier: MIT
/* Checks group descriptors: checksums, flags, and counts of unused inodes. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "phases/super.h"

int fsck_group_renew(struct fsck *f, uint64_t group, const struct xw_group_desc *gd)
{
	f->ses.renew_backups = true;
	return fsck_group_write(f, group, gd);
}

/* Unused inodes are free, and reserved inodes are never unused. */
static bool unused_is_wrong(const struct xw_super *sb, uint64_t group,
			    const struct xw_group_desc *gd)
{
	const uint32_t reserved = group ? 0 : sb->first_ino - 1;

	if (gd->itable_unused > sb->inodes_per_group)
		return true;
	return !(gd->flags & XW_BG_INODE_UNINIT) &&
	       (gd->itable_unused > gd->free_inodes ||
		gd->itable_unused + reserved > sb->inodes_per_group);
}

int fsck_group_check_flags(struct fsck *f, uint64_t group, bool sums)
{
	const uint16_t uninit = XW_BG_INODE_UNINIT | XW_BG_BLOCK_UNINIT;
	struct xw_group_desc gd;
	bool write = false;
	int rc = xw_image_group(f->ses.img, group, &gd);

	if (rc)
		return rc;
	if (!sums && gd.flags & uninit && FSCK_FOUND(f, GROUP_UNINIT, .group = group)) {
		gd.flags &= (uint16_t)~uninit;
		write = true;
	}
	if (sums && fsck_group_sum_is_wrong(f, group) &&
	    FSCK_FOUND(f, GROUP_CSUM, .group = group)) {
		/* No field of the descriptor can be trusted: read the whole table. */
		gd.flags &= (uint16_t)~uninit;
		gd.itable_unused = 0;
		write = true;
	}
	if (sums && unused_is_wrong(&f->ses.img->sb, group, &gd) &&
	    FSCK_FOUND(f, GROUP_UNUSED, .group = group, .num = gd.itable_unused)) {
		gd.itable_unused = 0;
		write = true;
	}
	if (sums && !group && gd.flags & XW_BG_INODE_UNINIT &&
	    FSCK_FOUND(f, GROUP_UNINIT, .group = group)) {
		gd.flags &= (uint16_t)~XW_BG_INODE_UNINIT;
		write = true;
	}
	return write ? fsck_group_renew(f, group, &gd) : 0;
}

bool fsck_group_expose(struct fsck *f, xw_ino ino, const char *name, size_t len)
{
	const uint32_t per_group = f->ses.img->sb.inodes_per_group;
	const uint64_t group = (ino - 1) / per_group;
	struct xw_group_desc gd;
	struct xw_inode in;
	auto_free uint8_t *raw = malloc(f->ses.img->inode_size);

	if (!xw_super_has_group_csum(&f->ses.img->sb) || !raw ||
	    xw_image_group(f->ses.img, group, &gd))
		return false;
	if (!f->round.again && !(gd.flags & XW_BG_INODE_UNINIT) &&
	    (ino - 1) % per_group < per_group - XW_MIN(gd.itable_unused, per_group))
		return false;
	if (fsck_inode_read(f, ino, &in, raw) || !in.links || !(in.mode & XW_S_IFMT) ||
	    xw_inode_verify(raw, &f->ses.img->sb, f->ses.img->csum_seed, ino))
		return false;
	if (f->round.again && !(gd.flags & XW_BG_INODE_UNINIT) && !gd.itable_unused)
		return true; /* already repaired: the next round reads the inode */
	if (!FSCK_FOUND(f, GROUP_UNUSED_REF, .ino = ino, .group = group, .name = name,
			.name_len = len))
		return true;
	gd.flags &= (uint16_t)~XW_BG_INODE_UNINIT;
	gd.itable_unused = 0;
	f->round.again = true;
	memset(f->ses.looked, 0,
	       sizeof(f->ses.looked)); /* these inodes have not been checked yet */
	return !fsck_group_renew(f, group, &gd);
}

bool fsck_group_sum_is_wrong(struct fsck *f, uint64_t group)
{
	const struct xw_image *img = f->ses.img;
	const uint64_t per_block = img->block_size / img->desc_size;
	uint8_t raw[XW_DESC_SIZE_MAX];

	return xw_image_meta(f->ses.img, xw_image_desc_block(img, group),
			     (uint32_t)(group % per_block) * img->desc_size, raw, img->desc_size) ||
	       xw_group_verify(raw, &img->sb, img->csum_seed, (uint32_t)group);
}
