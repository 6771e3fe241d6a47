/* SPDX-License-Identifier: MIT */
/*
 * A ring of buffers (units) between a feed and its consumer.
 *
 * Invariants:
 * 1. Unit i of the stream is stored in slot i % n_slots. `filled` counts units produced, `freed`
 *    units released; freed <= filled <= freed + n_slots. The consumer owns the slots in [freed,
 *    filled), the reader the others.
 * 2. Every unit is full except the last one. A failure of the feed is reported after the bytes that
 *    preceded it.
 * 3. `end` (0: not yet, 1: end of input, negative: code) is set once, with the last unit.
 * 4. The consumer holds unit `freed`, and releases it only when it requests the next one: a payload
 *    piece stays valid until the next call.
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/err.h"
#include "base/thread.h"
#include "import/input.h"

struct slot {
	unsigned char *p;
	size_t len;
};

struct xw_input {
	struct xw_feed *feed;
	struct slot slots[XW_INPUT_UNITS];
	unsigned n_slots;
	struct xw_feed_tick tick; /* called by the consumer while it waits for the reader */
	uint64_t pos; /* consumer: number of bytes consumed */
	size_t off; /* consumer: offset in the held unit */
	bool holds; /* consumer: slot freed % n_slots is the held unit */
	bool threaded;
	pthread_t thread;
	pthread_mutex_t lock; /* protects the following fields */
	pthread_cond_t more, room;
	uint64_t filled, freed;
	int end;
	bool stop;
};

/*
 * Fill one slot: 0 if more data may follow, 1 at the end of input, negative for a failure after
 * s->len bytes.
 */
static int fill(struct xw_input *in, struct slot *s)
{
	s->len = 0;
	while (s->len < XW_INPUT_UNIT) {
		ssize_t n = xw_feed_read(in->feed, s->p + s->len, XW_INPUT_UNIT - s->len);

		if (n < 0)
			return (int)n;
		if (!n)
			return 1;
		s->len += (size_t)n;
	}
	return 0;
}

static void *reader(void *arg)
{
	struct xw_input *in = arg;
	int end = 0;

	pthread_mutex_lock(&in->lock);
	while (!end) {
		struct slot *s = &in->slots[in->filled % in->n_slots];

		while (in->filled - in->freed == in->n_slots && !in->stop)
			pthread_cond_wait(&in->room, &in->lock);
		if (in->stop)
			break;
		pthread_mutex_unlock(&in->lock);
		end = fill(in, s);
		pthread_mutex_lock(&in->lock);
		in->end = end;
		in->filled++;
		pthread_cond_signal(&in->more);
	}
	pthread_mutex_unlock(&in->lock);
	return NULL;
}

static bool start_reader(struct xw_input *in)
{
	int rc;

	/* The consumer no longer reads the feed itself, so it calls the tick. */
	in->tick = *in->feed->tick;
	in->feed->tick->fn = NULL;
	rc = xw_thread_start(&in->thread, reader, in);
	if (rc)
		*in->feed->tick = in->tick;
	return !rc;
}

struct xw_input *xw_input_new(struct xw_feed *feed, bool threaded)
{
	struct xw_input *in = feed ? calloc(1, sizeof(*in)) : NULL;

	if (!in) {
		xw_feed_close(feed);
		return NULL;
	}
	in->feed = feed;
	in->n_slots = threaded ? XW_INPUT_UNITS : 1;
	pthread_mutex_init(&in->lock, NULL);
	pthread_cond_init(&in->more, NULL);
	pthread_cond_init(&in->room, NULL);
	for (unsigned i = 0; i < in->n_slots; i++) {
		in->slots[i].p = malloc(XW_INPUT_UNIT);
		if (!in->slots[i].p) {
			xw_input_free(in);
			return NULL;
		}
	}
	in->threaded = threaded && start_reader(in);
	return in;
}

static void add_tick(struct timespec *t)
{
	t->tv_nsec += XW_FEED_TICK_MS * 1000000l;
	if (t->tv_nsec >= 1000000000l) {
		t->tv_nsec -= 1000000000l;
		t->tv_sec++;
	}
}

/* Let the reader end after the current unit. */
static void request_stop(struct xw_input *in)
{
	pthread_mutex_lock(&in->lock);
	in->stop = true;
	pthread_cond_signal(&in->room);
	pthread_mutex_unlock(&in->lock);
}

static void stop_reader(struct xw_input *in)
{
	if (!in->threaded)
		return;
	request_stop(in);
	xw_feed_cancel(in->feed);
	pthread_join(in->thread, NULL);
	in->threaded = false;
}

/*
 * Stop the reader after it has completed its unit: an interrupted decompressor could not continue.
 * Returns 0, or the code of a tick, after which the feed cannot be used.
 */
static int end_reader(struct xw_input *in)
{
	struct timespec until;
	int rc = 0;

	if (!in->threaded)
		return 0;
	request_stop(in);
	do {
		rc = xw_feed_call_tick(&in->tick);
		clock_gettime(CLOCK_REALTIME, &until);
		add_tick(&until);
	} while (!rc && pthread_timedjoin_np(in->thread, NULL, &until) == ETIMEDOUT);
	if (rc) {
		stop_reader(in);
		return rc;
	}
	in->threaded = false;
	*in->feed->tick = in->tick;
	return 0;
}

void xw_input_free(struct xw_input *in)
{
	if (!in)
		return;
	stop_reader(in);
	xw_feed_close(in->feed);
	for (unsigned i = 0; i < in->n_slots; i++)
		free(in->slots[i].p);
	pthread_cond_destroy(&in->room);
	pthread_cond_destroy(&in->more);
	pthread_mutex_destroy(&in->lock);
	free(in);
}

int xw_input_release(struct xw_input *in, struct xw_feed **feed)
{
	int rc = end_reader(in);

	/* push back the units that were not consumed, the last one first */
	for (uint64_t i = in->filled; i > in->freed && !rc; i--) {
		const struct slot *s = &in->slots[(i - 1) % in->n_slots];
		const size_t off = i - 1 == in->freed && in->holds ? in->off : 0;

		rc = xw_feed_unread(in->feed, s->p + off, s->len - off);
	}
	*feed = rc ? NULL : steal(in->feed);
	xw_input_free(in);
	return rc;
}

/* Wait for the reader, calling the tick. Called with the lock held. */
static int wait_more(struct xw_input *in)
{
	struct timespec until;
	int rc = 0;

	if (!in->tick.fn) {
		pthread_cond_wait(&in->more, &in->lock);
		return 0;
	}
	clock_gettime(CLOCK_REALTIME, &until);
	add_tick(&until);
	if (pthread_cond_timedwait(&in->more, &in->lock, &until) == ETIMEDOUT) {
		pthread_mutex_unlock(&in->lock);
		rc = in->tick.fn(in->tick.arg);
		pthread_mutex_lock(&in->lock);
	}
	return rc;
}

/* Release the held unit and get the next: 1, 0 at the end, or a negative code. */
static int next_unit(struct xw_input *in)
{
	/* called even without waiting: the input to be skipped may be endless */
	int rc = xw_feed_call_tick(&in->tick);

	if (rc)
		return rc;
	pthread_mutex_lock(&in->lock);
	if (in->holds) {
		in->freed++;
		in->holds = false;
		pthread_cond_signal(&in->room);
	}
	if (!in->threaded && !in->end && in->filled == in->freed) {
		in->end = fill(in, &in->slots[in->filled % in->n_slots]);
		in->filled++;
	}
	while (in->filled == in->freed && !in->end && !rc)
		rc = wait_more(in);
	if (!rc)
		rc = in->filled != in->freed ? 1 : XW_MIN(in->end, 0);
	pthread_mutex_unlock(&in->lock);
	in->holds = rc == 1;
	in->off = 0;
	return rc;
}

int xw_input_get(struct xw_input *in, const unsigned char **p, size_t *len)
{
	const struct slot *s = &in->slots[in->freed % in->n_slots];

	while (!in->holds || in->off == s->len) {
		int rc = next_unit(in);

		if (rc <= 0) {
			*p = NULL;
			*len = 0;
			return rc;
		}
		s = &in->slots[in->freed % in->n_slots];
	}
	*p = s->p + in->off;
	*len = s->len - in->off;
	return 0;
}

void xw_input_consume(struct xw_input *in, size_t n)
{
	in->off += n;
	in->pos += n;
}

int xw_input_copy(struct xw_input *in, void *dst, uint64_t n, uint64_t *got)
{
	*got = 0;
	while (*got < n) {
		const unsigned char *p;
		size_t len;
		int rc = xw_input_get(in, &p, &len);

		if (rc)
			return rc;
		if (!len)
			break;
		len = (size_t)XW_MIN(len, n - *got);
		if (dst)
			memcpy((unsigned char *)dst + *got, p, len);
		xw_input_consume(in, len);
		*got += len;
	}
	return 0;
}

uint64_t xw_input_read_limit(const struct xw_input *in, bool compressed)
{
	return compressed ? UINT64_MAX : in->pos + XW_FEED_TRAILING_MAX;
}

uint64_t xw_input_pos(const struct xw_input *in)
{
	return in->pos;
}

uint64_t xw_input_raw(const struct xw_input *in)
{
	return atomic_load_explicit(in->feed->raw, memory_order_relaxed);
}

bool xw_input_has_trailing(const struct xw_input *in)
{
	return in->feed->trailing;
}

const char *xw_input_error(const struct xw_input *in)
{
	return in->feed->err;
}
