/* SPDX-License-Identifier: MIT */
/* Platforms of container images: os/arch[/variant], in the words of Go. */
#ifndef XW_OCI_PLATFORM_H
#define XW_OCI_PLATFORM_H

#include "base/arena.h"
#include "base/err.h"

/* NULL: not known. */
struct xw_oci_platform {
	const char *os, *arch, *variant;
};

/* "os/arch[/variant]". The parts are in arena. XW_ERR_USAGE with a message, XW_ERR_NOMEM. */
int xw_oci_platform_parse(const char *text, struct xw_arena *arena, struct xw_diag *diag,
			  struct xw_oci_platform *p);
/* Linux on the machine that this runs on. XW_ERR_NOMEM. */
int xw_oci_platform_here(struct xw_arena *arena, struct xw_diag *diag, struct xw_oci_platform *p);
/*
 * How well `have` suits `want`: 0 not at all. A variant that is not given is the usual one (v8 of
 * arm64, v7 of arm, v1 of amd64). arm also runs what was made for lower versions.
 */
unsigned xw_oci_platform_rank(const struct xw_oci_platform *have,
			      const struct xw_oci_platform *want);
#define XW_OCI_PLATFORM_TEXT 96
/* For messages; truncated to fit. */
void xw_oci_platform_text(const struct xw_oci_platform *p, char text[XW_OCI_PLATFORM_TEXT]);

#endif
