/* SPDX-License-Identifier: MIT */
/* An image in a store: the chosen manifest, its configuration, and its layers. */
#ifndef XW_IMPORT_OCI_IMAGE_H
#define XW_IMPORT_OCI_IMAGE_H

#include "base/arena.h"
#include "import/store.h"
#include "oci/choose.h"

struct xw_oci_layer {
	char *label; /* for messages: name of the source, number, digest or path */
	const char *path; /* path in the store */
	struct xw_digest digest; /* digest of the blob; may be unset */
	struct xw_digest diff_id; /* digest of the uncompressed archive; may be unset */
};

/* Is the content of the layer verified by a digest? */
static inline bool xw_oci_layer_is_checked(const struct xw_oci_layer *l)
{
	return xw_digest_is_set(&l->digest) || xw_digest_is_set(&l->diff_id);
}

struct xw_oci_image {
	struct xw_arena arena; /* memory of all members */
	struct xw_oci_text config; /* as stored */
	struct xw_oci_layer *layers; /* lowest layer first */
	size_t n;
	uint64_t total; /* total size of the layers as stored */
};

/*
 * Choose an image and find its layers. docker: by manifest.json, otherwise by index.json. *out must
 * be zero; the caller frees it.
 */
int xw_oci_image_find(struct xw_store *s, bool docker, const struct xw_oci_wish *w,
		      struct xw_diag *diag, struct xw_oci_image *out);
/* Was manifest.json written by `docker save`? */
bool xw_oci_image_is_docker(struct xw_store *s);

#endif
