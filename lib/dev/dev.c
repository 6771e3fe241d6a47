/* SPDX-License-Identifier: MIT */
/* Code shared by all devices. */
#include "config.h"

#include "dev/dev.h"

int xw_dev_pwrite(struct xw_dev *d, const void *buf, size_t len, uint64_t off)
{
	struct iovec v = {.iov_base = (void *)(uintptr_t)buf, .iov_len = len};

	return d->ops->pwritev(d, &v, 1, off);
}
