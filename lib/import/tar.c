/* SPDX-License-Identifier: MIT */
/*
 * The tar source: payload, end of archive, failures. Headers are interpreted in tar_member.c.
 *
 * Invariants:
 * 1. Between calls the input is at a block boundary, or inside the current member's payload with
 *    exactly left + tail + pad bytes to the next header.
 * 2. A payload piece is a window into the unit of the input: nothing is copied.
 * 3. With a sparse map (checked, see xw_sparse_check) left is the sum of what remains of segments
 *    seg and later.
 * 4. After a failure every call returns the same code.
 */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/tar.h"

#define SHOWN 256 /* maximum length of a member's name in a message, in bytes */

static void vformat(char *dst, size_t room, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));

static void vformat(char *dst, size_t room, const char *fmt, va_list ap)
{
	if (vsnprintf(dst, room, fmt, ap) < 0)
		dst[0] = '\0';
}

int xw_tar_fail(struct xw_tar *t, int code, const char *fmt, ...)
{
	size_t n = XW_MIN(t->e.path.len, SHOWN);
	char why[384];
	va_list ap;

	va_start(ap, fmt);
	vformat(why, sizeof(why), fmt, ap);
	va_end(ap);
	t->failed = code;
	if (!n)
		return xw_fail(t->src.diag, code, "%s: byte %llu: %s", t->src.name,
			       (unsigned long long)t->e.pos, why);
	return xw_fail(t->src.diag, code, "%s: member '%.*s%s' at byte %llu: %s", t->src.name,
		       (int)n, t->e.path.p, n < t->e.path.len ? "..." : "",
		       (unsigned long long)t->e.pos, why);
}

int xw_tar_fail_input(struct xw_tar *t, int err)
{
	if (err)
		return xw_tar_fail(t, err, "%s", xw_input_error(t->in));
	return xw_tar_fail(t, XW_ERR_TRUNCATED, "the archive ends inside %s, at byte %llu",
			   t->e.path.len ? "it" : "a header",
			   (unsigned long long)xw_input_pos(t->in));
}

void xw_tar_warn(struct xw_tar *t, unsigned bit, const char *fmt, ...)
{
	char what[384];
	va_list ap;

	if (t->warned & 1u << bit)
		return;
	t->warned |= 1u << bit;
	va_start(ap, fmt);
	vformat(what, sizeof(what), fmt, ap);
	va_end(ap);
	xw_log(t->src.diag, XW_LOG_WARN, "%s: byte %llu: %s", t->src.name,
	       (unsigned long long)t->e.pos, what);
}

void xw_tar_payload(struct xw_tar *t, uint64_t n, uint64_t tail, bool data)
{
	t->left = n;
	t->tail = tail;
	t->pad = (unsigned)(-(n + tail) % XW_TAR_BLOCK);
	t->data = data;
	t->off = 0;
	t->seg = 0;
}

int xw_tar_finish(struct xw_tar *t)
{
	uint64_t n = t->left + t->tail, got;
	int err;

	if (!n && !t->pad)
		return 0;
	err = xw_input_copy(t->in, NULL, n + t->pad, &got);
	if (err || got < n)
		return xw_tar_fail_input(t, err);
	/* missing padding means that the end is missing, which xw_tar_member reports */
	t->left = t->tail = 0;
	t->pad = 0;
	return 0;
}

/*
 * Read on after the end of the archive. A second archive there is ignored, with a warning. A file
 * needs no more than that; but the writer of a pipe must not get SIGPIPE because of some padding,
 * and a decompressor has its checksums at the end.
 */
static int read_on(struct xw_tar *t)
{
	const uint64_t enough = xw_input_enough(t->in, t->compressed);
	bool other = false;
	const unsigned char *p;
	size_t len;
	int err = 0;

	t->e.path.len = 0;
	t->e.pos = xw_input_pos(t->in);
	while ((t->drain || !other) && xw_input_pos(t->in) < enough &&
	       !(err = xw_input_get(t->in, &p, &len)) && len) {
		for (size_t i = 0; i < len && !other; i++)
			other = p[i] != 0;
		xw_input_eat(t->in, len);
	}
	if (err)
		return xw_tar_fail_input(t, err);
	if (other)
		xw_log(t->src.diag, XW_LOG_WARN,
		       "%s: byte %llu: trailing data after the end of the archive is ignored",
		       t->src.name, (unsigned long long)t->e.pos);
	if (t->compressed && xw_input_has_trailing(t->in))
		xw_log(t->src.diag, XW_LOG_WARN,
		       "%s: trailing data after the compressed stream is ignored", t->src.name);
	return 0;
}

static int tar_next(struct xw_source *s, const struct xw_entry **e)
{
	struct xw_tar *t = (struct xw_tar *)s;
	int r;

	if (t->failed || t->done)
		return t->failed;
	r = xw_tar_finish(t);
	if (!r)
		r = xw_tar_member(t);
	if (r == 1)
		*e = &t->e;
	if (r)
		return r;
	t->done = true;
	t->left = t->tail = 0;
	return read_on(t);
}

static int tar_read(struct xw_source *s, const void **buf, size_t *len, uint64_t *off)
{
	struct xw_tar *t = (struct xw_tar *)s;
	const unsigned char *p;
	size_t n;
	int err;

	if (t->failed || !t->data || !t->left)
		return t->failed;
	err = xw_input_get(t->in, &p, &n);
	if (err || !n)
		return xw_tar_fail_input(t, err);
	n = (size_t)XW_MIN(n, t->left);
	*off = t->off;
	if (t->e.sparse) {
		const struct xw_segment *g = &t->e.segs[t->seg];

		n = (size_t)XW_MIN(n, g->len - t->off);
		*off += g->off;
		t->off += n;
		if (t->off == g->len) {
			t->seg++;
			t->off = 0;
		}
	} else {
		t->off += n;
	}
	t->left -= n;
	xw_input_eat(t->in, n);
	*buf = p;
	*len = n;
	return 1;
}

static uint64_t tar_consumed(const struct xw_source *s)
{
	const struct xw_tar *t = (const struct xw_tar *)s;

	return t->compressed ? xw_input_raw(t->in) : xw_input_pos(t->in);
}

static void tar_close(struct xw_source *s)
{
	struct xw_tar *t = (struct xw_tar *)s;

	xw_input_free(t->in);
	xw_pax_globals_free(&t->globals);
	xw_pax_free(&t->pax);
	xw_sparse_free(&t->sparse);
	free(t->records.v);
	free(t->name.v);
	free(t->link.v);
	free(t->src.name);
	free(t);
}

int xw_tar_open(struct xw_input *in, const struct xw_tar_params *p, struct xw_source **out)
{
	static const struct xw_source_ops ops = {
		.next = tar_next, .read = tar_read, .close = tar_close, .consumed = tar_consumed};
	struct xw_tar *t = calloc(1, sizeof(*t));

	if (t)
		t->src.name = strdup(p->name);
	if (!t || !t->src.name) {
		free(t);
		xw_input_free(in);
		return xw_fail_nomem(p->diag, "the tar reader");
	}
	t->src.ops = &ops;
	t->src.total = p->total;
	t->src.diag = p->diag;
	t->in = in;
	t->compressed = p->compressed;
	t->drain = p->drain;
	t->verified = p->verified;
	*out = &t->src;
	return 0;
}
