/* SPDX-License-Identifier: MIT */
/*
 * Direct I/O: a device over one that accepts only whole blocks of `align` bytes from aligned
 * memory, as a file opened with O_DIRECT does.
 *
 * Invariants:
 * 1. `under` receives only aligned offsets, lengths and memory. Aligned requests are passed on; all
 *    others go through the bounce buffer, one call at a time, and partial blocks are read first.
 * 2. dev.size is exact. The size of a regular file `under` is rounded up with zeros while blocks at
 *    its end are being modified, and is made exact on flush and close.
 */
#include "config.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/types.h"
#include "dev/dev.h"
#include "dev/partition.h"

#define BOUNCE (256u << 10)

struct direct_dev {
	struct xw_dev dev;
	struct xw_dev *under;
	uint32_t align; /* a power of two */
	pthread_mutex_t lock; /* protects bounce and both sizes */
	uint8_t *bounce;
};

static struct direct_dev *direct(struct xw_dev *d)
{
	return (struct direct_dev *)d;
}

static uint64_t down(const struct direct_dev *w, uint64_t n)
{
	return n & ~(uint64_t)(w->align - 1);
}

static uint64_t up(const struct direct_dev *w, uint64_t n)
{
	return down(w, n + w->align - 1);
}

static bool is_aligned(const struct direct_dev *w, uint64_t n)
{
	return !(n & (w->align - 1));
}

static int check_range(struct direct_dev *w, const char *verb, uint64_t off, uint64_t len)
{
	const uint64_t max = (uint64_t)INT64_MAX - w->align;

	if (off <= max && len <= max - off)
		return 0;
	return xw_fail(w->dev.diag, XW_ERR_HOSTFULL, "%s: cannot %s at byte %llu: too far",
		       w->dev.name, verb, (unsigned long long)off);
}

/* Round up the size of `under`, see invariant 2. */
static int round_up_under(struct direct_dev *w)
{
	return is_aligned(w, w->under->size) ? 0 : xw_dev_set_size(w->under, up(w, w->under->size));
}

static int trim_under(struct direct_dev *w)
{
	return w->under->is_block || w->under->size == w->dev.size
		       ? 0
		       : xw_dev_set_size(w->under, w->dev.size);
}

static int read_bounced(struct direct_dev *w, uint8_t *p, size_t len, uint64_t off)
{
	int rc = round_up_under(w);

	while (len && !rc) {
		uint64_t from = down(w, off), skip = off - from;
		size_t span = (size_t)XW_MIN(up(w, off + len) - from, BOUNCE);
		size_t n = XW_MIN(span - skip, len);

		rc = xw_dev_pread(w->under, w->bounce, span, from);
		if (!rc)
			memcpy(p, w->bounce + skip, n);
		p += n;
		off += n;
		len -= n;
	}
	return rc;
}

static int direct_pread(struct xw_dev *d, void *buf, size_t len, uint64_t off)
{
	struct direct_dev *w = direct(d);
	int rc;

	pthread_mutex_lock(&w->lock);
	if (off > d->size || len > d->size - off) {
		pthread_mutex_unlock(&w->lock);
		return xw_fail(d->diag, XW_ERR_TRUNCATED,
			       "%s: cannot read %zu bytes at byte %llu: past the end", d->name, len,
			       (unsigned long long)off);
	}
	if (is_aligned(w, off) && is_aligned(w, len) && is_aligned(w, (uintptr_t)buf)) {
		pthread_mutex_unlock(&w->lock);
		return xw_dev_pread(w->under, buf, len, off);
	}
	rc = read_bounced(w, buf, len, off);
	pthread_mutex_unlock(&w->lock);
	return rc;
}

/* Read one existing block into the bounce buffer; zeros past the end. */
static int fetch(struct direct_dev *w, uint64_t block, uint8_t *to)
{
	if (block < w->under->size)
		return xw_dev_pread(w->under, to, w->align, block);
	memset(to, 0, w->align);
	return 0;
}

struct gather {
	const struct iovec *iov; /* NULL: zeros */
	size_t done; /* bytes done of *iov */
};

static void copy_out(struct gather *g, uint8_t *to, size_t len)
{
	if (!g->iov)
		memset(to, 0, len);
	while (g->iov && len) {
		size_t n = XW_MIN(len, g->iov->iov_len - g->done);

		if (n)
			memcpy(to, (const uint8_t *)g->iov->iov_base + g->done, n);
		to += n;
		len -= n;
		g->done += n;
		if (g->done == g->iov->iov_len && len) {
			g->iov++;
			g->done = 0;
		}
	}
}

static int write_bounced(struct direct_dev *w, struct gather *g, uint64_t len, uint64_t off)
{
	int rc = round_up_under(w);

	while (len && !rc) {
		uint64_t from = down(w, off), skip = off - from;
		size_t span = (size_t)XW_MIN(up(w, off + len) - from, BOUNCE);
		size_t n = (size_t)XW_MIN(span - skip, len);
		size_t last = span - w->align;

		if (skip || n < w->align)
			rc = fetch(w, from, w->bounce);
		if (!rc && last && !is_aligned(w, skip + n))
			rc = fetch(w, from + last, w->bounce + last);
		if (rc)
			break;
		copy_out(g, w->bounce + skip, n);
		rc = xw_dev_pwrite(w->under, w->bounce, span, from);
		off += n;
		len -= n;
		if (!rc)
			w->dev.size = XW_MAX(w->dev.size, off);
	}
	return rc;
}

static bool all_aligned(const struct direct_dev *w, const struct iovec *iov, int n, uint64_t off)
{
	bool ok = is_aligned(w, off);

	for (int i = 0; i < n; i++)
		ok = ok && is_aligned(w, (uintptr_t)iov[i].iov_base) &&
		     is_aligned(w, iov[i].iov_len);
	return ok;
}

static int direct_pwritev(struct xw_dev *d, const struct iovec *iov, int n, uint64_t off)
{
	struct direct_dev *w = direct(d);
	struct gather g = {.iov = iov};
	uint64_t len = 0;
	int rc;

	for (int i = 0; i < n; i++) {
		if (__builtin_add_overflow(len, iov[i].iov_len, &len))
			len = UINT64_MAX - 1;
	}
	rc = check_range(w, "write", off, len);
	if (rc || !len)
		return rc;
	if (all_aligned(w, iov, n, off)) {
		rc = xw_dev_pwritev(w->under, iov, n, off);
		pthread_mutex_lock(&w->lock);
		if (!rc)
			d->size = XW_MAX(d->size, off + len);
	} else {
		pthread_mutex_lock(&w->lock);
		rc = write_bounced(w, &g, len, off);
	}
	pthread_mutex_unlock(&w->lock);
	return rc;
}

static int direct_zero(struct xw_dev *d, uint64_t off, uint64_t len)
{
	struct direct_dev *w = direct(d);
	struct gather zeros = {0};
	uint64_t from, to;
	int rc = check_range(w, "write", off, len);

	if (rc || !len)
		return rc;
	pthread_mutex_lock(&w->lock);
	w->under->keep = d->keep;
	from = XW_MIN(up(w, off), off + len);
	to = XW_MAX(down(w, off + len), from);
	if (from > off)
		rc = write_bounced(w, &zeros, from - off, off);
	if (!rc && to > from)
		rc = xw_dev_zero(w->under, from, to - from);
	if (!rc && off + len > to)
		rc = write_bounced(w, &zeros, off + len - to, to);
	if (!rc)
		d->size = XW_MAX(d->size, off + len);
	pthread_mutex_unlock(&w->lock);
	return rc;
}

static int direct_flush(struct xw_dev *d)
{
	struct direct_dev *w = direct(d);
	int rc;

	pthread_mutex_lock(&w->lock);
	rc = trim_under(w);
	pthread_mutex_unlock(&w->lock);
	return rc ? rc : xw_dev_flush(w->under);
}

/* Exact size first: truncated data must not reappear when the file grows again. */
static int direct_set_size(struct xw_dev *d, uint64_t size)
{
	struct direct_dev *w = direct(d);
	int rc = xw_dev_set_size(w->under, size);

	pthread_mutex_lock(&w->lock);
	if (!rc && !d->is_block)
		d->size = size;
	pthread_mutex_unlock(&w->lock);
	return rc;
}

static int direct_discard(struct xw_dev *d, uint64_t off, uint64_t len)
{
	return xw_dev_discard(direct(d)->under, off, len);
}

static bool direct_data(struct xw_dev *d, uint64_t off, uint64_t *start, uint64_t *end)
{
	return xw_dev_data(direct(d)->under, off, start, end);
}

static int direct_check_end(struct xw_dev *d, uint64_t end)
{
	return xw_dev_check_end(direct(d)->under, end);
}

static int direct_check_unused(struct xw_dev *d)
{
	return xw_dev_check_unused(direct(d)->under);
}

static bool direct_hold(struct xw_dev *d, enum xw_dev_hold what)
{
	return xw_dev_hold(direct(d)->under, what);
}

static int direct_partitions(struct xw_dev *d, struct xw_partitions *out)
{
	struct xw_dev *under = direct(d)->under;

	*out = (struct xw_partitions){.n = 0};
	return under->ops->partitions ? under->ops->partitions(under, out) : 0;
}

static void direct_close(struct xw_dev *d)
{
	struct direct_dev *w = direct(d);

	(void)trim_under(w);
	xw_dev_close(w->under);
	pthread_mutex_destroy(&w->lock);
	free(w->bounce);
	free(w);
}

static const struct xw_dev_ops direct_ops = {
	.pread = direct_pread,
	.pwritev = direct_pwritev,
	.zero = direct_zero,
	.flush = direct_flush,
	.set_size = direct_set_size,
	.close = direct_close,
	.discard = direct_discard,
	.data = direct_data,
	.check_end = direct_check_end,
	.check_unused = direct_check_unused,
	.hold = direct_hold,
	.partitions = direct_partitions,
};

int xw_dev_open_direct(struct xw_dev *under, uint32_t align, struct xw_dev **out)
{
	struct direct_dev *w = calloc(1, sizeof(*w));

	if (w)
		w->bounce = aligned_alloc(align, BOUNCE);
	if (!w || !w->bounce) {
		free(w);
		return xw_fail_nomem(under->diag, "a device");
	}
	w->dev = *under;
	w->dev.ops = &direct_ops;
	w->under = under;
	w->align = align;
	pthread_mutex_init(&w->lock, NULL);
	*out = &w->dev;
	return 0;
}
