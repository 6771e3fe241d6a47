/* SPDX-License-Identifier: MIT */
/*
 * Finds the layers of an image, from its index or manifest on. Every document that another one
 * refers to by digest is verified before it is decoded; layers are verified while they are read.
 */
#include "config.h"

#include "import/oci_image.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/types.h"

#define NESTED_MAX 8u /* limit for nested indexes */

struct finder {
	struct xw_store *store;
	const struct xw_oci_wish *w;
	struct xw_diag *diag;
	struct xw_oci_image *image;
};

static char *__attribute__((format(printf, 2, 3))) print(struct finder *f, const char *fmt, ...)
{
	va_list ap;
	char *text, *copy;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0)
		return NULL;
	copy = xw_arena_dup(&f->image->arena, text, (size_t)n + 1);
	free(text);
	return copy;
}

static int out_of_memory(struct finder *f)
{
	return xw_fail_nomem(f->diag, "a container image");
}

/* ---- documents ---- */

static int read_bytes(struct finder *f, const struct xw_blob *b, struct xw_oci_text *t)
{
	char *buf = xw_arena_alloc(&f->image->arena, b->size + 1, 1);
	size_t at = 0;

	if (!buf)
		return out_of_memory(f);
	while (at < b->size) {
		const ssize_t n = pread(b->fd, buf + at, b->size - at, (off_t)(b->off + at));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return xw_fail_errno(f->diag, XW_ERR_IO, n ? errno : EIO, "%s: read error",
					     t->name);
		at += (size_t)n;
	}
	t->p = buf;
	t->len = at;
	return 0;
}

static int verify(struct finder *f, const struct xw_oci_text *t, const struct xw_digest *want)
{
	char why[2 * XW_DIGEST_TEXT + 64];
	struct xw_verify v;
	int rc = xw_verify_begin(&v, want);

	if (rc)
		return out_of_memory(f);
	if (v.hasher)
		xw_hasher_add(v.hasher, t->p, t->len);
	if (!xw_verify_end(&v, why, sizeof(why)))
		rc = xw_fail(f->diag, XW_ERR_INPUT, "%s: %s", t->name, why);
	xw_verify_free(&v);
	return rc;
}

/*
 * Read a document into memory and verify it. what: its role, for messages; digest, size: expected
 * values, unless unset or UINT64_MAX.
 */
static int read_document(struct finder *f, const char *what, const char *path,
			 const struct xw_digest *digest, uint64_t size, struct xw_oci_text *t)
{
	/* other documents only refer to files, and are not part of the result */
	const bool handed_out = t == &f->image->config;
	struct xw_blob b;
	int rc;

	*t = (struct xw_oci_text){.name = print(f, "%s: %s", f->w->name, path)};
	if (!t->name)
		return out_of_memory(f);
	rc = xw_store_find(f->store, path, !handed_out || xw_digest_is_set(digest), f->diag, &b);
	if (rc == XW_ERR_NOTFOUND)
		return xw_fail(f->diag, XW_ERR_INPUT, "%s: %s is missing: %s", f->w->name, what,
			       path);
	if (rc)
		return rc;
	if (size != UINT64_MAX && size != b.size)
		rc = xw_fail(f->diag, XW_ERR_INPUT, "%s: damaged: its size is %llu, not %llu bytes",
			     t->name, (unsigned long long)b.size, (unsigned long long)size);
	else if (b.size > XW_OCI_JSON_MAX)
		rc = xw_fail(f->diag, XW_ERR_INPUT, "%s: %llu bytes are too large for %s", t->name,
			     (unsigned long long)b.size, what);
	else
		rc = read_bytes(f, &b, t);
	xw_blob_close(&b);
	return rc ? rc : verify(f, t, digest);
}

static int read_blob(struct finder *f, const char *what, const struct xw_oci_desc *d,
		     struct xw_oci_text *t)
{
	char path[XW_DIGEST_PATH];

	xw_digest_path(&d->digest, path);
	return read_document(f, what, path, &d->digest, d->size, t);
}

/* ---- the configuration ---- */

/* An image for another platform is an error if --platform was set, otherwise worth a warning. */
static int check_platform(struct finder *f, const struct xw_oci_platform *have)
{
	const struct xw_oci_platform *want = &f->w->platform;
	char is[XW_OCI_PLATFORM_TEXT], other[XW_OCI_PLATFORM_TEXT];

	if (!have->os || !have->arch || !*have->os || !*have->arch ||
	    (!strcmp(have->os, want->os) && !strcmp(have->arch, want->arch)))
		return 0;
	xw_oci_platform_text(have, is);
	xw_oci_platform_text(want, other);
	if (f->w->explicit_platform)
		return xw_fail(f->diag, XW_ERR_INPUT, "%s: is an image for %s, not for %s",
			       f->w->name, is, other);
	xw_log(f->diag, XW_LOG_WARN,
	       "%s: is an image for %s, this machine is %s (--platform %s suppresses this warning)",
	       f->w->name, is, other, is);
	return 0;
}

static int read_config(struct finder *f, size_t layers, struct xw_oci_config *c)
{
	int rc = xw_oci_decode_config(&f->image->config, &f->image->arena, f->diag, c);

	if (!rc && c->n && c->n != layers)
		rc = xw_fail(f->diag, XW_ERR_INPUT, "%s: has %zu layers, but the manifest has %zu",
			     f->image->config.name, c->n, layers);
	return rc ? rc : check_platform(f, &c->platform);
}

/* ---- layers ---- */

static int alloc_layers(struct finder *f, size_t n)
{
	f->image->layers = xw_arena_alloc(&f->image->arena, (n + 1) * sizeof(*f->image->layers),
					  _Alignof(struct xw_oci_layer));
	return f->image->layers ? 0 : out_of_memory(f);
}

static int label(struct finder *f, struct xw_oci_layer *l, size_t number, size_t of,
		 const char *what)
{
	l->label = print(f, "%s: layer %zu of %zu (%s)", f->w->name, number, of, what);
	return l->label ? 0 : out_of_memory(f);
}

/*
 * Check that the layer exists and has this size (UINT64_MAX: any). XW_ERR_NOTFOUND without a
 * message.
 */
static int find_layer(struct finder *f, const struct xw_oci_layer *l, uint64_t size)
{
	struct xw_blob b;
	int rc = xw_store_find(f->store, l->path, xw_oci_layer_is_checked(l), f->diag, &b);

	if (rc)
		return rc;
	f->image->total += b.size;
	if (size != UINT64_MAX && size != b.size)
		rc = xw_fail(f->diag, XW_ERR_INPUT, "%s: damaged: its size is %llu, not %llu bytes",
			     l->label, (unsigned long long)b.size, (unsigned long long)size);
	xw_blob_close(&b);
	return rc;
}

/* ---- OCI ---- */

static int layer_type(struct finder *f, const struct xw_oci_layer *l, const struct xw_oci_desc *d)
{
	switch (xw_oci_media_type(d->media_type)) {
	case XW_OCI_ENCRYPTED:
		return xw_fail(f->diag, XW_ERR_UNSUPPORTED,
			       "%s: is encrypted; decrypt the image first (skopeo copy "
			       "--decryption-key)",
			       l->label);
	case XW_OCI_NO_LAYER:
		return xw_fail(f->diag, XW_ERR_UNSUPPORTED,
			       "%s: unsupported media type %.100s for a layer", l->label,
			       d->media_type);
	default:
		return 0;
	}
}

static int no_layer(struct finder *f, const struct xw_oci_layer *l, const struct xw_oci_desc *d)
{
	const bool foreign = xw_oci_media_type(d->media_type) == XW_OCI_FOREIGN || *d->url;

	return xw_fail(f->diag, XW_ERR_INPUT, "%s: is missing%s%s%.200s", l->label,
		       foreign ? "; foreign layer, to be fetched from " : "",
		       foreign && !*d->url ? "elsewhere" : "", foreign ? d->url : "");
}

static int add_layer(struct finder *f, size_t i, const struct xw_oci_descs *from,
		     const struct xw_oci_config *c)
{
	struct xw_oci_layer *l = &f->image->layers[i];
	const struct xw_oci_desc *d = &from->v[i];
	char path[XW_DIGEST_PATH];
	int rc;

	xw_digest_path(&d->digest, path);
	l->path = xw_arena_dup(&f->image->arena, path, strlen(path) + 1);
	if (!l->path)
		return out_of_memory(f);
	l->digest = d->digest;
	if (c->n)
		l->diff_id = c->diff_ids[i];
	rc = label(f, l, i + 1, from->n, d->digest.text);
	if (!rc)
		rc = layer_type(f, l, d);
	if (!rc)
		rc = find_layer(f, l, d->size);
	return rc == XW_ERR_NOTFOUND ? no_layer(f, l, d) : rc;
}

static int use_manifest(struct finder *f, const struct xw_oci_doc *doc)
{
	struct xw_oci_config c;
	int rc = alloc_layers(f, doc->layers.n);

	if (!rc)
		rc = read_blob(f, "the configuration", &doc->config, &f->image->config);
	if (!rc)
		rc = read_config(f, doc->layers.n, &c);
	for (size_t i = 0; i < doc->layers.n && !rc; i++, f->image->n++)
		rc = add_layer(f, i, &doc->layers, &c);
	return rc;
}

static int find_oci(struct finder *f)
{
	static const struct xw_digest none;
	struct xw_oci_text t;
	struct xw_oci_doc doc;
	int rc = read_document(f, "the version of the layout", "oci-layout", &none, UINT64_MAX, &t);

	if (!rc)
		rc = xw_oci_decode_layout(&t, f->diag);
	if (!rc)
		rc = read_document(f, "the index", "index.json", &none, UINT64_MAX, &t);
	for (unsigned depth = 0; !rc; depth++) {
		size_t i;

		rc = xw_oci_decode_doc(&t, &f->image->arena, f->diag, &doc);
		if (rc)
			return rc;
		if (!doc.is_index)
			return depth ? use_manifest(f, &doc)
				     : xw_fail(f->diag, XW_ERR_INPUT, "%s: is not an index",
					       t.name);
		if (depth == NESTED_MAX)
			return xw_fail(f->diag, XW_ERR_LIMIT,
				       "%s: indexes are nested more than %u levels deep",
				       f->w->name, NESTED_MAX);
		rc = xw_oci_choose(&doc.manifests, f->w, !depth, f->diag, &i);
		if (!rc)
			rc = read_blob(f, "the manifest", &doc.manifests.v[i], &t);
	}
	return rc;
}

/* ---- docker save ---- */

/*
 * Some names contain the digest of the file: blobs/sha256/HEX, and those of configurations also as
 * HEX.json or sha256:HEX.
 */
static void digest_of_name(const char *path, bool config, struct xw_digest *d)
{
	static const char blobs[] = "blobs/sha256/", own[] = "sha256:";
	char text[XW_DIGEST_TEXT];
	size_t len;

	*d = (struct xw_digest){""};
	if (!strncmp(path, blobs, sizeof(blobs) - 1))
		path += sizeof(blobs) - 1;
	else if (!config)
		return;
	if (!strncmp(path, own, sizeof(own) - 1))
		path += sizeof(own) - 1;
	len = strcspn(path, ".");
	if (len != 64 || (path[len] && (!config || strcmp(path + len, ".json") != 0)))
		return;
	snprintf(text, sizeof(text), "sha256:%.64s", path);
	(void)xw_digest_parse(text, 7 + len, d);
}

static int add_docker_layer(struct finder *f, size_t i, const struct xw_docker_image *d,
			    const struct xw_oci_config *c)
{
	struct xw_oci_layer *l = &f->image->layers[i];
	int rc = label(f, l, i + 1, d->n_layers, d->layers[i]);

	l->path = d->layers[i];
	digest_of_name(l->path, false, &l->digest);
	if (c->n)
		l->diff_id = c->diff_ids[i];
	if (!rc)
		rc = find_layer(f, l, UINT64_MAX);
	return rc == XW_ERR_NOTFOUND ? xw_fail(f->diag, XW_ERR_INPUT, "%s: is missing", l->label)
				     : rc;
}

static int read_docker(struct finder *f, struct xw_docker_images *all)
{
	struct xw_oci_text t;
	int rc = read_document(f, "the list of images", "manifest.json", &(struct xw_digest){""},
			       UINT64_MAX, &t);

	return rc ? rc : xw_oci_decode_docker(&t, &f->image->arena, f->diag, all);
}

static int find_docker(struct finder *f)
{
	const struct xw_docker_image *d;
	struct xw_docker_images all;
	struct xw_digest digest;
	struct xw_oci_config c;
	size_t which;
	int rc = read_docker(f, &all);

	if (!rc)
		rc = xw_docker_choose(&all, f->w, f->diag, &which);
	if (rc)
		return rc;
	d = &all.v[which];
	digest_of_name(d->config, true, &digest);
	rc = read_document(f, "the configuration", d->config, &digest, UINT64_MAX,
			   &f->image->config);
	if (!rc)
		rc = read_config(f, d->n_layers, &c);
	if (!rc)
		rc = alloc_layers(f, d->n_layers);
	for (size_t i = 0; i < d->n_layers && !rc; i++, f->image->n++)
		rc = add_docker_layer(f, i, d, &c);
	return rc;
}

int xw_oci_image_find(struct xw_store *s, bool docker, const struct xw_oci_wish *w,
		      struct xw_diag *diag, struct xw_oci_image *out)
{
	struct finder f = {.store = s, .w = w, .diag = diag, .image = out};

	return docker ? find_docker(&f) : find_oci(&f);
}

bool xw_oci_image_is_docker(struct xw_store *s)
{
	const struct xw_oci_wish w = {.name = ""};
	struct xw_oci_image image = {0};
	struct finder f = {.store = s, .w = &w, .image = &image};
	struct xw_docker_images all;
	bool is = !read_docker(&f, &all) && all.n;

	for (size_t i = 0; is && i < all.n; i++)
		is = all.v[i].n_layers;
	xw_arena_free(&image.arena);
	return is;
}
