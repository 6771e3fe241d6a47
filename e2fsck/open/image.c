// SPDX-License-Identifier: MIT
/* The image on the overlay, and images that a superblock describes. */
#include "config.h"

#include "open/open.h"

#define IMAGE_FLAGS (XW_IMAGE_NOCSUM | XW_IMAGE_ANY_FEATURES | XW_IMAGE_SHORT | XW_IMAGE_LENIENT)

int fsck_reopen(struct fsck *f)
{
	xw_log_fn *const log = f->ses.diag.log;
	int rc;

	xw_image_close(f->ses.img);
	f->ses.img = NULL;
	f->ses.diag.log = NULL; /* that the journal needs recovery is a finding, not a warning */
	rc = xw_image_open(f->ses.dev, IMAGE_FLAGS, &f->ses.diag, &f->ses.img);
	f->ses.diag.log = log;
	return rc;
}

void fsck_image_on(struct xw_image *img, struct xw_dev *dev, const struct xw_super *sb)
{
	*img = (struct xw_image){.dev = dev, .sb = *sb};
	img->block_size = xw_super_block_size(sb);
	img->inode_size = sb->inode_size;
	img->desc_size = xw_super_desc_size(sb);
	img->csum_seed = xw_super_csum_seed(sb);
	img->groups = xw_super_groups(sb);
	img->itable_blocks = (uint32_t)xw_div_up((uint64_t)sb->inodes_per_group * img->inode_size,
						 img->block_size);
}

bool fsck_desc_read_raw(const struct xw_image *img, uint64_t group, uint8_t raw[FSCK_DESC_MAX])
{
	const uint64_t per_block = img->block_size / img->desc_size;
	const uint64_t at = xw_image_desc_block(img, group) * img->block_size +
			    group % per_block * img->desc_size;
	auto_quiet quiet = fsck_quiet(&img->dev->diag);

	return img->desc_size <= FSCK_DESC_MAX && !xw_dev_pread(img->dev, raw, img->desc_size, at);
}

bool fsck_desc_read(const struct xw_image *img, uint64_t group, struct xw_group_desc *gd)
{
	uint8_t raw[FSCK_DESC_MAX];

	if (!fsck_desc_read_raw(img, group, raw))
		return false;
	xw_group_decode(raw, img->desc_size, gd);
	return true;
}
