// SPDX-License-Identifier: MIT
/*
 * Gives up a change that cannot be completed. Some of its blocks may have been written, so only a
 * full check can determine the state of the image.
 */
#include "config.h"

#include "session/recover.h"
#include "tune/tune.h"

int xw_tune_clear_pending(const char *path, const struct xw_tune_opts *opts, struct xw_diag *diag)
{
	struct xw_recover_info info;
	struct xw_dev *dev;
	int rc = xw_recover_open(path, opts->redo_file ? opts->redo_file : opts->redo_dir,
				 opts->offset, XW_RECOVER_FORCE, diag, &dev, &info);

	if (rc)
		return rc;
	if (info.stuck)
		rc = xw_recover_abandon(dev, diag);
	else if (info.redo_applied)
		xw_log(diag, XW_LOG_WARN, "%s: the pending change is completed", path);
	else
		rc = xw_fail(diag, XW_ERR_INPUT, "%s: no change is pending", path);
	xw_dev_close(dev);
	return rc;
}
