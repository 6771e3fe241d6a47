/* SPDX-License-Identifier: MIT */
/*
 * Container images as sources: OCI image layouts and archives of `docker save`, with a tar archive
 * for each layer. Builds without jansson and nettle recognize none (oci_none.c).
 */
#ifndef XW_IMPORT_OCI_H
#define XW_IMPORT_OCI_H

#include "import/source.h"

enum xw_oci_form {
	XW_OCI_FORM_ANY, /* OCI if index.json exists, else docker */
	XW_OCI_FORM_OCI,
	XW_OCI_FORM_DOCKER,
};

/* "oci:PATH[:REF]", "oci-archive:PATH[:REF]" or "docker-archive:PATH[:TAG]". */
struct xw_oci_spec {
	enum xw_oci_form form;
	char *path; /* owned */
	const char *ref; /* NULL: none; points into the specification */
};
/*
 * Parse an image specification: 1; 0 if `text` is something else; XW_ERR_NOMEM. PATH may contain
 * colons: the longest prefix that is an existing file is used.
 */
int xw_oci_spec_parse(const char *text, struct xw_oci_spec *out);
/* Does `text` refer to an image in a registry or container engine, in skopeo(1)'s syntax? */
bool xw_oci_is_remote(const char *text);

struct xw_oci_open {
	const char *name; /* name of the source, for messages */
	const struct xw_oci_spec *spec; /* NULL: not specified, but detected */
	const struct xw_source_opts *o;
	struct xw_diag *diag;
};
/*
 * Try to open a directory as an image. 1: *out is open, its manifest was chosen, and all layers
 * exist and have the right sizes; 0: not an image, and none was specified; negative: a failure,
 * with a message.
 */
int xw_oci_try_dir(int fd, const struct xw_oci_open *p, struct xw_source **out);
/*
 * The same for an uncompressed tar archive. file: descriptor of a regular file of `size` bytes, or
 * -1: then *f is spooled if it may be an image. *f is still owned by the caller, but may be
 * replaced by a feed of the same data, or by NULL.
 */
int xw_oci_try_tar(struct xw_feed **f, int file, uint64_t size, const struct xw_oci_open *p,
		   struct xw_source **out);

/* Internal: open the image in a store, which is owned, also on failure. */
struct xw_store;
int xw_oci_open(struct xw_store *store, const struct xw_oci_open *p, struct xw_source **out);

#endif
