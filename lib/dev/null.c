// SPDX-License-Identifier: MIT
/* The null device: writes succeed and are discarded, reads return zeros. Used by dry runs. */
#include "config.h"

#include "base/types.h"
#include "dev/dev.h"

#include <stdlib.h>
#include <string.h>

static int null_pread(struct xw_dev *d, void *buf, size_t len, uint64_t off)
{
	(void)d;
	(void)off;
	memset(buf, 0, len);
	return 0;
}

static int null_pwritev(struct xw_dev *d, const struct iovec *iov, int n, uint64_t off)
{
	for (int i = 0; i < n; i++)
		off += iov[i].iov_len;
	d->size = XW_MAX(d->size, off);
	return 0;
}

static int null_range(struct xw_dev *d, uint64_t off, uint64_t len)
{
	(void)d;
	(void)off;
	(void)len;
	return 0;
}

static int null_flush(struct xw_dev *d)
{
	(void)d;
	return 0;
}

static int null_set_size(struct xw_dev *d, uint64_t size)
{
	d->size = size;
	return 0;
}

static void null_close(struct xw_dev *d)
{
	free(d);
}

int xw_dev_open_null(const char *name, struct xw_diag *diag, struct xw_dev **out)
{
	static const struct xw_dev_ops ops = {
		.pread = null_pread,
		.pwritev = null_pwritev,
		.zero = null_range,
		.flush = null_flush,
		.set_size = null_set_size,
		.close = null_close,
	};
	struct xw_dev *d = calloc(1, sizeof(*d));

	if (!d)
		return xw_fail_nomem(diag, "a device");
	d->ops = &ops;
	d->name = name;
	d->diag = diag;
	*out = d;
	return 0;
}
