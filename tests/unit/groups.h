/* SPDX-License-Identifier: MIT */
/* Descriptors of an image changed behind its back, with good checksums. */
#ifndef XW_TESTS_GROUPS_H
#define XW_TESTS_GROUPS_H

#include "dev/dev.h"
#include "disk/group.h"
#include "read/image.h"
#include "unit.h"

static inline void put_group(struct xw_image *img, uint64_t group, const struct xw_group_desc *gd)
{
	const uint64_t off = xw_image_desc_block(img, group) * img->block_size +
			     group % (img->block_size / img->desc_size) * img->desc_size;
	uint8_t buf[64];

	ck_assert_int_eq(xw_dev_pread(img->dev, buf, img->desc_size, off), 0);
	xw_group_encode(gd, &img->sb, img->csum_seed, group, buf);
	ck_assert_int_eq(xw_dev_pwrite(img->dev, buf, img->desc_size, off), 0);
}

/* As mke2fs leaves it to the kernel: nobody has zeroed the tables of the groups from `first` on. */
static inline void leave_lazy(struct xw_dev *dev, uint64_t first)
{
	struct xw_diag diag = {0};
	struct xw_group_desc gd;
	struct xw_image *img;

	ck_assert_int_eq(xw_image_open(dev, 0, &diag, &img), 0);
	for (uint64_t g = first; g < img->groups; g++) {
		ck_assert_int_eq(xw_image_group(img, g, &gd), 0);
		gd.flags &= (uint16_t)~XW_BG_INODE_ZEROED;
		put_group(img, g, &gd);
	}
	xw_image_close(img);
}

#endif
