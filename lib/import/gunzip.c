/* SPDX-License-Identifier: MIT */
/*
 * Decompresses concatenated gzip members, and verifies the checksum and length of each. Trailing
 * data that does not start like a member is ignored. Headers are parsed here, not by isa-l, which
 * accepts wrong header checksums and rejects correct ones of long headers.
 */
#include "config.h"

#include "import/gunzip.h"

#include "base/err.h"

#ifndef HAVE_ISAL

int xw_gunzip(struct xw_feed *lower, struct xw_feed **out)
{
	(void)lower;
	(void)out;
	return 0;
}

#else

#include <isa-l/igzip_lib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "import/gzip_header.h"

#define IN_BYTES ((size_t)256 << 10)
#define TRIAL_BYTES ((size_t)64 << 10)

struct gunzip {
	struct xw_feed f;
	struct xw_feed *lower;
	struct inflate_state *z; /* reads from buf */
	unsigned char *buf;
	bool last; /* the input ends with the bytes in buf */
	struct xw_gzip_header head; /* header of the current member */
	bool ended, trailing_checked;
	bool has_data; /* some data was decompressed; otherwise trailing data is not reported */
};

/* Start decompressing after a header. */
static void begin(struct inflate_state *z)
{
	isal_inflate_reset(z);
	z->crc_flag = ISAL_GZIP_NO_HDR_VER;
}

/* Append input to the unread bytes in buf: 0 or a negative code. */
static ssize_t refill(struct gunzip *g)
{
	const size_t left = g->z->avail_in;
	ssize_t n;

	if (left)
		memmove(g->buf, g->z->next_in, left);
	n = xw_feed_read(g->lower, g->buf + left, IN_BYTES - left);
	if (n < 0)
		return xw_feed_fail_lower(&g->f, g->lower, n);
	g->z->next_in = g->buf;
	g->z->avail_in = (uint32_t)(left + (size_t)n);
	g->last = n == 0;
	return 0;
}

/* At the end of a member, check whether another one follows: 0 or a negative code. */
static ssize_t next_member(struct gunzip *g)
{
	while (g->z->avail_in < 2 && !g->last) {
		const ssize_t rc = refill(g);

		if (rc)
			return rc;
	}
	g->head = (struct xw_gzip_header){0};
	g->ended = !xw_gzip_begins(g->z->next_in, g->z->avail_in);
	return 0;
}

/* Is there trailing data other than padding? 0 or a negative code. */
static ssize_t check_trailing(struct gunzip *g)
{
	size_t seen = 0;
	bool zero = true;

	if (g->f.leaves_rest || g->trailing_checked)
		return 0;
	g->trailing_checked = true;
	for (;;) {
		ssize_t rc;

		zero = zero && xw_all_zero(g->z->next_in, g->z->avail_in);
		seen += g->z->avail_in;
		g->z->avail_in = 0;
		if (g->last || seen >= XW_FEED_TRAILING_MAX)
			break;
		rc = refill(g);
		if (rc)
			return rc;
	}
	g->f.trailing = g->has_data && !zero;
	return 0;
}

static ssize_t failed(struct gunzip *g, int why)
{
	const char *text = why == ISAL_INCORRECT_CHECKSUM ? "the checksum or length does not match"
			   : why < 0                      ? "the compressed data is damaged"
							  : "the compressed data ends early";

	snprintf(g->f.err, sizeof(g->f.err), "gzip: %s", text);
	return why < 0 ? XW_ERR_INPUT : XW_ERR_TRUNCATED;
}

/*
 * Parse the header as far as it is in buf, which is empty only at the end of the input: 0 or a
 * negative code.
 */
static ssize_t read_header(struct gunzip *g)
{
	struct inflate_state *z = g->z;
	const size_t n = xw_gzip_header_add(&g->head, z->next_in, z->avail_in);

	if (!n && g->head.state == XW_GZIP_HEADER_MORE)
		return failed(g, 0);
	z->next_in += n;
	z->avail_in -= (uint32_t)n;
	if (g->head.state == XW_GZIP_HEADER_MORE)
		return 0;
	if (g->head.state == XW_GZIP_HEADER_DONE) {
		begin(z);
		return 0;
	}
	snprintf(g->f.err, sizeof(g->f.err), "gzip: %s", xw_gzip_header_text(&g->head));
	return XW_ERR_INPUT;
}

static ssize_t gunzip_read(struct xw_feed *f, void *buf, size_t len)
{
	struct gunzip *g = (struct gunzip *)f;
	struct inflate_state *z = g->z;
	ssize_t rc = 0;

	if (!len)
		return 0;
	len = XW_MIN(len, UINT32_MAX / 2);
	while (!g->ended && !rc) {
		int status;

		if (!z->avail_in && !g->last) {
			rc = refill(g);
			continue;
		}
		if (g->head.state == XW_GZIP_HEADER_MORE) {
			rc = read_header(g);
			continue;
		}
		z->next_out = buf;
		z->avail_out = (uint32_t)len;
		status = isal_inflate(z);
		if (status < 0)
			return failed(g, status);
		if (z->block_state == ISAL_BLOCK_FINISH)
			rc = next_member(g);
		else if (z->avail_out == len && !z->avail_in && g->last)
			return failed(g, 0);
		g->has_data |= z->avail_out < len;
		if (z->avail_out < len && !rc)
			return (ssize_t)(len - z->avail_out);
	}
	return rc ? rc : check_trailing(g);
}

static void gunzip_close(struct xw_feed *f)
{
	struct gunzip *g = (struct gunzip *)f;

	xw_feed_close(g->lower);
	free(g->z);
	free(g->buf);
	free(g);
}

static struct xw_feed *gunzip_lower(struct xw_feed *f)
{
	struct gunzip *g = (struct gunzip *)f;
	struct xw_feed *lower = g->lower;
	const int rc = xw_feed_unread(lower, g->z->next_in, g->z->avail_in);

	if (!rc)
		g->lower = NULL;
	xw_feed_close(f);
	return rc ? NULL : lower;
}

/* Do the n bytes start like a gzip member? A wrong header checksum is reported by reading. */
static bool try(struct inflate_state *z, const unsigned char *p, size_t n)
{
	struct xw_gzip_header head = {0};
	const size_t len = xw_gzip_header_add(&head, p, n);
	uint8_t out[512];

	if (head.state != XW_GZIP_HEADER_DONE)
		return head.state != XW_GZIP_HEADER_INVALID;
	begin(z);
	z->next_in = (uint8_t *)(uintptr_t)(p + len);
	z->avail_in = (uint32_t)(n - len);
	z->next_out = out;
	z->avail_out = sizeof(out);
	return isal_inflate(z) >= 0;
}

int xw_gunzip(struct xw_feed *lower, struct xw_feed **out)
{
	static const struct xw_feed_ops ops = {
		.read = gunzip_read, .close = gunzip_close, .lower = gunzip_lower};
	const ssize_t have = xw_feed_peek(lower, TRIAL_BYTES);
	struct gunzip *g = have < 0 ? NULL : calloc(1, sizeof(*g));

	if (have < 0)
		return (int)have;
	if (g) {
		g->z = calloc(1, sizeof(*g->z));
		g->buf = malloc(IN_BYTES);
	}
	if (!g || !g->z || !g->buf || !try(g->z, xw_feed_head(lower), (size_t)have)) {
		if (g)
			gunzip_close(&g->f);
		return 0;
	}
	g->z->avail_in = 0;
	g->z->next_in = g->buf;
	xw_feed_init_above(&g->f, &ops, lower);
	g->lower = lower;
	*out = &g->f;
	return 1;
}

#endif
