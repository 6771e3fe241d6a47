/* SPDX-License-Identifier: MIT */
/*
 * The documents of container images: OCI index, manifest and configuration, their Docker versions,
 * and the list of images of `docker save`. Pure functions from JSON (by jansson) to structs whose
 * memory is in an arena: bounds, types and digests are checked here, and nowhere else.
 */
#ifndef XW_OCI_DECODE_H
#define XW_OCI_DECODE_H

#include <stdint.h>

#include "oci/digest.h"
#include "oci/platform.h"

/* No document is larger: registries refuse manifests of 4 MiB. */
#define XW_OCI_JSON_MAX ((size_t)8 << 20)

/* A document; the name is for messages. */
struct xw_oci_text {
	const char *name;
	const void *p;
	size_t len;
};

/* What an index or a manifest refers to. Strings: "" if not given, unless said otherwise. */
struct xw_oci_desc {
	const char *media_type;
	struct xw_digest digest; /* always set */
	uint64_t size;
	struct xw_oci_platform platform;
	const char *ref; /* annotation org.opencontainers.image.ref.name */
	const char *name; /* annotation io.containerd.image.name: with the repository */
	const char *url; /* the first one */
	bool attestation; /* describes another manifest, or is an artifact: no image */
};

struct xw_oci_descs {
	struct xw_oci_desc *v;
	size_t n;
};

/* An index (manifest list) or a manifest. */
struct xw_oci_doc {
	bool is_index;
	struct xw_oci_descs manifests; /* of an index */
	struct xw_oci_desc config; /* of a manifest, like the next; media_type NULL: none */
	struct xw_oci_descs layers; /* the lowest first */
};

struct xw_oci_config {
	struct xw_oci_platform platform;
	/* digests of the uncompressed layers, the lowest first; n 0: not given */
	struct xw_digest *diff_ids;
	size_t n;
};

/* One element of manifest.json of `docker save`. */
struct xw_docker_image {
	const char *config; /* paths in the archive */
	const char **layers;
	size_t n_layers;
	const char **tags; /* REPOSITORY:TAG */
	size_t n_tags;
};

struct xw_docker_images {
	struct xw_docker_image *v;
	size_t n;
};

/* All: 0, XW_ERR_NOMEM, XW_ERR_INPUT, XW_ERR_LIMIT or XW_ERR_UNSUPPORTED, with a message. */
int xw_oci_decode_doc(const struct xw_oci_text *t, struct xw_arena *arena, struct xw_diag *diag,
		      struct xw_oci_doc *out);
int xw_oci_decode_config(const struct xw_oci_text *t, struct xw_arena *arena, struct xw_diag *diag,
			 struct xw_oci_config *out);
int xw_oci_decode_docker(const struct xw_oci_text *t, struct xw_arena *arena, struct xw_diag *diag,
			 struct xw_docker_images *out);
/* The file oci-layout: is its version one that is known? */
int xw_oci_decode_layout(const struct xw_oci_text *t, struct xw_diag *diag);

enum xw_oci_media {
	XW_OCI_NO_LAYER, /* not known */
	XW_OCI_LAYER, /* a tar archive, possibly compressed */
	XW_OCI_FOREIGN, /* the same, but it may be elsewhere */
	XW_OCI_ENCRYPTED,
};
/* "" is a layer: old manifests say nothing. */
enum xw_oci_media xw_oci_media_type(const char *media_type);

#endif
