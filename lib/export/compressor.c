/* SPDX-License-Identifier: MIT */
/*
 * Compression in a thread of its own, so that the image is read at the same time and the caller's
 * tick is called in time: one call into libarchive may take minutes (a block of xz is 192 MiB at
 * level 9) and cannot be interrupted.
 *
 * Invariants:
 * 1. While the thread runs, only it calls libarchive, and only the caller's thread calls `write`
 *    and `tick`.
 * 2. Each ring has one producer and one consumer. Slots in [freed, filled) belong to the consumer,
 *    the others to the producer; one slot is passed to libarchive in one call.
 * 3. There is no deadlock: the caller drains `out` before it waits, and the thread waits only for
 *    the caller.
 * 4. A caller that gives up does not wait for libarchive; then the thread frees the memory.
 */
#include "config.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/thread.h"
#include "export/compress.h"
#include "export/laout.h"

#define SLOTS 8u
#define IN_BYTES (256u << 10)
#define OUT_BYTES ((unsigned)BLOCK_BYTES)
#define TICK_MS 100
#define PATIENCE_MS 200 /* how long to wait for a thread that is no longer needed */

struct ring {
	uint8_t *bytes; /* SLOTS buffers of `room` bytes */
	size_t room;
	size_t len[SLOTS];
	uint64_t filled, freed;
};

struct xw_compressor {
	struct xw_laout la;
	struct xw_diag own; /* diag of the thread */
	bool begun, fed; /* the header was written; so was data after it */
	struct xw_compressor_calls calls;
	struct xw_diag *diag;
	uint64_t bytes;
	int failed; /* sticky; used by the caller's thread only */
	bool threaded;
	pthread_t thread;
	pthread_mutex_t lock; /* protects the following fields */
	pthread_cond_t work, news; /* the thread waits for work, the caller for news */
	struct ring in, out;
	bool ending; /* the input is complete */
	bool left; /* the caller has given up */
	bool done; /* the output is complete; rc is the result */
	bool cleaned; /* the thread has closed libarchive, too */
	bool orphan; /* the thread frees the compressor */
	int rc;
};

static int ring_init(struct ring *r, size_t room)
{
	r->room = room;
	r->bytes = malloc(SLOTS * room);
	return r->bytes ? 0 : XW_ERR_NOMEM;
}

static bool ring_full(const struct ring *r)
{
	return r->filled - r->freed == SLOTS;
}

static bool ring_empty(const struct ring *r)
{
	return r->filled == r->freed;
}

static uint8_t *ring_slot(struct ring *r, uint64_t i, size_t **len)
{
	*len = &r->len[i % SLOTS];
	return r->bytes + i % SLOTS * r->room;
}

/* Copy as much as fits one slot, which must be free. */
static size_t ring_put(struct ring *r, const void *buf, size_t len)
{
	size_t *n;
	uint8_t *to = ring_slot(r, r->filled, &n);

	*n = XW_MIN(len, r->room);
	memcpy(to, buf, *n);
	r->filled++;
	return *n;
}

/* Close libarchive. For an unfinished stream this may take long, although its output is dropped. */
static void clean(struct xw_compressor *c)
{
	/* lz4 of libarchive 3.6 crashes when an empty stream is closed */
	if (c->begun && !c->fed) {
		c->la.failed = XW_ERR_IO;
		(void)archive_write_data(c->la.a, "", 1);
	}
	xw_laout_free(&c->la);
}

static void destroy(struct xw_compressor *c)
{
	pthread_cond_destroy(&c->work);
	pthread_cond_destroy(&c->news);
	pthread_mutex_destroy(&c->lock);
	free(c->in.bytes);
	free(c->out.bytes);
	free(c);
}

/* ---- the thread ---- */

/* libarchive's output: an xw_output_fn. */
static int ring_output(void *arg, const void *buf, size_t len)
{
	struct xw_compressor *c = arg;
	int rc = 0;

	pthread_mutex_lock(&c->lock);
	while (len && !rc) {
		if (c->left) {
			rc = XW_ERR_IO;
		} else if (ring_full(&c->out)) {
			pthread_cond_wait(&c->work, &c->lock);
		} else {
			const size_t n = ring_put(&c->out, buf, len);

			buf = (const char *)buf + n;
			len -= n;
			pthread_cond_signal(&c->news);
		}
	}
	pthread_mutex_unlock(&c->lock);
	return rc;
}

static int compress(struct xw_compressor *c, const uint8_t *buf, size_t len)
{
	c->fed |= len > 0;
	while (len) {
		la_ssize_t n = archive_write_data(c->la.a, buf, len);

		if (n <= 0)
			return xw_laout_fail(&c->la, XW_ERR_IO);
		buf += n;
		len -= (size_t)n;
	}
	return 0;
}

static int compress_all(struct xw_compressor *c)
{
	bool left;
	int rc = 0;

	pthread_mutex_lock(&c->lock);
	while (!rc && !c->left && (!c->ending || !ring_empty(&c->in))) {
		const uint8_t *from;
		size_t *len;

		if (ring_empty(&c->in)) {
			pthread_cond_wait(&c->work, &c->lock);
			continue;
		}
		from = ring_slot(&c->in, c->in.freed, &len);
		pthread_mutex_unlock(&c->lock);
		rc = compress(c, from, *len);
		pthread_mutex_lock(&c->lock);
		c->in.freed++;
		pthread_cond_signal(&c->news);
	}
	left = c->left;
	pthread_mutex_unlock(&c->lock);
	return rc || left ? rc : xw_laout_finish(&c->la);
}

static void *run(void *arg)
{
	struct xw_compressor *c = arg;
	const int rc = compress_all(c);
	bool orphan;

	pthread_mutex_lock(&c->lock);
	c->rc = rc;
	c->done = true;
	pthread_cond_signal(&c->news);
	pthread_mutex_unlock(&c->lock);
	clean(c);
	pthread_mutex_lock(&c->lock);
	c->cleaned = true;
	orphan = c->orphan;
	pthread_cond_signal(&c->news);
	pthread_mutex_unlock(&c->lock);
	if (orphan)
		destroy(c);
	return NULL;
}

static int start(struct xw_compressor *c)
{
	int rc;

	c->la.diag = &c->own;
	rc = xw_thread_start(&c->thread, run, c);
	c->threaded = !rc;
	return rc ? xw_fail_errno(c->diag, XW_ERR_NOMEM, rc, "cannot create a thread") : 0;
}

/* ---- the caller ---- */

static int init(struct xw_compressor *c)
{
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->work, NULL);
	pthread_cond_init(&c->news, &monotonic);
	pthread_condattr_destroy(&monotonic);
	if (ring_init(&c->in, IN_BYTES) || ring_init(&c->out, OUT_BYTES))
		return xw_fail_nomem(c->diag, "compression");
	return 0;
}

static int begin(struct xw_compressor *c, const struct xw_archive_opts *o)
{
	int rc = xw_laout_begin(&c->la, o, ARCHIVE_FORMAT_RAW, 1, ring_output, c, c->diag);
	struct archive_entry *e;

	if (rc)
		return rc;
	e = archive_entry_new();
	if (!e)
		return xw_fail_nomem(c->diag, "compression");
	archive_entry_set_pathname(e, "data");
	archive_entry_set_filetype(e, AE_IFREG);
	if (archive_write_header(c->la.a, e) != ARCHIVE_OK)
		rc = xw_laout_fail(&c->la, XW_ERR_INTERNAL);
	c->begun = !rc;
	archive_entry_free(e);
	return rc;
}

int xw_compressor_open(const struct xw_archive_opts *o, const struct xw_compressor_calls *calls,
		       struct xw_diag *diag, struct xw_compressor **out)
{
	struct xw_compressor *c = calloc(1, sizeof(*c));
	int rc;

	if (!c)
		return xw_fail_nomem(diag, "compression");
	*out = c;
	c->calls = *calls;
	c->diag = diag;
	rc = init(c);
	rc = rc ? rc : begin(c, o);
	return rc ? rc : start(c);
}

/* Wait for news for at most `ms` milliseconds, with the lock held. false: timeout. */
static bool wait_news(struct xw_compressor *c, long ms)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += ms * 1000000l;
	until.tv_sec += until.tv_nsec / 1000000000l;
	until.tv_nsec %= 1000000000l;
	return pthread_cond_timedwait(&c->news, &c->lock, &until) != ETIMEDOUT;
}

static void tick(struct xw_compressor *c)
{
	if (!c->failed && c->calls.tick)
		c->failed = c->calls.tick(c->calls.arg);
}

/* Pass the output to the caller's write function. The lock is held, but not during that call. */
static void drain(struct xw_compressor *c)
{
	while (!ring_empty(&c->out) && !c->failed) {
		size_t *len;
		const uint8_t *from = ring_slot(&c->out, c->out.freed, &len);

		pthread_mutex_unlock(&c->lock);
		c->failed = c->calls.write(c->calls.arg, from, *len);
		if (!c->failed)
			c->bytes += *len;
		pthread_mutex_lock(&c->lock);
		c->out.freed++;
		pthread_cond_signal(&c->work);
	}
}

/* Wait until `in` has room or, if the input is complete, until all output is written. */
static int wait_for_thread(struct xw_compressor *c)
{
	for (;;) {
		drain(c);
		if (!c->failed && c->done && c->rc) {
			c->failed = c->rc;
			if (c->own.code)
				xw_fail(c->diag, c->rc, "%s", c->own.text);
		}
		if (c->failed || (c->ending ? c->done && ring_empty(&c->out) : !ring_full(&c->in)))
			return c->failed;
		if (!wait_news(c, TICK_MS)) {
			pthread_mutex_unlock(&c->lock);
			tick(c);
			pthread_mutex_lock(&c->lock);
		}
	}
}

int xw_compressor_write(void *arg, const void *buf, size_t len)
{
	struct xw_compressor *c = arg;

	tick(c); /* wait_for_thread() may never have to wait */
	while (len && !c->failed) {
		pthread_mutex_lock(&c->lock);
		if (!wait_for_thread(c)) {
			const size_t n = ring_put(&c->in, buf, len);

			buf = (const char *)buf + n;
			len -= n;
			pthread_cond_signal(&c->work);
		}
		pthread_mutex_unlock(&c->lock);
	}
	return c->failed;
}

int xw_compressor_finish(void *arg)
{
	struct xw_compressor *c = arg;
	int rc;

	if (c->failed)
		return c->failed;
	pthread_mutex_lock(&c->lock);
	c->ending = true;
	pthread_cond_signal(&c->work);
	rc = wait_for_thread(c);
	pthread_mutex_unlock(&c->lock);
	return rc;
}

uint64_t xw_compressor_bytes(const struct xw_compressor *c)
{
	return c->bytes;
}

void xw_compressor_free(struct xw_compressor *c)
{
	bool orphan = false;

	if (!c)
		return;
	if (!c->threaded) {
		clean(c);
		destroy(c);
		return;
	}
	pthread_mutex_lock(&c->lock);
	c->left = true;
	pthread_cond_signal(&c->work);
	while (!c->cleaned && !orphan)
		orphan = !wait_news(c, PATIENCE_MS) && !c->cleaned;
	c->orphan = orphan;
	if (orphan) /* before the unlock, after which the thread may free the memory at once */
		pthread_detach(c->thread);
	pthread_mutex_unlock(&c->lock);
	if (orphan)
		return;
	pthread_join(c->thread, NULL);
	destroy(c);
}
