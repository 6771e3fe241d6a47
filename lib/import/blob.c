/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "import/blob.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"

#define DRAIN_BYTES ((size_t)256 << 10)

void xw_blob_close(struct xw_blob *b)
{
	if (b->own && b->fd >= 0)
		close(b->fd);
	b->fd = -1;
	b->own = false;
}

/* ---- verifying ---- */

int xw_verify_begin(struct xw_verify *v, const struct xw_digest *want)
{
	*v = (struct xw_verify){.want = *want};
	if (!xw_digest_is_set(want)) {
		v->state = XW_VERIFY_MATCH;
		return 0;
	}
	v->hasher = xw_hasher_new(want);
	return v->hasher ? 0 : XW_ERR_NOMEM;
}

void xw_verify_free(struct xw_verify *v)
{
	xw_hasher_free(v->hasher);
	v->hasher = NULL;
}

static void verify_add(struct xw_verify *v, const void *buf, size_t len)
{
	if (v->state == XW_VERIFY_READING)
		xw_hasher_add(v->hasher, buf, len);
}

bool xw_verify_end(struct xw_verify *v, char *why, size_t room)
{
	if (v->state == XW_VERIFY_READING) {
		xw_hasher_end(v->hasher, &v->actual);
		v->state =
			xw_digest_same(&v->actual, &v->want) ? XW_VERIFY_MATCH : XW_VERIFY_MISMATCH;
	}
	if (v->state == XW_VERIFY_MISMATCH)
		snprintf(why, room, "damaged: its digest is %s, not %s", v->actual.text,
			 v->want.text);
	return v->state == XW_VERIFY_MATCH;
}

/* ---- blobs ---- */

static ssize_t blob_read(struct xw_blob_read *r, void *buf, size_t len, char *why, size_t room)
{
	ssize_t n;

	len = (size_t)XW_MIN(len, r->blob.size - r->at);
	if (!len)
		return xw_verify_end(&r->verify, why, room) ? 0 : XW_ERR_INPUT;
	do
		n = pread(r->blob.fd, buf, len, (off_t)(r->blob.off + r->at));
	while (n < 0 && errno == EINTR);
	if (n < 0) {
		snprintf(why, room, "read error at byte %llu: %s", (unsigned long long)r->at,
			 strerror(errno));
		return XW_ERR_IO;
	}
	if (!n) {
		snprintf(why, room, "truncated at byte %llu while it was read",
			 (unsigned long long)r->at);
		return XW_ERR_IO;
	}
	verify_add(&r->verify, buf, (size_t)n);
	r->at += (uint64_t)n;
	return n;
}

int xw_blob_finish(struct xw_blob_read *r, struct xw_feed_tick tick, char *why, size_t room)
{
	auto_free unsigned char *buf = NULL;
	ssize_t n;

	if (r->verify.state == XW_VERIFY_MATCH)
		return 0;
	buf = malloc(DRAIN_BYTES);
	if (!buf) {
		snprintf(why, room, "out of memory");
		return XW_ERR_NOMEM;
	}
	do {
		n = xw_feed_call_tick(&tick);
		if (!n)
			n = blob_read(r, buf, DRAIN_BYTES, why, room);
	} while (n > 0);
	return (int)n;
}

struct blob_feed {
	struct xw_feed f;
	struct xw_blob_read *r;
};

static ssize_t blob_feed_read(struct xw_feed *f, void *buf, size_t len)
{
	struct blob_feed *b = (struct blob_feed *)f;
	ssize_t n = xw_feed_call_tick(f->tick);

	if (n)
		return n;
	n = blob_read(b->r, buf, len, f->err, sizeof(f->err));
	if (n > 0)
		xw_feed_count(f, (size_t)n);
	return n;
}

struct xw_feed *xw_feed_blob(struct xw_blob_read *r, struct xw_feed_tick tick)
{
	static const struct xw_feed_ops ops = {.read = blob_feed_read, .close = xw_feed_free};
	struct blob_feed *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	xw_feed_init(&b->f, &ops, tick);
	b->r = r;
	(void)posix_fadvise(r->blob.fd, (off_t)r->blob.off, (off_t)r->blob.size,
			    POSIX_FADV_SEQUENTIAL);
	return &b->f;
}

/* ---- verification of another feed ---- */

struct verified {
	struct xw_feed f;
	struct xw_feed *lower;
	struct xw_verify *v;
};

static ssize_t verified_read(struct xw_feed *f, void *buf, size_t len)
{
	struct verified *t = (struct verified *)f;
	const ssize_t n = len ? xw_feed_read(t->lower, buf, len) : 0;

	if (n > 0)
		verify_add(t->v, buf, (size_t)n);
	if (n < 0)
		return xw_feed_fail_lower(f, t->lower, n);
	if (n || !len)
		return n;
	f->trailing = t->lower->trailing;
	return xw_verify_end(t->v, f->err, sizeof(f->err)) ? 0 : XW_ERR_INPUT;
}

static void verified_close(struct xw_feed *f)
{
	struct verified *t = (struct verified *)f;

	xw_feed_close(t->lower);
	free(t);
}

struct xw_feed *xw_feed_verified(struct xw_feed *lower, struct xw_verify *v)
{
	static const struct xw_feed_ops ops = {.read = verified_read, .close = verified_close};
	struct verified *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	xw_feed_init_above(&t->f, &ops, lower);
	t->lower = lower;
	t->v = v;
	return &t->f;
}
