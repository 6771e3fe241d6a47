// SPDX-License-Identifier: MIT
/*
 * The way out of a change that cannot be completed any more. Half of its blocks may be there, so
 * nothing but a full check can say what the image is worth.
 */
#include "config.h"

#include "session/recover.h"
#include "tune/tune.h"

int xw_tune_clear_pending(const char *path, const struct xw_tune_opts *opts, struct xw_diag *diag)
{
	struct xw_recover_info info;
	struct xw_dev *dev;
	int ret = xw_recover_open(path, opts->redo_file, opts->offset, XW_RECOVER_FORCE, diag, &dev,
				  &info);

	if (ret)
		return ret;
	if (info.stuck)
		ret = xw_recover_give_up(dev, diag);
	else if (info.redo_applied)
		xw_log(diag, XW_LOG_WARN, "%s: the redo file was there; nothing is lost", path);
	else
		ret = xw_fail(diag, XW_ERR_INPUT, "%s: no change is pending", path);
	xw_dev_close(dev);
	return ret;
}
