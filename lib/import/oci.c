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

#include "base/auto.h"
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
	auto_free unsigned char *head = malloc(XW_TAR_LOOK);
	const struct xw_blob *b = &c->blob.blob;
	ssize_t n;

	if (!head)
		return fail(c, XW_ERR_NOMEM, "out of memory");
	do
		n = pread(b->fd, head, (size_t)XW_MIN(XW_TAR_LOOK, b->size), (off_t)b->off);
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

/* Add the decompressor and the second digest to *f. */
static int add_feeds(struct oci *c, struct xw_feed **f, bool plain)
{
	struct xw_feed *above;
	const int rc = plain ? 0 : xw_feed_decompress(*f, &above);

	if (rc < 0)
		return fail(c, rc, (*f)->err);
	if (rc == 1) {
		*f = above;
		if (above->text)
			return fail(c, XW_ERR_INPUT, "it is a text, not an archive");
	}
	if (c->diff.state != XW_VERIFY_READING)
		return 0;
	above = xw_feed_verified(*f, &c->diff);
	if (!above)
		return fail(c, XW_ERR_NOMEM, "out of memory");
	*f = above;
	return 0;
}

static int open_layer(struct oci *c, const struct xw_oci_layer *l)
{
	struct xw_archive_params p = {
		.name = l->label,
		.diag = c->src.diag,
		.compressed = true, /* read to the end of the input */
		.drain = true,
		.verified = true,
	};
	auto_feed struct xw_feed *f = NULL;
	const unsigned char *head;
	int plain, rc;
	size_t len;

	c->src.name = l->label;
	c->blob = (struct xw_blob_read){.blob.fd = -1};
	rc = xw_store_find(c->store, l->path, xw_oci_layer_is_checked(l), c->src.diag,
			   &c->blob.blob);
	if (rc)
		return fail(c, rc, "was removed");
	plain = is_plain(c);
	if (plain < 0)
		return plain;
	p.in_file = plain;
	p.fd = c->blob.blob.fd;
	p.file_off = c->blob.blob.off;
	rc = begin_digests(c, l, plain);
	if (rc)
		return rc;
	f = xw_feed_blob(&c->blob, c->o.tick);
	if (!f)
		return fail(c, XW_ERR_NOMEM, "out of memory");
	rc = add_feeds(c, &f, plain);
	if (rc)
		return rc;
	c->in = xw_input_new(steal(f), c->o.threaded);
	if (!c->in)
		return fail(c, XW_ERR_NOMEM, "out of memory");
	rc = xw_input_get(c->in, &head, &len);
	if (rc)
		return fail(c, rc, xw_input_error(c->in));
	if (len && !xw_tar_begins(head, len)) /* an empty file is an archive without members */
		return fail(c, XW_ERR_INPUT, "is not a tar archive, compressed or not");
	rc = xw_tar_open(c->in, &p, &c->layer);
	if (rc)
		c->in = NULL;
	return rc;
}

/*
 * Handle a failure of a layer. If its contents may have caused the failure, read the rest of the
 * blob and report a mismatch of its digest instead of the error that the reader found in the
 * damaged data. Returns the code to fail with.
 */
static int layer_failed(struct oci *c, int code)
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
	if (rc == XW_ERR_IO || rc == XW_ERR_CANCELED)
		return fail(c, rc, xw_input_error(c->in));
	close_input(c);
	rc = xw_blob_finish(&c->blob, c->o.tick, why, sizeof(why));
	if (!rc && c->diff.state == XW_VERIFY_MISMATCH &&
	    !xw_verify_end(&c->diff, why, sizeof(why)))
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
	return rc ? layer_failed(c, rc) : 1;
}

/* Verify the digests after the end of the archive. */
static int end_layer(struct oci *c)
{
	char why[256];
	int rc;

	close_input(c);
	rc = xw_blob_finish(&c->blob, c->o.tick, why, sizeof(why));
	c->done += c->blob.blob.size;
	if (!rc && !xw_verify_end(&c->diff, why, sizeof(why)))
		rc = XW_ERR_INPUT;
	return rc ? fail(c, rc, why) : 0;
}

static int oci_next(struct xw_source *s, const struct xw_entry **e)
{
	struct oci *c = (struct oci *)s;
	int rc;

	if (c->failed || !c->layer)
		return c->failed;
	rc = xw_source_next(c->layer, e);
	return rc < 0 ? layer_failed(c, rc) : rc ? rc : end_layer(c);
}

static int oci_read(struct xw_source *s, const void **buf, size_t *len, uint64_t *off)
{
	struct oci *c = (struct oci *)s;
	int rc;

	if (c->failed || !c->layer)
		return c->failed;
	rc = xw_source_read(c->layer, buf, len, off);
	return rc < 0 ? layer_failed(c, rc) : rc;
}

static bool oci_stored(const struct xw_source *s, int *fd, uint64_t *off)
{
	const struct oci *c = (const struct oci *)s;

	return c->layer && xw_source_stored(c->layer, fd, off);
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

/* Choose the image and find its layers. */
static int choose(struct oci *c, const struct xw_oci_open *p)
{
	struct xw_oci_wish w = {
		.name = c->name,
		.ref = p->spec ? p->spec->ref : NULL,
		.explicit_platform = p->o->platform != NULL,
	};
	const bool index = xw_store_has(c->store, "index.json");
	const bool manifest = xw_store_has(c->store, "manifest.json");
	const bool docker =
		(p->spec && p->spec->form == XW_OCI_FORM_DOCKER) || (!index && manifest);
	int rc = p->o->platform ? xw_oci_platform_parse(p->o->platform, &c->image.arena, p->diag,
							&w.platform)
				: xw_oci_platform_here(&c->image.arena, p->diag, &w.platform);

	if (rc)
		return rc;
	if (!index && !manifest)
		return xw_store_has(c->store, "repositories")
			       ? xw_fail(p->diag, XW_ERR_UNSUPPORTED,
					 "%s: docker save before 1.10 did not list the layers; %s",
					 c->name, XW_LAYOUT_OLD)
			       : xw_fail(p->diag, XW_ERR_INPUT,
					 "%s: not a container image: neither index.json nor "
					 "manifest.json exists",
					 c->name);
	rc = xw_oci_image_find(c->store, docker, &w, p->diag, &c->image);
	if (rc)
		return rc;
	xw_log(p->diag, XW_LOG_INFO, "%s: a container image of %zu layers", c->name, c->image.n);
	c->src.total = c->image.total;
	c->src.config = c->image.config.p;
	c->src.config_len = c->image.config.len;
	return 0;
}

int xw_oci_open(struct xw_store *store, const struct xw_oci_open *p, struct xw_source **out)
{
	static const struct xw_source_ops ops = {.next = oci_next,
						 .read = oci_read,
						 .close = oci_close,
						 .consumed = oci_consumed,
						 .layer = oci_layer,
						 .stored = oci_stored};
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
