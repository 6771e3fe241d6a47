/* SPDX-License-Identifier: MIT */
/* An image of a store: the chosen manifest, its configuration, and where its layers are. */
#ifndef XW_IMPORT_OCI_IMAGE_H
#define XW_IMPORT_OCI_IMAGE_H

#include "base/arena.h"
#include "import/store.h"
#include "oci/choose.h"

struct xw_oci_layer {
	char *label; /* for messages: the name of the source, its number, its digest or path */
	const char *path; /* in the store */
	struct xw_digest digest; /* of the blob; may be none */
	struct xw_digest diff_id; /* of the uncompressed archive; may be none */
};

/* Does a digest say what its files are? */
static inline bool xw_oci_layer_is_checked(const struct xw_oci_layer *l)
{
	return xw_digest_is_set(&l->digest) || xw_digest_is_set(&l->diff_id);
}

struct xw_oci_image {
	struct xw_arena arena; /* of everything here */
	struct xw_oci_text config; /* as stored */
	struct xw_oci_layer *layers; /* the lowest first */
	size_t n;
	uint64_t total; /* size of all layers as stored */
};

/* docker: by manifest.json, otherwise by index.json. *out must be zero; the caller frees it. */
int xw_oci_image_find(struct xw_store *s, bool docker, const struct xw_oci_wish *w,
		      struct xw_diag *diag, struct xw_oci_image *out);
/* Is manifest.json one of `docker save`? */
bool xw_oci_image_is_docker(struct xw_store *s);

#endif
