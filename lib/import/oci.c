/* SPDX-License-Identifier: MIT */
/*
 * A container image as a source. One layer is open at a time: its blob (blob.c), a decompressor if
 * it is compressed, and the tar reader. Each layer is read to the end of its blob, including
 * trailing data, to verify the digests.
 */
#include "config.h"

#include "import/oci.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "import/layout.h"
#include "import/oci_image.h"
#include "import/tar.h"

struct oci {
	struct xw_source src;
	struct xw_source_opts o;
	char *name;
	struct xw_store *store;
	struct xw_oci_image image;
	size_t next; /* index of the next layer */
	struct xw_source *layer; /* the open layer, or NULL; owns the input */
	struct xw_input *in; /* input of the open layer, or NULL */
	struct xw_blob_read blob;
	struct xw_verify diff;
	uint64_t done; /* total size of finished layers */
	int failed; /* code that all further calls return */
};

/* Close the input and stop its reading thread, after which the digests can be used. */
static void close_input(struct oci *c)
{
	if (c->layer)
		xw_source_close(c->layer);
	else
		xw_input_free(c->in);
	c->layer = NULL;
	c->in = NULL;
}

static void close_layer(struct oci *c)
{
	close_input(c);
	xw_blob_close(&c->blob.blob);
	xw_verify_free(&c->blob.verify);
	xw_verify_free(&c->diff);
}

static int fail(struct oci *c, int code, const char *why)
{
	c->failed = xw_fail(c->src.diag, code, "%s: %s", c->src.name, why);
	return c->failed;
}

/* 1 if the blob is an uncompressed tar archive, 0 if not, or XW_ERR_IO. */
static int is_plain(struct oci *c)
{
	unsigned char head[XW_TAR_LOOK];
	const struct xw_blob *b = &c->blob.blob;
	ssize_t n;

	do
		n = pread(b->fd, head, (size_t)XW_MIN(sizeof(head), b->size), (off_t)b->off);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return fail(c, XW_ERR_IO, strerror(errno));
	/* an empty file is an archive without members */
	return !n || xw_tar_begins(head, (size_t)n);
}

/*
 * Initialize the digests to verify. Those of an uncompressed layer and its blob are the same
 * digest, which is computed once.
 */
static int begin_digests(struct oci *c, const struct xw_oci_layer *l, bool plain)
{
	static const struct xw_digest none;
	const bool blob_is_set = xw_digest_is_set(&l->digest);
	const bool same = plain && (!blob_is_set || xw_digest_same(&l->digest, &l->diff_id));

	if (xw_verify_begin(&c->blob.verify, same ? &l->diff_id : &l->digest) ||
	    xw_verify_begin(&c->diff, same ? &none : &l->diff_id))
		return fail(c, XW_ERR_NOMEM, "out of memory");
	return 0;
}

/* Add the decompressor and the second digest to *f, which is closed on failure. */
static int stack(struct oci *c, struct xw_feed **f, bool plain)
{
	struct xw_feed *on = NULL;
	int r = plain ? 0 : xw_feed_decompress(*f, &on);

	if (r < 0)
		fail(c, r, (*f)->err);
	if (r == 1)
		*f = on;
	if (r >= 0 && c->diff.state == XW_VERIFY_READING) {
		on = xw_feed_verified(*f, &c->diff);
		if (on)
			*f = on;
		else
			r = fail(c, XW_ERR_NOMEM, "out of memory");
	}
	if (r < 0)
		xw_feed_close(*f);
	return r < 0 ? r : 0;
}

/* Fail unless the input is a tar archive. An empty input is one without members. */
static int check_tar(struct oci *c)
{
	const unsigned char *p;
	size_t len;
	const int rc = xw_input_get(c->in, &p, &len);

	if (rc)
		return fail(c, rc, xw_input_error(c->in));
	return !len || xw_tar_begins(p, len)
		       ? 0
		       : fail(c, XW_ERR_INPUT, "is not a tar archive, compressed or not");
}

static int open_tar(struct oci *c, const struct xw_oci_layer *l)
{
	const struct xw_tar_params p = {
		.name = l->label,
		.diag = c->src.diag,
		.compressed = true, /* read to the end of the input */
		.drain = true,
		.verified = true,
	};
	int rc = check_tar(c);

	if (rc)
		return rc;
	rc = xw_tar_open(c->in, &p, &c->layer);
	if (rc)
		c->in = NULL;
	return rc;
}

static int open_layer(struct oci *c, const struct xw_oci_layer *l)
{
	struct xw_feed *f;
	int plain, rc;

	c->src.name = l->label;
	c->blob = (struct xw_blob_read){.blob.fd = -1};
	rc = xw_store_find(c->store, l->path, xw_oci_layer_is_checked(l), c->src.diag,
			   &c->blob.blob);
	if (rc)
		return fail(c, rc, "was removed");
	plain = is_plain(c);
	if (plain < 0)
		return plain;
	rc = begin_digests(c, l, plain);
	if (rc)
		return rc;
	f = xw_feed_blob(&c->blob, c->o.tick);
	if (!f)
		return fail(c, XW_ERR_NOMEM, "out of memory");
	rc = stack(c, &f, plain);
	if (rc)
		return rc;
	c->in = xw_input_new(f, c->o.threaded);
	if (!c->in)
		return fail(c, XW_ERR_NOMEM, "out of memory");
	return open_tar(c, l);
}

/*
 * Handle a failure of a layer. If its contents may have caused the failure, read the rest of the
 * blob and report a mismatch of its digest instead of the error that the reader found in the
 * damaged data. Returns the code to fail with.
 */
static int blame(struct oci *c, int code)
{
	struct xw_diag *d = c->src.diag;
	char was[sizeof(d->text)], why[256];
	uint64_t skipped;
	int rc = 0;

	c->failed = code;
	if ((code != XW_ERR_INPUT && code != XW_ERR_TRUNCATED && code != XW_ERR_UNSUPPORTED &&
	     code != XW_ERR_LIMIT) ||
	    d->code != code)
		return code;
	memcpy(was, d->text, sizeof(was));
	xw_diag_clear(d);
	if (c->in)
		rc = xw_input_copy(c->in, NULL, UINT64_MAX, &skipped);
	if (rc == XW_ERR_IO) /* including an interrupted read */
		return fail(c, rc, xw_input_error(c->in));
	close_input(c);
	rc = xw_blob_finish(&c->blob, c->o.tick, why, sizeof(why));
	if (!rc && c->diff.state == XW_VERIFY_WRONG && !xw_verify_end(&c->diff, why, sizeof(why)))
		rc = XW_ERR_INPUT;
	if (rc)
		return fail(c, rc, why);
	return xw_fail(d, code, "%s", was);
}

static int oci_layer(struct xw_source *s)
{
	struct oci *c = (struct oci *)s;
	int rc;

	if (c->failed)
		return c->failed;
	close_layer(c);
	if (c->next == c->image.n)
		return 0;
	rc = open_layer(c, &c->image.layers[c->next++]);
	return rc ? blame(c, rc) : 1;
}

/* Verify the digests after the end of the archive. */
static int end_layer(struct oci *c)
{
	char why[256];
	int rc;

	close_input(c);
	rc = xw_blob_finish(&c->blob, c->o.tick, why, sizeof(why));
	if (!rc)
		rc = xw_verify_end(&c->diff, why, sizeof(why)) ? 0 : XW_ERR_INPUT;
	c->done += c->blob.blob.size;
	return rc ? fail(c, rc, why) : 0;
}

static int oci_next(struct xw_source *s, const struct xw_entry **e)
{
	struct oci *c = (struct oci *)s;
	int r;

	if (c->failed || !c->layer)
		return c->failed;
	r = xw_source_next(c->layer, e);
	return r < 0 ? blame(c, r) : r ? r : end_layer(c);
}

static int oci_read(struct xw_source *s, const void **buf, size_t *len, uint64_t *off)
{
	struct oci *c = (struct oci *)s;
	int r;

	if (c->failed || !c->layer)
		return c->failed;
	r = xw_source_read(c->layer, buf, len, off);
	return r < 0 ? blame(c, r) : r;
}

static uint64_t oci_consumed(const struct xw_source *s)
{
	const struct oci *c = (const struct oci *)s;

	return c->done + (c->layer ? xw_source_consumed(c->layer) : 0);
}

static void oci_close(struct xw_source *s)
{
	struct oci *c = (struct oci *)s;

	close_layer(c);
	xw_store_close(c->store);
	xw_arena_free(&c->image.arena);
	free(c->name);
	free(c);
}

/* ---- opening ---- */

/* Is manifest.json used rather than index.json? */
static bool by_docker(struct xw_store *store, const struct xw_oci_open *p)
{
	if (p->spec && p->spec->form == XW_OCI_FORM_DOCKER)
		return true;
	return !xw_store_has(store, "index.json") && xw_store_has(store, "manifest.json");
}

static int choose(struct oci *c, const struct xw_oci_open *p)
{
	struct xw_oci_wish w = {
		.name = c->name,
		.ref = p->spec ? p->spec->ref : NULL,
		.explicit_platform = p->o->platform != NULL,
	};
	int rc = p->o->platform ? xw_oci_platform_parse(p->o->platform, &c->image.arena, p->diag,
							&w.platform)
				: xw_oci_platform_here(&c->image.arena, p->diag, &w.platform);

	if (!rc && !xw_store_has(c->store, "index.json") &&
	    !xw_store_has(c->store, "manifest.json"))
		rc = xw_store_has(c->store, "repositories")
			     ? xw_fail(p->diag, XW_ERR_UNSUPPORTED,
				       "%s: docker save before 1.10 did not list the layers; %s",
				       c->name, XW_LAYOUT_OLD)
			     : xw_fail(p->diag, XW_ERR_INPUT,
				       "%s: not a container image: neither index.json nor "
				       "manifest.json exists",
				       c->name);
	if (!rc)
		rc = xw_oci_image_find(c->store, by_docker(c->store, p), &w, p->diag, &c->image);
	if (!rc)
		xw_log(p->diag, XW_LOG_INFO, "%s: a container image of %zu layers", c->name,
		       c->image.n);
	c->src.total = c->image.total;
	c->src.config = c->image.config.p;
	c->src.config_len = c->image.config.len;
	return rc;
}

int xw_oci_open(struct xw_store *store, const struct xw_oci_open *p, struct xw_source **out)
{
	static const struct xw_source_ops ops = {.next = oci_next,
						 .read = oci_read,
						 .close = oci_close,
						 .consumed = oci_consumed,
						 .layer = oci_layer};
	struct oci *c = calloc(1, sizeof(*c));
	int rc;

	if (c)
		c->name = strdup(p->name);
	if (!c || !c->name) {
		free(c);
		xw_store_close(store);
		return xw_fail_nomem(p->diag, "a container image");
	}
	c->src.ops = &ops;
	c->src.name = c->name;
	c->src.diag = p->diag;
	c->o = *p->o;
	c->store = store;
	c->blob.blob.fd = -1;
	rc = choose(c, p);
	if (rc)
		oci_close(&c->src);
	else
		*out = &c->src;
	return rc;
}
