// SPDX-License-Identifier: MIT
/* Inode-ordered trees beside directories. */
#include "config.h"

#include "fsck.h"

int fsck_claim_itrees(struct fsck *f)
{
	(void)f;
	return 0;
}
