/* SPDX-License-Identifier: MIT */
/*
 * The source. One layer is open at a time: its blob (blob.c), the decompressor if there is one, the
 * tar reader. Each is read to its end, where its digests are known, and so is what would follow the
 * archive.
 */
#include "config.h"

#include "import/oci.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "import/oci_image.h"
#include "import/tar.h"

struct oci {
	struct xw_source src;
	struct xw_source_opts o;
	char *name;
	struct xw_store *store;
	struct xw_oci_image image;
	size_t next; /* layer */
	struct xw_source *layer; /* the open one, or NULL */
	struct xw_blob_read blob;
	struct xw_verify diff;
	uint64_t done; /* bytes of finished layers */
	int failed; /* sticky */
};

static void close_layer(struct oci *c)
{
	xw_source_close(c->layer);
	c->layer = NULL;
	xw_blob_close(&c->blob.blob);
	xw_verify_free(&c->blob.verify);
	xw_verify_free(&c->diff);
}

static int fail(struct oci *c, int code, const char *why)
{
	c->failed = xw_fail(c->src.diag, code, "%s: %s", c->src.name, why);
	return c->failed;
}

/* 1 if the blob starts with an uncompressed tar header, 0 if not, or XW_ERR_IO. */
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
	return !n || xw_tar_begins(head, (size_t)n); /* an empty one has no members */
}

/*
 * Of an uncompressed layer both digests are one: it is computed once. What comes out of a
 * decompressor has a digest of its own.
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

/* Put the decompressor and the second digest on *f, which is closed on failure. */
static int stack(struct oci *c, struct xw_feed **f, bool plain)
{
	struct xw_feed *on = NULL;
	int r = plain ? 0 : xw_feed_decompress(*f, &on);
	ssize_t n;

	if (r < 0)
		fail(c, r, (*f)->err);
	if (r == 1)
		*f = on;
	if (r >= 0 && !plain) {
		n = xw_feed_peek(*f, XW_TAR_LOOK);
		if (n < 0)
			r = fail(c, (int)n, (*f)->err);
		else if (n && !xw_tar_begins(xw_feed_head(*f), (size_t)n))
			r = fail(c, XW_ERR_INPUT, "is not a tar archive, compressed or not");
	}
	if (r >= 0 && !c->diff.done) {
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

static int open_layer(struct oci *c, const struct xw_oci_layer *l)
{
	const struct xw_tar_params p = {
		.name = l->label,
		.diag = c->src.diag,
		.compressed = true, /* it is read to its end */
		.drain = true,
		.verified = true,
	};
	struct xw_feed *f;
	struct xw_input *in;
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
	in = xw_input_new(f, c->o.threaded);
	if (!in)
		return fail(c, XW_ERR_NOMEM, "out of memory");
	c->failed = xw_tar_open(in, &p, &c->layer);
	return c->failed;
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
	return rc ? rc : 1;
}

/* The archive has ended: verify what is left of the blob. */
static int end_layer(struct oci *c)
{
	char why[256];
	int rc;

	xw_source_close(c->layer); /* its thread has ended */
	c->layer = NULL;
	rc = xw_blob_finish(&c->blob, why, sizeof(why));
	if (!rc && !c->diff.done)
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
	if (r < 0)
		c->failed = r;
	return r ? r : end_layer(c);
}

static int oci_read(struct xw_source *s, const void **buf, size_t *len, uint64_t *off)
{
	struct oci *c = (struct oci *)s;
	int r;

	if (c->failed || !c->layer)
		return c->failed;
	r = xw_source_read(c->layer, buf, len, off);
	if (r < 0)
		c->failed = r;
	return r;
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

/* By which of its two descriptions is the image opened? */
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
		rc = xw_fail(p->diag, XW_ERR_INPUT,
			     "%s: is no container image: it has neither index.json nor "
			     "manifest.json",
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
