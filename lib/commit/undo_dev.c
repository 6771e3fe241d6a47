// SPDX-License-Identifier: MIT
/*
 * Invariant: a unit of the old contents is in the undo file, with its key and a header of an
 * unfinished file, before it is first overwritten: a process that is killed loses nothing. Each
 * unit is saved once, in runs; units after the old end need no undo.
 *
 * Several threads may write and read: one lock is held while a range is saved.
 */
#include "config.h"

#include "commit/undo_dev.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/blockset.h"
#include "commit/undo_file.h"

#define UNIT XW_UNDO_UNIT

struct undo_dev {
	struct xw_dev dev;
	struct xw_dev *under;
	struct xw_undo_file file;
	pthread_mutex_t lock;
	struct xw_blockset *saved; /* units */
	uint64_t old_size; /* bytes */
	uint8_t *buf; /* XW_UNDO_KEY_UNITS units */
	char *path; /* of the undo file, once it was created; owned */
	bool finished;
};

static struct undo_dev *recorder(struct xw_dev *d)
{
	return (struct undo_dev *)d; /* dev is the first member */
}

static int save_run(struct undo_dev *r, uint64_t first, size_t n)
{
	const uint64_t at = first * UNIT;
	const size_t size = (size_t)XW_MIN((uint64_t)n * UNIT, r->old_size - at);
	int rc = xw_dev_pread(r->under, r->buf, size, at);

	memset(r->buf + size, 0, n * UNIT - size);
	if (!rc)
		rc = xw_undo_file_put(&r->file, at, r->buf, n, size);
	if (!rc && xw_blockset_add(r->saved, first, n, NULL))
		rc = xw_fail_nomem(r->dev.diag, "an undo file");
	return rc;
}

/* Save the parts of [off, off + len) that are not saved yet, up to the old end of the device. */
static int save(struct undo_dev *r, uint64_t off, uint64_t len)
{
	const uint64_t end = xw_div_up(XW_MIN(off + len, r->old_size), UNIT);
	uint64_t at = off / UNIT, start, n, keys;
	int rc = 0;

	pthread_mutex_lock(&r->lock);
	keys = r->file.n_keys;
	while (at < end && !rc) {
		if (!xw_blockset_next_in(r->saved, at, end, &start, &n))
			start = end, n = 0;
		while (at < start && !rc) {
			const size_t part = (size_t)XW_MIN(start - at, (uint64_t)XW_UNDO_KEY_UNITS);

			rc = save_run(r, at, part);
			at += part;
		}
		at += n;
	}
	if (!rc && r->file.n_keys > keys)
		rc = xw_undo_file_keep(&r->file);
	pthread_mutex_unlock(&r->lock);
	return rc;
}

/* ---- the device ---- */

static int done(struct undo_dev *r, int rc)
{
	r->dev.size = r->under->size;
	return rc;
}

static int undo_pread(struct xw_dev *d, void *buf, size_t len, uint64_t off)
{
	return xw_dev_pread(recorder(d)->under, buf, len, off);
}

static int undo_pwritev(struct xw_dev *d, const struct iovec *iov, int n, uint64_t off)
{
	struct undo_dev *r = recorder(d);
	uint64_t len = 0;
	int rc;

	for (int i = 0; i < n; i++)
		len += iov[i].iov_len;
	rc = save(r, off, len);
	return rc ? rc : done(r, xw_dev_pwritev(r->under, iov, n, off));
}

static int undo_zero(struct xw_dev *d, uint64_t off, uint64_t len)
{
	struct undo_dev *r = recorder(d);
	const int rc = save(r, off, len);

	return rc ? rc : done(r, xw_dev_zero(r->under, off, len));
}

static int undo_flush(struct xw_dev *d)
{
	return xw_dev_flush(recorder(d)->under);
}

static int undo_set_size(struct xw_dev *d, uint64_t size)
{
	struct undo_dev *r = recorder(d);
	const int rc = size < r->old_size ? save(r, size, r->old_size - size) : 0;

	return rc ? rc : done(r, xw_dev_set_size(r->under, size));
}

static void undo_writeback(struct xw_dev *d, uint64_t off, uint64_t len)
{
	xw_dev_writeback(recorder(d)->under, off, len);
}

static int undo_check_end(struct xw_dev *d, uint64_t end)
{
	return xw_dev_check_end(recorder(d)->under, end);
}

/* An unfinished file without contents undoes nothing, and would only prevent the next run. */
static void close_file(struct undo_dev *r)
{
	xw_dev_close(r->file.dev);
	if (r->path && !r->finished && !r->file.n_keys)
		(void)unlink(r->path);
	free(r->path);
	free(r->file.keys);
}

static void undo_close(struct xw_dev *d)
{
	struct undo_dev *r = recorder(d);

	close_file(r);
	xw_dev_close(r->under);
	pthread_mutex_destroy(&r->lock);
	xw_blockset_free(r->saved);
	free(r->buf);
	free(r);
}

int xw_undo_dev_finish(struct xw_dev *d)
{
	struct undo_dev *r = recorder(d);
	uint8_t super[XW_SUPER_SIZE] = {0};
	int rc = 0;

	if (r->finished)
		return 0;
	if (r->under->size >= XW_SUPER_OFFSET + XW_SUPER_SIZE)
		rc = xw_dev_pread(r->under, super, sizeof(super), XW_SUPER_OFFSET);
	r->file.size_before = r->old_size;
	r->file.size_after = r->under->size;
	if (!rc)
		rc = xw_undo_file_finish(&r->file, super);
	r->finished = !rc;
	return rc;
}

int xw_undo_dev_abandon(struct xw_dev *d)
{
	return recorder(d)->file.n_keys ? xw_undo_dev_finish(d) : 0;
}

/* ---- opening ---- */

int xw_undo_dev_exists(const char *path, struct xw_diag *diag)
{
	return xw_fail(diag, XW_ERR_EXISTS,
		       "undo file %s: exists already; remove it, or name another", path);
}

/* Create the file, accessible only to its owner, since it contains parts of the old contents. */
static int make_file(struct undo_dev *r, const char *path)
{
	struct xw_diag *diag = r->dev.diag;
	auto_fd int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0 && errno == EEXIST)
		return xw_undo_dev_exists(path, diag);
	if (fd < 0)
		return xw_fail_errno(diag, XW_ERR_IO, errno, "undo file %s", path);
	r->path = strdup(path);
	if (!r->path) {
		(void)unlink(path);
		return xw_fail_nomem(diag, "an undo file");
	}
	return xw_dev_open_file(path, 0, diag, &r->file.dev);
}

int xw_undo_dev_open(struct xw_dev *under, const char *path, uint64_t offset, struct xw_dev **out)
{
	static const struct xw_dev_ops ops = {
		.pread = undo_pread,
		.pwritev = undo_pwritev,
		.zero = undo_zero,
		.flush = undo_flush,
		.set_size = undo_set_size,
		.close = undo_close,
		.writeback = undo_writeback,
		.check_end = undo_check_end,
	};
	struct undo_dev *r = calloc(1, sizeof(*r));
	int rc = r ? 0 : xw_fail_nomem(under->diag, "an undo file");

	if (rc)
		return rc;
	r->dev = *under;
	r->dev.ops = &ops;
	r->old_size = under->size;
	r->file.diag = under->diag;
	r->file.offset = offset;
	pthread_mutex_init(&r->lock, NULL);
	r->buf = malloc((size_t)XW_UNDO_KEY_UNITS * UNIT);
	if (!r->buf || xw_blockset_new(xw_div_up(r->old_size, UNIT) + 1, &r->saved))
		rc = xw_fail_nomem(under->diag, "an undo file");
	if (!rc)
		rc = make_file(r, path);
	if (!rc)
		rc = xw_undo_file_begin(&r->file, UNIT);
	if (rc) { /* after a failure the caller still owns `under` */
		undo_close(&r->dev);
		return rc;
	}
	r->under = under;
	*out = &r->dev;
	return 0;
}
