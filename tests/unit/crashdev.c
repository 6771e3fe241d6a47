/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <string.h>

#include "base/types.h"
#include "base/vec.h"
#include "crashdev.h"
#include "memdev.h"
#include "unit.h"

#define SECTOR 512u
#define ROOM 1024u /* the host's blocks, bytes */

struct contents {
	unsigned users;
	struct xw_dev *now, *medium; /* the same, but where something was written */
	XW_VEC(struct xw_run) written; /* bytes, since the last flush */
	unsigned char *room; /* [n_room] of the host's blocks: there is room for it */
	size_t n_room;
};

struct crash_dev {
	struct xw_dev dev;
	struct crash *crash;
	struct contents *in;
};

static struct crash_dev *cd(struct xw_dev *d)
{
	return (struct crash_dev *)d;
}

bool crash_coin(struct crash *c)
{
	if (c->seed < 2)
		return c->seed;
	c->seed = c->seed * 1664525u + 1013904223u;
	return c->seed >> 30 & 1;
}

int crash_step(struct crash *c, const char *what, bool *lost)
{
	int code = c->code ? c->code : XW_ERR_IO;

	*lost = false;
	c->steps++;
	if (!c->dead && (!c->fail_at || c->steps < c->fail_at || c->mode == CRASH_FULL ||
			 (c->steps > c->fail_at && c->mode == CRASH_ONCE)))
		return 0;
	if (c->mode == CRASH_POWER) {
		*lost = !c->dead;
		c->dead = true;
	}
	return xw_fail(c->diag, code, "planned failure of step %llu: %s",
		       (unsigned long long)c->steps, what);
}

static int crash_pread(struct xw_dev *d, void *buf, size_t len, uint64_t off)
{
	if (cd(d)->crash->dead)
		return xw_fail(d->diag, XW_ERR_IO, "no power to read");
	return xw_dev_pread(cd(d)->in->now, buf, len, off);
}

static void note(struct crash_dev *c, uint64_t off, uint64_t len)
{
	struct xw_run run = {off, len};

	ck_assert_int_eq(xw_vec_push(&c->in->written, run), 0);
	c->dev.size = c->in->now->size;
}

/* Take room for the range, if there is any. */
static int take_room(struct crash_dev *c, uint64_t off, uint64_t len)
{
	const bool full = c->crash->mode == CRASH_FULL && c->crash->fail_at &&
			  c->crash->steps >= c->crash->fail_at;
	const size_t end = (size_t)((off + len + ROOM - 1) / ROOM);

	if (end > c->in->n_room) {
		c->in->room = realloc(c->in->room, end);
		ck_assert_ptr_nonnull(c->in->room);
		memset(c->in->room + c->in->n_room, 0, end - c->in->n_room);
		c->in->n_room = end;
	}
	for (size_t i = (size_t)(off / ROOM); i < end; i++) {
		if (full && !c->in->room[i])
			return xw_fail(c->crash->diag, XW_ERR_HOSTFULL, "the host is full");
		c->in->room[i] = 1;
	}
	return 0;
}

void crash_dev_punch(struct xw_dev *d)
{
	static const char zeros[ROOM];
	char buf[ROOM];

	for (size_t i = 0; i < cd(d)->in->n_room && (i + 1) * ROOM <= d->size; i++) {
		ck_assert_int_eq(xw_dev_pread(cd(d)->in->now, buf, ROOM, i * ROOM), 0);
		cd(d)->in->room[i] = memcmp(buf, zeros, ROOM) != 0;
	}
}

static int crash_pwritev(struct xw_dev *d, const struct iovec *iov, int n, uint64_t off)
{
	struct crash_dev *c = cd(d);
	bool lost;
	int rc = crash_step(c->crash, "write", &lost);
	uint64_t len = 0;

	if (rc && !lost)
		return rc;
	for (int i = 0; i < n; i++)
		len += iov[i].iov_len;
	if (!rc)
		rc = take_room(c, off, len);
	if (rc && !lost)
		return rc;
	ck_assert_int_eq(xw_dev_pwritev(c->in->now, iov, n, off), 0);
	note(c, off, len);
	return rc;
}

static int crash_zero(struct xw_dev *d, uint64_t off, uint64_t len)
{
	struct crash_dev *c = cd(d);
	bool lost;
	int rc = crash_step(c->crash, "zero", &lost);

	if (rc && !lost)
		return rc;
	ck_assert_int_eq(xw_dev_zero(c->in->now, off, len), 0);
	note(c, off, len);
	for (uint64_t i = (off + ROOM - 1) / ROOM; (i + 1) * ROOM <= off + len; i++)
		if (i < c->in->n_room)
			c->in->room[i] = 0;
	return rc;
}

static int crash_reserve(struct xw_dev *d, uint64_t off, uint64_t len)
{
	struct crash_dev *c = cd(d);
	bool lost;
	int rc = crash_step(c->crash, "reserve", &lost);

	if (!rc && c->crash->mode == CRASH_FULL && c->crash->code == XW_ERR_UNSUPPORTED)
		return XW_ERR_UNSUPPORTED;
	return rc ? rc : take_room(c, off, len);
}

/* Metadata of the host: there or not at once. */
static int crash_set_size(struct xw_dev *d, uint64_t size)
{
	struct crash_dev *c = cd(d);
	bool lost;
	int rc = crash_step(c->crash, "set_size", &lost);

	if (rc && !(lost && crash_coin(c->crash)))
		return rc;
	ck_assert_int_eq(xw_dev_set_size(c->in->now, size), 0);
	ck_assert_int_eq(xw_dev_set_size(c->in->medium, size), 0);
	c->dev.size = size;
	return rc;
}

static void copy(struct crash_dev *c, uint64_t off, uint64_t len)
{
	unsigned char *buf = malloc(len ? len : 1);

	if (off < c->in->now->size)
		len = XW_MIN(len, c->in->now->size - off);
	else
		len = 0;
	ck_assert_ptr_nonnull(buf);
	ck_assert_int_eq(xw_dev_pread(c->in->now, buf, len, off), 0);
	ck_assert_int_eq(xw_dev_pwrite(c->in->medium, buf, len, off), 0);
	free(buf);
}

static int crash_flush(struct xw_dev *d)
{
	struct crash_dev *c = cd(d);
	bool lost;
	int rc = crash_step(c->crash, "flush", &lost);

	if (rc)
		return rc;
	for (size_t i = 0; i < c->in->written.n; i++)
		copy(c, c->in->written.v[i].start, c->in->written.v[i].len);
	c->in->written.n = 0;
	return 0;
}

void crash_dev_settle(struct xw_dev *d)
{
	struct crash_dev *c = cd(d);
	struct xw_dev *swap = c->in->now;

	for (size_t i = 0; i < c->in->written.n; i++) {
		const struct xw_run *r = &c->in->written.v[i];
		uint64_t end = r->start + r->len, next;

		for (uint64_t at = r->start; at < end; at = next) {
			next = XW_MIN(end, (at / SECTOR + 1) * SECTOR);
			if (crash_coin(c->crash))
				copy(c, at, next - at);
		}
	}
	/* what is on the medium is what there is now; the other one is made equal */
	c->in->now = c->in->medium;
	c->in->medium = swap;
	ck_assert_int_eq(xw_dev_set_size(c->in->medium, c->in->now->size), 0);
	for (size_t i = 0; i < c->in->written.n; i++)
		copy(c, c->in->written.v[i].start, c->in->written.v[i].len);
	c->in->written.n = 0;
	d->size = c->in->now->size;
}

static void crash_close(struct xw_dev *d)
{
	struct crash_dev *c = cd(d);

	if (!--c->in->users) {
		xw_dev_close(c->in->now);
		xw_dev_close(c->in->medium);
		xw_vec_free(&c->in->written);
		free(c->in->room);
		free(c->in);
	}
	free(c);
}

static const struct xw_dev_ops crash_ops = {
	.pread = crash_pread,
	.pwritev = crash_pwritev,
	.zero = crash_zero,
	.flush = crash_flush,
	.set_size = crash_set_size,
	.close = crash_close,
	.reserve = crash_reserve,
};

static struct xw_dev *handle(struct crash *crash, struct contents *in)
{
	struct crash_dev *c = calloc(1, sizeof(*c));

	ck_assert_ptr_nonnull(c);
	in->users++;
	c->crash = crash;
	c->in = in;
	c->dev = (struct xw_dev){
		.ops = &crash_ops,
		.size = in->now->size,
		.name = "(crash)",
		.diag = crash->diag,
	};
	return &c->dev;
}

struct xw_dev *crash_dev_open(struct crash *c, uint64_t size)
{
	struct contents *in = calloc(1, sizeof(*in));

	ck_assert_ptr_nonnull(in);
	ck_assert_int_eq(xw_dev_open_mem(size, c->diag, &in->now), 0);
	ck_assert_int_eq(xw_dev_open_mem(size, c->diag, &in->medium), 0);
	return handle(c, in);
}

struct xw_dev *crash_dev_dup(struct xw_dev *d)
{
	return handle(cd(d)->crash, cd(d)->in);
}
