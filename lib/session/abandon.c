/* SPDX-License-Identifier: MIT */
/* Drops an interrupted change that no record can complete. */
#include "config.h"

#include "commit/super.h"
#include "session/recover.h"

int xw_recover_abandon(struct xw_dev *dev, struct xw_diag *diag)
{
	uint8_t super[XW_SUPER_SIZE];
	struct xw_super sb;
	int rc = xw_dev_pread(dev, super, sizeof(super), XW_SUPER_OFFSET);

	if (rc)
		return xw_fail(diag, rc, "%s: cannot read the superblock", dev->name);
	xw_super_bytes_unpend(super);
	if (!xw_super_decode(super, &sb)) { /* otherwise the check starts with a backup anyway */
		sb.state |= XW_STATE_ERROR;
		xw_super_encode(&sb, super);
	}
	rc = xw_dev_pwrite(dev, super, sizeof(super), XW_SUPER_OFFSET);
	return rc ? rc : xw_dev_flush(dev);
}
