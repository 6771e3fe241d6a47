/* SPDX-License-Identifier: MIT */
/*
 * Documents of container images: OCI index, manifest and configuration, their Docker equivalents,
 * and manifest.json of `docker save`. Pure functions convert JSON to structs in an arena. All
 * bounds, types and digests are checked here.
 */
#ifndef XW_OCI_DECODE_H
#define XW_OCI_DECODE_H

#include <stdint.h>

#include "oci/digest.h"
#include "oci/platform.h"

/* Maximum size of a document: registries reject larger manifests. */
#define XW_OCI_JSON_MAX ((size_t)8 << 20)

/* A document, and its name in messages. */
struct xw_oci_text {
	const char *name;
	const void *p;
	size_t len;
};

/*
 * A descriptor: the reference to a blob in an index or manifest. Missing strings are "", unless
 * noted.
 */
struct xw_oci_desc {
	const char *media_type;
	struct xw_digest digest; /* always set */
	uint64_t size;
	struct xw_oci_platform platform;
	const char *ref; /* annotation org.opencontainers.image.ref.name */
	const char *name; /* annotation io.containerd.image.name: with the repository */
	const char *url; /* first element of "urls" */
	bool attestation; /* not an image: an attestation or artifact */
};

struct xw_oci_descs {
	struct xw_oci_desc *v;
	size_t n;
};

/* An index (manifest list) or a manifest. */
struct xw_oci_doc {
	bool is_index;
	struct xw_oci_descs manifests; /* of an index */
	struct xw_oci_desc config; /* of a manifest; media_type NULL: none */
	struct xw_oci_descs layers; /* of a manifest, from the lowest */
};

struct xw_oci_config {
	struct xw_oci_platform platform;
	/* digests of the uncompressed layers, from the lowest; n 0: not given */
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

/*
 * All functions return 0, XW_ERR_NOMEM, XW_ERR_INPUT, XW_ERR_LIMIT or XW_ERR_UNSUPPORTED, with a
 * message.
 */
int xw_oci_decode_doc(const struct xw_oci_text *t, struct xw_arena *arena, struct xw_diag *diag,
		      struct xw_oci_doc *out);
int xw_oci_decode_config(const struct xw_oci_text *t, struct xw_arena *arena, struct xw_diag *diag,
			 struct xw_oci_config *out);
int xw_oci_decode_docker(const struct xw_oci_text *t, struct xw_arena *arena, struct xw_diag *diag,
			 struct xw_docker_images *out);
/* Check the version in the file oci-layout. */
int xw_oci_decode_layout(const struct xw_oci_text *t, struct xw_diag *diag);

enum xw_oci_media {
	XW_OCI_NO_LAYER, /* not known */
	XW_OCI_LAYER, /* a tar archive, possibly compressed */
	/* a tar archive that may have to be fetched from elsewhere (non-distributable) */
	XW_OCI_FOREIGN,
	XW_OCI_ENCRYPTED,
};
/* The kind of a layer's media type. "" is a layer: old manifests have no media types. */
enum xw_oci_media xw_oci_media_type(const char *media_type);

#endif
