// SPDX-License-Identifier: MIT
/* Attribute blocks and EA inodes. */
#include "config.h"

#include "fsck.h"

int fsck_check_xattrs(struct fsck *f)
{
	(void)f;
	return 0;
}

int fsck_xattr_inode(struct fsck *f, xw_ino ino, struct xw_inode *in, uint8_t *raw, bool *dirty,
		     uint64_t *blocks)
{
	(void)f;
	(void)ino;
	(void)in;
	(void)raw;
	*dirty = false;
	*blocks = 0;
	return 0;
}

void fsck_xattrs_free(struct fsck *f)
{
	(void)f;
}
