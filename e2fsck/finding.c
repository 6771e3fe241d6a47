// SPDX-License-Identifier: MIT
/* Policy. */
#include "config.h"

#include "fsck.h"

bool fsck_found(struct fsck *f, const struct fsck_about *a)
{
	(void)a;
	return f->opts.mode == FSCK_YES;
}
