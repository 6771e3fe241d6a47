/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "commit/super.h"

int xw_commit_put_super(struct xw_dev *base, const uint8_t super[XW_SUPER_SIZE])
{
	int rc = xw_dev_pwrite(base, super, XW_SUPER_SIZE, XW_SUPER_OFFSET);

	return rc ? rc : xw_dev_flush(base);
}
