/* SPDX-License-Identifier: MIT */
/*
 * Container images as sources: an OCI image layout, or what `docker save` writes. A source of
 * several layers, each a tar archive. Without jansson and nettle none is recognized (oci_none.c).
 */
#ifndef XW_IMPORT_OCI_H
#define XW_IMPORT_OCI_H

#include "import/source.h"

enum xw_oci_form {
	XW_OCI_FORM_ANY, /* OCI if there is an index, else docker */
	XW_OCI_FORM_OCI,
	XW_OCI_FORM_DOCKER,
};

/* "oci:PATH[:REF]", "oci-archive:PATH[:REF]" or "docker-archive:PATH[:TAG]". */
struct xw_oci_spec {
	enum xw_oci_form form;
	char *path; /* owned */
	const char *ref; /* NULL: none; part of the specification */
};
/*
 * 1: it is one; 0: it is something else; XW_ERR_NOMEM. As PATH may have colons, it is as long as a
 * file of that name exists.
 */
int xw_oci_spec_parse(const char *text, struct xw_oci_spec *out);
/* Does it name an image in a registry or a container engine, as skopeo(1) does? */
bool xw_oci_is_remote(const char *text);

struct xw_oci_open {
	const char *name; /* for messages */
	const struct xw_oci_spec *spec; /* NULL: nobody said that it is an image */
	const struct xw_source_opts *o;
	struct xw_diag *diag;
};
/*
 * 1 and *out if there is an image: its manifest was chosen, and all of its layers exist and have
 * the right sizes. 0: there is none, and nobody said so. Negative: a failure, with a message.
 */
int xw_oci_try_dir(int fd, const struct xw_oci_open *p, struct xw_source **out);
/*
 * Of an uncompressed tar archive. file: where it begins in a regular file of `size` bytes, or -1:
 * then *f is spooled if it may be an image. *f stays the caller's, and may be replaced by one that
 * begins at the same byte, or by NULL.
 */
int xw_oci_try_tar(struct xw_feed **f, int file, uint64_t size, const struct xw_oci_open *p,
		   struct xw_source **out);

/* Internal: a store that is one. Owns it, also on failure. */
struct xw_store;
int xw_oci_open(struct xw_store *store, const struct xw_oci_open *p, struct xw_source **out);

#endif
