/* SPDX-License-Identifier: MIT */
/*
 * Byte sources: a descriptor, memory, or libarchive's decompressor over another feed. The start of
 * a feed can be examined before it is read, so that formats can be detected on a pipe.
 */
#ifndef XW_IMPORT_FEED_H
#define XW_IMPORT_FEED_H

#include <stdatomic.h>
#include <sys/types.h>

#include "base/types.h"

struct xw_feed;

/*
 * Called by the consumer's thread about every 100 ms while it waits for input, which may never
 * arrive, and before each unit of input, which may never end; so it must be cheap. A non-zero
 * result ends the wait and is the code of the read. fn NULL: nothing is called.
 */
struct xw_feed_tick {
	int (*fn)(void *arg);
	void *arg;
};

struct xw_feed_ops {
	/*
	 * Up to len bytes into buf: returns their number (possibly fewer than requested), 0 at the
	 * end, or a negative code with f->err set.
	 */
	ssize_t (*read)(struct xw_feed *f, void *buf, size_t len);
	void (*close)(struct xw_feed *f);
	struct xw_feed *(*lower)(struct xw_feed *f); /* of a decompressor: see xw_feed_lower() */
};

/*
 * Used by one thread at a time (first the detector, then the reading thread), except for raw and
 * xw_feed_cancel. Failures go to err and not to a struct xw_diag, which belongs to the consumer's
 * thread; that thread reports them when it reaches them.
 */
struct xw_feed {
	const struct xw_feed_ops *ops;
	unsigned char *head; /* bytes peeked at, not yet read */
	size_t head_pos, head_len, head_cap;
	atomic_uint_least64_t *raw; /* bytes taken from the outermost input, for progress */
	struct xw_feed_tick *tick; /* tick of the outermost feed */
	int wake; /* eventfd that interrupts a blocked read, or -1 */
	bool behind; /* of a decompressor at its end: more than zeros followed and was ignored */
	/*
	 * Set on a decompressor: it does not look at what follows, which is left to
	 * xw_feed_lower(). May be cleared before the end was reached or read.
	 */
	bool leaves_rest;
	char err[256]; /* reason of a failure, without the name of the source */
};

/* Read from the feed, starting with the head. */
ssize_t xw_feed_read(struct xw_feed *f, void *buf, size_t len);
/* Make the head hold `want` bytes, or all that exist: returns their number, or a negative code. */
ssize_t xw_feed_peek(struct xw_feed *f, size_t want);
static inline const unsigned char *xw_feed_head(const struct xw_feed *f)
{
	return f->head + f->head_pos;
}
/* Put n bytes back, in front of all that is still to be read. XW_ERR_NOMEM. */
int xw_feed_unread(struct xw_feed *f, const void *buf, size_t n);
/* May be called from any thread: the current read and all later ones fail. */
void xw_feed_cancel(struct xw_feed *f);
void xw_feed_close(struct xw_feed *f);

/*
 * Reads fd from its current offset; own: close it with the feed. NULL when out of memory or
 * descriptors.
 */
struct xw_feed *xw_feed_fd(int fd, bool own, struct xw_feed_tick tick);
#define XW_FEED_TICK_MS 100
/* Calls fn(arg, ...) for up to len bytes: their number, 0 at the end, or negative: XW_ERR_IO. */
struct xw_feed_call {
	int64_t (*fn)(void *arg, void *buf, size_t len);
	void *arg;
};
struct xw_feed *xw_feed_call(struct xw_feed_call call, struct xw_feed_tick tick);
/* Reads memory, which must outlive the feed, at most `chunk` bytes per call (0: no limit). */
struct xw_feed *xw_feed_mem(const void *buf, size_t len, size_t chunk);

/*
 * Detect whether `lower` is compressed (with any filter of libarchive). 1: *out is the decompressed
 * feed and owns lower; 0: it is not, and lower is unchanged; negative: failure, the bytes read from
 * lower are lost, reason in lower->err.
 */
int xw_feed_decompress(struct xw_feed *lower, struct xw_feed **out);
/*
 * Close a decompressed feed with leaves_rest that was read to its end, and return the lower one,
 * which continues behind the compressed data. NULL: out of memory; both are closed.
 */
struct xw_feed *xw_feed_lower(struct xw_feed *f);

#endif
