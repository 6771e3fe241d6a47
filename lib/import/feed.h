/* SPDX-License-Identifier: MIT */
/*
 * Where bytes come from: a descriptor, memory, or libarchive's decompressor over another feed. A
 * feed can be looked at before anybody reads it, which is how formats are detected on a pipe.
 */
#ifndef XW_IMPORT_FEED_H
#define XW_IMPORT_FEED_H

#include <stdatomic.h>
#include <sys/types.h>

#include "base/types.h"

struct xw_feed;

/*
 * Called by the consumer's thread every 100 ms or so while it waits for input that may never come,
 * and before each unit of what comes, which may never end; so it must cost little. Non-zero ends
 * the wait: that is then the code of the read. fn NULL: nothing is called.
 */
struct xw_feed_tick {
	int (*fn)(void *arg);
	void *arg;
};

struct xw_feed_ops {
	/* Up to len bytes into buf: how many (maybe fewer than asked), 0 at the end, or a negative
	 * code with f->err set. */
	ssize_t (*read)(struct xw_feed *f, void *buf, size_t len);
	void (*close)(struct xw_feed *f);
};

/*
 * Used by one thread at a time (first the detector, then the reading thread), except for raw and
 * xw_feed_cancel. Failures go to err, not to a struct xw_diag: that one belongs to the consumer's
 * thread, which reports when it gets there.
 */
struct xw_feed {
	const struct xw_feed_ops *ops;
	unsigned char *head; /* looked at, not yet read */
	size_t head_pos, head_len, head_cap;
	atomic_uint_least64_t *raw; /* bytes taken from the outermost input, for progress */
	struct xw_feed_tick *tick; /* of the outermost feed */
	int wake; /* eventfd that ends a blocked read, or -1 */
	bool behind; /* a decompressor's, at its end: more than zeros followed and was left out */
	char err[256]; /* reason of a failure, without the source's name */
};

/* Takes bytes off the feed, the head first. */
ssize_t xw_feed_read(struct xw_feed *f, void *buf, size_t len);
/* Make head hold `want` bytes, or all there are: how many it holds, or a negative code. */
ssize_t xw_feed_peek(struct xw_feed *f, size_t want);
static inline const unsigned char *xw_feed_head(const struct xw_feed *f)
{
	return f->head + f->head_pos;
}
/* From any thread: the read under way and all later ones fail. */
void xw_feed_cancel(struct xw_feed *f);
void xw_feed_close(struct xw_feed *f);

/* Reads fd from where it stands; own: close it with the feed. NULL when out of memory or
 * descriptors. */
struct xw_feed *xw_feed_fd(int fd, bool own, struct xw_feed_tick tick);
#define XW_FEED_TICK_MS 100
/* Reads memory, which must outlive the feed, at most `chunk` bytes a call (0: no limit). */
struct xw_feed *xw_feed_mem(const void *buf, size_t len, size_t chunk);

/*
 * Looks whether `lower` is compressed (anything libarchive has a filter for). 1: *out is the
 * decompressed feed and owns lower; 0: it is not and lower is as it was; negative: failure, what
 * was read of lower is lost, reason in lower->err.
 */
int xw_feed_decompress(struct xw_feed *lower, struct xw_feed **out);

#endif
