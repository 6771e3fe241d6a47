/* SPDX-License-Identifier: MIT */
/*
 * Decompression as a feed: libarchive's filters under its "raw" format, over another feed.
 *
 * Whether the input is compressed is libarchive's decision, not a table of ours: its filters bid on
 * the first bytes. While they do, everything they take stays in the lower feed's head, so that an
 * input that is not compressed is handed on untouched even when it is a pipe.
 *
 * lower is read through pull(): probing, it grows the head and serves from there by position
 * (`seen`); afterwards it takes bytes off the feed, the unserved rest of the head first.
 */
#include "config.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "import/feed.h"
#include "import/la_err.h"

#define PULL_BYTES (256 << 10)
#define PROBE_BYTES (64 << 10)

struct filter {
	struct xw_feed f;
	struct xw_feed *lower;
	struct archive *a;
	bool probing, empty; /* empty: compressed nothing */
	size_t seen; /* bytes of lower's head that were served while probing */
	int lower_err;
	unsigned char *buf;
};

static la_ssize_t pull(struct archive *a, void *arg, const void **buf)
{
	struct filter *t = arg;
	ssize_t n;

	if (t->probing) {
		n = xw_feed_peek(t->lower, t->seen + PROBE_BYTES);
		if (n < 0)
			goto fail;
		*buf = xw_feed_head(t->lower) + t->seen;
		n -= (ssize_t)t->seen;
		t->seen += (size_t)n;
		return n;
	}
	n = xw_feed_read(t->lower, t->buf, PULL_BYTES);
	if (n < 0)
		goto fail;
	*buf = t->buf;
	return n;
fail:
	t->lower_err = (int)n;
	archive_set_error(a, EIO, "%s", t->lower->err);
	return ARCHIVE_FATAL;
}

/* Turn libarchive's last error into a code and f->err. */
static int filter_fail(struct filter *t, char *err, size_t room)
{
	const char *text = archive_error_string(t->a);

	if (t->lower_err) {
		snprintf(err, room, "%s", t->lower->err);
		return t->lower_err;
	}
	/* the gzip filter says nothing when the trailer is cut off */
	snprintf(err, room, "%s: %s", archive_filter_name(t->a, 0),
		 text ? text : "the compressed data ends early");
	return text ? xw_la_code(t->a) : XW_ERR_TRUNCATED;
}

static ssize_t filter_read(struct xw_feed *f, void *buf, size_t len)
{
	struct filter *t = (struct filter *)f;
	la_ssize_t n;

	if (t->empty)
		return 0;
	do
		n = archive_read_data(t->a, buf, len);
	while (n == ARCHIVE_RETRY);
	if (n >= 0)
		return (ssize_t)n;
	return filter_fail(t, f->err, sizeof(f->err));
}

static void filter_close(struct xw_feed *f)
{
	struct filter *t = (struct filter *)f;

	archive_read_free(t->a);
	xw_feed_close(t->lower);
	free(t->buf);
	free(t);
}

/* 1 compressed, 0 not, negative: failure, reason in lower->err. */
static int probe(struct filter *t)
{
	struct archive_entry *e;
	int r;

	archive_read_support_filter_all(t->a);
	archive_read_support_format_raw(t->a);
	archive_read_support_format_empty(t->a);
	r = archive_read_open(t->a, t, NULL, pull, NULL);
	if (r >= ARCHIVE_WARN)
		r = archive_read_next_header(t->a, &e);
	if (t->lower_err)
		return t->lower_err;
	if (archive_filter_count(t->a) <= 1)
		return 0;
	t->empty = r == ARCHIVE_EOF;
	if (r >= ARCHIVE_WARN)
		return 1;
	return filter_fail(t, t->lower->err, sizeof(t->lower->err));
}

int xw_feed_decompress(struct xw_feed *lower, struct xw_feed **out)
{
	static const struct xw_feed_ops ops = {.read = filter_read, .close = filter_close};
	struct filter *t = calloc(1, sizeof(*t));
	int err = XW_ERR_NOMEM;

	if (!t)
		return err;
	t->f.ops = &ops;
	t->f.raw = lower->raw;
	t->f.wake = lower->wake;
	t->f.tick = lower->tick;
	t->lower = lower;
	t->probing = true;
	t->a = archive_read_new();
	t->buf = malloc(PULL_BYTES);
	if (t->a && t->buf)
		err = probe(t);
	t->probing = false;
	if (err == 1) {
		/* what libarchive was given while it bid is its own now */
		lower->head_pos += t->seen;
		if (lower->head_pos == lower->head_len)
			lower->head_pos = lower->head_len = 0;
		*out = &t->f;
		return 1;
	}
	archive_read_free(t->a);
	free(t->buf);
	free(t);
	return err;
}
