// SPDX-License-Identifier: MIT
/*
 * Abandons an interrupted change that cannot be completed. Some of its blocks may have been
 * written, so the image is marked as having errors, for a full check.
 */
#include "config.h"

#include "session/recover.h"
#include "tune/tune.h"

int xw_tune_clear_pending(const char *path, const struct xw_tune_opts *opts, struct xw_diag *diag,
			  enum xw_tune_pending *was)
{
	struct xw_recover_info info;
	struct xw_dev *dev;
	int rc = xw_recover_open(path, opts->redo_file ? opts->redo_file : opts->redo_dir,
				 opts->offset, XW_RECOVER_FORCE | XW_RECOVER_CLEAR, diag, &dev,
				 &info);

	if (rc)
		return rc;
	*was = info.stuck          ? XW_TUNE_GIVEN_UP
	       : info.redo_applied ? XW_TUNE_COMPLETED
	       : info.cleared      ? XW_TUNE_CLEARED
				   : XW_TUNE_NOT_PENDING;
	if (info.stuck)
		rc = xw_recover_abandon(dev, diag);
	xw_dev_close(dev);
	return rc;
}
