// SPDX-License-Identifier: MIT
/* The image on the overlay. */
#include "config.h"

#include "open/open.h"

#define IMAGE_FLAGS (XW_IMAGE_NOCSUM | XW_IMAGE_ANY_FEATURES | XW_IMAGE_SHORT | XW_IMAGE_LENIENT)

int fsck_reopen(struct fsck *f)
{
	xw_log_fn *const log = f->diag.log;
	int rc;

	xw_image_close(f->img);
	f->img = NULL;
	f->diag.log = NULL; /* that the journal needs recovery is a finding, not a warning */
	rc = xw_image_open(f->dev, IMAGE_FLAGS, &f->diag, &f->img);
	f->diag.log = log;
	return rc;
}
