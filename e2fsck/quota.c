// SPDX-License-Identifier: MIT
/* Quota files. */
#include "config.h"

#include "fsck.h"

int fsck_quota_add(struct fsck *f, xw_ino ino, const struct xw_inode *in)
{
	(void)f;
	(void)ino;
	(void)in;
	return 0;
}

void fsck_quota_free(struct fsck *f)
{
	(void)f;
}
