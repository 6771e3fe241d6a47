/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <string.h>

#include "base/types.h"
#include "faultdev.h"
#include "memdev.h"
#include "unit.h"

static struct faultdev *fault(struct xw_dev *d)
{
	return (struct faultdev *)d;
}

static int planned(struct faultdev *f, const char *verb, uint64_t number)
{
	int code = f->code ? f->code : XW_ERR_IO;

	return xw_fail(f->dev.diag, code, "%s: planned failure of %s %llu", f->dev.name, verb,
		       (unsigned long long)number);
}

/* 1: go on; 0: tear; else the error. */
static int next_change(struct faultdev *f)
{
	uint64_t number = ++f->changes;

	if (f->dead)
		return planned(f, "change", number);
	if (number != f->fail_change)
		return 1;
	f->dead = f->mode != FAULT_ONCE;
	return f->mode == FAULT_TEAR ? 0 : planned(f, "change", number);
}

static void remember(struct faultdev *f, enum fault_kind kind, uint64_t off, uint64_t len,
		     const void *data)
{
	struct fault_event e = {kind, off, len, NULL};

	if (!f->record)
		return;
	if (data) {
		e.data = malloc(len ? len : 1);
		ck_assert_ptr_nonnull(e.data);
		memcpy(e.data, data, len);
	}
	ck_assert_int_eq(xw_vec_push(&f->events, e), 0);
}

static int fault_pread(struct xw_dev *d, void *buf, size_t len, uint64_t off)
{
	struct faultdev *f = fault(d);

	f->reads++;
	if (f->dead || f->reads == f->fail_read)
		return planned(f, "read", f->reads);
	return xw_dev_pread(f->under, buf, len, off);
}

static int fault_pwritev(struct xw_dev *d, const struct iovec *iov, int n, uint64_t off)
{
	struct faultdev *f = fault(d);
	int go = next_change(f), err;
	size_t len = 0, at = 0;
	unsigned char *all;

	f->writes++;
	if (go < 0)
		return go;
	for (int i = 0; i < n; i++)
		len += iov[i].iov_len;
	all = malloc(len ? len : 1);
	ck_assert_ptr_nonnull(all);
	for (int i = 0; i < n; at += iov[i++].iov_len)
		memcpy(all + at, iov[i].iov_base, iov[i].iov_len);
	if (go == 0)
		len = XW_MIN(len, f->tear);
	err = xw_dev_pwrite(f->under, all, len, off);
	if (!err)
		remember(f, FAULT_WRITE, off, len, all);
	free(all);
	d->size = f->under->size;
	return go == 0 && !err ? planned(f, "change", f->changes) : err;
}

static int fault_zero(struct xw_dev *d, uint64_t off, uint64_t len)
{
	struct faultdev *f = fault(d);
	int go = next_change(f), err;

	if (go < 0)
		return go;
	if (go == 0)
		len = XW_MIN(len, f->tear);
	err = xw_dev_zero(f->under, off, len);
	if (!err)
		remember(f, FAULT_ZERO, off, len, NULL);
	d->size = f->under->size;
	return go == 0 && !err ? planned(f, "change", f->changes) : err;
}

static int fault_set_size(struct xw_dev *d, uint64_t size)
{
	struct faultdev *f = fault(d);
	int go = next_change(f), err;

	if (go <= 0)
		return go ? go : planned(f, "change", f->changes);
	err = xw_dev_set_size(f->under, size);
	if (!err)
		remember(f, FAULT_SIZE, size, 0, NULL);
	d->size = f->under->size;
	return err;
}

static int fault_flush(struct xw_dev *d)
{
	struct faultdev *f = fault(d);

	f->flushes++;
	if (f->dead || f->flushes == f->fail_flush)
		return planned(f, "flush", f->flushes);
	remember(f, FAULT_FLUSH, 0, 0, NULL);
	return xw_dev_flush(f->under);
}

static void fault_writeback(struct xw_dev *d, uint64_t off, uint64_t len)
{
	fault(d)->sent_back += len;
	xw_dev_writeback(fault(d)->under, off, len);
}

static void fault_close(struct xw_dev *d)
{
	struct faultdev *f = fault(d);

	for (size_t i = 0; i < f->events.n; i++)
		free(f->events.v[i].data);
	xw_vec_free(&f->events);
	xw_dev_close(f->under);
	free(f);
}

static const struct xw_dev_ops fault_ops = {
	.pread = fault_pread,
	.pwritev = fault_pwritev,
	.zero = fault_zero,
	.flush = fault_flush,
	.set_size = fault_set_size,
	.close = fault_close,
	.writeback = fault_writeback,
};

struct faultdev *faultdev_open(struct xw_dev *under)
{
	struct faultdev *f = calloc(1, sizeof(*f));

	ck_assert_ptr_nonnull(f);
	f->under = under;
	f->dev = *under;
	f->dev.ops = &fault_ops;
	return f;
}

struct faultdev *faultdev_open_mem(uint64_t size, struct xw_diag *diag)
{
	struct xw_dev *d;

	ck_assert_int_eq(xw_dev_open_mem(size, diag, &d), 0);
	return faultdev_open(d);
}

int faultdev_replay(const struct faultdev *f, size_t n, struct xw_dev *onto)
{
	int err = 0;

	for (size_t i = 0; i < n && i < f->events.n && !err; i++) {
		const struct fault_event *e = &f->events.v[i];

		if (e->kind == FAULT_WRITE)
			err = xw_dev_pwrite(onto, e->data, e->len, e->off);
		else if (e->kind == FAULT_ZERO)
			err = xw_dev_zero(onto, e->off, e->len);
		else if (e->kind == FAULT_SIZE)
			err = xw_dev_set_size(onto, e->off);
		else
			err = xw_dev_flush(onto);
	}
	return err;
}

void faultdev_revive(struct faultdev *f)
{
	f->dead = false;
	f->fail_change = f->fail_read = f->fail_flush = 0;
}
