// SPDX-License-Identifier: MIT
/* Superblock and group descriptors. */
#include "config.h"

#include <string.h>

#include "fsck.h"

int fsck_check_super(struct fsck *f)
{
	(void)f;
	return 0;
}

int fsck_super_write(struct fsck *f)
{
	uint8_t raw[XW_SUPER_SIZE], old[XW_SUPER_SIZE];
	int rc = xw_dev_pread(f->dev, old, sizeof(old), XW_SUPER_OFFSET);

	if (rc)
		memset(old, 0, sizeof(old)); /* unreadable: a reason to write it */
	memcpy(raw, old, sizeof(raw));
	xw_super_encode(&f->img->sb, raw);
	if (!rc && !memcmp(raw, old, sizeof(raw)))
		return 0;
	f->changed = true;
	xw_image_forget(f->img);
	return xw_dev_pwrite(f->dev, raw, sizeof(raw), XW_SUPER_OFFSET);
}
