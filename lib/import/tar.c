/* SPDX-License-Identifier: MIT */
/*
 * The tar source: payload and the end of the archive. Headers are parsed by tar_member.c;
 * tar_input.c has functions common to both.
 *
 * Invariants:
 * 1. Between calls the input is at a block boundary, or within the current member's payload with
 *    exactly left + tail + pad bytes up to the next header.
 * 2. A payload piece points into the current unit of the input, without a copy.
 * 3. With a sparse map (checked by xw_sparse_check()), `left` is the number of remaining bytes in
 *    segments `seg` and later.
 * 4. After a failure every call returns the same code.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "import/tar.h"

/*
 * Read on after the end of the archive, for a warning about trailing data: a second archive would
 * be ignored. A file need not be read further, but the writer of a pipe must not get SIGPIPE
 * because of padding, and the checksums of compressed data are at its end.
 */
static int read_on(struct xw_tar *t)
{
	const uint64_t enough = xw_input_read_limit(t->in, t->compressed);
	bool other = false;
	const unsigned char *p;
	size_t len;
	int rc = 0;

	t->e.path.len = 0;
	t->e.pos = xw_input_pos(t->in);
	while ((t->drain || !other) && xw_input_pos(t->in) < enough &&
	       !(rc = xw_input_get(t->in, &p, &len)) && len) {
		other = other || !xw_all_zero(p, len);
		xw_input_consume(t->in, len);
	}
	if (rc)
		return xw_tar_fail_input(t, rc);
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
	int rc;

	if (t->failed || t->done)
		return t->failed;
	rc = xw_tar_finish(t);
	if (!rc)
		rc = xw_tar_member(t);
	if (rc == 1)
		*e = &t->e;
	if (rc)
		return rc;
	t->done = true;
	t->left = t->tail = 0;
	return read_on(t);
}

static int tar_read(struct xw_source *s, const void **buf, size_t *len, uint64_t *off)
{
	struct xw_tar *t = (struct xw_tar *)s;
	const unsigned char *p;
	size_t n;
	int rc;

	if (t->failed || !t->data || !t->left)
		return t->failed;
	rc = xw_input_get(t->in, &p, &n);
	if (rc || !n)
		return xw_tar_fail_input(t, rc);
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
	xw_input_consume(t->in, n);
	*buf = p;
	*len = n;
	return 1;
}

static uint64_t tar_consumed(const struct xw_source *s)
{
	const struct xw_tar *t = (const struct xw_tar *)s;

	return t->compressed ? xw_input_raw(t->in) : xw_input_pos(t->in);
}

static bool tar_stored(const struct xw_source *s, int *fd, uint64_t *off)
{
	const struct xw_tar *t = (const struct xw_tar *)s;

	*fd = t->fd;
	*off = t->file_off + xw_input_pos(t->in);
	return t->in_file;
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

int xw_tar_open(struct xw_input *in, const struct xw_archive_params *p, struct xw_source **out)
{
	static const struct xw_source_ops ops = {.next = tar_next,
						 .read = tar_read,
						 .close = tar_close,
						 .consumed = tar_consumed,
						 .stored = tar_stored};
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
	t->in_file = p->in_file;
	t->fd = p->fd;
	t->file_off = p->file_off;
	t->drain = p->drain;
	t->verified = p->verified;
	*out = &t->src;
	return 0;
}
