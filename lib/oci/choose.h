/* SPDX-License-Identifier: MIT */
/* Which image of several is meant. */
#ifndef XW_OCI_CHOOSE_H
#define XW_OCI_CHOOSE_H

#include "oci/decode.h"

struct xw_oci_wish {
	const char *name; /* of the source, for messages */
	/* a reference name, a name with repository, or a digest; NULL: the only image */
	const char *ref;
	struct xw_oci_platform platform;
	bool explicit_platform; /* the user asked for it; otherwise another one is taken if alone */
};

/*
 * The manifest or index among `from` that suits w best. top: these are the images of a layout, of
 * which only one may suit; otherwise the versions of one image, of which the first one wins.
 * XW_ERR_INPUT: none suits, or several do; the message lists what there is.
 */
int xw_oci_choose(const struct xw_oci_descs *from, const struct xw_oci_wish *w, bool top,
		  struct xw_diag *diag, size_t *index);
/* The same for `docker save`; ref: REPOSITORY[:TAG], or "@" and a number from 0. */
int xw_docker_choose(const struct xw_docker_images *from, const struct xw_oci_wish *w,
		     struct xw_diag *diag, size_t *index);

#endif
