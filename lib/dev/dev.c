/* SPDX-License-Identifier: MIT */
/* Code shared by all devices, and the offset device: a window on another one. */
#include "config.h"

#include <stdlib.h>

#include "dev/dev.h"

struct offset_dev {
	struct xw_dev dev;
	struct xw_dev *under;
	uint64_t off;
};

int xw_dev_pwrite(struct xw_dev *d, const void *buf, size_t len, uint64_t off)
{
	struct iovec v = {.iov_base = (void *)(uintptr_t)buf, .iov_len = len};

	return d->ops->pwritev(d, &v, 1, off);
}

static struct offset_dev *window(struct xw_dev *d)
{
	return (struct offset_dev *)d;
}

static void follow_size(struct offset_dev *w)
{
	w->dev.size = w->under->size > w->off ? w->under->size - w->off : 0;
}

/* Adding the window's offset must not wrap: an image may claim any block number. */
static int check_range(struct offset_dev *w, uint64_t off)
{
	if (off <= UINT64_MAX - w->off)
		return 0;
	return xw_fail(w->under->diag, XW_ERR_LIMIT, "%s: offset %llu + %llu is too large",
		       w->dev.name, (unsigned long long)w->off, (unsigned long long)off);
}

static int window_pread(struct xw_dev *d, void *buf, size_t len, uint64_t off)
{
	struct offset_dev *w = window(d);
	int rc = check_range(w, off);

	return rc ? rc : xw_dev_pread(w->under, buf, len, off + w->off);
}

static int window_pwritev(struct xw_dev *d, const struct iovec *iov, int n, uint64_t off)
{
	struct offset_dev *w = window(d);
	int rc = check_range(w, off);

	if (!rc)
		rc = xw_dev_pwritev(w->under, iov, n, off + w->off);
	follow_size(w);
	return rc;
}

static int window_zero(struct xw_dev *d, uint64_t off, uint64_t len)
{
	struct offset_dev *w = window(d);
	int rc = check_range(w, off);

	if (!rc)
		rc = xw_dev_zero(w->under, off + w->off, len);
	follow_size(w);
	return rc;
}

static int window_flush(struct xw_dev *d)
{
	return xw_dev_flush(window(d)->under);
}

static int window_set_size(struct xw_dev *d, uint64_t size)
{
	struct offset_dev *w = window(d);
	int rc = check_range(w, size);

	if (!rc)
		rc = xw_dev_set_size(w->under, size + w->off);
	follow_size(w);
	return rc;
}

static void window_writeback(struct xw_dev *d, uint64_t off, uint64_t len)
{
	struct offset_dev *w = window(d);

	if (off <= UINT64_MAX - w->off)
		xw_dev_writeback(w->under, off + w->off, len);
}

static void window_ahead(struct xw_dev *d, uint64_t off, uint64_t len)
{
	struct offset_dev *w = window(d);

	if (off <= UINT64_MAX - w->off)
		xw_dev_ahead(w->under, off + w->off, len);
}

static int window_discard(struct xw_dev *d, uint64_t off, uint64_t len)
{
	struct offset_dev *w = window(d);
	int rc = check_range(w, off);

	return rc ? rc : xw_dev_discard(w->under, off + w->off, len);
}

static bool window_data(struct xw_dev *d, uint64_t off, uint64_t *start, uint64_t *end)
{
	struct offset_dev *w = window(d);

	if (off > UINT64_MAX - w->off || !xw_dev_data(w->under, off + w->off, start, end))
		return false;
	*start -= w->off;
	*end -= w->off;
	return true;
}

static int window_reserve(struct xw_dev *d, uint64_t off, uint64_t len)
{
	struct offset_dev *w = window(d);
	int rc = check_range(w, off);

	return rc ? rc : xw_dev_reserve(w->under, off + w->off, len);
}

static int window_check_end(struct xw_dev *d, uint64_t end)
{
	struct offset_dev *w = window(d);
	int rc = check_range(w, end);

	return rc ? rc : xw_dev_check_end(w->under, end + w->off);
}

static int window_check_unused(struct xw_dev *d)
{
	return xw_dev_check_unused(window(d)->under);
}

static bool window_hold(struct xw_dev *d, enum xw_dev_hold what)
{
	return xw_dev_hold(window(d)->under, what);
}

static int window_stamp(struct xw_dev *d, struct xw_dev_stamp *out)
{
	const uint64_t off = window(d)->off;
	int rc = xw_dev_stamp(window(d)->under, out);

	out->size = out->size > off ? out->size - off : 0;
	return rc;
}

static int window_pread_fresh(struct xw_dev *d, void *buf, size_t len, uint64_t off)
{
	struct offset_dev *w = window(d);
	int rc = check_range(w, off);

	return rc ? rc : xw_dev_pread_fresh(w->under, buf, len, off + w->off);
}

static void window_close(struct xw_dev *d)
{
	xw_dev_close(window(d)->under);
	free(d);
}

static const struct xw_dev_ops window_ops = {
	.pread = window_pread,
	.pwritev = window_pwritev,
	.zero = window_zero,
	.flush = window_flush,
	.set_size = window_set_size,
	.close = window_close,
	.writeback = window_writeback,
	.discard = window_discard,
	.data = window_data,
	.reserve = window_reserve,
	.ahead = window_ahead,
	.check_end = window_check_end,
	.check_unused = window_check_unused,
	.hold = window_hold,
	.stamp = window_stamp,
	.pread_fresh = window_pread_fresh,
};

int xw_dev_open_offset(struct xw_dev *under, uint64_t off, struct xw_dev **out)
{
	struct offset_dev *w = calloc(1, sizeof(*w));

	if (!w)
		return xw_fail_nomem(under->diag, "a device");
	w->dev = (struct xw_dev){
		.ops = &window_ops,
		.name = under->name,
		.diag = under->diag,
		.fresh = under->fresh,
		.is_block = under->is_block,
		.is_window = true,
		.keep = under->keep,
	};
	w->under = under;
	w->off = off;
	follow_size(w);
	*out = &w->dev;
	return 0;
}
