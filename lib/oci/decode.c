/* SPDX-License-Identifier: MIT */
/*
 * Convert JSON to structs. jansson checks syntax, UTF-8, depth and numbers, and rejects duplicate
 * members, which other programs might interpret differently. Unknown members are ignored.
 */
#include "config.h"

#include "oci/decode.h"

#include <jansson.h>
#include <string.h>

#include "base/auto.h"
#include "base/types.h"

#define SHOWN 100 /* maximum length of a document's string in messages */
#define ELEMENTS_MAX 65535u /* maximum number of elements of an array: the limit of layers */

struct decoder {
	const char *name;
	struct xw_arena *arena;
	struct xw_diag *diag;
};

static void drop(json_t **root)
{
	json_decref(*root);
}

static json_t *load(const struct xw_oci_text *t, struct xw_diag *diag)
{
	json_error_t err;
	json_t *root;

	if (t->len > XW_OCI_JSON_MAX) {
		xw_fail(diag, XW_ERR_INPUT, "%s: %zu bytes are too many for this document", t->name,
			t->len);
		return NULL;
	}
	root = json_loadb(t->p, t->len, JSON_REJECT_DUPLICATES, &err);
	if (!root)
		xw_fail(diag, XW_ERR_INPUT, "%s: line %d: %s", t->name, err.line, err.text);
	return root;
}

static int wrong(const struct decoder *d, const char *what)
{
	return xw_fail(d->diag, XW_ERR_INPUT, "%s: %s", d->name, what);
}

/* Copy a string member; *out is `none` if the member is missing or null. */
static int get_text(const struct decoder *d, const json_t *o, const char *key, const char *none,
		    const char **out)
{
	const json_t *s = json_object_get(o, key);
	char *copy;
	size_t len;

	*out = none;
	if (!s || json_is_null(s))
		return 0;
	if (!json_is_string(s))
		return xw_fail(d->diag, XW_ERR_INPUT, "%s: \"%s\" is not a string", d->name, key);
	len = json_string_length(s);
	copy = xw_arena_alloc(d->arena, len + 1, 1);
	if (!copy)
		return xw_fail_nomem(d->diag, "a container image");
	memcpy(copy, json_string_value(s), len);
	*out = copy;
	return 0;
}

/* Find an array member; NULL with *n 0 if it is missing or null. */
static int get_array(const struct decoder *d, const json_t *o, const char *key,
		     const json_t **array, size_t *n)
{
	const json_t *a = json_object_get(o, key);

	*array = NULL;
	*n = 0;
	if (!a || json_is_null(a))
		return 0;
	if (!json_is_array(a))
		return xw_fail(d->diag, XW_ERR_INPUT, "%s: \"%s\" is not an array", d->name, key);
	if (json_array_size(a) > ELEMENTS_MAX)
		return xw_fail(d->diag, XW_ERR_LIMIT, "%s: \"%s\" has more than %u elements",
			       d->name, key, ELEMENTS_MAX);
	*array = a;
	*n = json_array_size(a);
	return 0;
}

#define ALLOC(d, n, type)                                                                          \
	((type *)xw_arena_alloc((d)->arena, ((n) ? (n) : 1) * sizeof(type), _Alignof(type)))

static int decode_digest(const struct decoder *d, const json_t *s, struct xw_digest *out)
{
	if (!json_is_string(s))
		return wrong(d, "a digest is not a string");
	if (xw_digest_parse(json_string_value(s), json_string_length(s), out))
		return 0;
	return xw_fail(d->diag, XW_ERR_INPUT, "%s: \"%.*s\" is not a digest by sha256 or sha512",
		       d->name, SHOWN, json_string_value(s));
}

static int decode_platform(const struct decoder *d, const json_t *o, struct xw_oci_platform *out)
{
	int rc;

	*out = (struct xw_oci_platform){0};
	if (!o || json_is_null(o))
		return 0;
	if (!json_is_object(o))
		return wrong(d, "\"platform\" is not an object");
	rc = get_text(d, o, "os", NULL, &out->os);
	if (!rc)
		rc = get_text(d, o, "architecture", NULL, &out->arch);
	return rc ? rc : get_text(d, o, "variant", NULL, &out->variant);
}

static int decode_annotations(const struct decoder *d, const json_t *o, struct xw_oci_desc *out)
{
	const char *kind;
	int rc;

	out->ref = out->name = "";
	if (!o || json_is_null(o))
		return 0;
	if (!json_is_object(o))
		return wrong(d, "\"annotations\" is not an object");
	rc = get_text(d, o, "org.opencontainers.image.ref.name", "", &out->ref);
	if (!rc)
		rc = get_text(d, o, "io.containerd.image.name", "", &out->name);
	if (!rc)
		rc = get_text(d, o, "vnd.docker.reference.type", "", &kind);
	out->attestation = !rc && !strcmp(kind, "attestation-manifest");
	return rc;
}

static int decode_url(const struct decoder *d, const json_t *o, struct xw_oci_desc *out)
{
	const json_t *urls;
	size_t n;
	int rc = get_array(d, o, "urls", &urls, &n);

	out->url = "";
	if (rc || !n)
		return rc;
	if (!json_is_string(json_array_get(urls, 0)))
		return wrong(d, "\"urls\" holds something else than strings");
	out->url = xw_arena_dup(d->arena, json_string_value(json_array_get(urls, 0)),
				json_string_length(json_array_get(urls, 0)) + 1);
	return out->url ? 0 : xw_fail_nomem(d->diag, "a container image");
}

/*
 * Detect descriptors of other things than images: artifacts (signatures, SBOMs) by their type, and
 * attestations by their platform. An image may have the type of its configuration.
 */
static int decode_role(const struct decoder *d, const json_t *o, struct xw_oci_desc *out)
{
	const struct xw_oci_platform *p = &out->platform;
	const char *type;
	const int rc = get_text(d, o, "artifactType", "", &type);

	if (rc)
		return rc;
	if (p->os && p->arch && !strcmp(p->os, "unknown") && !strcmp(p->arch, "unknown"))
		out->attestation = true;
	if (*type && strcmp(type, "application/vnd.oci.image.config.v1+json") != 0 &&
	    strcmp(type, "application/vnd.docker.container.image.v1+json") != 0)
		out->attestation = true;
	return 0;
}

static int decode_desc(const struct decoder *d, const json_t *o, struct xw_oci_desc *out)
{
	const json_t *size = json_object_get(o, "size");
	int rc;

	*out = (struct xw_oci_desc){0};
	if (!json_is_object(o))
		return wrong(d, "a descriptor is missing or not an object");
	rc = get_text(d, o, "mediaType", "", &out->media_type);
	if (!rc)
		rc = decode_digest(d, json_object_get(o, "digest"), &out->digest);
	if (rc)
		return rc;
	if (!json_is_integer(size) || json_integer_value(size) < 0)
		return xw_fail(d->diag, XW_ERR_INPUT, "%s: the size of %s is missing or invalid",
			       d->name, out->digest.text);
	out->size = (uint64_t)json_integer_value(size);
	rc = decode_platform(d, json_object_get(o, "platform"), &out->platform);
	if (!rc)
		rc = decode_annotations(d, json_object_get(o, "annotations"), out);
	if (!rc)
		rc = decode_role(d, o, out);
	return rc ? rc : decode_url(d, o, out);
}

static int decode_descs(const struct decoder *d, const json_t *o, const char *key,
			struct xw_oci_descs *out)
{
	const json_t *a;
	int rc = get_array(d, o, key, &a, &out->n);

	if (rc)
		return rc;
	out->v = ALLOC(d, out->n, struct xw_oci_desc);
	if (!out->v)
		return xw_fail_nomem(d->diag, "a container image");
	for (size_t i = 0; i < out->n && !rc; i++)
		rc = decode_desc(d, json_array_get(a, i), &out->v[i]);
	return rc;
}

/*
 * Decode an index or manifest. A document that could be both is rejected: programs would see
 * different images under one digest.
 */
static int decode_either(const struct decoder *d, const json_t *o, struct xw_oci_doc *out)
{
	const bool manifests = json_object_get(o, "manifests");
	const bool layers = json_object_get(o, "layers") || json_object_get(o, "config");
	int rc;

	if (json_object_get(o, "fsLayers"))
		return xw_fail(d->diag, XW_ERR_UNSUPPORTED,
			       "%s: is a manifest of schema version 1, which is no longer used; "
			       "pull the image again, or convert it",
			       d->name);
	if (manifests && layers)
		return wrong(d, "has both manifests and layers");
	if (!manifests && !layers)
		return wrong(d, "is neither an index nor a manifest of a container image");
	out->is_index = manifests;
	if (manifests)
		return decode_descs(d, o, "manifests", &out->manifests);
	rc = decode_desc(d, json_object_get(o, "config"), &out->config);
	return rc ? rc : decode_descs(d, o, "layers", &out->layers);
}

int xw_oci_decode_doc(const struct xw_oci_text *t, struct xw_arena *arena, struct xw_diag *diag,
		      struct xw_oci_doc *out)
{
	const struct decoder d = {t->name, arena, diag};
	auto_end(drop) json_t *root = load(t, diag);

	*out = (struct xw_oci_doc){0};
	if (!root)
		return XW_ERR_INPUT;
	return json_is_object(root) ? decode_either(&d, root, out) : wrong(&d, "is not an object");
}

static int decode_diff_ids(const struct decoder *d, const json_t *root, struct xw_oci_config *out)
{
	const json_t *rootfs = json_object_get(root, "rootfs"), *ids;
	int rc;

	if (!rootfs || json_is_null(rootfs))
		return 0;
	if (!json_is_object(rootfs))
		return wrong(d, "\"rootfs\" is not an object");
	rc = get_array(d, rootfs, "diff_ids", &ids, &out->n);
	if (rc)
		return rc;
	out->diff_ids = ALLOC(d, out->n, struct xw_digest);
	if (!out->diff_ids)
		return xw_fail_nomem(d->diag, "a container image");
	for (size_t i = 0; i < out->n && !rc; i++)
		rc = decode_digest(d, json_array_get(ids, i), &out->diff_ids[i]);
	return rc;
}

int xw_oci_decode_config(const struct xw_oci_text *t, struct xw_arena *arena, struct xw_diag *diag,
			 struct xw_oci_config *out)
{
	const struct decoder d = {t->name, arena, diag};
	auto_end(drop) json_t *root = load(t, diag);
	int rc;

	*out = (struct xw_oci_config){0};
	if (!root)
		return XW_ERR_INPUT;
	if (!json_is_object(root))
		return wrong(&d, "is not an object");
	rc = decode_platform(&d, root, &out->platform);
	return rc ? rc : decode_diff_ids(&d, root, out);
}

static int decode_strings(const struct decoder *d, const json_t *o, const char *key,
			  const char ***out, size_t *n)
{
	const json_t *a;
	int rc = get_array(d, o, key, &a, n);

	if (rc)
		return rc;
	*out = ALLOC(d, *n, const char *);
	if (!*out)
		return xw_fail_nomem(d->diag, "a container image");
	for (size_t i = 0; i < *n; i++) {
		const json_t *s = json_array_get(a, i);

		if (!json_is_string(s))
			return xw_fail(d->diag, XW_ERR_INPUT,
				       "%s: \"%s\" holds something else than strings", d->name,
				       key);
		(*out)[i] = xw_arena_dup(d->arena, json_string_value(s), json_string_length(s) + 1);
		if (!(*out)[i])
			return xw_fail_nomem(d->diag, "a container image");
	}
	return 0;
}

static int decode_docker(const struct decoder *d, const json_t *o, struct xw_docker_image *out)
{
	int rc;

	*out = (struct xw_docker_image){0};
	if (!json_is_object(o))
		return wrong(d, "its elements are not objects");
	rc = get_text(d, o, "Config", "", &out->config);
	if (!rc)
		rc = decode_strings(d, o, "Layers", &out->layers, &out->n_layers);
	if (!rc)
		rc = decode_strings(d, o, "RepoTags", &out->tags, &out->n_tags);
	return rc || *out->config ? rc : wrong(d, "an image has no \"Config\"");
}

int xw_oci_decode_docker(const struct xw_oci_text *t, struct xw_arena *arena, struct xw_diag *diag,
			 struct xw_docker_images *out)
{
	const struct decoder d = {t->name, arena, diag};
	auto_end(drop) json_t *root = load(t, diag);
	int rc = 0;

	*out = (struct xw_docker_images){0};
	if (!root)
		return XW_ERR_INPUT;
	if (!json_is_array(root))
		return wrong(&d, "is not an array of images");
	if (json_array_size(root) > ELEMENTS_MAX)
		return wrong(&d, "has too many images");
	out->n = json_array_size(root);
	out->v = ALLOC(&d, out->n, struct xw_docker_image);
	if (!out->v)
		return xw_fail_nomem(diag, "a container image");
	for (size_t i = 0; i < out->n && !rc; i++)
		rc = decode_docker(&d, json_array_get(root, i), &out->v[i]);
	return rc;
}

int xw_oci_decode_layout(const struct xw_oci_text *t, struct xw_diag *diag)
{
	auto_end(drop) json_t *root = load(t, diag);
	const char *version;

	if (!root)
		return XW_ERR_INPUT;
	version = json_string_value(json_object_get(root, "imageLayoutVersion"));
	if (!version)
		return xw_fail(diag, XW_ERR_INPUT, "%s: has no \"imageLayoutVersion\"", t->name);
	if (strncmp(version, "1.", 2) != 0)
		return xw_fail(diag, XW_ERR_UNSUPPORTED, "%s: version %.*s is not supported",
			       t->name, SHOWN, version);
	return 0;
}
