/* SPDX-License-Identifier: MIT */
/*
 * Concatenated cpio archives in the kernel's initramfs buffer format: any number of zero bytes may
 * separate the archives, and each may be compressed. Compressed data may contain several archives.
 * cpio_part.c reads one archive at a time; then the feed continues at its end.
 *
 * Invariant: either `part` is open and owns the feed, or `feed` is at the start of the next
 * archive.
 */
#include "config.h"

#include "import/cpio.h"

#include <stdlib.h>
#include <string.h>

#include "base/endian.h"
#include "disk/inode.h"
#include "import/cpio_part.h"

#define LOOK 512u
#define CHUNK ((size_t)64 << 10)

struct cpio {
	struct xw_source src;
	struct xw_source *part; /* NULL: between two archives, or after the last */
	struct xw_feed *feed;
	struct xw_archive_params params; /* for opening each part */
	unsigned depth; /* number of nested decompressors in `feed` */
	bool after_stream; /* a compressed stream has ended since the last part */
	bool threaded, drain, done;
	int failed;
	atomic_uint_least64_t *raw; /* input bytes read; NULL: the feed is closed after a failure */
	unsigned char *buf; /* CHUNK bytes */
};

static unsigned peek(const unsigned char *p, bool little)
{
	return little ? peek16(p) : (unsigned)(p[0] << 8 | p[1]);
}

/* The magic of the binary format has only two bytes: mode and name length are checked, too. */
static bool is_binary(const unsigned char *p, size_t len)
{
	enum { MODE = 6, NAME_SIZE = 20, HEADER = 26, NAME_MAX_SIZE = 4097 };
	const bool little = *p == 0xc7;
	unsigned type, size;

	if (len < HEADER || peek(p, little) != 070707)
		return false;
	type = peek(p + MODE, little) & XW_S_IFMT;
	size = peek(p + NAME_SIZE, little);
	return size && size <= NAME_MAX_SIZE &&
	       (!type || type == XW_S_IFREG || type == XW_S_IFDIR || type == XW_S_IFLNK ||
		type == XW_S_IFCHR || type == XW_S_IFBLK || type == XW_S_IFIFO ||
		type == XW_S_IFSOCK);
}

bool xw_cpio_begins(const unsigned char *p, size_t len)
{
	return (len >= 6 && (!memcmp(p, "070701", 6) || !memcmp(p, "070702", 6) ||
			     !memcmp(p, "070707", 6) || !memcmp(p, "070727", 6))) ||
	       is_binary(p, len);
}

static int fail_feed(struct cpio *c, int code)
{
	c->failed = code;
	return xw_fail(c->src.diag, code, "%s: %s", c->src.name, c->feed->err);
}

/* Skip zeros: 1 if other data follows, 0 at the end of the feed or after the limit. */
static int skip_zeros(struct cpio *c)
{
	uint64_t skipped = 0;

	while (c->depth || skipped < XW_FEED_TRAILING_MAX) {
		ssize_t n = xw_feed_peek(c->feed, CHUNK);
		size_t zeros = 0;

		if (n <= 0)
			return n ? fail_feed(c, (int)n) : 0;
		n = XW_MIN(n, (ssize_t)CHUNK);
		while (zeros < (size_t)n && !xw_feed_head(c->feed)[zeros])
			zeros++;
		if (zeros && xw_feed_read(c->feed, c->buf, zeros) != (ssize_t)zeros)
			return fail_feed(c, XW_ERR_INTERNAL);
		if (zeros < (size_t)n)
			return 1;
		skipped += zeros;
	}
	return 0;
}

/*
 * Read on after the last archive: the writer of a pipe must not get SIGPIPE, and the checksums of
 * compressed data are at its end.
 */
static int finish(struct cpio *c)
{
	c->done = true;
	for (uint64_t n = 0; c->drain && (c->depth || n < XW_FEED_TRAILING_MAX);) {
		const ssize_t got = xw_feed_read(c->feed, c->buf, CHUNK);

		if (got <= 0)
			return got ? fail_feed(c, (int)got) : 0;
		n += (uint64_t)got;
	}
	return 0;
}

/*
 * The data that follows is not a cpio archive: decompress it if it is compressed. 1: done, 0: not
 * compressed.
 */
static int enter(struct cpio *c)
{
	struct xw_feed *inner;
	int rc = c->depth < XW_CPIO_DEPTH_MAX ? xw_feed_decompress(c->feed, &inner) : 0;

	if (rc < 0)
		return fail_feed(c, rc);
	if (rc && inner->text) {
		c->feed = inner;
		c->depth++;
		rc = 0;
	}
	if (!rc) {
		xw_log(c->src.diag, XW_LOG_WARN,
		       "%s: trailing data after the %s is ignored: not a cpio archive", c->src.name,
		       c->after_stream ? "compressed stream" : "archive");
		return 0;
	}
	inner->leaves_rest = true;
	c->feed = inner;
	c->depth++;
	return 1;
}

/* Continue after the end of a compressed stream. */
static int leave(struct cpio *c)
{
	c->feed = xw_feed_lower(c->feed);
	c->depth--;
	c->after_stream = true;
	if (c->feed)
		return 0;
	c->raw = NULL;
	c->failed = XW_ERR_NOMEM;
	return xw_fail_nomem(c->src.diag, "the input");
}

static int open_part(struct cpio *c)
{
	struct xw_input *in = xw_input_new(c->feed, c->threaded);
	int rc;

	c->feed = NULL; /* owned by the input, also on failure */
	c->after_stream = false;
	rc = in ? xw_cpio_part_open(in, &c->params, &c->part)
		: xw_fail_nomem(c->src.diag, "read buffers");
	if (rc)
		c->raw = NULL;
	c->failed = rc;
	return rc;
}

/* Open the next archive: 1, or 0 after the last one. */
static int next_part(struct cpio *c)
{
	for (;;) {
		int rc = skip_zeros(c);
		ssize_t have;

		if (rc < 0)
			return rc;
		if (!rc && !c->depth)
			return finish(c);
		if (!rc) {
			rc = leave(c);
			if (rc)
				return rc;
			continue;
		}
		have = xw_feed_peek(c->feed, LOOK);
		if (have < 0)
			return fail_feed(c, (int)have);
		if (xw_cpio_begins(xw_feed_head(c->feed), (size_t)have)) {
			rc = open_part(c);
			return rc ? rc : 1;
		}
		rc = enter(c);
		if (rc <= 0)
			return rc ? rc : finish(c);
	}
}

static int cpio_next(struct xw_source *s, const struct xw_entry **e)
{
	struct cpio *c = (struct cpio *)s;

	while (!c->failed && !c->done) {
		int rc = c->part ? xw_source_next(c->part, e) : 0;

		if (rc < 0)
			c->failed = rc;
		if (rc)
			return rc;
		if (c->part) {
			c->failed = xw_cpio_part_release(c->part, &c->feed);
			c->part = NULL;
			if (c->failed) {
				c->raw = NULL;
				return c->failed;
			}
		}
		rc = next_part(c);
		if (rc < 0)
			return rc;
	}
	return c->failed;
}

static int cpio_read(struct xw_source *s, const void **buf, size_t *len, uint64_t *off)
{
	struct cpio *c = (struct cpio *)s;

	return c->failed || !c->part ? c->failed : xw_source_read(c->part, buf, len, off);
}

static uint64_t cpio_consumed(const struct xw_source *s)
{
	const struct cpio *c = (const struct cpio *)s;

	return c->raw ? atomic_load_explicit(c->raw, memory_order_relaxed) : c->src.total;
}

static void cpio_close(struct xw_source *s)
{
	struct cpio *c = (struct cpio *)s;

	xw_source_close(c->part);
	xw_feed_close(c->feed);
	free(c->buf);
	free(c->src.name);
	free(c);
}

int xw_cpio_open(struct xw_feed *feed, const struct xw_archive_params *p, unsigned depth,
		 bool threaded, struct xw_source **out)
{
	static const struct xw_source_ops ops = {.next = cpio_next,
						 .read = cpio_read,
						 .close = cpio_close,
						 .consumed = cpio_consumed};
	struct cpio *c = calloc(1, sizeof(*c));
	int rc;

	if (!c) {
		xw_feed_close(feed);
		return xw_fail_nomem(p->diag, "the archive reader");
	}
	c->src = (struct xw_source){
		.ops = &ops, .diag = p->diag, .total = p->total, .name = strdup(p->name)};
	c->params = *p;
	c->params.name = c->src.name;
	c->params.drain = false;
	c->feed = feed;
	c->raw = feed->raw;
	c->depth = depth;
	c->threaded = threaded;
	c->drain = p->drain;
	c->buf = malloc(CHUNK);
	rc = c->src.name && c->buf ? open_part(c) : xw_fail_nomem(p->diag, "the archive reader");
	if (rc) {
		cpio_close(&c->src);
		return rc;
	}
	*out = &c->src;
	return 0;
}
