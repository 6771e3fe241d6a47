/* SPDX-License-Identifier: MIT */
/*
 * A window: the bytes [start, end) of another device, as a device of its own.
 *
 * Invariants:
 * 1. No byte outside [start, end) is read or changed through a window, whoever asks: a range that
 *    leaves it fails as a whole, before any of it reaches the device below.
 * 2. A window of a disk (a file or device with a partition table), of a block device or of another
 *    fixed window has a fixed size. Only in a plain file can the last window grow with the file.
 * 3. `size` is what is accessible now: it is never beyond the end of the window.
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/types.h"
#include "dev/dev.h"
#include "dev/partition.h"

#define NO_END UINT64_MAX

struct window {
	struct xw_dev dev;
	struct xw_dev *under;
	uint64_t start, end; /* bytes in `under`; end NO_END: the file may grow */
};

static struct window *window(struct xw_dev *d)
{
	return (struct window *)d;
}

/* Bytes of [start, end) that a device of `size` bytes has. */
static uint64_t size_within(const struct window *w, uint64_t size)
{
	const uint64_t end = XW_MIN(size, w->end);

	return end > w->start ? end - w->start : 0;
}

static void follow_size(struct window *w)
{
	if (!w->dev.fixed)
		w->dev.size = size_within(w, w->under->size);
}

/* Is [off, off + len) before the end of the window? Then adding `start` cannot overflow. */
static bool holds(const struct window *w, uint64_t off, uint64_t len)
{
	const uint64_t room = w->end - w->start;

	return off <= room && len <= room - off;
}

/* The byte of `under` for messages: an image may claim any block number. */
static unsigned long long at(const struct window *w, uint64_t off)
{
	return off <= UINT64_MAX - w->start ? w->start + off : UINT64_MAX;
}

static int check_read(const struct window *w, size_t len, uint64_t off)
{
	if (holds(w, off, len))
		return 0;
	return xw_fail(w->dev.diag, XW_ERR_TRUNCATED,
		       "%s: cannot read %zu bytes at byte %llu: past the end%s", w->dev.name, len,
		       at(w, off), w->dev.fixed ? " of the partition or device" : "");
}

static int check_change(const struct window *w, const char *verb, uint64_t off, uint64_t len)
{
	if (holds(w, off, len))
		return 0;
	if (!w->dev.fixed)
		return xw_fail(w->dev.diag, XW_ERR_LIMIT, "%s: offset %llu + %llu is too large",
			       w->dev.name, (unsigned long long)w->start, (unsigned long long)off);
	return xw_fail(w->dev.diag, XW_ERR_HOSTFULL,
		       "%s: cannot %s %llu bytes at byte %llu: the partition or device ends at "
		       "byte %llu",
		       w->dev.name, verb, (unsigned long long)len, at(w, off),
		       (unsigned long long)w->end);
}

static int window_pread(struct xw_dev *d, void *buf, size_t len, uint64_t off)
{
	struct window *w = window(d);
	const int rc = check_read(w, len, off);

	return rc ? rc : xw_dev_pread(w->under, buf, len, off + w->start);
}

static int window_pwritev(struct xw_dev *d, const struct iovec *iov, int n, uint64_t off)
{
	struct window *w = window(d);
	uint64_t len = 0;
	int rc;

	for (int i = 0; i < n; i++)
		if (__builtin_add_overflow(len, iov[i].iov_len, &len))
			len = NO_END;
	rc = check_change(w, "write", off, len);
	if (!rc)
		rc = xw_dev_pwritev(w->under, iov, n, off + w->start);
	follow_size(w);
	return rc;
}

static int window_zero(struct xw_dev *d, uint64_t off, uint64_t len)
{
	struct window *w = window(d);
	int rc = check_change(w, "zero", off, len);

	if (!rc)
		rc = xw_dev_zero(w->under, off + w->start, len);
	follow_size(w);
	return rc;
}

static int window_flush(struct xw_dev *d)
{
	return xw_dev_flush(window(d)->under);
}

/* As for a block device, a fixed size that is large enough stays as it is. */
static int window_set_size(struct xw_dev *d, uint64_t size)
{
	struct window *w = window(d);
	int rc = 0;

	if (d->fixed)
		return size <= d->size ? 0 : check_change(w, "extend to", size, 1);
	rc = check_change(w, "extend to", size, 0);
	if (!rc)
		rc = xw_dev_set_size(w->under, size + w->start);
	follow_size(w);
	return rc;
}

/* The part of a range that is inside the window, for hints; false: none. */
static bool clip(const struct window *w, uint64_t off, uint64_t *len)
{
	const uint64_t room = w->end - w->start;

	if (off >= room)
		return false;
	*len = XW_MIN(*len, room - off);
	return true;
}

static void window_writeback(struct xw_dev *d, uint64_t off, uint64_t len)
{
	struct window *w = window(d);

	if (clip(w, off, &len))
		xw_dev_writeback(w->under, off + w->start, len);
}

static void window_ahead(struct xw_dev *d, uint64_t off, uint64_t len)
{
	struct window *w = window(d);

	if (clip(w, off, &len))
		xw_dev_ahead(w->under, off + w->start, len);
}

static int window_discard(struct xw_dev *d, uint64_t off, uint64_t len)
{
	struct window *w = window(d);
	const int rc = check_change(w, "discard", off, len);

	return rc ? rc : xw_dev_discard(w->under, off + w->start, len);
}

static bool window_data(struct xw_dev *d, uint64_t off, uint64_t *start, uint64_t *end)
{
	struct window *w = window(d);

	if (!holds(w, off, 1) || !xw_dev_data(w->under, off + w->start, start, end) ||
	    *start >= w->end)
		return false;
	*start -= w->start;
	*end = XW_MIN(*end, w->end) - w->start;
	return true;
}

static int window_reserve(struct xw_dev *d, uint64_t off, uint64_t len)
{
	struct window *w = window(d);
	const int rc = check_change(w, "reserve", off, len);

	return rc ? rc : xw_dev_reserve(w->under, off + w->start, len);
}

static int window_check_end(struct xw_dev *d, uint64_t end)
{
	struct window *w = window(d);
	const int rc = check_change(w, "write", 0, end);

	return rc ? rc : xw_dev_check_end(w->under, end + w->start);
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
	const int rc = xw_dev_stamp(window(d)->under, out);

	out->size = size_within(window(d), out->size);
	return rc;
}

static int window_pread_fresh(struct xw_dev *d, void *buf, size_t len, uint64_t off)
{
	struct window *w = window(d);
	const int rc = check_read(w, len, off);

	return rc ? rc : xw_dev_pread_fresh(w->under, buf, len, off + w->start);
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

int xw_dev_open_window(struct xw_dev *under, uint64_t start, uint64_t end, struct xw_dev **out)
{
	struct window *w = calloc(1, sizeof(*w));

	if (!w)
		return xw_fail_nomem(under->diag, "a device");
	if (under->fixed)
		end = XW_MIN(end, under->size);
	w->under = under;
	w->start = start;
	w->end = XW_MAX(start, end);
	w->dev = (struct xw_dev){
		.ops = &window_ops,
		.size = size_within(w, under->size),
		.name = under->name,
		.diag = under->diag,
		.fresh = under->fresh,
		.is_block = under->is_block,
		.is_window = true,
		.fixed = end != NO_END,
		.rdonly = under->rdonly,
		.keep = under->keep,
	};
	*out = &w->dev;
	return 0;
}

/* What is left of a disk whose partitions are unknown. */
static int open_rest(struct xw_dev *under, uint64_t off, int why, struct xw_dev **out)
{
	if (under->rdonly)
		return xw_dev_open_window(under, off, under->size, out);
	return xw_fail(under->diag, why,
		       "%s: the partition table %s: the end of a filesystem at byte %" PRIu64
		       " is unknown, so nothing is written there",
		       under->name,
		       why == XW_ERR_IO ? "cannot be read" : "is damaged, or the disk was cut",
		       off);
}

int xw_dev_open_offset(struct xw_dev *under, uint64_t off, struct xw_dev **out)
{
	struct xw_partitions table = {.n = 0};
	int rc = under->ops->partitions ? under->ops->partitions(under, &table) : 0;
	uint64_t end = NO_END;

	if (rc == XW_ERR_NOMEM)
		return xw_fail_nomem(under->diag, "the partition table");
	if (!rc && table.damaged)
		rc = XW_ERR_INPUT;
	if (*table.type)
		end = xw_partitions_end(&table, off, under->size);
	xw_partitions_free(&table);
	return rc ? open_rest(under, off, rc, out) : xw_dev_open_window(under, off, end, out);
}

int xw_dev_open_existing(struct xw_dev *under, uint64_t off, struct xw_dev **out)
{
	if (off >= under->size)
		return xw_fail(under->diag, XW_ERR_INPUT,
			       "%s: offset %" PRIu64 " is beyond the end at %" PRIu64, under->name,
			       off, under->size);
	return xw_dev_open_offset(under, off, out);
}
