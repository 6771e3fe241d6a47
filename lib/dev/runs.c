/* SPDX-License-Identifier: MIT */
/*
 * A device made of runs of another device: byte 0 is the first byte of the first run, and so on.
 * Accesses are split at the ends of runs.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/types.h"
#include "dev/runs.h"

struct runs_dev {
	struct xw_dev dev;
	struct xw_dev *under; /* borrowed */
	struct span {
		uint64_t at; /* bytes of this device */
		uint64_t off; /* bytes of `under` */
	} * spans; /* n, and an end marker */
	size_t n;
};

static struct runs_dev *runs(struct xw_dev *d)
{
	return (struct runs_dev *)d;
}

static uint64_t capacity(const struct runs_dev *r)
{
	return r->spans[r->n].at;
}

/* Map byte off to `under`; *len is the number of bytes that are contiguous from there on. */
static uint64_t find(const struct runs_dev *r, uint64_t off, uint64_t *len)
{
	const size_t next = XW_LOWER_BOUND(i, r->n, r->spans[i].at > off);
	const struct span *s = &r->spans[next - 1];

	*len = r->spans[next].at - off;
	return s->off + (off - s->at);
}

static int check(struct runs_dev *r, uint64_t off, uint64_t len, uint64_t end, int code)
{
	if (off <= end && len <= end - off)
		return 0;
	return xw_fail(r->dev.diag, code, "%s: access past the end of allocated blocks",
		       r->dev.name);
}

static int runs_pread(struct xw_dev *d, void *buf, size_t len, uint64_t off)
{
	struct runs_dev *r = runs(d);
	int rc = check(r, off, len, d->size, XW_ERR_TRUNCATED);

	for (uint64_t n, from; !rc && len; len -= n, off += n, buf = (uint8_t *)buf + n) {
		from = find(r, off, &n);
		n = XW_MIN(n, len);
		rc = xw_dev_pread(r->under, buf, n, from);
	}
	return rc;
}

/* Write one vector, split at the ends of runs. */
static int write_one(struct runs_dev *r, const struct iovec *iov, uint64_t off)
{
	const uint8_t *p = iov->iov_base;
	uint64_t n, to;
	int rc = 0;

	for (size_t left = iov->iov_len; !rc && left; left -= n, off += n, p += n) {
		to = find(r, off, &n);
		n = XW_MIN(n, left);
		rc = xw_dev_pwrite(r->under, p, n, to);
	}
	return rc;
}

static int runs_pwritev(struct xw_dev *d, const struct iovec *iov, int n, uint64_t off)
{
	struct runs_dev *r = runs(d);
	uint64_t total = 0, room, to;
	int rc;

	for (int i = 0; i < n; i++)
		total += iov[i].iov_len;
	rc = check(r, off, total, capacity(r), XW_ERR_NOSPC);
	if (rc || !total)
		return rc;
	d->size = XW_MAX(d->size, off + total);
	to = find(r, off, &room);
	if (total <= room)
		return xw_dev_pwritev(r->under, iov, n, to);
	for (int i = 0; i < n && !rc; off += iov[i].iov_len, i++)
		rc = write_one(r, &iov[i], off);
	return rc;
}

static int runs_zero(struct xw_dev *d, uint64_t off, uint64_t len)
{
	struct runs_dev *r = runs(d);
	int rc = check(r, off, len, capacity(r), XW_ERR_NOSPC);

	if (!rc)
		d->size = XW_MAX(d->size, off + len);
	for (uint64_t n, to; !rc && len; len -= n, off += n) {
		to = find(r, off, &n);
		n = XW_MIN(n, len);
		rc = xw_dev_zero(r->under, to, n);
	}
	return rc;
}

static int runs_flush(struct xw_dev *d)
{
	return xw_dev_flush(runs(d)->under);
}

static int runs_set_size(struct xw_dev *d, uint64_t size)
{
	int rc = check(runs(d), size, 0, capacity(runs(d)), XW_ERR_NOSPC);

	if (!rc)
		d->size = size;
	return rc;
}

static void runs_close(struct xw_dev *d)
{
	free(runs(d)->spans);
	free(d);
}

static const struct xw_dev_ops runs_ops = {
	.pread = runs_pread,
	.pwritev = runs_pwritev,
	.zero = runs_zero,
	.flush = runs_flush,
	.set_size = runs_set_size,
	.close = runs_close,
};

int xw_dev_open_runs(struct xw_dev *under, const struct xw_run *list, size_t n, uint32_t unit,
		     struct xw_dev **out)
{
	struct runs_dev *r = calloc(1, sizeof(*r));

	if (r)
		r->spans = calloc(n + 1, sizeof(*r->spans));
	if (!r || !r->spans) {
		free(r);
		return xw_fail_nomem(under->diag, "a device");
	}
	r->dev.ops = &runs_ops;
	r->dev.name = under->name;
	r->dev.diag = under->diag;
	r->dev.is_block = under->is_block;
	r->dev.keep = under->keep;
	r->under = under;
	r->n = n;
	for (size_t i = 0; i < n; i++) {
		r->spans[i].off = list[i].start * unit;
		r->spans[i + 1].at = r->spans[i].at + list[i].len * unit;
	}
	*out = &r->dev;
	return 0;
}
