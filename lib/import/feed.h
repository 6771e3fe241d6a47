/* SPDX-License-Identifier: MIT */
/*
 * Byte streams from a descriptor, a callback, or a decompressor over another feed. Callers can peek
 * at the start of a feed to detect its format, also on a pipe.
 */
#ifndef XW_IMPORT_FEED_H
#define XW_IMPORT_FEED_H

#include <stdatomic.h>
#include <sys/types.h>

#include "base/types.h"

struct xw_feed;

/*
 * Called by the consumer's thread about every 100 ms while it waits for input, and before each unit
 * of input; must be cheap. A non-zero result ends the wait and becomes the result of the read. fn
 * NULL: no callback.
 */
struct xw_feed_tick {
	int (*fn)(void *arg);
	void *arg;
};

struct xw_feed_ops {
	/*
	 * Read up to len bytes into buf. Returns their number, 0 at the end, or a negative code
	 * with f->err set.
	 */
	ssize_t (*read)(struct xw_feed *f, void *buf, size_t len);
	void (*close)(struct xw_feed *f);
	struct xw_feed *(*lower)(struct xw_feed *f); /* decompressors: implements xw_feed_lower() */
};

/*
 * Used by one thread at a time (first the detector, then the reading thread), except for raw and
 * xw_feed_cancel(). Errors are stored in err and reported by the consumer's thread, to which the
 * struct xw_diag belongs.
 */
struct xw_feed {
	const struct xw_feed_ops *ops;
	unsigned char *head; /* bytes peeked at, not yet read */
	size_t head_pos, head_len, head_cap;
	atomic_uint_least64_t *raw; /* bytes read from the outermost input, for progress */
	struct xw_feed_tick *tick; /* tick of the outermost feed */
	/* outermost feeds: raw and tick of all feeds above refer to these */
	atomic_uint_least64_t count;
	struct xw_feed_tick own_tick;
	int wake; /* eventfd that interrupts a blocked read, or -1 */
	bool text; /* decoded from a block of uuencode or base64 within a text */
	bool trailing; /* decompressors, at the end: trailing data other than zeros was ignored */
	/*
	 * Decompressors: do not examine the data after the compressed stream, since xw_feed_lower()
	 * will be called. May be cleared before the end is read.
	 */
	bool leaves_rest;
	char err[256]; /* reason of a failure, without the source's name */
};

/* Limit for data after an archive or compressed stream: the input may be endless. */
#define XW_FEED_TRAILING_MAX ((size_t)16 << 20)

/* Initialize an outermost feed (with wake -1), or one that reads `lower`. */
void xw_feed_init(struct xw_feed *f, const struct xw_feed_ops *ops, struct xw_feed_tick tick);
void xw_feed_init_above(struct xw_feed *f, const struct xw_feed_ops *ops, struct xw_feed *lower);
/* Fail because of `lower`: copies the reason and returns rc. */
ssize_t xw_feed_fail_lower(struct xw_feed *f, const struct xw_feed *lower, ssize_t rc);
/* The close function of feeds without other resources. */
void xw_feed_free(struct xw_feed *f);
static inline int xw_feed_call_tick(const struct xw_feed_tick *t)
{
	return t->fn ? t->fn(t->arg) : 0;
}
/* Count n bytes of an outermost feed. */
static inline void xw_feed_count(struct xw_feed *f, size_t n)
{
	atomic_fetch_add_explicit(&f->count, n, memory_order_relaxed);
}
/* Read up to len bytes, as ops->read. */
ssize_t xw_feed_read(struct xw_feed *f, void *buf, size_t len);
/* Peek at `want` bytes, or all that exist: returns their number, or a negative code. */
ssize_t xw_feed_peek(struct xw_feed *f, size_t want);
static inline const unsigned char *xw_feed_head(const struct xw_feed *f)
{
	return f->head + f->head_pos;
}
/* Push n bytes back in front of the unread data. 0 or XW_ERR_NOMEM. */
int xw_feed_unread(struct xw_feed *f, const void *buf, size_t n);
/* Make the current read and all later ones fail. May be called from any thread. */
void xw_feed_cancel(struct xw_feed *f);
void xw_feed_close(struct xw_feed *f);
static inline void xw_feed_end(struct xw_feed **f)
{
	xw_feed_close(*f);
}
#define auto_feed __attribute__((cleanup(xw_feed_end)))

/*
 * Read fd from its current offset. own: close fd with the feed. NULL when out of memory or
 * descriptors.
 */
struct xw_feed *xw_feed_fd(int fd, bool own, struct xw_feed_tick tick);
#define XW_FEED_TICK_MS 100
/*
 * Reads by fn(arg, buf, len), which returns the number of bytes, 0 at the end, or negative
 * (XW_ERR_IO).
 */
struct xw_feed_call {
	int64_t (*fn)(void *arg, void *buf, size_t len);
	void *arg;
};
struct xw_feed *xw_feed_call(struct xw_feed_call call, struct xw_feed_tick tick);

/*
 * Decompress `lower` if a filter of libarchive recognizes it. 1: *out is the decompressed feed and
 * owns lower; 0: not compressed, and lower is unchanged; negative: a failure with the reason in
 * lower->err, and the data read from lower is lost.
 */
int xw_feed_decompress(struct xw_feed *lower, struct xw_feed **out);
/*
 * Close a decompressor with leaves_rest, which was read to its end, and return the feed below it,
 * which continues after the compressed stream. NULL: out of memory; both are closed.
 */
struct xw_feed *xw_feed_lower(struct xw_feed *f);

#endif
