/* SPDX-License-Identifier: MIT */
/*
 * Decompression as a feed: libarchive's filters with its "raw" format, over another feed.
 *
 * Filters are selected by libarchive's bidding on the first bytes, not by a table of ours. Bidding
 * happens in a trial run (peek), whose input stays in the head of the lower feed: data that is not
 * compressed can then be used unchanged, even from a pipe. For compressed data, a second archive
 * handle reads the feed (pull).
 *
 * libarchive verifies the checksums that its decompressors verify; for gzip see gzip_check.c. Some
 * filters do not report that the compressed stream ends before the input: trailing data is examined
 * here, for filters that consume no byte too many and for those whose end is known (frames.c).
 */
#include "config.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "import/feed.h"
#include "import/frames.h"
#include "import/gunzip.h"
#include "import/gzip_check.h"
#include "import/gzip_header.h"
#include "import/libarchive.h"
#include "import/libarchive_err.h"

#define PULL_BYTES ((size_t)256 << 10)
#define PEEK_BYTES ((size_t)64 << 10)

struct filter {
	struct xw_feed f;
	struct xw_feed *lower;
	struct archive *a;
	bool empty; /* the decompressed data is empty */
	bool ended, broken;
	size_t seen; /* trial run: bytes served from the head of lower */
	int lower_err;
	unsigned char *bufs, *buf; /* two buffers of PULL_BYTES each; the current one */
	size_t at, have; /* [at, have) of buf was not served yet */
	size_t before; /* number of served bytes at the start of the other buffer */
	int64_t served; /* total number of bytes served */
	bool last; /* the input ends with the bytes in buf */
	bool stops; /* the stream may end before the input */
	bool trailing_checked; /* trailing data was examined */
	struct xw_gzip_check *gzip;
	struct xw_frames frames, trial; /* position in the input; the same in the trial run */
};

static la_ssize_t lower_failed(struct filter *t, struct archive *a, ssize_t rc)
{
	t->lower_err = (int)rc;
	archive_set_error(a, EIO, "%s", t->lower->err);
	return ARCHIVE_FATAL;
}

/* Read callback of the trial run. */
static la_ssize_t peek(struct archive *a, void *arg, const void **buf)
{
	struct filter *t = arg;
	const ssize_t all = xw_feed_peek(t->lower, t->seen + PEEK_BYTES);
	const bool last = all < (ssize_t)(t->seen + PEEK_BYTES);
	size_t n;

	if (all < 0)
		return lower_failed(t, a, all);
	*buf = xw_feed_head(t->lower) + t->seen;
	n = xw_frames_in(&t->trial, *buf, (size_t)all - t->seen, last);
	t->seen += n;
	return (la_ssize_t)n;
}

/*
 * Append input to the unserved bytes in buf: 0 or a negative code. The bytes served last are kept
 * until the next refill, since the gzip checker may refer to them.
 */
static ssize_t refill(struct filter *t)
{
	ssize_t n;

	if (t->at) {
		unsigned char *other = t->buf == t->bufs ? t->bufs + PULL_BYTES : t->bufs;

		memcpy(other, t->buf + t->at, t->have - t->at);
		t->buf = other;
		t->before = t->at;
		t->have -= t->at;
		t->at = 0;
	}
	n = xw_feed_read(t->lower, t->buf + t->have, PULL_BYTES - t->have);
	if (n < 0)
		return n;
	t->have += (size_t)n;
	t->last = n == 0;
	return 0;
}

/* How many of the unserved bytes may be passed to the decompressor now. */
static size_t usable_input(struct filter *t)
{
	const unsigned char *p = t->buf + t->at;
	const size_t n = t->have - t->at;

	if (t->gzip)
		return n ? xw_gzip_check_in(t->gzip, p, n, t->last) : 0;
	return xw_frames_in(&t->frames, p, n, t->last);
}

static la_ssize_t pull(struct archive *a, void *arg, const void **buf)
{
	struct filter *t = arg;
	size_t n;

	for (;;) {
		ssize_t rc;

		n = usable_input(t);
		if (n || t->last || t->frames.ended)
			break;
		rc = refill(t);
		if (rc)
			return lower_failed(t, a, rc);
	}
	*buf = t->buf + t->at;
	t->at += n;
	t->served += (int64_t)n;
	return (la_ssize_t)n;
}

/*
 * The input that follows the compressed stream, as far as it was read: the bytes that were served
 * but not consumed by the filter, which may begin in the other buffer, and the unserved ones.
 */
struct rest {
	const unsigned char *other, *buf;
	size_t n_other, n_buf;
};

static struct rest rest_of(const struct filter *t)
{
	const unsigned char *other = t->buf == t->bufs ? t->bufs + PULL_BYTES : t->bufs;
	const int64_t n = t->served - archive_filter_bytes(t->a, -1);
	const size_t left = n > 0 && !t->frames.ended ? (size_t)n : 0;
	const size_t here = XW_MIN(left, t->at), there = XW_MIN(left - here, t->before);

	return (struct rest){other + t->before - there, t->buf + t->at - here, there,
			     t->have - t->at + here};
}

/* Does the rest start like a truncated gzip member? */
static bool member_follows(const struct filter *t, const struct rest *r)
{
	unsigned char first[2];
	size_t n = 0;

	for (size_t i = 0; i < r->n_other && n < sizeof(first); i++)
		first[n++] = r->other[i];
	for (size_t i = 0; i < r->n_buf && n < sizeof(first); i++)
		first[n++] = r->buf[i];
	return (n == sizeof(first) || t->last) && xw_gzip_begins(first, n);
}

/* After the end of the stream: is there trailing data other than padding? 0 or a negative code. */
static ssize_t check_trailing(struct filter *t)
{
	const struct rest r = rest_of(t);
	bool zero = xw_all_zero(r.other, r.n_other) && xw_all_zero(r.buf, r.n_buf);

	if (t->gzip && member_follows(t, &r)) {
		snprintf(t->f.err, sizeof(t->f.err), "gzip: the compressed data ends early");
		return XW_ERR_TRUNCATED;
	}
	for (size_t n = t->have; !t->last && n < XW_FEED_TRAILING_MAX; n += t->have) {
		ssize_t rc;

		t->at = t->have = 0;
		rc = refill(t);
		if (rc)
			return xw_feed_fail_lower(&t->f, t->lower, rc);
		zero = zero && xw_all_zero(t->buf, t->have);
	}
	t->f.trailing = !zero;
	return 0;
}

/* Convert libarchive's last error to a code and a message. */
static int filter_fail(const struct filter *t, char *why, size_t room)
{
	const char *text = xw_la_text(t->a);
	const char *name = archive_filter_name(t->a, 0);

	if (t->lower_err) {
		snprintf(why, room, "%s", t->lower->err);
		return t->lower_err;
	}
	/* the gzip filter sets no message for a truncated trailer */
	snprintf(why, room, "%s: %s", name ? name : "compressed data",
		 text ? text : "the compressed data ends early");
	return text ? xw_la_code(t->a) : XW_ERR_TRUNCATED;
}

/*
 * At the end of the stream, once: verify gzip's checksum, and examine trailing data. 0 or a
 * negative code.
 */
static ssize_t at_end(struct filter *t)
{
	if (!t->ended && t->gzip && !xw_gzip_check_end(t->gzip)) {
		snprintf(t->f.err, sizeof(t->f.err), "gzip: the checksum or length does not match");
		return XW_ERR_INPUT;
	}
	t->ended = true;
	if (!t->stops || t->f.leaves_rest || t->trailing_checked)
		return 0;
	t->trailing_checked = true;
	return check_trailing(t);
}

static ssize_t filter_read(struct xw_feed *f, void *buf, size_t len)
{
	struct filter *t = (struct filter *)f;
	la_ssize_t n;

	if (t->empty || !len)
		return 0;
	if (t->ended)
		return at_end(t);
	do
		n = archive_read_data(t->a, buf, len);
	while (n == ARCHIVE_RETRY);
	if (n < 0)
		return filter_fail(t, f->err, sizeof(f->err));
	if (t->gzip && n)
		xw_gzip_check_out(t->gzip, buf, (size_t)n);
	return n ? (ssize_t)n : at_end(t);
}

static void filter_close(struct xw_feed *f)
{
	struct filter *t = (struct filter *)f;

	if (t->a)
		archive_read_free(t->a);
	xw_feed_close(t->lower);
	if (t->gzip)
		xw_gzip_check_free(t->gzip);
	free(t->gzip);
	free(t->bufs);
	free(t);
}

static struct xw_feed *filter_lower(struct xw_feed *f)
{
	struct filter *t = (struct filter *)f;
	const struct rest r = rest_of(t);
	struct xw_feed *lower = t->lower;
	int rc = xw_feed_unread(lower, r.buf, r.n_buf);

	if (!rc)
		rc = xw_feed_unread(lower, r.other, r.n_other);
	if (!rc)
		t->lower = NULL;
	xw_feed_close(f);
	return rc ? NULL : lower;
}

/*
 * The filter for compressed data with these first bytes, by the rules of libarchive's bidders; 0:
 * unknown, leave it to them. Bidding would also decompress nested compressed data, and the end of
 * the outer stream could not be found.
 */
static int filter_of(const unsigned char *p, size_t n)
{
	static const char bzip2[] = "1AY&SY", gzip[] = "\x1f\x8b\x08";
	static const int framed[] = {[XW_FRAMES_ZSTD] = ARCHIVE_FILTER_ZSTD,
				     [XW_FRAMES_LZ4] = ARCHIVE_FILTER_LZ4,
				     [XW_FRAMES_XZ] = ARCHIVE_FILTER_XZ};
	const int known = framed[xw_frames_kind(p, n)];

	if (known)
		return known;
	if (n >= 10 && !memcmp(p, gzip, 3) && !(p[3] & 0xE0))
		return ARCHIVE_FILTER_GZIP;
	return n >= 10 && !memcmp(p, "BZh", 3) && p[3] >= '1' && p[3] <= '9' &&
			       !memcmp(p + 4, bzip2, 6)
		       ? ARCHIVE_FILTER_BZIP2
		       : 0;
}

/*
 * Open t->a with the read callback `from` and read up to the first data. Returns libarchive's
 * status.
 */
static int start(struct filter *t, archive_read_callback *from, int code)
{
	struct archive_entry *e;
	int status;

	t->a = archive_read_new();
	if (!t->a)
		return ARCHIVE_FATAL;
	if (!code || archive_read_append_filter(t->a, code) != ARCHIVE_OK)
		xw_la_support_filters(t->a);
	archive_read_support_format_raw(t->a);
	archive_read_support_format_empty(t->a);
	status = archive_read_open(t->a, t, NULL, from, NULL);
	t->broken = status < ARCHIVE_WARN;
	return t->broken ? status : archive_read_next_header(t->a, &e);
}

/*
 * Verify the checksum of the first gzip header if it is within the head of lower. Those of later
 * members are not verified (without isa-l).
 */
static bool check_header(struct filter *t)
{
	struct xw_gzip_header h = {0};
	struct xw_feed *lower = t->lower;

	xw_gzip_header_add(&h, xw_feed_head(lower), lower->head_len - lower->head_pos);
	if (h.state != XW_GZIP_HEADER_CHECKSUM)
		return true;
	snprintf(lower->err, sizeof(lower->err), "gzip: %s", xw_gzip_header_text(&h));
	return false;
}

/* Was the data encoded as text? Such a block may be a part of any text, as of a mail. */
static bool is_text(const struct filter *t)
{
	for (int i = 0; i < archive_filter_count(t->a); i++)
		if (archive_filter_code(t->a, i) == ARCHIVE_FILTER_UU)
			return true;
	return false;
}

/*
 * 1: compressed, and t->a decompresses it; 0: not compressed; negative: a failure with the reason
 * in lower->err.
 */
static int probe(struct filter *t)
{
	const ssize_t have = xw_feed_peek(t->lower, PEEK_BYTES);
	int code, known, status;
	bool gzip;

	if (have < 0)
		return (int)have;
	known = filter_of(xw_feed_head(t->lower), (size_t)have);
	t->frames.kind = xw_frames_kind(xw_feed_head(t->lower), (size_t)have);
	t->trial = t->frames;
	status = start(t, peek, known);
	if (known && t->a && !t->lower_err && (status == ARCHIVE_EOF || status < ARCHIVE_WARN)) {
		/* without bidding, damaged data looks like empty data */
		known = 0;
		archive_read_free(t->a);
		t->seen = 0;
		t->trial = t->frames;
		status = start(t, peek, 0);
	}
	if (!t->a)
		return XW_ERR_NOMEM;
	if (t->lower_err)
		return t->lower_err;
	code = archive_filter_count(t->a) == 2 ? archive_filter_code(t->a, 0) : -1;
	gzip = code == ARCHIVE_FILTER_GZIP;
	if (gzip && !check_header(t))
		return XW_ERR_INPUT;
	t->f.text = t->f.text || is_text(t);
	t->stops = gzip || code == ARCHIVE_FILTER_BZIP2 || t->frames.kind != XW_FRAMES_NONE;
	/* a filter that fails at once was selected, but is not counted */
	if (archive_filter_count(t->a) <= 1 && !t->broken)
		return 0;
	if (status < ARCHIVE_WARN)
		return filter_fail(t, t->lower->err, sizeof(t->lower->err));
	archive_read_free(t->a);
	if (gzip) {
		t->gzip = malloc(sizeof(*t->gzip));
		if (!t->gzip) {
			t->a = NULL;
			return XW_ERR_NOMEM;
		}
		xw_gzip_check_init(t->gzip);
	}
	status = start(t, pull, known);
	t->empty = status == ARCHIVE_EOF;
	if (status >= ARCHIVE_WARN)
		return 1;
	return t->a ? filter_fail(t, t->lower->err, sizeof(t->lower->err)) : XW_ERR_NOMEM;
}

struct xw_feed *xw_feed_lower(struct xw_feed *f)
{
	return f->ops->lower(f);
}

int xw_feed_decompress(struct xw_feed *lower, struct xw_feed **out)
{
	static const struct xw_feed_ops ops = {
		.read = filter_read, .close = filter_close, .lower = filter_lower};
	const ssize_t have = xw_feed_peek(lower, PEEK_BYTES);
	struct filter *t;
	int rc = 0;

	if (have < 0)
		return (int)have;
	/* isa-l, if built with it */
	if (filter_of(xw_feed_head(lower), (size_t)have) == ARCHIVE_FILTER_GZIP)
		rc = xw_gunzip(lower, out);
	if (rc)
		return rc;
	t = calloc(1, sizeof(*t));
	rc = XW_ERR_NOMEM;
	if (t)
		t->buf = t->bufs = malloc(2 * PULL_BYTES);
	if (t && t->bufs) {
		xw_feed_init_above(&t->f, &ops, lower);
		t->lower = lower;
		rc = probe(t);
	}
	if (rc == 1) {
		*out = &t->f;
		return 1;
	}
	if (rc == XW_ERR_NOMEM)
		snprintf(lower->err, sizeof(lower->err), "out of memory");
	if (t) {
		t->lower = NULL; /* still owned by the caller */
		filter_close(&t->f);
	}
	return rc;
}
