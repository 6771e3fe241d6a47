/* SPDX-License-Identifier: MIT */
/* Selection of an image by name, digest and platform. */
#ifndef XW_OCI_CHOOSE_H
#define XW_OCI_CHOOSE_H

#include "oci/decode.h"

struct xw_oci_wish {
	const char *name; /* name of the source in messages */
	/* a reference name, a name with repository, or a digest; NULL: the only image */
	const char *ref;
	struct xw_oci_platform platform;
	/* set by the user; otherwise a single image of another platform is accepted */
	bool explicit_platform;
};

/*
 * Find the manifest or index among `from` that matches w best. top: they are the images of a
 * layout, of which only one may match; otherwise they are versions of one image, of which the first
 * match wins. XW_ERR_INPUT: no match, or several; the message lists the choices.
 */
int xw_oci_choose(const struct xw_oci_descs *from, const struct xw_oci_wish *w, bool top,
		  struct xw_diag *diag, size_t *index);
/* The same for `docker save`. w->ref is REPOSITORY[:TAG], or "@" and a number from 0. */
int xw_docker_choose(const struct xw_docker_images *from, const struct xw_oci_wish *w,
		     struct xw_diag *diag, size_t *index);

#endif
