/* SPDX-License-Identifier: MIT */
/*
 * Feeds that read a descriptor or a callback, and the look-ahead common to all feeds.
 *
 * Reading a pipe or terminal waits in poll() together with an eventfd, so that closing a source
 * never waits for a writer. Regular files and block devices are read directly.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "import/feed.h"

/* Requested pipe size: fewer switches between writer and reader. Failure to set it is ignored. */
#define PIPE_BYTES (1 << 20)

void xw_feed_init(struct xw_feed *f, const struct xw_feed_ops *ops, struct xw_feed_tick tick)
{
	f->ops = ops;
	f->own_tick = tick;
	f->tick = &f->own_tick;
	f->raw = &f->count;
	f->wake = -1;
}

void xw_feed_init_above(struct xw_feed *f, const struct xw_feed_ops *ops, struct xw_feed *lower)
{
	f->ops = ops;
	f->tick = lower->tick;
	f->raw = lower->raw;
	f->wake = lower->wake;
	f->text = lower->text;
}

ssize_t xw_feed_fail_lower(struct xw_feed *f, const struct xw_feed *lower, ssize_t rc)
{
	memcpy(f->err, lower->err, sizeof(f->err));
	return rc;
}

void xw_feed_free(struct xw_feed *f)
{
	free(f);
}

ssize_t xw_feed_read(struct xw_feed *f, void *buf, size_t len)
{
	size_t have = f->head_len - f->head_pos;

	if (!have)
		return f->ops->read(f, buf, len);
	len = XW_MIN(len, have);
	memcpy(buf, f->head + f->head_pos, len);
	f->head_pos += len;
	if (len == have) {
		free(f->head);
		f->head = NULL;
		f->head_pos = f->head_len = f->head_cap = 0;
	}
	return (ssize_t)len;
}

static int out_of_memory(struct xw_feed *f)
{
	snprintf(f->err, sizeof(f->err), "out of memory");
	return XW_ERR_NOMEM;
}

ssize_t xw_feed_peek(struct xw_feed *f, size_t want)
{
	if (f->head_cap < f->head_pos + want) {
		unsigned char *p = realloc(f->head, f->head_pos + want);

		if (!p)
			return out_of_memory(f);
		f->head = p;
		f->head_cap = f->head_pos + want;
	}
	while (f->head_len - f->head_pos < want) {
		ssize_t n =
			f->ops->read(f, f->head + f->head_len, f->head_pos + want - f->head_len);

		if (n < 0)
			return n;
		if (!n)
			break;
		f->head_len += (size_t)n;
	}
	return (ssize_t)(f->head_len - f->head_pos);
}

int xw_feed_unread(struct xw_feed *f, const void *buf, size_t n)
{
	const size_t have = f->head_len - f->head_pos;
	unsigned char *p;

	if (!n)
		return 0;
	p = malloc(n + have);
	if (!p)
		return out_of_memory(f);
	memcpy(p, buf, n);
	if (have)
		memcpy(p + n, f->head + f->head_pos, have);
	free(f->head);
	f->head = p;
	f->head_pos = 0;
	f->head_len = f->head_cap = n + have;
	return 0;
}

void xw_feed_cancel(struct xw_feed *f)
{
	if (f->wake >= 0 && eventfd_write(f->wake, 1) < 0)
		/* the write fails only if the counter is at its maximum, and thus readable */
		return;
}

void xw_feed_close(struct xw_feed *f)
{
	if (!f)
		return;
	free(f->head);
	f->ops->close(f);
}

struct fd_feed {
	struct xw_feed f;
	int fd;
	bool own, waits; /* waits: read() may block indefinitely */
};

/* Wait until fd is readable: 0, XW_ERR_CANCELED, or the code of a tick. */
static int fd_wait(struct fd_feed *d)
{
	struct pollfd p[2] = {{.fd = d->fd, .events = POLLIN}, {.fd = d->f.wake, .events = POLLIN}};

	for (;;) {
		int n = poll(p, 2, d->f.tick->fn ? XW_FEED_TICK_MS : -1);

		if (n == 0 || (n < 0 && errno == EINTR)) {
			int rc = xw_feed_call_tick(d->f.tick);

			if (rc)
				return rc;
			continue;
		}
		if (n < 0) {
			snprintf(d->f.err, sizeof(d->f.err), "poll: %s", strerror(errno));
			return XW_ERR_IO;
		}
		if (!p[1].revents)
			return 0;
		snprintf(d->f.err, sizeof(d->f.err), "interrupted");
		return XW_ERR_CANCELED;
	}
}

static ssize_t fd_read(struct xw_feed *f, void *buf, size_t len)
{
	struct fd_feed *d = (struct fd_feed *)f;

	for (;;) {
		ssize_t n = xw_feed_call_tick(f->tick);

		if (!n && d->waits)
			n = fd_wait(d);
		if (n)
			return n;
		n = read(d->fd, buf, len);
		if (n >= 0) {
			xw_feed_count(f, (size_t)n);
			return n;
		}
		if (errno == EAGAIN && !d->waits)
			d->waits = true;
		else if (errno != EINTR && errno != EAGAIN)
			break;
	}
	snprintf(f->err, sizeof(f->err), "read error at byte %llu: %s",
		 (unsigned long long)atomic_load(&f->count), strerror(errno));
	return XW_ERR_IO;
}

static void fd_close(struct xw_feed *f)
{
	struct fd_feed *d = (struct fd_feed *)f;

	if (d->own)
		close(d->fd);
	close(f->wake);
	free(d);
}

struct xw_feed *xw_feed_fd(int fd, bool own, struct xw_feed_tick tick)
{
	static const struct xw_feed_ops ops = {.read = fd_read, .close = fd_close};
	struct fd_feed *d = calloc(1, sizeof(*d));
	struct stat st;

	if (!d)
		return NULL;
	xw_feed_init(&d->f, &ops, tick);
	d->f.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (d->f.wake < 0) {
		free(d);
		return NULL;
	}
	d->fd = fd;
	d->own = own;
	d->waits = fstat(fd, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode);
	if (d->waits)
		(void)fcntl(fd, F_SETPIPE_SZ, PIPE_BYTES);
	else
		(void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	return &d->f;
}

struct call_feed {
	struct xw_feed f;
	struct xw_feed_call call;
	bool over; /* at the end, or after a failure */
};

static ssize_t call_read(struct xw_feed *f, void *buf, size_t len)
{
	struct call_feed *c = (struct call_feed *)f;
	const int rc = xw_feed_call_tick(f->tick);
	int64_t n;

	if (rc)
		return rc;
	if (!len || c->over)
		return *f->err ? XW_ERR_IO : 0;
	n = c->call.fn(c->call.arg, buf, len);
	c->over = n <= 0 || (uint64_t)n > len;
	if (c->over && n) {
		snprintf(f->err, sizeof(f->err), n < 0 ? "reading failed" : "too much was read");
		return XW_ERR_IO;
	}
	xw_feed_count(f, (size_t)n);
	return (ssize_t)n;
}

struct xw_feed *xw_feed_call(struct xw_feed_call call, struct xw_feed_tick tick)
{
	static const struct xw_feed_ops ops = {.read = call_read, .close = xw_feed_free};
	struct call_feed *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	xw_feed_init(&c->f, &ops, tick);
	c->call = call;
	return &c->f;
}
