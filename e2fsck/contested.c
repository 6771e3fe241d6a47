// SPDX-License-Identifier: MIT
/* Blocks that more than one owner claims. */
#include "config.h"

#include "fsck.h"

int fsck_check_contested(struct fsck *f)
{
	(void)f;
	return 0;
}
